"""What the commands of the calculator-calling language model do."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from curta.delegate.data import annotated, card, mix
from curta.errors import DataError

if TYPE_CHECKING:
    from curta.delegate.training.sft import Report


def make_data(options: argparse.Namespace) -> int:
    """Draw, convert, write, and say what there is."""
    wanted = mix.Mix(
        train=options.train,
        valid=options.valid,
        test=options.test,
        negatives=options.negatives,
        arithmetic=options.arithmetic,
        mistakes=options.mistakes,
        digits=digits(options.digits),
        seed=options.seed,
    )
    folder = Path(options.out)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is there already: choose another --out")
    converted = []
    if options.gsm8k:
        converted.append(annotated.from_gsm8k(annotated.read_rows(options.gsm8k)))
    for source in options.calc_x:
        converted.append(annotated.from_calc_x(annotated.read_rows(source)))
    made = mix.build(wanted, [one for each in converted for one in each.examples])
    for each in converted:
        made.dropped.update(each.dropped)
    mix.write(made, folder)
    card.write_card(made, folder)
    for name, part in made.parts.items():
        counted = ", ".join(f"{kind} {count:,}" for kind, count in mix.counts(part).most_common())
        print(f"{name}: {len(part):,} ({counted})")
    for why, count in made.dropped.items():
        print(f"left out: {count:,} times {why}")
    print(f"card: {folder / 'README.md'}")
    return 0


def train_adapter(options: argparse.Namespace) -> int:
    """Train, with a bar, and say where the adapter is."""
    from curta.delegate import models
    from curta.delegate.training.config import TrainingConfig
    from curta.delegate.training.sft import train

    names = [field.name for field in dataclasses.fields(TrainingConfig) if field.name != "clip"]
    config = TrainingConfig(**{name: getattr(options, name) for name in names})
    examples = mix.read(Path(options.data) / "train.jsonl")
    model, tokenizer = models.load(options.model)
    out = Path(options.out)
    with steps_bar(config.steps) as told:
        train(model, tokenizer, examples, config, out, on_report=told)
    print(f"adapter: {out} (base model {options.model})")
    return 0


@contextmanager
def steps_bar(steps: int) -> Iterator[Callable[[Report], None]]:
    """A bar with loss, tokens a second and time left; where there is no terminal, lines."""
    if not sys.stderr.isatty():
        yield (
            lambda report: (
                print(words(report, steps), file=sys.stderr) if due(report, steps) else None
            )
        )
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=steps)

        def told(report: Report) -> None:
            bar.update(task, completed=report.step, description=words(report, steps))

        yield told


def due(report: Report, steps: int) -> bool:
    """Whether a line is due: twenty of them in a run."""
    return report.step % max(1, steps // 20) == 0 or report.step == steps


def words(report: Report, steps: int) -> str:
    """How it is going."""
    return f"{report.step}/{steps} loss {report.loss:.4f}  {report.tokens_per_second:,.0f} tokens/s"


def digits(written: str) -> tuple[int, int]:
    """`1..4`, or `3` for 3 to 3."""
    low, dots, high = written.partition("..")
    try:
        return int(low), int(high if dots else low)
    except ValueError:
        raise DataError(f"--digits {written}: write a range as in 1..4") from None
