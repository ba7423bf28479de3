"""What the float unit makes of relus means what float_terms.py has in its place.

For all integers: each node is evaluated as sums of relus (graph_terms.py). Constants are those that
the float unit has, or edges; of splits, all that it has.
"""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3

from curta import compiler
from curta.compiler import Graph, Node
from curta.compiler.derived import split_top
from tests.machine.theorems import float_terms
from tests.machine.theorems.graph_terms import Evaluator
from tests.support.float_unit import FloatUnit
from tests.support.slow import some

LIMB = 24
SPLITS = [(47, 24), (48, 24), (49, 25), (30, 6), (28, 5), (24, 7), (17, 1), (12, 11)]
"""How many bits a number has, and how many of them are split off."""
PLACES = (-1, 0, 1, 8, 24, 2**16 + 1, 0x7FF0_0000, 2**32)
THRESHOLDS = {
    "quarters": [4, 8, 12],
    "carries": [2**24, 2**25],
    "carries of sums": [0, 2**24],
    "carries of what is left": [2**24 * n for n in range(-34, 16)],
    "length": [2**n for n in range(LIMB)],
    "eighths": [2**29 * n for n in range(1, 8)],
}


class Unknowns:
    """Nodes for unknown integers, and what is known of these."""

    def __init__(self, **bounds: tuple[int, int] | None) -> None:
        self.graph = Graph(["a token"])
        self.nodes = {name: self.graph.declare(name) for name in bounds}
        self.terms = {name: z3.Int(name) for name in bounds}
        given = {self.nodes[name].index: self.terms[name] for name in bounds}
        facts = []
        for name, limits in bounds.items():
            if limits is not None:
                facts += [self.terms[name] >= limits[0], self.terms[name] <= limits[1]]
        self.evaluator = Evaluator(self.graph, given, facts)

    def check(self, found: Node, intended: z3.ArithRef) -> None:
        self.evaluator.check(self.evaluator.term(found) == intended)


@pytest.mark.parametrize("place", PLACES)
def test_thresholds(place: int) -> None:
    now = Unknowns(x=None)
    x, term = now.nodes["x"], now.terms["x"]
    now.check(compiler.at_least(x, place), z3.If(term >= place, 1, 0))
    now.check(compiler.at_most(x, place), z3.If(term <= place, 1, 0))
    now.check(compiler.equals(x, place), z3.If(term == place, 1, 0))


def test_larger_and_smaller() -> None:
    now = Unknowns(x=None, y=None)
    x, y = now.nodes.values()
    a, b = now.terms.values()
    now.check(compiler.maximum(x, y), z3.If(a >= b, a, b))
    now.check(compiler.minimum(x, y), z3.If(a <= b, a, b))
    for low, high in ((-1, 1), (0, 2**24 - 1), (0, 192), (-4096, 4096)):
        now.check(compiler.clamp(x, low, high), z3.If(a < low, low, z3.If(a > high, high, a)))


def test_conditions() -> None:
    bits = dict.fromkeys("pqrs", (0, 1))
    now = Unknowns(**bits, x=None, y=None)
    p, q, r, s, x, y = now.nodes.values()
    a, b, c, d, e, f = now.terms.values()
    now.check(compiler.both(p, q), z3.If(z3.And(a == 1, b == 1), 1, 0))
    now.check(compiler.both(p, q, r, s), z3.If(z3.And(a == 1, b == 1, c == 1, d == 1), 1, 0))
    now.check(compiler.either(p, q), z3.If(z3.Or(a == 1, b == 1), 1, 0))
    now.check(compiler.differ(p, q), z3.If(a != b, 1, 0))
    now.check(compiler.select(p, x, y), z3.If(a == 1, e, f))


@pytest.mark.parametrize("name", THRESHOLDS)
def test_counts(name: str) -> None:
    now = Unknowns(x=None)
    reached = [z3.If(now.terms["x"] >= place, 1, 0) for place in THRESHOLDS[name]]
    now.check(compiler.count_reached(now.nodes["x"], THRESHOLDS[name]), z3.Sum(reached))


TABLES = {
    "powers": [2**n for n in range(LIMB + 1)],
    "falling powers": [2 ** (LIMB - 1 - n) for n in range(LIMB)],
    "which is odd": [n % 2 for n in range(16)],
    "which place is odd": [(n + 1) % 2 for n in range(3 * LIMB + 1)],
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    """Of each place, and beyond the ends."""
    values = TABLES[name]
    for place in (-1, *range(len(values) + 1), 5000):
        graph = Graph(["a token"])
        x = graph.declare("x")
        found = Evaluator(graph, {x.index: place}).term(compiler.function_table(x, values))
        assert found == values[min(max(place, 0), len(values) - 1)]


@pytest.mark.parametrize(("bits", "top"), some(4, SPLITS))
def test_splits(bits: int, top: int) -> None:
    """The upper bits one by one, and what is left of the number."""
    graph = Graph(["a token"])
    x = graph.declare("x")
    above, below = split_top(x, bits, top)
    left = bits - top
    digits = [z3.Int(f"bit {place}") for place in range(left, bits)]
    facts = [z3.And(digit >= 0, digit <= 1) for digit in digits]
    number = z3.Sum([digit * 2**place for place, digit in enumerate(digits, left)])
    rest = z3.Int("rest")
    facts += [rest >= 0, rest < 2**left]
    evaluator = Evaluator(graph, {x.index: number + rest}, facts)
    evaluator.check(evaluator.term(below) == rest)
    evaluator.check(2**left * evaluator.term(above) + evaluator.term(below) == number + rest)


def test_all_splits_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()

    def recorded(x: Node, bits: int, top: int) -> tuple[Node, Node]:
        found.add((bits, top))
        return split_top(x, bits, top)

    float_terms.replace_everywhere(monkeypatch, "split_top", recorded)
    FloatUnit.built("high", "low", "single")
    assert found == set(SPLITS)


def test_all_meanings_are_compared() -> None:
    compared = {
        "at_least",
        "at_most",
        "equals",
        "maximum",
        "minimum",
        "clamp",
        "both",
        "either",
        "differ",
    }
    compared |= {"select", "count_reached", "function_table", "split_top"}
    assert compared == set(float_terms.MEANINGS)
