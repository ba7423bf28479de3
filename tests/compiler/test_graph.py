# mypy: disable-error-code=func-returns-value
"""The language: what is the same node, and what is refused, with which words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from agreement import agreed, carrying

from curta.compiler import (
    Graph,
    Node,
    back,
    both,
    compile,
    equals,
    function_table,
    maximum,
    quotient_of,
    remainder_of,
)
from curta.compiler.nodes import Linear
from curta.engine import load
from curta.errors import CurtaError, GraphError


def small() -> tuple[Graph, Node]:
    return carrying([0, 1, 2])


SAME: list[Callable[[Graph, Node], tuple[Node, Node]]] = [
    lambda g, x: (g.position, g.position),
    lambda g, x: (x + x, 2 * x),
    lambda g, x: (x - x, g.constant(0)),
    lambda g, x: (x * 1.0, x),
    lambda g, x: ((x + 1) * 2 - 2, x * 2),
    lambda g, x: (x * 0.5 + x * Fraction(1, 2), x),
    lambda g, x: (g.gate(x, 1), g.gate(x, g.one)),
    lambda g, x: (g.feature("y", {"t1": 1, "t2": 2}), x),
    lambda g, x: (x * np.float64(2), np.float64(2) * x),
    lambda g, x: (x * True, x),
    lambda g, x: (
        g.lookup(query=x, key=(x,), value=1, missing=0),
        g.lookup(query=(x,), key=x, value=g.one, missing=0.0),
    ),
]


@pytest.mark.parametrize("pair", SAME)
def test_the_same_operation_is_the_same_node(
    pair: Callable[[Graph, Node], tuple[Node, Node]],
) -> None:
    one, other = pair(*small())
    assert one.index == other.index


@pytest.mark.xfail(strict=True, reason="graph.py: `is compares nodes`, but intern makes a new Node")
def test_nodes_can_be_compared() -> None:
    graph, x = small()
    assert graph.position is graph.position
    assert x + 1 == x + 1


def other_graph(graph: Graph, x: Node) -> object:
    return x + Graph(["a"]).position


def cycle(graph: Graph, x: Node) -> object:
    later = graph.declare("later")
    graph.define(later, graph.gate(later + x, x))
    graph.emit(["t0"], later)
    return compile(graph, 8)


def undefined(graph: Graph, x: Node) -> object:
    graph.emit(["t0"], graph.declare("later") + x)
    return compile(graph, 8)


def defined_twice(graph: Graph, x: Node) -> object:
    later = graph.declare("later")
    graph.define(later, x)
    return graph.define(later, x)


def some_with_conditions(graph: Graph, x: Node) -> object:
    graph.emit_token("t0", when=x)
    graph.emit_token("t1")
    return compile(graph, 8)


def emitted_twice(graph: Graph, x: Node) -> object:
    graph.emit(["t0", "t1"], x)
    return graph.score("t1", x)


REFUSED: dict[str, tuple[Callable[[Graph, Node], object], str]] = {
    "foreign node": (other_graph, "belongs to another graph"),
    "cycle": (cycle, r"cycle: .*later.* -> "),
    "undefined": (undefined, "'later' is used but never defined"),
    "defined twice": (defined_twice, "later is defined twice"),
    "not declared": (lambda g, x: g.define(x, 1), "x was not made by declare"),
    "node * node": (lambda g, x: x * x, "use curta.compiler.product"),
    "one third": (lambda g, x: x * Fraction(1, 3), "1/3 is not dyadic"),
    "infinite": (lambda g, x: x + float("inf"), "inf is not a number"),
    "not a number": (lambda g, x: g.feature("f", {"t0": float("nan")}), "nan is not a number"),
    "complex": (lambda g, x: x * 1j, "1j is a complex"),
    "text": (lambda g, x: x + "1", "'1' is a str"),
    "none": (lambda g, x: g.lookup(query=x, key=x, value=x, missing=None), "NoneType"),  # type: ignore[arg-type]
    "duplicate token": (lambda g, x: g.add_tokens("t7", "t7"), "declare all tokens before"),
    "token declared twice": (lambda g, x: Graph(["a", "a"]), "'a' is declared twice"),
    "unknown token": (lambda g, x: g.is_token("t9"), "unknown token 't9'.*t0 t1 t2"),
    "emitted twice": (emitted_twice, "'t1' is scored twice"),
    "twice in one family": (lambda g, x: g.emit(["t0", "t0"], x), "'t0' is scored twice"),
    "some with conditions": (some_with_conditions, "'t1' has no condition"),
    "says nothing": (lambda g, x: compile(g, 8), "never says anything"),
    "no tokens": (lambda g, x: compile(Graph(), 8), "the graph has no tokens"),
    "no length": (lambda g, x: (g.emit_token("t0"), compile(g, 0)), "max_tokens=0"),
    "empty promise": (lambda g, x: g.assume(x, 3, 2), r"\[3, 2\]: the interval is empty"),
    "unequal digits": (lambda g, x: g.lookup(query=(x, x), key=x, value=x), "of 2 digits"),
    "no digits": (lambda g, x: g.lookup(query=(), key=(), value=x), "of 0 digits"),
    "two digits, nearest": (
        lambda g, x: g.lookup(query=(x, x), key=(x, x), value=x, missing="nearest"),
        "needs a key of one digit",
    ),
    "missing": (lambda g, x: g.lookup(query=x, key=x, value=x, missing="zero"), "'zero'"),  # type: ignore[arg-type]
    "divisor": (lambda g, x: g.position_feature(0), "divisor must be at least 1"),
    "gap in a table": (lambda g, x: function_table(x, {0: 1, 2: 1}), "every integer 0..2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    build, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        build(*small())


UNCLEAR: dict[str, Callable[[Graph, Node], object]] = {
    "node * np.int64": lambda g, x: x * np.int64(2),
    "node + np.float32": lambda g, x: x + np.float32(2),
    "emit nothing": lambda g, x: (g.emit([], x), load(compile(g, 8), "native").run([0], 1)),
    "table of nothing": lambda g, x: function_table(x, []),
    "modulus 0": lambda g, x: remainder_of(x, 0, 5),
    "divisor 0": lambda g, x: quotient_of(x, 0, 5),
    "all of nothing": lambda g, x: both(),
    "number first": lambda g, x: maximum(3, x),  # type: ignore[arg-type]
    "number back": lambda g, x: back(1, 3),  # type: ignore[arg-type]
    "length as np.int64": lambda g, x: (g.emit_token("t0"), compile(g, np.int64(8)).to_bytes()),
    "length as float": lambda g, x: (g.emit_token("t0"), load(compile(g, 8.5), "native")),  # type: ignore[arg-type]
    "length as text": lambda g, x: (g.emit_token("t0"), compile(g, "8")),  # type: ignore[arg-type]
    "divisor too large": lambda g, x: (
        g.score("t0", g.position_feature(2**70)),
        compile(g, 8),
    ),
    "number too large": lambda g, x: (
        g.score("t0", g.feature("y", {"t0": 2**1100, "t1": 2**1100 + 2**1090})),
        compile(g, 8),
    ),
}


FINE = ("node * np.int64", "node + np.float32", "length as float", "number too large")


@pytest.mark.parametrize(
    "case",
    [
        name
        if name in FINE
        else pytest.param(name, marks=pytest.mark.xfail(strict=True, reason="no CurtaError"))
        for name in UNCLEAR
    ],
)
def test_works_or_says_why_not(case: str) -> None:
    """Anything but an error of curta's own is a traceback for the user."""
    with suppress(CurtaError):
        UNCLEAR[case](*small())


def test_a_declared_node_is_its_definition() -> None:
    graph, x = small()
    later = graph.declare("later")
    graph.emit(["t0", "t1", "t2"], later)
    graph.define(later, 2 - x)
    assert agreed(compile(graph, 8), [0, 1, 2]) == [2, 1, 0]


def test_unused_nodes_cost_nothing_and_promises_are_kept() -> None:
    graph, x = small()
    kept_out = equals(graph.running_sum(x), 5)
    graph.assume(x, 0, 1)
    graph.emit_token("t0")
    model = compile(graph, 8)
    assert "running_sum" not in str(model.plan["slots"]), kept_out
    assert agreed(model, [0, 1, 2]) == [0, 0, -1]


def test_np_numbers_are_exact_numbers() -> None:
    _, x = small()
    node = np.int64(3) * x + np.float64(0.25)
    assert node.operation == Linear(((x.index, 3),), Fraction(1, 4))


def test_conditions_come_before_scores_and_ties_go_to_the_first_declared() -> None:
    graph = Graph(["a", "b", "c", "d"])
    x = graph.feature("x", {"a": 2, "b": 1000, "c": 5})
    graph.emit(["b", "a"], 1, when=graph.feature("first", {"b": 2, "a": 1}))
    graph.emit(["d", "c"], x, when=graph.feature("second", {"a": 3}))
    assert agreed(compile(graph, 8), [0, 1, 2, 3]) == [2, 0, 2, 0]


def test_tokens_without_a_rule_are_never_said() -> None:
    graph, x = carrying([-(2**40), 0, 2**40], spare=2)
    graph.score("t1", x)
    assert agreed(compile(graph, 8), [0, 1, 2]) == [1, 1, 1]


@pytest.mark.parametrize("divisor", [-2, -1, 0, 1, 3])
def test_quotients_of_any_divisor_are_the_same_at_every_level(divisor: int) -> None:
    graph, x = carrying([-7, -1, 0, 1, 2, 3, 4, 9])
    graph.emit_quotient(["t0", "t1", "t2", "t3"], x, x * 0 + divisor)
    agreed(compile(graph, 8), range(8))


def test_names_may_hold_anything() -> None:
    odd = ["*/", "/*", "a\\", "??/", '"', "\n", "\r", "é", "日本", "%s", "{}", "//"]
    graph = Graph(odd)
    for token in odd:
        graph.score(token, graph.running_sum(graph.is_token(token)).named(token))
    model = compile(graph, 16)
    assert agreed(model, range(12)) == [0] * 12
    assert load(model, "native").encode(odd) == list(range(12))


@pytest.mark.xfail(strict=True, raises=UnicodeEncodeError, reason="toolchain._key: .encode()")
def test_names_that_are_no_unicode_text() -> None:
    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.feature("\udc80", {"a": 1}))
    load(compile(graph, 16), "native")
