"""The folder of a training run: what it is, what was measured in it, and a card for those who find
the adapter there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from curta.delegate.data.example import Example
from curta.delegate.interception.protocol import Protocol
from curta.delegate.markdown import table
from curta.delegate.training.config import Updates
from curta.errors import DataError

SEAL = "<!-- as curta wrote it: "
QUESTION = "3 boxes of 48 apples shared by 9 children?"


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
    """Write what a run is; a folder of another one, of anything else, or with a card that somebody
    wrote on is left alone.

    Settings that were not there when it was written count as they are by default.
    """
    file = out / "training.json"
    wanted = dataclasses.asdict(config) | {
        "base": base(model),
        "source": getattr(model, "weights_origin", "a model in memory"),
        "examples": digest(examples),
        "processes": processes,
    }
    found = {one.name for one in out.iterdir()} if out.exists() else set()
    if found <= {file.name}:  # nothing was trained yet
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted, indent=2), encoding="utf-8")
        return
    if file.name not in found:
        raise DataError(f"{out} is there already, and is no training run")
    held = wanted | dataclasses.asdict(type(config)()) | json.loads(file.read_text("utf-8"))
    other = [name for name in wanted if held[name] != wanted[name]]
    if other:
        raise DataError(
            f"{out} holds a run with other settings ({', '.join(other)}; {file.name}): "
            "choose another folder, or the same settings"
        )
    check_card(out)


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

    def rows(self) -> list[dict[str, float]]:
        lines = self.file.read_text("utf-8").splitlines() if self.file.is_file() else []
        return [json.loads(line) for line in lines]

    def keep(self, count: int) -> None:
        """Forget what came behind so many updates."""
        kept = "".join(f"{json.dumps(row)}\n" for row in self.rows()[:count])
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


def write_card(folder: Path, model: str, protocol: Protocol) -> None:
    """`README.md`; it replaces the form that PEFT leaves to be filled in."""
    notes = json.loads((folder / "training.json").read_text("utf-8"))
    text = card(model, protocol, notes, Metrics(folder).rows())
    (folder / "README.md").write_text(f"{text}{seal(text)}", encoding="utf-8")


def check_card(folder: Path) -> None:
    """Raise an error if there is a `README.md` that somebody wrote, or wrote on."""
    file = folder / "README.md"
    if file.is_file():
        text, mark, rest = file.read_text(encoding="utf-8").rpartition(SEAL)
        if f"{mark}{rest}" != seal(text):
            raise DataError(
                f"{file} is not as training wrote it, which would write it anew: move it away, or "
                "choose another --out"
            )


def seal(text: str) -> str:
    """The last line of a card, which tells whether it is as it was."""
    return f"{SEAL}{hashlib.sha256(text.encode()).hexdigest()[:16]} -->\n"


def card(
    model: str,
    protocol: Protocol,
    notes: Mapping[str, Any],
    measured: Sequence[Mapping[str, float]],
) -> str:
    """How to use an adapter of a model, what it was made of, and how its training ended.

    notes: what a run keeps of its settings; measured: what it measured, update by update
    """
    is_folder = Path(model).is_dir()
    # Only a name on the Hub says where the base model is, to the Hub and its tools.
    base = "" if is_folder else f"\nbase_model: {json.dumps(model)}"
    if notes.get("calls", True):
        how, command, adapter = "call a calculator", ["calc", QUESTION], "--adapter"
        about = (
            f"The model writes `{protocol.open} 87*24{protocol.close}`, a calculator puts\n"
            f"`{protocol.answered('2088')}` behind it, and the model goes on from there."
        )
    else:
        how, adapter = "write calculations out", "--inline"
        command = ["delegate", "evaluate", "--suite", "templates"]
        about = (
            "It is there to compare with one that calls a calculator: the same answers,\n"
            "in which the model has to compute by itself."
        )
    return f"""---{base}
library_name: peft
pipeline_tag: text-generation
tags:
- lora
- calculator
---

# {Path(model).resolve().name if is_folder else model}, taught to {how}

An adapter made by curta. {about}

    curta {shlex.join([*command, "--model", model])} {adapter} FOLDER

`curta delegate evaluate` measures how often its answers are right.

## At the end of its training

Means over the last tenth of it; `validation` is the loss on other questions of the kinds that it
was trained on.

{table(("", ""), ending(measured).items())}

## Settings

`base` and `source` are the weights that it was trained on, `examples` a digest.

{table(("", ""), notes.items())}
"""


def ending(measured: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Means of the last tenth of the updates; the last step and validation as they are."""
    tail = measured[-max(1, len(measured) // 10) :]
    last = dict(measured[-1]) if measured else {}
    for name in last.keys() - {"step", "validation"}:
        last[name] = fmean(one[name] for one in tail if name in one)
    return {name: f"{value:.4g}" for name, value in last.items()}
