"""What an adapter is, for those who find it: `README.md` beside it."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from curta.delegate.interception.protocol import Protocol
from curta.delegate.markdown import table
from curta.delegate.training.run_folder import Metrics
from curta.errors import DataError

SEAL = "<!-- as curta wrote it: "
QUESTION = "3 boxes of 48 apples shared by 9 children?"


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

How often its answers are right is not known from its training: `curta delegate evaluate`
measures it.

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
