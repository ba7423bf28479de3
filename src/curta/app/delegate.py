"""What the commands of the calculator-calling language model do."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curta.delegate.data import annotated, card, mix
from curta.errors import DataError


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
    if options.most_annotated is not None:
        for each in converted:
            annotated.shortest(each, options.most_annotated)
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
    if options.stage == "grpo":
        return train_by_rewards(options)
    if options.adapter:
        raise DataError("--adapter: the first stage begins anew; use it with --stage grpo")
    from curta.delegate import models
    from curta.delegate.training.config import TrainingConfig
    from curta.delegate.training.kept import last_validation
    from curta.delegate.training.sft import train

    config = TrainingConfig(**{name: getattr(options, name) for name in settings(TrainingConfig)})
    examples = mix.read(Path(options.data) / "train.jsonl")
    held_back = Path(options.data) / "valid.jsonl"
    # Each process moves it to its own device.
    model, tokenizer = models.load(options.model, device="cpu")
    out = Path(options.out)
    first = is_first()
    with bars(shown=first) as told:
        train(
            model,
            tokenizer,
            examples,
            config,
            out,
            validation=mix.read(held_back) if held_back.is_file() else [],
            on_report=lambda report: told("training", report.step, config.steps, str(report)),
            on_encoded=lambda done, total: told("encoding", done, total, ""),
            on_left_out=lambda count, total: tell_left_out(count, total, config.longest, first),
        )
    if first:
        if (loss := last_validation(out)) is not None:
            print(f"loss on {held_back.name}: {loss:.4f}")
        print(f"adapter: {out} (base model {options.model})")
    return 0


def train_by_rewards(options: argparse.Namespace) -> int:
    """The second stage: go on with an adapter by what its own answers are worth."""
    if not options.adapter:
        raise DataError("--stage grpo goes on with an adapter of the first stage: add --adapter")
    from curta.delegate import models
    from curta.delegate.training.grpo import GrpoConfig, improve

    config = GrpoConfig(**{name: getattr(options, name) for name in settings(GrpoConfig)})
    examples = mix.read(Path(options.data) / "train.jsonl")
    model, tokenizer = models.load(options.model, device="cpu")
    out = Path(options.out)
    first = is_first()
    with bars(shown=first) as told:
        improve(
            model,
            tokenizer,
            examples,
            config,
            out,
            on_report=lambda report: told("training", report.step, config.steps, str(report)),
        )
    if first:
        print(f"adapter: {out} (base model {options.model}, begun with {options.adapter})")
    return 0


def tell_left_out(count: int, total: int, longest: int, first: bool) -> None:
    """Say how many examples are not trained, if any."""
    if count and first:
        why = f"longer than {longest} tokens, with calls or written out"
        print(f"left out: {count:,} of {total:,} examples, {why}", file=sys.stderr, flush=True)


def is_first() -> bool:
    """Whether this is the only process, or the first of those that were launched together."""
    return os.environ.get("RANK", "0") == "0"


def settings(config: type[Any]) -> list[str]:
    """The fields of a configuration that are options of the command."""
    return [field.name for field in dataclasses.fields(config) if field.name != "clip"]


Told = Callable[[str, int, int, str], None]
"""Hears what is done, how much of how much, and words about it."""


@contextmanager
def bars(*, shown: bool) -> Iterator[Told]:
    """A bar for each thing that is done, with time left; where there is no terminal, lines."""
    if not shown:
        yield lambda what, done, total, words: None
        return
    if not sys.stderr.isatty():
        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def told(what: str, done: int, total: int, words: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            said = f"{what} {done}/{total} {words}"
            bar.update(tasks[what], completed=done, description=said)

        yield told


def line(what: str, done: int, total: int, words: str) -> None:
    """Twenty of them if there are words about each; else one, at the end."""
    if done == total or (words and done % max(1, total // 20) == 0):
        print(f"{what} {done}/{total} {words}".rstrip(), file=sys.stderr, flush=True)


def digits(written: str) -> tuple[int, int]:
    """`1..4`, or `3` for 3 to 3."""
    low, dots, high = written.partition("..")
    try:
        return int(low), int(high if dots else low)
    except ValueError:
        raise DataError(f"--digits {written}: write a range as in 1..4") from None
