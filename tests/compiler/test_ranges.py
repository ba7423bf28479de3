"""Ranges: what is computed always lies in the analysed interval, on its step."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from curta.compiler import Graph, Node, at_least, clamp, compile, equals
from curta.compiler.lower import lower
from curta.compiler.ranges import Bend, range_of_bends
from curta.compiler.resolve import resolve
from curta.dyadic import Number, Range, power_of_two
from curta.engine.evaluate import GraphSession
from curta.errors import CertificateError, RegionError
from tests.support.agreement import agreed, kept
from tests.support.expected import CircuitSession
from tests.support.random_graphs import TOKENS, graphs
from tests.support.slow import draws

MAX_TOKENS = 64

prompts = st.lists(st.integers(0, len(TOKENS) - 1), min_size=1, max_size=12)
searching = settings(
    deadline=None,
    max_examples=draws(80),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@given(graphs(), prompts)
@searching
def test_every_node_stays_in_its_range(graph: Graph, prompt: list[int]) -> None:
    resolved = resolve(graph)
    try:
        circuit = lower(resolved, MAX_TOKENS)
    except CertificateError:
        return
    session = GraphSession(resolved)
    wire_session = CircuitSession(circuit.graph, MAX_TOKENS)
    wires = [wire_session.compute(token) for token in prompt]
    for position, token in enumerate(prompt):
        try:
            session.feed(token)
        except RegionError:
            return
        for source, index in circuit.source_of.items():
            value, name = session.values[source], resolved.name_of(source)
            assert circuit.ranges[index].contains(value), (name, value, circuit.ranges[index])
            assert wires[position][index] == value, name
        for index, value in enumerate(wires[position]):
            known = circuit.ranges[index]
            is_mean = type(circuit.graph.operations[index]).__name__ == "Mean"
            inside = known.low <= value <= known.high if is_mean else known.contains(value)
            assert inside, (circuit.graph.name_of(index), value, known)


steps = st.sampled_from([Fraction(1, 4), Fraction(1, 2), 1, 2, 4])
small = st.integers(-6, 6)
slopes = st.builds(lambda sign, size: sign * size, st.sampled_from([-1, 1]), steps | st.just(3))


@st.composite
def bends(draw: st.DrawFn) -> Bend:
    low = draw(small)
    value = draw(
        st.sampled_from([Range.constant(low), Range(low, low + draw(st.integers(0, 5)), 0)])
    )
    node = draw(st.integers(0, 2))
    return Bend(draw(slopes), draw(small) * draw(steps), draw(slopes), value, node)


@given(small, st.integers(0, 12), st.integers(-2, 1), st.lists(bends(), max_size=5), small)
@settings(deadline=None, max_examples=draws(300))
@example(-2, 4, 0, [Bend(3, -1, 1, Range.constant(1), 0), Bend(3, 0, -1, Range.constant(1), 0)], 0)
def test_bends_against_every_point_of_the_lattice(
    first: int, count: int, step: int, found: list[Bend], slope: int
) -> None:
    unit = power_of_two(step)
    lattice = [(first + number) * unit for number in range(count + 1)]
    u = Range(lattice[0], lattice[-1], step)
    least, most = zip(*(extremes(place, found, slope) for place in lattice), strict=True)
    answer = range_of_bends(u, found, slope)
    assert (answer.low, answer.high) == (min(least), max(most))
    fixed = [bend for bend in found if bend.value.is_constant]
    for place in lattice:
        assert answer.contains(extremes(place, fixed, slope)[0]) or len(fixed) < len(found)


def extremes(place: Number, found: list[Bend], slope: Number) -> tuple[Number, Number]:
    """The least and the largest value at one place: every node at either end of its range."""
    openings: dict[tuple[int, Range], Number] = {}
    for bend in found:
        opening = max(bend.alpha * place + bend.beta, 0) * bend.coefficient
        node = bend.node, bend.value
        openings[node] = openings.get(node, 0) + opening
    ends = [(o * value.low, o * value.high) for (_, value), o in openings.items()]
    return slope * place + sum(map(min, ends)), slope * place + sum(map(max, ends))


def two_totals() -> tuple[Graph, Node, Node]:
    graph = Graph("abcd")
    x = graph.running_sum(graph.feature("x", {"c": 1, "d": 2}))
    y = graph.running_sum(graph.feature("y", {"a": 1, "c": 1, "d": -2}))
    return graph, graph.assume(x, 0, 20), graph.assume(y, -20, 20)


BOUNDED: dict[str, Callable[[Node, Node], Node]] = {
    "x + y == 1": lambda x, y: equals(x + y, 1),
    "2x + y == 1": lambda x, y: equals(2 * x + y, 1),
    "x + 3y == 1": lambda x, y: equals(x + 3 * y, 1),
    "3x + y == 1": lambda x, y: equals(3 * x + y, 1),
    "5y - x >= 2": lambda x, y: at_least(5 * y - x, 2),
    "6x + 3y == 3": lambda x, y: equals(6 * x + 3 * y, 3),
    "7x - 2y clamped": lambda x, y: clamp(7 * x - 2 * y, 0, 1),
    "3x + 3y >= 3": lambda x, y: at_least(3 * x + 3 * y, 3),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_steps_of_sums_lie_in_0_and_1(case: str) -> None:
    """Odd leading coefficients included: [t == k] is 1 only where t = k, between all bends."""
    graph, x, y = two_totals()
    node = BOUNDED[case](x, y)
    graph.emit("abcd", node)
    resolved = resolve(graph)
    circuit = lower(resolved, MAX_TOKENS)
    known = circuit.ranges[circuit.graph.families[0].linear]
    assert (known.low, known.high) == (0, 2)


@pytest.mark.parametrize("case", BOUNDED)
def test_stored_values_are_not_cut_off(case: str) -> None:
    """Storage is as narrow as the range: too narrow a range is a wrong token."""
    graph, x, y = two_totals()
    graph.emit("ab", kept(510 * BOUNDED[case](x, y)) - 300)
    model = compile(graph, MAX_TOKENS)
    prompts = ([0, 1, 1, 2, 0, 3, 3, 2, 1], [3, 3, 3, 2, 0, 0, 0])
    assert any(1 in agreed(model, prompt) for prompt in prompts)
