"""Random programs for the tests that compare levels."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from curta.compiler import Graph, Node, at_least, equals, product, select

TOKENS = ("a", "b", "c", "d", "e")


@st.composite
def graphs(draw: st.DrawFn, steps: int = 8) -> Graph:
    """A graph of up to `steps` random operations on random operands, and a random way to speak."""
    graph = Graph(TOKENS)
    nodes: list[Node] = [graph.position]
    for number in range(draw(st.integers(1, 3))):
        values = draw(st.lists(small, min_size=len(TOKENS), max_size=len(TOKENS)))
        nodes.append(graph.feature(f"f{number}", dict(zip(TOKENS, values, strict=True))))
    nodes.append(graph.is_token(*draw(st.lists(st.sampled_from(TOKENS), min_size=1, unique=True))))
    for _ in range(draw(st.integers(1, steps))):
        operation = draw(st.sampled_from(OPERATIONS))
        nodes.append(operation(draw, graph, lambda: draw(st.sampled_from(nodes))))
    speak(draw, graph, nodes)
    return graph


small = st.integers(-3, 3)
Pick = Callable[[], Node]


def a_sum(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    factors = st.sampled_from([-2, -1, -0.5, 0.25, 1, 2, 3])
    return pick() * draw(factors) + pick() * draw(factors) + draw(small)


def a_gate(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return graph.gate(pick() + draw(small), pick())


def a_step(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return draw(st.sampled_from([at_least, equals]))(whole(pick()), draw(small))


def a_table(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    """As a node of its own; its bends may lie between whole numbers, and its ends rise."""
    places = st.sampled_from([-30, -3, -1, -0.5, 0, 0.25, 1, 2, 5, 40])
    bends = st.lists(st.tuples(places, small), max_size=6)
    return graph.piecewise(pick(), draw(bends)) + draw(small)


def a_product(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return product(pick(), pick())


def a_choice(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return select(at_least(whole(pick()), draw(small)), pick(), pick())


def a_running_sum(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return graph.running_sum(pick())


def a_lookup(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    missing = draw(st.sampled_from(["nearest", 0, -2, 7, 0.5, "stop"]))
    return graph.lookup(query=pick() + draw(small), key=pick(), value=pick(), missing=missing)


def the_latest(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    mark = at_least(whole(pick()), draw(small))
    value = pick() if draw(st.booleans()) else graph.constant(draw(small))
    missing = draw(st.sampled_from(["nearest", 0, 3]))
    return graph.lookup(query=draw(st.sampled_from([0, 1])), key=mark, value=value, missing=missing)


def a_wide_lookup(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return graph.lookup(
        query=(pick(), pick()), key=(pick(), pick()), value=pick(), missing=draw(small)
    )


def a_look_back(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return graph.lookup(
        query=graph.position - draw(st.integers(0, 4)),
        key=graph.position,
        value=pick(),
        missing=draw(st.sampled_from(["nearest", 0, 5, "stop"])),
    )


def a_position_feature(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    return graph.position_feature(draw(st.integers(1, 3)), draw(st.integers(0, 4)))


def a_promise(draw: st.DrawFn, graph: Graph, pick: Pick) -> Node:
    low = draw(st.sampled_from([-(2.0**80), -300, -20, -3, -0.3, 2.0**-40]))
    return graph.assume(pick(), low, draw(st.sampled_from([0.5, 1, 12, 300, 2.0**70])))


def whole(node: Node) -> Node:
    """Steps expect integers; the random sums are multiples of a small power of two."""
    return node * 2**12


OPERATIONS = (
    a_sum,
    a_sum,
    a_gate,
    a_step,
    a_table,
    a_product,
    a_choice,
    a_running_sum,
    a_lookup,
    a_lookup,
    the_latest,
    a_wide_lookup,
    a_look_back,
    a_position_feature,
    a_promise,
)


def speak(draw: st.DrawFn, graph: Graph, nodes: list[Node]) -> None:
    """One of the four ways to choose the next token, about the newest nodes."""
    number = nodes[-1]
    match draw(st.integers(0, 3)):
        case 0:
            graph.emit(TOKENS, number)
        case 1:
            condition = at_least(whole(draw(st.sampled_from(nodes))), 1)
            when = draw(st.sampled_from([(None, None), (condition, 1 - condition)]))
            for place, token in enumerate(TOKENS[: draw(st.integers(2, 5))]):
                score = draw(st.sampled_from(nodes[-4:])) * draw(small) + draw(small)
                graph.score(token, score, when[place % 2])
        case 2:
            condition = at_least(whole(draw(st.sampled_from(nodes))), 1)
            graph.emit(TOKENS[:3], number, when=condition)
            graph.emit(TOKENS[:2:-1], nodes[-2], when=1 - condition)
        case _:
            divisor = draw(st.integers(1, 3)) + graph.gate(draw(st.sampled_from(nodes)), 1) * 2**12
            graph.emit_quotient(TOKENS, whole(number), divisor)
