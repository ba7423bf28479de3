"""What both stages of training have in common: the trainer of transformers, told to do no more
than it is asked. It keeps checkpoints of adapter, optimiser and random numbers, and what is trained
when is a function of the seed: a run that was killed goes on from the last one.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback

from curta.delegate.markers import Markers, write_markers
from curta.delegate.training.config import Precision, Updates
from curta.delegate.training.run_folder import Metrics, Report, write_card
from curta.errors import DivergedError

Listener = Callable[[Report], None]

BUCKET = 16
"""Batches whose examples are sorted by length together, so that little is filled up."""


def in_precision(model: Any, precision: Precision) -> Any:
    """The model in float32 if it is trained so; for bfloat16 it stays as it is kept.

    There its products are in bfloat16 either way, and a large model has room for its own type only.
    """
    return model.float() if precision == "float32" else model


def arguments(kind: Any, config: Updates, out: Path, **more: Any) -> Any:
    """Our settings in the trainer's words; what it would do beyond them is turned off."""
    made = kind(
        output_dir=str(out / "checkpoints"),
        max_steps=config.steps,
        gradient_accumulation_steps=config.accumulate,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.warmup,
        max_grad_norm=config.clip,
        bf16=config.precision == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        save_steps=config.checkpoint,
        save_total_limit=1,
        seed=config.seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to="none",
        **more,
    )
    made._n_gpu = min(made.n_gpu, 1)  # a process has one GPU, and several train with several
    return made


def batches(lengths: Sequence[int], size: int, seed: int) -> Iterator[list[int]]:
    """Numbers of examples, batch by batch, epoch by epoch, without end: a function of seed and
    epoch, so that a run can go on.

    Within an epoch every example comes once, but for those of the last batch that is not full.
    Examples of like length go together, and batches come in no order of length.
    """
    epoch = 0
    while True:
        drawn = random.Random(f"{seed} {epoch}")
        order = list(range(len(lengths)))
        drawn.shuffle(order)
        made: list[list[int]] = []
        for begin in range(0, len(order), size * BUCKET):
            bucket = sorted(order[begin : begin + size * BUCKET], key=lambda n: (lengths[n], n))
            made += [bucket[at : at + size] for at in range(0, len(bucket), size)]
        full = [one for one in made if len(one) == size] or made
        drawn.shuffle(full)
        yield from full
        epoch += 1


def run(trainer: Any, told: Told, out: Path, markers: Markers) -> Any:
    """All updates from the last checkpoint on; the adapter is kept beside the run."""
    # All embeddings would be kept, too, if there are new tokens.
    trainer.model.save_pretrained = partial(
        trainer.model.save_pretrained, save_embedding_layers=False
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(told)
    checkpoint = last_checkpoint(out)
    trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))
    finished = trainer.accelerator.unwrap_model(trainer.model).eval()
    if trainer.is_world_process_zero():
        finished.save_pretrained(out, selected_adapters=["default"])
        write_markers(markers, out)
        write_card(out, str(finished.get_base_model().name_or_path), markers.protocol)
    trainer.accelerator.wait_for_everyone()
    return finished


def last_checkpoint(out: Path) -> Path | None:
    """The last one that was written to its end: the trainer's state is its last file."""
    states = out.glob("checkpoints/checkpoint-*/trainer_state.json")
    found = [file.parent for file in states if file.read_text("utf-8").endswith("\n}\n")]
    return max(found, key=step_of, default=None)


def step_of(checkpoint: Path) -> int:
    """So many updates were done."""
    return int(checkpoint.name.rpartition("-")[2])


@dataclass(eq=False)
class Told(TrainerCallback):
    """Notes every update, and tells whoever listens.

    measure: the loss on what is not trained, at a step where that is to be measured
    """

    config: Updates
    metrics: Metrics
    on_report: Listener
    measure: Callable[[int], float | None] = lambda step: None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Forget what came behind the checkpoint."""
        if state.is_world_process_zero:
            self.metrics.keep(state.global_step)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.begun, self.seen = time.perf_counter(), state.num_input_tokens_seen

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """One update; the summary at the end of a run is none."""
        logs, step = given["logs"], state.global_step
        if "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            rate = f"lower learning_rate (it is {self.config.learning_rate})"
            raise DivergedError(f"the loss is {logs['loss']} at step {step}: {rate}")
        speed = (state.num_input_tokens_seen - self.seen) / (time.perf_counter() - self.begun)
        measured = self.measure(step)
        rewards = logs.get("reward"), logs.get("rewards/right/mean")
        report = Report(step, logs["loss"], speed, measured, *rewards)
        if state.is_world_process_zero:
            self.metrics.append(report)
            self.on_report(report)
