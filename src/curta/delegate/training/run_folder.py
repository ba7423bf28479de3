"""The folder of a training run: its configuration, metrics, the last checkpoint."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from curta.delegate.data.example import Example
from curta.delegate.training.config import TrainingConfig, Updates
from curta.errors import DataError, DivergedError


@dataclass(frozen=True)
class Report:
    """How an update went.

    validation: the loss on examples that are not trained, where it was measured
    """

    step: int
    loss: float
    tokens_per_second: float
    validation: float | None = None

    def __str__(self) -> str:
        measured = "" if self.validation is None else f"  validation {self.validation:.4f}"
        return f"loss {self.loss:.4f}  {self.tokens_per_second:,.0f} tokens/s{measured}"


def note(config: Any, file: Path, model: Any, examples: Sequence[Example]) -> None:
    """Write what a run is; a folder of another one, or of anything else, is left alone.

    Settings that were not there when it was written count as they are by default.
    """
    wanted = dataclasses.asdict(config) | {
        "base": base(model),
        "source": getattr(model, "weights_origin", "a model in memory"),
        "examples": digest(examples),
    }
    if not file.is_file():
        if file.parent.exists() and any(file.parent.iterdir()):
            raise DataError(f"{file.parent} is there already, and is no training run")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted, indent=2), encoding="utf-8")
        return
    held = wanted | dataclasses.asdict(type(config)()) | json.loads(file.read_text("utf-8"))
    other = [name for name in wanted if held[name] != wanted[name]]
    if other:
        raise DataError(
            f"{file.parent} holds a run with other settings ({', '.join(other)}; {file.name}): "
            "choose another folder, or the same settings"
        )


def base(model: Any) -> str:
    """What a model is called, and its size: a folder may hold another one now."""
    name = str(getattr(model.config, "name_or_path", ""))
    return f"{Path(name).name} of {sum(one.numel() for one in model.parameters()):,} parameters"


def digest(examples: Sequence[Example]) -> str:
    """Of all that is taught."""
    found = hashlib.sha256()
    for one in examples:
        found.update(repr((one.question, one.answer)).encode())
    return found.hexdigest()[:16]


class RunFolder:
    """What is written by the first of all processes, and read by all of them."""

    def __init__(self, folder: Path, accelerator: Accelerator) -> None:
        self.folder = folder
        self.accelerator = accelerator
        self.config_file = folder / "training.json"
        self.metrics = Metrics(folder)
        self.checkpoint_file = folder / "checkpoint.pt"

    def begin(self, config: TrainingConfig, model: Any, examples: Sequence[Example]) -> None:
        """Note what the run is."""
        with self.accelerator.main_process_first():
            note(config, self.config_file, model, examples)

    def load(self, model: Any, optimiser: torch.optim.Optimizer) -> int:
        """Go back to the last checkpoint; the step that it was made at, or 0."""
        if not self.checkpoint_file.is_file():
            self.accelerator.wait_for_everyone()
            if self.accelerator.is_main_process:
                self.metrics.keep(0)
            return 0
        from peft import set_peft_model_state_dict

        held = torch.load(self.checkpoint_file, map_location="cpu", weights_only=True)
        if len(held["random"]) != self.accelerator.num_processes:
            raise DataError(
                f"{self.folder} holds a run of {len(held['random'])} processes: go on with as "
                f"many (--num_processes), not with {self.accelerator.num_processes}"
            )
        set_peft_model_state_dict(model, held["adapter"])
        optimiser.load_state_dict(held["optimiser"])
        go_on(held["random"][self.accelerator.process_index])
        step = int(held["step"])
        if self.accelerator.is_main_process:
            self.metrics.keep(step)
        return step

    def save(self, model: Any, optimiser: Any, step: int) -> None:
        """A checkpoint, all of it or nothing; every process has to call this."""
        from peft import get_peft_model_state_dict

        random = gather_object([random_numbers()])
        if not self.accelerator.is_main_process:
            return
        held = {
            "adapter": get_peft_model_state_dict(model, save_embedding_layers=False),
            "optimiser": optimiser.state_dict(),
            "random": random,
            "step": step,
        }
        partial = self.checkpoint_file.with_name(f".checkpoint.{os.getpid()}")
        torch.save(held, partial)
        partial.replace(self.checkpoint_file)


class Metrics:
    """What a run has measured: a line for every update."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "metrics.jsonl"

    def lines(self) -> list[str]:
        """All there are."""
        return self.file.read_text("utf-8").splitlines() if self.file.is_file() else []

    def rows(self) -> list[dict[str, float]]:
        """What they say."""
        return [json.loads(line) for line in self.lines()]

    def keep(self, count: int) -> None:
        """Forget what came behind so many updates."""
        kept = "".join(f"{line}\n" for line in self.lines()[:count])
        self.file.write_text(kept, encoding="utf-8")

    def append(self, report: Any) -> None:
        """One more update: what was measured in it."""
        row = {name: n for name, n in dataclasses.asdict(report).items() if n is not None}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    @property
    def validation(self) -> float | None:
        """The loss on the validation examples at the end of a finished run, if there were any."""
        rows = self.rows()
        return rows[-1].get("validation") if rows else None


def check_loss(loss: float, step: int, config: Updates) -> None:
    """Raise an error if it is no number."""
    if not math.isfinite(loss):
        raise DivergedError(
            f"the loss is {loss} at step {step}: lower learning_rate (it is {config.learning_rate})"
        )


def random_numbers() -> dict[str, torch.Tensor]:
    """Where this process is in its random numbers, on the CPU and on its GPU."""
    found = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_rng_state()
    return found


def go_on(random: dict[str, torch.Tensor]) -> None:
    """Go on with the random numbers from there."""
    torch.set_rng_state(random["cpu"])
    if "cuda" in random and torch.cuda.is_available():
        torch.cuda.set_rng_state(random["cuda"])
