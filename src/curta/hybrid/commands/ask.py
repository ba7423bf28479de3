"""`curta hybrid ask`: a language model with a unit answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from curta.errors import DataError
from curta.options import option, word


@dataclass(frozen=True)
class Options:
    """Ask a language model with a unit. What the unit computed, if it did, is said on stderr.

    question: in the words of one or more arguments
    unit:   from curta hybrid train
    model:  another language model than the one that it was trained for
    max_new_tokens: of the answer
    device: as cpu or cuda:1 (a GPU if there is one)
    """

    question: tuple[str, ...] = word("QUESTION")
    unit: str = option("unit", metavar="FOLDER")
    model: str | None = option(None, metavar="NAME")
    max_new_tokens: int = 256
    device: str | None = None


def run(options: Options) -> int:
    """The answer."""
    question = " ".join(options.question)
    if not question.strip():
        raise DataError("there is no question")
    if options.max_new_tokens < 1:
        raise DataError(f"--max-new-tokens {options.max_new_tokens}: at least 1")
    from curta.hybrid.evaluation import writer
    from curta.hybrid.saved import is_unit
    from curta.hybrid.unit import UnitModel

    name, unit = (options.model, options.unit) if options.model else (options.unit, None)
    if options.model is None and not is_unit(Path(options.unit)):
        raise DataError(
            f"--unit {options.unit}: no unit is there; make one with curta hybrid train"
        )
    model = UnitModel.from_pretrained(name, unit=unit, device=options.device)
    (output,) = writer(model, options.max_new_tokens)([question])
    for call in output.calls:
        print(f"computed: {call.expression}", file=sys.stderr)
    print(output.events[-1].text.strip())
    return 0
