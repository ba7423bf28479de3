"""The calculator on the command line."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction

from curta.app.parser import Parser


def add_calc(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta calc eval EXPRESSION ...`"""
    calc = commands.add_parser("calc", help="the calculator that language models call")
    inner = calc.add_subparsers(title="commands", required=True, metavar="COMMAND")
    evaluate = inner.add_parser(
        "eval",
        help="evaluate expressions",
        description="Whole numbers, decimals, + - * / // % ^, parentheses, comparisons, functions; "
        "exactly wherever there is an exact answer. Rounded results say so. One line each; - "
        "reads expressions from standard input.",
    )
    evaluate.prepare = keep_minus
    evaluate.add_argument("expressions", nargs="+", metavar="EXPRESSION")
    evaluate.add_argument(
        "--backend",
        choices=("exact", "kernel", "torch", "machine"),
        default="exact",
        help="exact (the default); float64 by compiled code or PyTorch; or rationals by a program "
        "that the transformer executes",
    )
    evaluate.set_defaults(command=evaluate_expressions)


def keep_minus(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """-2^2 is an expression, not an option: with a space before it argparse sees that, too."""
    known = {*parser._option_string_actions, "-"}
    return [
        f" {word}" if word[:1] == "-" and word[:2] != "--" and word not in known else word
        for word in args
    ]


def evaluate_expressions(options: argparse.Namespace) -> int:
    """A line for each expression; 2 if one of them has no value."""
    from curta.delegate.calculator import Calculator
    from curta.errors import CalculatorError

    expressions = options.expressions
    if expressions == ["-"]:
        expressions = [line.rstrip("\n") for line in sys.stdin]
    failed = False
    for expression, result in zip(
        expressions, Calculator(options.backend).evaluate_all(expressions), strict=True
    ):
        if isinstance(result, CalculatorError):
            print(f"curta: {expression}: {result}", file=sys.stderr)
            failed = True
            continue
        print(result.text if result.exact else f"{result.text}  (rounded{exactly(result.value)})")
    return 2 if failed else 0


def exactly(value: object) -> str:
    """The exact value behind a rounded text, if it is a short fraction."""
    if isinstance(value, Fraction) and len(str(value)) <= 40:
        return f"; exactly {value}"
    return ""
