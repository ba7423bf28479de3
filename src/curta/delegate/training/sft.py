"""Supervised fine-tuning of an adapter.

What happens at a step is a function of the configuration and the step, so a run that was killed
goes on from its last checkpoint as if nothing had been: the adapter, the optimiser's state and the
random numbers of dropout are kept, and the order of examples is computed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from curta.delegate.data.example import Example
from curta.delegate.training.adapter import with_adapter
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import IGNORED, Encoded, Encoder, batch
from curta.delegate.training.order import batches
from curta.errors import DataError, DivergedError


@dataclass(frozen=True)
class Report:
    """How an update went."""

    step: int
    loss: float
    tokens_per_second: float


Listener = Callable[[Report], None]


def train(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    config: TrainingConfig,
    out: Path,
    *,
    on_report: Listener = lambda report: None,
) -> Any:
    """Train an adapter, or go on training it; what is kept lies in `out`."""
    kept = Kept(out)
    kept.begin(config)
    encoded = encode(examples, tokenizer, config)
    set_seed(config.seed)
    accelerator = Accelerator(
        mixed_precision="bf16" if config.precision == "bfloat16" else "no",
        gradient_accumulation_steps=config.accumulate,
    )
    adapted = with_adapter(model, config)
    trained = [one for one in adapted.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=config.learning_rate, weight_decay=0.0)
    step = kept.load(adapted, optimiser)
    adapted, optimiser = accelerator.prepare(adapted, optimiser)
    adapted.train()
    padding = tokenizer.pad_token_id or 0
    for rows in islice(passes(encoded, config, accelerator, step), config.steps - step):
        begun = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * config.rate(step)
        loss = update(adapted, optimiser, accelerator, rows, padding, config)
        step += 1
        if not loss < float("inf"):
            raise DivergedError(
                f"the loss is {loss} at step {step}: lower learning_rate "
                f"(it is {config.learning_rate})"
            )
        count = sum(len(one) for part in rows for one in part)
        report = Report(step, loss, count / (time.perf_counter() - begun))
        if accelerator.is_main_process:
            kept.log(report)
            on_report(report)
            if step % config.checkpoint == 0 or step == config.steps:
                kept.save(accelerator.unwrap_model(adapted), optimiser, step)
    finished = accelerator.unwrap_model(adapted).eval()
    if accelerator.is_main_process:
        finished.save_pretrained(out, save_embedding_layers=False)
    return finished


def encode(examples: Sequence[Example], tokenizer: Any, config: TrainingConfig) -> list[Encoded]:
    """All examples that are short enough."""
    encoder = Encoder(tokenizer, calls=config.calls, longest=config.longest)
    found = [one for example in examples if (one := encoder(example)) is not None]
    if len(found) < config.batch:
        raise DataError(
            f"{len(found)} of {len(examples)} examples have at most {config.longest} tokens, fewer "
            f"than a batch of {config.batch}"
        )
    return found


def passes(
    encoded: Sequence[Encoded], config: TrainingConfig, accelerator: Accelerator, done: int
) -> Iterator[list[list[Encoded]]]:
    """The batches of each update of this process, from a step on."""
    order = batches([len(one) for one in encoded], config.batch, config.seed)
    processes = accelerator.num_processes
    each = config.accumulate * processes
    for _ in range(done * each):
        next(order)
    while True:
        mine = list(islice(order, each))[accelerator.process_index :: processes]
        yield [[encoded[number] for number in numbers] for numbers in mine]


def update(
    model: Any,
    optimiser: Any,
    accelerator: Accelerator,
    rows: Sequence[Sequence[Encoded]],
    padding: int,
    config: TrainingConfig,
) -> float:
    """One step of the optimiser; the mean loss over all tokens that are learned in it.

    The loss of a pass is the mean over its own ones, so passes are weighed by how many they have;
    accelerate divides by the number of passes.
    """
    counts = [sum(label != IGNORED for one in part for label in one.labels) for part in rows]
    total = 0.0
    for part, count in zip(rows, counts, strict=True):
        share = count / sum(counts)
        given = {name: each.to(accelerator.device) for name, each in batch(part, padding).items()}
        with accelerator.accumulate(model):
            loss = model(**given, use_cache=False).loss
            accelerator.backward(loss * share * len(rows))
            if accelerator.sync_gradients and config.clip:
                accelerator.clip_grad_norm_(model.parameters(), config.clip)
            optimiser.step()
            optimiser.zero_grad()
        total += share * float(loss.detach())
    return total


class Kept:
    """The folder of a run: configuration, metrics, the last checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config_file = folder / "training.json"
        self.metrics_file = folder / "metrics.jsonl"
        self.checkpoint_file = folder / "checkpoint.pt"

    def begin(self, config: TrainingConfig) -> None:
        """Note the configuration; a folder of another one is left alone."""
        written = json.dumps(dataclasses.asdict(config), indent=2)
        if self.config_file.is_file() and self.config_file.read_text("utf-8") != written:
            raise DataError(
                f"{self.folder} holds a run with other settings (training.json): choose another "
                "folder, or the same settings"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text(written, encoding="utf-8")

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> int:
        """Go back to the last checkpoint; the step that it was made at, or 0."""
        if not self.checkpoint_file.is_file():
            self.metrics_file.unlink(missing_ok=True)
            return 0
        from peft import set_peft_model_state_dict

        held = torch.load(self.checkpoint_file, map_location="cpu", weights_only=True)
        set_peft_model_state_dict(model, held["adapter"])
        optimiser.load_state_dict(held["optimiser"])
        torch.set_rng_state(held["random"])
        step = int(held["step"])
        lines = self.metrics_file.read_text("utf-8").splitlines()[:step]
        self.metrics_file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return step

    def save(self, model: Any, optimiser: Any, step: int) -> None:
        """A checkpoint, all of it or nothing."""
        from peft import get_peft_model_state_dict

        held = {
            "adapter": get_peft_model_state_dict(model, save_embedding_layers=False),
            "optimiser": optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "step": step,
        }
        partial = self.checkpoint_file.with_name(f".checkpoint.{os.getpid()}")
        torch.save(held, partial)
        partial.replace(self.checkpoint_file)

    def log(self, report: Report) -> None:
        """A line of metrics."""
        with self.metrics_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(report)) + "\n")
