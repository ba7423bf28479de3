"""What `curta delegate evaluate` does."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from curta.app.delegate import digits
from curta.delegate.evaluation.record import Config, Folder
from curta.delegate.evaluation.report import plain_rows, write_report
from curta.delegate.evaluation.running import Progress
from curta.delegate.evaluation.running import evaluate as ask_all
from curta.delegate.evaluation.suites import Sources, questions
from curta.delegate.evaluation.systems import opener, systems
from curta.errors import DataError

SECONDS_BETWEEN_LINES = 10.0


def evaluate(options: argparse.Namespace) -> int:
    """Ask, judge, and say how it went."""
    for name in ("batch", "max_new_tokens"):
        if getattr(options, name) < 1:
            option = f"--{name.replace('_', '-')}"
            raise DataError(f"{option} {getattr(options, name)}: must be at least 1")
    for name in ("suite", "backend"):
        if not words(getattr(options, name)):
            raise DataError(f"--{name}: name at least one")
    asked = questions(
        words(options.suite),
        Sources(
            data=path(options.data),
            gsm8k=path(options.gsm8k),
            svamp=path(options.svamp),
            digits=None if options.digits is None else digits(options.digits),
            count=options.count,
            negatives=options.negatives,
            seed=options.seed,
        ),
    )
    if not asked:
        raise DataError("there are no questions: see --suite, --count and the files given")
    config = Config(
        systems(
            options.model,
            adapters=options.adapter,
            inline=options.inline,
            backends=words(options.backend),
            untrained=options.untrained,
            origin=origin(options.model),
        ),
        max_new_tokens=options.max_new_tokens,
        batch=options.batch,
        seed=options.seed,
    )
    folder = Folder(Path(options.out))
    with questions_bar() as told:
        opened = opener(options.max_new_tokens, options.device)
        answers = ask_all(config, asked, folder, opened, on_progress=told)
    figures = write_report(folder, config, asked, answers)
    print_table(plain_rows(figures))
    print(f"report: {folder.report_file}")
    return 0


def origin(model: str) -> str:
    """Where its weights come from; this imports transformers, which asking for help does not."""
    from curta.delegate import models

    return models.origin(model)


def path(given: str | None) -> Path | None:
    """A path, if one is given."""
    return None if given is None else Path(given)


def words(given: str) -> list[str]:
    """`a,b`"""
    return [word.strip() for word in given.split(",") if word.strip()]


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """A block for each system: a line for each figure."""
    for row in rows:
        names = iter(row.items())
        print(next(names)[1])
        for name, value in names:
            print(f"  {name:12} {value}")


@contextmanager
def questions_bar() -> Iterator[Callable[[Progress], None]]:
    """A bar for each system, with questions a second and time left; elsewhere lines."""
    if not sys.stderr.isatty():
        yield Lines().show
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        tasks = {}
        rate = Rate()

        def told(progress: Progress) -> None:
            if progress.system not in tasks:
                tasks[progress.system] = bar.add_task(progress.system, total=None, rate="")
            bar.update(
                tasks[progress.system],
                completed=progress.done,
                total=progress.total,
                rate=rate.of(progress),
            )

        yield told


class Rate:
    """Questions a second, since a system began or went on."""

    def __init__(self) -> None:
        self.begun: dict[str, tuple[int, float]] = {}

    def of(self, progress: Progress) -> str:
        """In words; nothing at the first one."""
        now = time.monotonic()
        done, begun = self.begun.setdefault(progress.system, (progress.done, now))
        if progress.done == done or now == begun:
            return ""
        return f"{(progress.done - done) / (now - begun):.2f} questions/s"


class Lines:
    """A line now and then, and at the end of each system."""

    def __init__(self) -> None:
        self.last = 0.0
        self.rate = Rate()

    def show(self, progress: Progress) -> None:
        """If one is due."""
        rate = self.rate.of(progress)
        done = progress.done == progress.total
        if done or time.monotonic() - self.last > SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            line = f"{progress.system}: {progress.done}/{progress.total} {rate}"
            print(line.rstrip(), file=sys.stderr, flush=True)
