"""Sums of relus on whole numbers are the comparisons, staircases and tables that replace them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.compiler import Graph, at_least, compile, count_reached, equals, function_table
from curta.engine import load
from curta.engine.native.case import FEWEST_COUNTED, Case, Facts
from curta.engine.native.emit import model_to_c
from curta.engine.native.expressions import multiples_in
from curta.engine.native.shapes import jumps_of, staircase_of
from curta.engine.native.values import Parameter, Pool, Sum, constant, sum_of
from tests.engine.test_cases import meaning

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


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Case, Sum, bool]:
    """Of a number with multiples of another in any order, of which one may be beside the row."""
    pool = Pool(64)
    number, of = (pool.value(Parameter(name, -9, 99), 0) for name in "ab")
    step = of if draw(st.booleans()) else of.scaled(-1).plus(constant(9))
    places = draw(st.permutations(range(1, draw(st.integers(FEWEST_COUNTED, 12)) + 1)))
    beside = draw(st.sampled_from([*places, None, None, None]))
    weight, terms = draw(st.sampled_from([1, -1, 3])), list[Sum]()
    for place in places:
        past = number.plus(step, -place - 20 * (place == beside))
        terms.append(pool.steps(past.without_constant, ((-past.added, 1),)))
    facts = Facts(bounds={of: (draw(st.sampled_from([0, 1, -1])), 9)})
    if step != of:
        facts = Facts(bounds={of: (-9, draw(st.sampled_from([9, 8, 10])))})
    is_known = beside is None and Case(pool, facts).range(step)[0] >= 0
    added = constant(draw(st.sampled_from([0, 0, 1, -2])))
    total = sum_of([(added, 1), *((term, weight) for term in terms)])
    return Case(pool, facts), total, is_known


@given(comparisons())
def test_multiples_are_counted(drawn: tuple[Case, Sum, bool]) -> None:
    case, total, is_known = drawn
    found = multiples_in(case, total)
    assert (found is not None) == is_known
    for a in range(-9, 100, 4) if found else ():
        for b in range(-9, 100):
            point = {"a": a, "b": b}
            of, up_to = (meaning(case.pool, one, point) for one in (found.of, found.up_to))
            if of >= 0:
                count = min(up_to // of, found.most) if of else found.most * (up_to >= 0)
                counted = found.weight * max(count, 0) + found.added
                assert counted == meaning(case.pool, total, point)


def test_a_digit_is_a_division() -> None:
    """For all numbers and divisors, 0 among them."""
    graph = Graph([f"{number}" for number in range(100)])
    number = graph.running_sum(graph.feature("number", {f"{n}": n for n in range(100)}))
    divisor = graph.feature("divisor", {f"{n}": n % 10 for n in range(100)})
    digit = sum((at_least(number - n * divisor, 0) for n in range(1, 16)), graph.constant(0))
    graph.emit(list(graph.tokens), digit)
    model = compile(graph, 200)
    assert ", 15)" in "".join(
        line for line in model_to_c(model).split("\n") if "multiples(" in line
    )
    tokens = [n % 100 for n in range(7, 4000, 37)]
    for n in range(1, len(tokens)):
        said = [load(model, level).run(tokens[:n], 1).tolist() for level in ("evaluate", "native")]
        assert said[0] == said[1]
