"""`curta delegate evaluate`: how often models are right, and what goes wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from curta.delegate.checked import Checked, Count
from curta.delegate.evaluation.suites import Sources
from curta.delegate.options import folder_of
from curta.errors import DataError
from curta.options import option
from curta.terminal import AsJson, Progress, write_json

if TYPE_CHECKING:
    from curta.delegate.evaluation.figures import Figures
    from curta.delegate.evaluation.running import Listener


@dataclass(frozen=True)
class Options(AsJson, Checked):
    """Measure how often models are right, and what goes wrong. Asks systems the same questions: the
    model with each adapter and its calls answered by each backend, adapters trained without calls
    (--inline), and the model as it is (--untrained). With none of these it is the model itself that
    calls, and with --format, if there is no adapter. Writes answers, figures and report.html;
    killed, it goes on with the same command.

    model:     on the Hub, or a folder
    adapter:   from curta delegate train; can be given repeatedly
    inline:    an adapter trained with --no-calls; calls are not intercepted
    untrained: the model without adapter and calls, too
    backend:   who computes calls: exact, machine
    format:    how calls are written, a system for each: inline, prompted, own, equations (as
               fits the model)
    suite:     what is asked: templates (kinds that training does not have), trained (those that it
               has, drawn anew), gsm8k, svamp
    batch:     questions in a pass
    max_new_tokens: of an answer
    device:    as cpu or cuda:1 (a GPU if there is one)
    out:       the folder where it lies
    """

    model: str = option(metavar="NAME")
    adapter: tuple[str, ...] = option((), metavar="[NAME=]FOLDER")
    inline: tuple[str, ...] = option((), metavar="[NAME=]FOLDER")
    untrained: bool = False
    backend: str = option("exact", metavar="A,B")
    format: str | None = option(None, metavar="A,B")
    suite: str = option("templates", metavar="A,B")
    sources: Sources = field(default_factory=Sources)
    batch: Count = 16
    max_new_tokens: Count = 400
    device: str | None = None
    out: str = option("evaluation", metavar="FOLDER")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("suite", "backend", "format"):
            if (given := getattr(self, name)) is not None and not words(given):
                raise DataError(f"--{name}: name at least one")


@dataclass(frozen=True)
class System:
    """Who was asked.

    name:   what it is called
    shares: by what is counted (the suites, format, valid calls, false calls): the share
    counts: of how many
    tokens_per_second: that it wrote
    """

    name: str
    shares: dict[str, float]
    counts: dict[str, int]
    tokens_per_second: float | None


@dataclass(frozen=True)
class Report:
    """How it went.

    systems: each of them
    report:  the page
    """

    systems: tuple[System, ...]
    report: str


def run(options: Options) -> int:
    """Ask, judge, and say how it went."""
    folder = folder_of(options.out)
    from curta.delegate import models
    from curta.delegate.evaluation.report import plain, write_report
    from curta.delegate.evaluation.running import Config, Folder, evaluate
    from curta.delegate.evaluation.suites import questions
    from curta.delegate.evaluation.systems import check_formats, opener, systems

    asked = questions(words(options.suite), options.sources)
    if not asked:
        raise DataError("there are no questions: see --suite, --count and the files given")
    found = systems(
        options.model,
        adapters=options.adapter,
        inline=options.inline,
        backends=words(options.backend),
        formats=words(options.format or ""),
        untrained=options.untrained,
        origin=models.origin(options.model),
    )
    check_formats(options.model, found)
    config = Config(
        found, max_new_tokens=options.max_new_tokens, batch=options.batch, seed=options.sources.seed
    )
    kept, opened = Folder(folder), opener(options.max_new_tokens, options.device)
    with Progress() as progress:
        answers = evaluate(config, asked, kept, opened, on_progress=showing(progress))
    figures = write_report(kept, config, asked, answers)
    if options.json:
        write_json(Report(tuple(summaries(figures)), str(kept.report_file)))
        return 0
    print(plain(figures))
    print(f"report: {kept.report_file}")
    return 0


def summaries(figures: Figures) -> Iterator[System]:
    """What was counted, system by system."""
    from curta.delegate.evaluation.report import counted

    for one in figures.systems:
        shares = counted(figures, one)
        yield System(
            one.name,
            {name: share.value for name, share in shares.items()},
            {name: share.count for name, share in shares.items()},
            figures.speed(one.name) or None,
        )


def words(given: str) -> list[str]:
    """`a,b`"""
    return [word.strip() for word in given.split(",") if word.strip()]


def showing(progress: Progress) -> Listener:
    """What shows how far a system is, and questions a second since it began or went on."""
    begun: dict[str, tuple[int, float]] = {}

    def show(system: str, done: int, total: int) -> None:
        first, since = begun.setdefault(system, (done, time.monotonic()))
        passed = time.monotonic() - since
        rate = f"{(done - first) / passed:.2f} questions/s" if done > first and passed else ""
        progress.show(system, done, total, rate)

    return show
