"""One question with the answer that a model should learn to write."""

from __future__ import annotations

import re
from dataclasses import dataclass

from curta.delegate.interception.protocol import Protocol

PROTOCOL = Protocol()
CALL = re.compile(r"<<calc: (?P<expression>[^\n]*?)>>(?P<behind> = (?P<result>\S+))?")


@dataclass(frozen=True)
class Example:
    """A question and its answer.

    answer:   with calls and what is put behind them, as in `<<calc: 87*24>> = 2088`
    value:    the result that the answer comes to, as text; nothing where there is none to compute
    category: what kind of question it is
    template: what made it; training and test share no template
    """

    question: str
    answer: str
    value: str | None
    category: str
    template: str

    @property
    def expressions(self) -> tuple[str, ...]:
        """What the answer has computed, in order."""
        return tuple(match["expression"] for match in CALL.finditer(self.answer))

    @property
    def inline(self) -> str:
        """The same answer by a model that has no calculator: `87*24 = 2088`."""
        return CALL.sub(lambda match: f"{match['expression']}{match['behind'] or ''}", self.answer)
