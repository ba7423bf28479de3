"""Benchmark of the calculator's backends. Run: python bench/calculator.py [--quick] [--only NAME]

Latency: one expression from its text to its value, by one call after the other; beside it Python's
own syntax tree evaluated over fractions, which has no bounds and few functions. Throughput: batches
from text, which are parsed first, and batches of programs that are ready. Everything on one
thread.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import operator
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends import NAMES, backend
from curta.delegate.calculator.operations import Program
from curta.delegate.calculator.parser import parse
from report import print_machine, print_table, spread

EXPRESSIONS = ("48/2", "(1+2)*3/7", "12.5*8+3", "sqrt(2)*100", "2^64+1")
SIZES = (1, 100, 10_000, 1_000_000)
MOST = {"machine": 100}
"""Larger batches of theirs take minutes."""

TREE = "ast and Fraction"
RATIONALS_ONLY = (TREE, "machine")

BUDGET = Budget()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="few rounds, batches up to 10,000")
    options.add_argument("--only", default="", help="backends with this in their names")
    chosen = options.parse_args()
    names = [name for name in NAMES if chosen.only in name]
    print_machine([])
    rounds = 3 if chosen.quick else 7
    show_latency(names, rounds)
    sizes = [size for size in SIZES if size <= 10_000 or not chosen.quick]
    show_throughput(names, sizes, rounds)


# -- latency ---------------------------------------------


def show_latency(names: Sequence[str], rounds: int) -> None:
    evaluate: dict[str, Callable[[str], Any]] = {TREE: by_syntax_tree}
    evaluate |= {name: Calculator(name).evaluate for name in names}
    rows = []
    for label, function in evaluate.items():
        cells = [
            "-"
            if "sqrt" in expression and label in RATIONALS_ONLY
            else spread([1e6 * each for each in repeated(function, expression, rounds)], 1)
            for expression in EXPRESSIONS
        ]
        rows.append([label, *cells])
    title = f"Microseconds for one expression: median of {rounds} rounds (smallest-largest)"
    print_table(title, ["backend", *EXPRESSIONS], rows)


def repeated(function: Callable[[str], Any], expression: str, rounds: int) -> list[float]:
    """Seconds of a call, in each round; a round lasts a twentieth of a second or a call."""
    function(expression)
    begun = time.perf_counter()
    function(expression)
    calls = max(1, int(0.05 / (time.perf_counter() - begun)))
    found = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(calls):
            function(expression)
        found.append((time.perf_counter() - begun) / calls)
    return found


OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def by_syntax_tree(expression: str) -> Fraction:
    """What a short program would do: no bounds, no functions."""
    return value_of(ast.parse(expression.replace("^", "**"), mode="eval").body)


def value_of(node: ast.expr) -> Fraction:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    assert isinstance(node, ast.Constant)
    return Fraction(str(node.value))


# -- throughput ---------------------------------------------


def show_throughput(names: Sequence[str], sizes: Sequence[int], rounds: int) -> None:
    """Different numbers in all expressions, so that nothing is computed twice."""
    rows = []
    for name in names:
        for form, prepare, function in forms(name):
            cells = []
            for size in sizes:
                if size > MOST.get(name, size):
                    cells.append("-")
                    continue
                given = prepare(texts(size))
                function(given)
                fewer = rounds if size <= 10_000 else 3
                rates = [size / seconds(function, given) / 1e3 for _ in range(fewer)]
                cells.append(spread(rates, 1))
            rows.append([name, form, *cells])
    title = f"Thousand expressions a second: median of {rounds} rounds, of 3 for a million"
    print_table(title, ["backend", "from", *(f"{size:,} at once" for size in sizes)], rows)


def forms(name: str) -> list[tuple[str, Callable[[list[str]], Any], Callable[[Any], Any]]]:
    """What is timed: how it is called, what is done before the clock starts, and the call."""
    return [
        ("text", lambda given: given, Calculator(name).evaluate_all),
        ("programs", parsed, backend(name, BUDGET).evaluate),
    ]


def texts(size: int) -> list[str]:
    patterns = ("{}/{}", "({}+2)*3/{}", "12.5*{}+{}", "({}-{})^2", "2^6+{}-{}")
    numbers = itertools.count(1)
    shapes = itertools.cycle(patterns)
    return [next(shapes).format(next(numbers) % 997, next(numbers) % 991 + 1) for _ in range(size)]


def parsed(given: list[str]) -> list[Program]:
    return [parse(text, BUDGET) for text in given]


def seconds(function: Callable[[Any], Any], given: Any) -> float:
    begun = time.perf_counter()
    function(given)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
