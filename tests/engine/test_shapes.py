"""Sums of relus on whole numbers are the comparisons, staircases and tables that replace them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.compiler import Graph, compile, count_reached, equals, function_table
from curta.engine import load
from curta.engine.native.emit import model_to_c
from curta.engine.native.shapes import jumps_of, staircase_of

bends = st.lists(st.tuples(st.integers(-20, 20), st.integers(-5, 5)), min_size=1, max_size=8)


@given(bends)
def test_jumps_add_up_to_the_relus(found: list[tuple[int, int]]) -> None:
    jumps = jumps_of(found)
    flat = sum(c for _, c in found) == 0
    assert flat == (jumps is not None)
    for u in range(-30, 30) if jumps is not None else ():
        relus = sum(c * max(u - b, 0) for b, c in found)
        assert relus == sum(height for place, height in jumps if place <= u)


def test_regular_steps_are_a_staircase() -> None:
    steps = [bend for k in range(8, 64, 8) for bend in ((k - 1, 1), (k, -1))]
    jumps = jumps_of(steps)
    assert jumps is not None
    assert staircase_of(jumps) == (8, 8, 7)


def test_the_generated_code_shows_what_was_meant() -> None:
    graph = Graph([str(number) for number in range(10)])
    x = graph.running_sum(graph.feature("x", {str(number): number for number in range(10)}))
    high = count_reached(x, range(10, 10 * 64, 10))
    graph.emit(list(graph.tokens), function_table(high, [3, 1, 4, 1, 5, 9, 2, 6]) + equals(x, 45))
    model = compile(graph, 64)
    source = model_to_c(model)
    assert "staircase(" in source
    assert " == 45" in source
    prompt = [7, 9, 3, 8, 8, 5, 1]
    assert (
        load(model, "native").run(prompt, 20).tolist()
        == load(model, "evaluate").run(prompt, 20).tolist()
    )


@pytest.mark.parametrize("powers", [2, 3, 31])
def test_jumps_far_apart_are_comparisons(powers: int) -> None:
    """Counting leading zeros: a table would have 2**31 entries."""
    graph = Graph([str(number) for number in range(32)])
    x = graph.running_sum(graph.feature("x", {"1": 1, "2": 2**12, "3": 2**29}))
    bits = count_reached(x, [2**n for n in range(powers)])
    graph.emit(list(graph.tokens), bits)
    model = compile(graph, 64)
    assert "shape" not in model_to_c(model)
    prompt = [1, 1, 1, 2, 2, 3, 3, 1]
    said = [load(model, level).run(prompt, 1).tolist() for level in ("evaluate", "native")]
    assert said[0] == said[1]
