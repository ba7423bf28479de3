r"""Calculations as a model writes them anyway: what is put behind `87 \times 48 =` is the result.

Nothing is explained and nothing has to be learned. The model reasons as it came; where it has
written a calculation and an equals sign, the number behind it is the calculator's. What cannot be
read beyond doubt, as algebra, is text, and so is what has no result: the model goes on by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from curta.delegate.calculations import LEFT, readable, spelt_plainly, unclear
from curta.delegate.data.example import CALCULATOR
from curta.delegate.interception.events import CALCULATE, CallResult, Outcome, TextDelta
from curta.delegate.interception.formats import Inline
from curta.delegate.interception.scanner import Closed, Found, Marker, Scanner
from curta.delegate.tools.tool import Tool
from curta.errors import UserError

EQUALS = Marker("=", "")
SIGN = re.compile(r"(?<![<>=!:])=(?![=>])")
LAST = re.compile(rf"(?<![0-9A-Za-z_.,:/\\])(?P<left>{LEFT}) ?$")
WRITTEN = (
    (re.compile(r"\\(?:text|mathrm|textbf)\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}"), r"((\1)/(\2))"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:left|right|[,;! ])"), ""),
)
"""What LaTeX puts around numbers and units, and what is read instead."""

LED_IN = re.compile(
    r"(?:^|[\[=$]|(?<![0-9]):|\b(?i:is|are|has|have|so|then|thus|becomes|gives|us|get),?)\s*$"
)
"""What may stand before a calculation in its line: otherwise it may be a part of something longer.
"""

BROKEN = re.compile(r"([-+*/×·⋅÷−–^(,]|\\(?:times|cdot|div))\s*\n\s*")
"""A calculation that goes on in the next line: it is read as one."""

CONTINUED = "…"
"""Stands for the text that a model goes on with."""

LONGEST = 300
"""Characters of a line in which a calculation is looked for."""


@dataclass(frozen=True)
class Equations(Inline):
    """Calls that are the model's own calculations: `87 * 48 =` is one, answered by ` 4176`.

    continued: whether the answer goes on with a text, which may have begun its first calculation
    """

    name: str = "calculations in the model's own words"
    continued: bool = False

    @property
    def markers(self) -> tuple[Marker, ...]:
        return (EQUALS,)

    def scanner(self) -> EquationScanner:
        return EquationScanner(self.protocol.most_calls, CONTINUED if self.continued else "")

    def with_tools(self, tools: Sequence[Tool]) -> Equations:
        if other := next((tool.name for tool in tools if tool.name != CALCULATE), None):
            raise UserError(f"--format equations: {other} is not called by an equals sign; use own")
        return self

    def tool_of(self, marker: Marker) -> Tool:
        return self.tools[0]

    def opening(self, name: str) -> str:
        raise UserError("--format equations: no call can be asked for; use own")

    def behind(self, outcomes: Sequence[Outcome]) -> str:
        return "".join(f" {each.answer}" for each in outcomes if isinstance(each, CallResult))


class EquationScanner(Scanner):
    """Looks for equals signs behind calculations. Nothing is ever held back, as no call is begun
    before it is complete.
    """

    def __init__(self, most_calls: int, line: str = "") -> None:
        super().__init__((), LONGEST, most_calls)
        self.line = line
        """What has been written of a line."""

    def feed(self, piece: str) -> list[Found]:
        """What is known now; a call is always the last, as what follows is the answer."""
        begin = len(self.line)
        for sign in SIGN.finditer(self.line + piece, begin):
            before, rest = piece[: sign.start() - begin], piece[sign.end() - begin :]
            expression = calculation_at_end(last_line(self.line + before))
            if expression is None or self.calls >= self.most_calls:
                continue
            self.calls += 1
            self.answered(f"{before}=")
            text: list[Found] = [TextDelta(before)] if before else []
            return [*text, Closed(EQUALS, expression, "=", rest)]
        self.answered(piece)
        return [TextDelta(piece)] if piece else []

    def answered(self, text: str) -> None:
        """So much has been written, whoever wrote it."""
        self.line = last_line(self.line + text)

    def turn(self) -> list[Found]:
        """Nothing waits for a turn's end."""
        self.line = ""
        return []


def last_line(text: str) -> str:
    """As much of it as is looked at."""
    return BROKEN.sub(r"\1 ", text).rpartition("\n")[2][-LONGEST:]


def calculation_at_end(line: str) -> str | None:
    """The calculation that a line ends with, as the calculator reads it; if it has a result."""
    plain = line.rstrip(" &")
    for written, read in WRITTEN:
        plain = written.sub(read, plain)
    plain = spelt_plainly(plain).replace("( ", "(").replace(" )", ")")
    found = LAST.search(plain)
    if found is None or not LED_IN.search(plain[: found.start()]) or unclear(found["left"]):
        return None
    expression = readable(found["left"])
    return None if CALCULATOR.number(expression) is None else expression
