"""How calls and answers are written: `<<calc: 87*24>> = 2088`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from curta.errors import CalculatorError, UserError

FormatName = Literal["inline", "prompted", "own", "equations"]
"""Ways to call, see `formats`."""


@dataclass(frozen=True)
class Protocol:
    """The markers around a call, and what is written behind it.

    answer, failure: {} stands for the result, or for what is wrong in a few words
    longest:         characters between the markers; a call that is longer is text
    most_calls:      in one answer; what looks like a call after so many is text
    """

    open: str = "<<calc:"
    close: str = ">>"
    answer: str = " = {}"
    failure: str = " = error: {}"
    longest: int = 300
    most_calls: int = 64

    def __post_init__(self) -> None:
        for name in ("open", "close"):
            if not getattr(self, name).strip() or "\n" in getattr(self, name):
                raise UserError(f"{name} = {getattr(self, name)!r}: a marker is a word or a sign")
        if self.close.startswith(self.open):
            raise UserError(
                f"open = {self.open!r} and close = {self.close!r}: two different markers"
            )

    def answered(self, text: str) -> str:
        """What follows a call with this result."""
        return self.answer.format(text)

    def failed(self, error: CalculatorError) -> str:
        """What follows a call without a result."""
        return self.failure.format(error.brief)
