"""Calls that fail, and how an answer goes on behind them; questions that have no answer.

A call that fails ends a line of its own with what was wrong about it; the next line goes on. In
training such a call is read and not learned: a model should learn to recover, not to err. What
stands behind it is what the calculator says.
"""

from __future__ import annotations

from curta.delegate.data.draw import CALCULATOR, Call, Draw
from curta.delegate.data.example import PROTOCOL
from curta.errors import CalculatorError, DataError

CATEGORY = "mistake"


def fails(expression: str) -> CalculatorError:
    """Why the calculator refuses a call; an error if it does not."""
    try:
        result = CALCULATOR.evaluate(expression)
    except CalculatorError as error:
        return error
    raise DataError(f"{expression}: this has the value {result.text}, it does not fail")


def answer(
    draw: Draw, expression: str, reasons: list[str], right: Call | None
) -> tuple[str, Call | str]:
    """An answer and its result: the first call fails, and the next one is written rightly.

    Where there is none, the question has no answer, which is said at once or behind that call.
    """
    error = fails(expression)
    failed = f"{PROTOCOL.open} {expression}{PROTOCOL.close}{PROTOCOL.failed(error)}"
    if right is None:
        reason = draw.choose(*reasons)
        text = f"{failed}\n{reason}" if draw.chance() < 0.5 else reason
        return text, error.brief
    before = draw.choose("", "", "Let me compute that: ", "I work it out: ")
    again = draw.choose("Again: ", "Once more: ", "Written rightly it is ", "")
    return f"{before}{failed}. {draw.choose(*reasons)}\n{again}{right.said}", right
