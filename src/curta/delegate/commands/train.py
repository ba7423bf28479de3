"""`curta delegate train`: an adapter, in two stages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from curta.delegate.options import folder_of
from curta.delegate.training.config import GrpoConfig, TrainingConfig, Updates
from curta.errors import DataError
from curta.options import option
from curta.terminal import AsJson, Progress


@dataclass(frozen=True)
class Options(AsJson):
    """Fine-tune an adapter on a data set with calls. First stage: supervised fine-tuning of a
    low-rank adapter. Killed, it goes on from its last checkpoint with the same command, to the same
    adapter. Second stage, with --stage grpo --adapter FOLDER: the adapter answers the questions
    itself, several times each, and learns from what its answers are worth (a right answer, valid
    calls). Several GPUs or processes: accelerate launch -m curta delegate train ...

    stage: first or second
    model: on the Hub, or a folder
    data:  from curta delegate data
    out:   a folder
    """

    model: str = option(metavar="NAME")
    data: str = option(metavar="FOLDER")
    out: str = option(metavar="FOLDER")
    stage: Literal["sft", "grpo"] = "sft"
    first_stage: TrainingConfig = field(default_factory=TrainingConfig)
    second_stage: GrpoConfig = field(default_factory=GrpoConfig)


@dataclass(frozen=True)
class Report:
    """What was trained.

    adapter:    where it is
    model:      what it is for
    begun_with: the adapter that it went on with, if it was the second stage
    validation: the loss on valid.jsonl, if it was measured
    """

    adapter: str
    model: str
    begun_with: str | None
    validation: float | None

    def __str__(self) -> str:
        begun = f", begun with {self.begun_with}" if self.begun_with else ""
        measured = f"loss on valid.jsonl: {self.validation:.4f}\n" if self.validation else ""
        return f"{measured}adapter: {self.adapter} (base model {self.model}{begun})"


def run(options: Options) -> int:
    """Train, with a bar, and say where the adapter is."""
    if options.stage == "sft" and options.second_stage.adapter:
        raise DataError("--adapter: the first stage begins anew; use it with --stage grpo")
    if options.stage == "grpo" and not options.second_stage.adapter:
        raise DataError("--stage grpo goes on with an adapter of the first stage: add --adapter")
    out = folder_of(options.out)
    from curta.delegate import models
    from curta.delegate.data import data_set
    from curta.delegate.training.run_folder import Metrics

    first = os.environ.get("RANK", "0") == "0"  # of the processes that were launched together
    examples = data_set.read(Path(options.data) / "train.jsonl")
    # Each process moves it to its own device.
    model, tokenizer = models.load(options.model, device="cpu")
    with Progress(bars=first, lines=first) as progress:
        if options.stage == "sft":
            fine_tune(options, progress, model, tokenizer, examples)
        else:
            from curta.delegate.training.grpo import improve

            config = options.second_stage
            improve(model, tokenizer, examples, config, out, on_report=hearing(progress, config))
    begun_with = options.second_stage.adapter or None
    loss = None if begun_with else Metrics(out).validation
    report = Report(options.out, options.model, begun_with, loss)
    return options.show(report) if first else 0


def fine_tune(
    options: Options, progress: Progress, model: Any, tokenizer: Any, examples: Any
) -> None:
    """The first stage: what answers look like."""
    from curta.delegate.data import data_set
    from curta.delegate.training.sft import train

    config, held_back = options.first_stage, Path(options.data) / "valid.jsonl"

    def left_out(count: int, total: int) -> None:
        if count and progress.lines:
            why = f"longer than {config.longest} tokens, with calls or written out"
            print(f"left out: {count:,} of {total:,} examples, {why}", file=sys.stderr, flush=True)

    train(
        model,
        tokenizer,
        examples,
        config,
        Path(options.out),
        validation=data_set.read(held_back) if held_back.is_file() else [],
        on_report=hearing(progress, config),
        on_encoded=lambda done, total: progress.show("encoding", done, total),
        on_left_out=left_out,
    )


def hearing(progress: Progress, config: Updates) -> Callable[[Any], None]:
    """What shows each update of a stage."""
    return lambda report: progress.show("training", report.step, config.steps, str(report))
