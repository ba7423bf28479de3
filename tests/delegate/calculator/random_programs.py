"""Random programs over the whole table of operations, with and without a value."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from curta.delegate.calculator.operations import CONSTANTS, TABLE, Apply, Operation, Program
from curta.delegate.calculator.reals import Rational

OF_WHOLE_NUMBERS = {"factorial", "comb", "perm", "gcd", "lcm"}
NUMBERS = [operation for operation in TABLE if operation.most and not operation.compares]
COMPARISONS = [operation for operation in TABLE if operation.compares]
SELDOM_RATIONAL = {
    *("acos", "asin", "atan", "cos", "degrees", "exp", "ln", "log10", "radians", "sin", "tan")
}
RATIONALS = [operation for operation in NUMBERS if operation.name not in SELDOM_RATIONAL]
"""Operations of which many results are rational."""

Shape = tuple[Apply | str, ...]
"""Steps in which numbers are words that say what kind of number comes there."""


def shape(drawn: random.Random, operations: list[Operation]) -> Shape:
    """The steps of one expression; a tenth are comparisons."""
    if drawn.random() < 0.1:
        compared = Apply(drawn.choice(COMPARISONS), 2)
        left, right = (operand(drawn, operations, "any", 2) for _ in range(2))
        return (*left, *right, compared)
    return operand(drawn, operations, "any", drawn.choice((1, 2, 2, 3)))


def operand(drawn: random.Random, operations: list[Operation], kind: str, depth: int) -> Shape:
    """A number, or an operation and its operands."""
    if depth == 0 or drawn.random() < (0.85 if kind == "count" else 0.2):
        return (kind,)
    operation = drawn.choice(operations)
    operands = drawn.randint(operation.least, min(operation.most, 5))
    steps: list[Apply | str] = []
    for place in range(operands):
        steps += operand(drawn, operations, wanted(operation, place), depth - 1)
    return (*steps, Apply(operation, operands))


def wanted(operation: Operation, place: int) -> str:
    """The kind of number that an operand of an operation often is."""
    if operation.name in OF_WHOLE_NUMBERS:
        return "count"
    if operation.name in ("power", "round") and place == 1:
        return "small"
    return "any"


def filled(given: Shape, drawn: random.Random, inexact: bool = True) -> Program:
    """The shape with numbers; without constants such as pi unless these may be inexact."""
    steps = tuple(
        step if isinstance(step, Apply) else number(step, drawn, inexact) for step in given
    )
    last = steps[-1]
    return Program("", steps, isinstance(last, Apply) and last.operation.compares)


def number(kind: str, drawn: random.Random, inexact: bool) -> Rational | Apply:
    """A number: most are what somebody would write."""
    chance = drawn.random()
    if kind == "count":
        most = drawn.choice((5, 20, 20, 200, 2_000, 10**6))
        return drawn.randint(0, most) if chance < 0.97 else -1
    if kind == "small":
        return drawn.randint(-6, 9) if chance < 0.8 else reduced(drawn.randint(-9, 40), 8)
    if chance < 0.1:
        return drawn.choice((0, 1, 1, 2, 10, 100))
    if chance < 0.5:
        return drawn.randint(-30, 10 ** drawn.randint(1, 6))
    if chance < 0.9:
        above = drawn.randint(-(10**3), 10 ** drawn.randint(2, 6))
        return reduced(above, 10 ** drawn.randint(1, 4))
    if chance < 0.94:
        return drawn.randint(-(10**20), 10**20)
    if chance < 0.97 and inexact:
        return Apply(drawn.choice(list(CONSTANTS.values())), 0)
    power = 10 ** drawn.randint(0, 308)
    digits = drawn.randint(1, 99)
    return reduced(digits, power) if drawn.random() < 0.5 else digits * power


def reduced(above: int, below: int) -> Rational:
    value = Fraction(above, below)
    return value.numerator if value.denominator == 1 else value


def programs(
    count: int,
    seed: int,
    operations: list[Operation] = NUMBERS,
    each: int = 1,
    inexact: bool = True,
) -> Iterator[Program]:
    """So many programs; `each` says how many have the same shape."""
    drawn = random.Random(seed)
    for number_of_shape in range(-(-count // each)):
        given = shape(drawn, operations)
        for _ in range(min(each, count - number_of_shape * each)):
            yield filled(given, drawn, inexact)
