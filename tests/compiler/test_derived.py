"""Every derived operation against Python, on every number of a small range."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product as pairs

import pytest

import curta.compiler as language
from curta.compiler import Graph, Node, compile
from curta.compiler.derived import graph_of, split_top
from curta.engine.evaluate import GraphSession
from curta.errors import GraphError

NUMBERS = range(-5, 6)


def values_of(build: Callable[[Node], Node], numbers: range = NUMBERS) -> list[object]:
    """The node for every number, in exact arithmetic."""
    graph = Graph([str(number) for number in numbers])
    x = graph.feature("x", {str(number): number for number in numbers})
    graph.score(str(numbers[0]), build(x))
    session = GraphSession(compile(graph, 8).graph)
    found = []
    for token in range(len(numbers)):
        session.feed(token)
        found.append(session.values[session.graph.families[0].base])
    return found


def values_of_two(build: Callable[[Node, Node], Node], numbers: range) -> dict[object, object]:
    """The node for every pair of numbers."""
    names = {f"{a},{b}": (a, b) for a, b in pairs(numbers, numbers)}
    graph = Graph(names)
    x = graph.feature("x", {name: a for name, (a, _) in names.items()})
    y = graph.feature("y", {name: b for name, (_, b) in names.items()})
    graph.score(next(iter(names)), build(x, y))
    session = GraphSession(compile(graph, 8).graph)
    found: dict[object, object] = {}
    for token, pair in enumerate(names.values()):
        session.feed(token)
        found[pair] = session.values[session.graph.families[0].base]
    return found


ONE: dict[str, tuple[Callable[[Node], Node], Callable[[int], object]]] = {
    "relu": (language.relu, lambda x: max(x, 0)),
    "absolute": (language.absolute, abs),
    "at_least": (lambda x: language.at_least(x, 2), lambda x: x >= 2),
    "at_least negative": (lambda x: language.at_least(x, -3), lambda x: x >= -3),
    "at_most": (lambda x: language.at_most(x, -1), lambda x: x <= -1),
    "equals": (lambda x: language.equals(x, -2), lambda x: x == -2),
    "equals none": (lambda x: language.equals(x, 77), lambda x: False),
    "invert": (lambda x: language.invert(language.at_least(x, 0)), lambda x: x < 0),
    "maximum": (lambda x: language.maximum(x, 1), lambda x: max(x, 1)),
    "minimum": (lambda x: language.minimum(x, -1), lambda x: min(x, -1)),
    "clamp": (lambda x: language.clamp(x, -2, 3), lambda x: min(max(x, -2), 3)),
    "clamp to one": (lambda x: language.clamp(x, 1, 1), lambda x: 1),
    "function_table": (
        lambda x: language.function_table(x, [3, 1, 4, 1, 5]),
        lambda x: [3, 1, 4, 1, 5][min(max(x, 0), 4)],
    ),
    "function_table mapping": (
        lambda x: language.function_table(x, {-2: 7, -1: 7, 0: -7, 1: 0}),
        lambda x: {-2: 7, -1: 7, 0: -7, 1: 0}[min(max(x, -2), 1)],
    ),
    "function_table constant": (lambda x: language.function_table(x, {3: 9}), lambda x: 9),
    "count_reached": (
        lambda x: language.count_reached(x, [0, 2, 2, -4]),
        lambda x: sum(x >= threshold for threshold in (0, 2, 2, -4)),
    ),
    "count_reached none": (lambda x: language.count_reached(x, []), lambda x: 0),
    "square": (lambda x: language.product(x, x), lambda x: x * x),
    "halves": (
        lambda x: language.product(x * 0.5, x - 0.25),
        lambda x: Fraction(x, 2) * (x - Fraction(1, 4)),
    ),
}


@pytest.mark.parametrize("name", list(ONE))
def test_functions_of_one_number(name: str) -> None:
    built, wanted = ONE[name]
    assert values_of(built) == [wanted(x) for x in NUMBERS]


TWO: dict[str, tuple[Callable[[Node, Node], Node], Callable[[int, int], object]]] = {
    "at_least": (language.at_least, lambda x, y: x >= y),
    "at_most": (language.at_most, lambda x, y: x <= y),
    "equals": (language.equals, lambda x, y: x == y),
    "product": (language.product, lambda x, y: x * y),
    "maximum": (language.maximum, max),
    "minimum": (language.minimum, min),
}


@pytest.mark.parametrize("name", list(TWO))
def test_functions_of_two_numbers(name: str) -> None:
    built, wanted = TWO[name]
    found = values_of_two(built, range(-3, 4))
    assert found == {(x, y): wanted(x, y) for x, y in pairs(range(-3, 4), repeat=2)}


CONDITIONS: dict[str, tuple[Callable[[Node, Node], Node], Callable[[int, int], object]]] = {
    "both": (language.both, lambda x, y: x and y),
    "either": (language.either, lambda x, y: x or y),
    "differ": (language.differ, lambda x, y: x != y),
    "select": (lambda x, y: language.select(x, y + 3, 7 - y), lambda x, y: y + 3 if x else 7 - y),
    "select constants": (lambda x, y: language.select(x, 0.5, -2), lambda x, y: 0.5 if x else -2),
    "three": (lambda x, y: language.both(x, y, 1 - x), lambda x, y: 0),
    "one": (lambda x, y: language.both(y) - language.either(y), lambda x, y: 0),
}


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_functions_of_conditions(name: str) -> None:
    built, wanted = CONDITIONS[name]
    found = values_of_two(built, range(2))
    assert found == {(x, y): wanted(x, y) for x, y in pairs(range(2), repeat=2)}


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 20, 99])
def test_quotients_and_remainders(divisor: int) -> None:
    numbers = range(21)
    quotients = values_of(lambda x: language.quotient_of(x, divisor, 20), numbers)
    remainders = values_of(lambda x: language.remainder_of(x, divisor, 20), numbers)
    assert list(zip(quotients, remainders, strict=True)) == [divmod(x, divisor) for x in numbers]


@pytest.mark.parametrize("top", range(9))
def test_split_top(top: int) -> None:
    """Stages of five bits: one, exactly one, two."""
    for part in (0, 1):
        found = values_of(lambda x: split_top(x, 8, top)[part], range(256))  # noqa: B023
        assert found == [divmod(x, 1 << (8 - top))[part] for x in range(256)]


def values_along(build: Callable[[Node], Node], ids: list[int]) -> list[object]:
    graph = Graph(["0", "1", "2"])
    graph.score("0", build(graph.feature("x", {"1": 1, "2": 2})))
    session = GraphSession(compile(graph, 16).graph)
    found = []
    for token in ids:
        session.feed(token)
        found.append(session.values[session.graph.families[0].base])
    return found


@pytest.mark.parametrize("distance", [0, 1, 3, 99])
@pytest.mark.parametrize("default", [0, -4])
def test_back(distance: int, default: int) -> None:
    ids = [2, 1, 0, 1, 2, 2]
    wanted = [ids[n - distance] if n >= distance else default for n in range(len(ids))]
    assert values_along(lambda x: language.back(distance, x, default), ids) == wanted


def test_at_position() -> None:
    ids = [2, 1, 0, 1, 2, 2]
    found = values_along(lambda x: language.at_position(x.graph.position_feature(2), x), ids)
    assert found == [ids[n // 2] for n in range(len(ids))]


def test_constants_alone_belong_to_no_graph() -> None:
    graph = Graph(["a"])
    assert graph_of(1, graph.position, 2) is graph
    with pytest.raises(GraphError, match="at least one node"):
        graph_of(1, 2.5)


@pytest.mark.parametrize("values", [{0: 1, 2: 3}, {-1: 0, 1: 0}])
def test_a_table_with_gaps(values: dict[int, int]) -> None:
    with pytest.raises(GraphError, match=r"a value for every integer -?\d+\.\.\d"):
        language.function_table(Graph(["a"]).position, values)
