"""Who answers, and what computes: the choices that several commands have."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from curta.delegate.interception.protocol import FormatName
from curta.errors import DataError
from curta.options import option

if TYPE_CHECKING:
    from curta.delegate.interception.generator import CalcGenerator
    from curta.delegate.interception.row import Row

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"


def folder_of(out: str) -> Path:
    """The folder that --out names; nothing is no name, though Path takes it for this folder."""
    if not out.strip():
        raise DataError(f'--out "{out}": name a folder (. is the one you are in)')
    return Path(out)


def say_if_cut(row: Row, most: int) -> None:
    """On standard error, that an answer was not at its end."""
    if not row.ended:
        print(f"cut at {most} tokens: --max-new-tokens allows more", file=sys.stderr)


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
    adapter:     from curta delegate train, or none; of the packaged model the one that comes with
                 curta, unless it is to call in another way (--format)
    device:      as cpu or cuda:1 (a GPU if there is one)
    constrained: inside of a call, only what can become one may be written
    format:      how it calls: inline (an adapter has taught it), prompted (the same, explained in
                 the prompt), own, the model's own tool calls (other tools than the calculator), or
                 equations: what it writes anyway, such as 87 * 48 = (a model that reasons)
    tool:        a further tool: a file of C or WebAssembly, or one function, as
                 dates.c:days_between or stats.py:describe (Python is not sandboxed)
    """

    model: str = option(SMOLLM2, metavar="NAME")
    adapter: str | None = option(None, metavar="FOLDER")
    device: str | None = None
    constrained: bool = False
    format: FormatName | None = None
    tool: tuple[str, ...] = option((), metavar="FILE[:NAME]")

    def generator(self) -> CalcGenerator:
        """The model, loaded, with everything around it."""
        from curta.delegate import calculator, models
        from curta.delegate.interception.generator import CalcGenerator
        from curta.delegate.tools.words import tools_of

        default = None if self.format in (None, "inline") else models.AS_IT_CAME
        adapter = models.chosen_adapter(self.model, self.adapter or default)
        tools = tools_of(self.tool)
        model, tokenizer = models.load(self.model, adapter=adapter, device=self.device)
        made = CalcGenerator(
            model,
            tokenizer,
            calculator=calculator.Calculator(self.backend),
            tools=tools,
            format=self.format,
            constrained=self.constrained,
        )
        note = ""
        if self.adapter is None and self.model in models.BUNDLED:
            if adapter is None:
                note = ", without curta's adapter, which was taught inline calls"
            elif tools:
                note = " of the calculator; for other tools name a larger model (--model)"
        print(f"{self.model} writes {made.calling.format.name}{note}", file=sys.stderr)
        return made
