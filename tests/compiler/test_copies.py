"""Sums that share gates in different proportions."""

from __future__ import annotations

import pytest

from curta.compiler import Graph, Node, compile, count_reached, equals, function_table, minimum
from curta.engine import Engine, load

WORD = 2**32
LEVELS = ["evaluate", "plain", "hull", "native"]


def word(graph: Graph) -> Node:
    """0, 7, 2**31 or 2**32 - 1, by the token."""
    return graph.feature("word", {"a": 7, "b": WORD // 2, "c": WORD - 1})


def running(graph: Graph) -> Node:
    return graph.assume(graph.running_sum(word(graph)), 0, WORD - 1)


def first(engine: Engine, prompt: str) -> str:
    """What is said after the prompt."""
    return next(iter(engine.generate(list(prompt), 1)))


@pytest.mark.parametrize("level", LEVELS)
def test_a_digit_beside_a_comparison_with_the_same_steps(level: str) -> None:
    """x // 2**28 and x == 2**31 both need relu(x - 2**31), at different rates."""
    graph = Graph([*"abcd", *map(str, range(16))])
    x = running(graph)
    digit = count_reached(x, [2**28 * n for n in range(1, 16)])
    rest = x - 2**28 * digit
    small = count_reached(rest, [2, 5])
    graph.emit([str(n) for n in range(16)], digit + small - 5 * equals(x, WORD // 2))
    engine = load(compile(graph, 100), level)
    said = [first(engine, prompt) for prompt in ("d", "a", "b", "c", "ab")]
    assert said == ["0", "2", "3", "15", "10"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_minimum_beside_a_comparison(level: str) -> None:
    """relu(y - x) alone, and as half of a comparison with a large factor."""
    graph = Graph([*"abcd", *map(str, range(10))])
    x, y = running(graph), word(graph)
    less = count_reached(y - x, [1])
    wrapped = x - y + WORD * less
    both = equals(minimum(x, y), y) + 2 * equals(wrapped, 0)
    graph.emit([str(n) for n in range(10)], both)
    engine = load(compile(graph, 100), level)
    assert [first(engine, prompt) for prompt in ("a", "ab", "aa")] == ["3", "1", "1"]


def test_columns_of_one_table_take_one_slot_each() -> None:
    graph = Graph([*"abcd", *map(str, range(10))])
    x = graph.running_sum(graph.is_token("a"))
    columns = [function_table(x, [(n * factor) % 7 for n in range(200)]) for factor in (3, 5, 6)]
    graph.emit([str(n) for n in range(10)], columns[0])
    for token, column in zip("abc", columns, strict=True):
        graph.score(token, column - 10)
    model = compile(graph, 300)
    assert model.plan["width"] < 20
    assert first(load(model, "native"), "a" * 9) == str(9 * 3 % 7)
