"""`curta calc eval`: the calculator alone."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction

from curta.delegate.options import Calculating
from curta.errors import CalculatorError
from curta.options import word
from curta.terminal import AsJson, spinning

LONG = 80
"""Characters of an expression that an error repeats."""
WORKING = {"machine": "the transformer computes; before its first run it is compiled"}
"""What takes longer than a moment."""


@dataclass(frozen=True)
class Options(AsJson, Calculating):
    """Evaluate expressions: whole numbers, decimals, + - * / // % ^, parentheses, comparisons,
    functions; exactly wherever there is an exact answer. Rounded results say so. One line each.

    expressions: one in each argument; - reads lines of standard input
    """

    expressions: tuple[str, ...] = word("EXPRESSION", dashes=True)


@dataclass(frozen=True)
class Result:
    """What one of them comes to.

    expression: as it was given
    text:       of the result
    exact:      whether the text says exactly what the expression is worth
    fraction:   what it is exactly, if it is a short fraction
    error:      why there is no result
    """

    expression: str
    text: str | None
    exact: bool
    fraction: str | None = None
    error: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"error: {self.error}"
        exactly = f"; exactly {self.fraction}" if self.fraction else ""
        return f"{self.text}" if self.exact else f"{self.text}  (rounded{exactly})"


@dataclass(frozen=True)
class Report:
    """What they come to.

    results: in their order
    """

    results: tuple[Result, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.results))


def run(options: Options) -> int:
    """A line for each expression; 2 if one of them has no value, which stderr says more about."""
    from curta.delegate.calculator import Calculator

    expressions = options.expressions
    if expressions == ("-",):
        expressions = tuple(line.strip() for line in sys.stdin)
    calculator = Calculator(options.backend)
    with spinning(WORKING.get(options.backend, "computing")):
        found = calculator.evaluate_all(expressions)
    results = []
    for expression, outcome in zip(expressions, found, strict=True):
        if isinstance(outcome, CalculatorError):
            print(f"curta: {short(expression)}: {outcome}", file=sys.stderr)
            results.append(Result(expression, None, False, error=outcome.brief))
        else:
            fraction = None if outcome.exact else short_fraction(outcome.value)
            results.append(Result(expression, outcome.text, outcome.exact, fraction))
    options.show(Report(tuple(results)))
    return 2 if any(result.error for result in results) else 0


def short(expression: str) -> str:
    """An expression in a line of an error."""
    if len(expression) > LONG:
        return f"{expression[:LONG]}... ({len(expression):,} characters)"
    return expression or "(empty)"


def short_fraction(value: object) -> str | None:
    """The exact value behind a rounded text, if it is not too long to be read."""
    return str(value) if isinstance(value, Fraction) and len(str(value)) <= 40 else None
