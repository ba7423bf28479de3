"""One question with the answer that a model should learn to write."""

from __future__ import annotations

import re
from dataclasses import dataclass

from curta.delegate.calculator import Calculator
from curta.delegate.interception.protocol import Protocol
from curta.errors import CalculatorError

PROTOCOL = Protocol()
CALCULATOR = Calculator()
KINDS: list[type[CalculatorError]] = [CalculatorError, *CalculatorError.__subclasses__()]
ERRORS = {kind.brief: kind for kind in KINDS}
"""What a model is told where a call has no result."""
FAILURE = "error: (?:" + "|".join(sorted(ERRORS, key=len, reverse=True)) + ")"
RESULT = r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?|true|false"
"""All that the calculator prints."""

CALL = re.compile(
    r"<<calc: (?P<expression>[^\n]*?)>>"
    rf"(?P<behind> = (?P<result>(?P<failure>{FAILURE})|{RESULT}))?"
)


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
        """The same answer by a model that has no calculator: `87*24 = 2088`.

        A line with a call that fails is left out: nobody errs like that without a calculator.
        """
        lines = self.answer.split("\n")
        plain = "\n".join(line for line in lines if not has_failure(line))
        return CALL.sub(lambda match: f"{match['expression']}{match['behind'] or ''}", plain)


def has_failure(answer: str) -> bool:
    """Whether a call in it was answered by an error."""
    return any(call["failure"] for call in CALL.finditer(answer))
