"""The folder of a training run: what it is, and what was measured in it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.delegate.data.example import Example
from curta.delegate.training.config import Updates
from curta.errors import DataError


@dataclass(frozen=True)
class Report:
    """How an update went.

    validation: the loss on examples that are not trained, where it was measured
    reward:     in the second stage, the mean of all answers; and the share of right ones
    """

    step: int
    loss: float
    tokens_per_second: float
    validation: float | None = None
    reward: float | None = None
    right: float | None = None

    def __str__(self) -> str:
        shown = {
            "reward {:.3f}": self.reward,
            "right {:.1%}": self.right,
            "loss {:.4f}": self.loss,
            "{:,.0f} tokens/s": self.tokens_per_second,
            "validation {:.4f}": self.validation,
        }
        return "  ".join(text.format(n) for text, n in shown.items() if n is not None)


def note(
    config: Updates, out: Path, model: Any, examples: Sequence[Example], *, processes: int
) -> None:
    """Write what a run is; a folder of another one, or of anything else, is left alone.

    Settings that were not there when it was written count as they are by default.
    """
    file = out / "training.json"
    wanted = dataclasses.asdict(config) | {
        "base": base(model),
        "source": getattr(model, "weights_origin", "a model in memory"),
        "examples": digest(examples),
        "processes": processes,
    }
    if not file.is_file():
        if out.exists() and any(out.iterdir()):
            raise DataError(f"{out} is there already, and is no training run")
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted, indent=2), encoding="utf-8")
        return
    held = wanted | dataclasses.asdict(type(config)()) | json.loads(file.read_text("utf-8"))
    other = [name for name in wanted if held[name] != wanted[name]]
    if other:
        raise DataError(
            f"{out} holds a run with other settings ({', '.join(other)}; {file.name}): "
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

    def append(self, report: Report) -> None:
        """One more update: what was measured in it."""
        row = {name: n for name, n in dataclasses.asdict(report).items() if n is not None}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    @property
    def validation(self) -> float | None:
        """The loss on the validation examples at the end of a finished run, if there were any."""
        rows = self.rows()
        return rows[-1].get("validation") if rows else None
