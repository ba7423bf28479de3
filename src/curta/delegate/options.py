"""Who answers, and what computes: the choices that several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curta.errors import DataError
from curta.options import option

if TYPE_CHECKING:
    from curta.delegate.interception.generator import CalcGenerator

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"


def folder_of(out: str) -> Path:
    """The folder that --out names; nothing is no name, though Path takes it for this folder."""
    if not out.strip():
        raise DataError(f'--out "{out}": name a folder (. is the one you are in)')
    return Path(out)


@dataclass(frozen=True)
class Calculating:
    """What evaluates expressions.

    backend: exact, or machine: rationals by a program that the transformer executes
    """

    backend: Literal["exact", "machine"] = "exact"


@dataclass(frozen=True)
class Answering(Calculating):
    """A language model, and how it calls.

    model:       on the Hub, or a folder
    adapter:     from curta delegate train
    device:      as cpu or cuda:1 (a GPU if there is one)
    constrained: inside of a call, only what can become an expression may be written
    """

    model: str = option(SMOLLM2, metavar="NAME")
    adapter: str | None = option(None, metavar="FOLDER")
    device: str | None = None
    constrained: bool = False

    def generator(self) -> CalcGenerator:
        """The model, loaded, with everything around it."""
        from curta.delegate import calculator, models
        from curta.delegate.interception.generator import CalcGenerator

        adapter = Path(self.adapter) if self.adapter else None
        models.warn_untaught(self.model, adapter)
        model, tokenizer = models.load(self.model, adapter=adapter, device=self.device)
        computes = calculator.Calculator(self.backend)
        return CalcGenerator(model, tokenizer, calculator=computes, constrained=self.constrained)
