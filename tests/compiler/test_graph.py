# mypy: disable-error-code="func-returns-value,arg-type,operator,call-overload"
"""The language: what is the same node, and what is refused, with which words."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from curta.compiler import (
    Graph,
    Node,
    at_least,
    back,
    both,
    clamp,
    compile,
    either,
    equals,
    function_table,
    maximum,
    minimum,
    product,
    quotient_of,
    remainder_of,
    select,
)
from curta.compiler.nodes import Linear
from curta.engine import LEVELS, load
from curta.engine.evaluate import GraphSession
from curta.engine.native.emit import model_to_c
from curta.errors import CertificateError, GraphError, RegionError
from tests.support.agreement import agreed, carrying


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
    "gap in a table": (lambda g, x: function_table(x, {0: 1, 2: 1}), r"every integer 0\.\.2"),
    "wide gap in a table": (lambda g, x: function_table(x, {0: 1, 2**60: 1}), "every integer"),
    "table of nothing": (lambda g, x: function_table(x, []), "at least one integer"),
    "table of one number": (lambda g, x: function_table(x, 5), "expected a list, got 5"),
    "table of texts": (lambda g, x: function_table(x, ["a"]), "'a' is a str"),
    "table at halves": (lambda g, x: function_table(x, {0.5: 1}), "key=0.5: expected an integer"),
    "emit nothing": (lambda g, x: g.emit([], x), "at least one token to say"),
    "emit to a number": (lambda g, x: g.emit(3, x), "expected a list, got 3"),
    "emit arguments swapped": (lambda g, x: g.emit(x, ["t0"]), "is a list; expected"),
    "modulus 0": (lambda g, x: remainder_of(x, 0, 5), "divisor must be at least 1"),
    "modulus below 0": (lambda g, x: remainder_of(x, -2, 5), "divisor must be at least 1"),
    "divisor 0": (lambda g, x: quotient_of(x, 0, 5), "0..5 by 0: the divisor must be"),
    "largest below 0": (lambda g, x: quotient_of(x, 2, -5), "the largest number at least 0"),
    "endless table": (lambda g, x: remainder_of(x, 2, 2**40), "more than 65,536 steps"),
    "divisor too large": (lambda g, x: g.position_feature(2**70), r"both at most 2\*\*62"),
    "half a divisor": (lambda g, x: g.position_feature(1.5), "divisor=1.5: expected an integer"),
    "cubes": (lambda g, x: g.position_feature(1, power=3), "the power 1 or 2"),
    "all of nothing": (lambda g, x: both(), "at least one node, got nothing"),
    "any of nothing": (lambda g, x: either(), "at least one node, got nothing"),
    "all of a list": (lambda g, x: both([x, x]), "at least one node, got"),
    "all of lists": (lambda g, x: both([x], x), "is a list; expected"),
    "numbers alone": (lambda g, x: maximum(3, 4), "at least one node, got 3, 4"),
    "a number at hand": (lambda g, x: back(1, 5), "at least one node, got 5"),
    "back to the future": (lambda g, x: back(-1, x), "no position can see what comes after"),
    "half a step back": (lambda g, x: back(0.5, x), "distance=0.5: expected an integer"),
    "empty clamp": (lambda g, x: clamp(x, 5, 2), r"\[5, 2\]: the interval is empty"),
    "length 0": (lambda g, x: (g.emit_token("t0"), compile(g, 0)), "at least one token"),
    "length 2**70": (lambda g, x: (g.emit_token("t0"), compile(g, 2**70)), r"up to 2\*\*53"),
    "length as text": (lambda g, x: compile(g, "8"), "max_tokens='8': expected an integer"),
    "length as float": (lambda g, x: compile(g, 8.5), "max_tokens=8.5: expected an integer"),
    "no graph": (lambda g, x: compile(x, 8), "expected a Graph, got <TokenFeature x>"),
    "tokens as numbers": (lambda g, x: Graph([1, 2]), "a token has to be a string .* got 1"),
    "tokens as one number": (lambda g, x: Graph(5), "the tokens of a graph: expected a list"),
    "half a character": (lambda g, x: Graph(["\udc80"]), "a string of Unicode characters"),
    "name of half a character": (lambda g, x: x.named("\udc80"), "a string of Unicode characters"),
    "feature of half a character": (lambda g, x: g.feature("\udc80", {}), "a feature's name"),
    "name as number": (lambda g, x: (x + 1).named(3), "a name has to be a string"),
    "feature of a list": (lambda g, x: g.feature("y", [1]), r"expected \{token: number\}"),
    "list as a token": (lambda g, x: g.is_token(["t0"]), r"unknown token \['t0'\]"),
    "number instead of a node": (lambda g, x: g.define(5, x), "expected a node of this graph"),
    "missing is a node": (lambda g, x: g.lookup(query=x, key=x, value=x, missing=x), "is a node"),
    "too large": (lambda g, x: x * 2**1024, "out of reach of float64"),
    "too large together": (lambda g, x: x * 2**1000 * 2**1000, "out of reach of float64"),
    "too fine": (lambda g, x: x * Fraction(1, 2**1075), "out of reach of float64"),
    "endless number": (lambda g, x: x + 10**5000, "a number of 16610 bits"),
    "array": (lambda g, x: np.array([1, 2]) * x, "is a ndarray; expected"),
    "if node": (lambda g, x: 1 if x else 0, "no truth value; use select, both, either or invert"),
    "node and node": (lambda g, x: x and x, "no truth value"),
    "node == number": (lambda g, x: x == 3, "use equals"),
    "node > number": (lambda g, x: x > 3, "x: nodes have no order; use at_least or at_most"),
    "node / number": (lambda g, x: x / 2, "nodes have no division; use quotient_of"),
    "node % number": (lambda g, x: x % 2, "use remainder_of"),
    "node ** number": (lambda g, x: x**2, "use product"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    build, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        build(*small())


ALLOWED: dict[str, tuple[Callable[[Graph, Node], Node], Callable[[int], object]]] = {
    "node * np.int64": (lambda g, x: x * np.int64(2), lambda x: 2 * x),
    "np.int64 * node": (lambda g, x: np.int64(2) * x, lambda x: 2 * x),
    "np.uint8 - node": (lambda g, x: np.uint8(2) - x, lambda x: 2 - x),
    "node + np.float32": (lambda g, x: x + np.float32(0.5), lambda x: x + 0.5),
    "node * np.float64": (lambda g, x: x * np.float64(0.25), lambda x: x / 4),
    "node * True": (lambda g, x: x * True + np.True_, lambda x: x + 1),
    "maximum, number first": (lambda g, x: maximum(1, x), lambda x: max(x, 1)),
    "minimum, number first": (lambda g, x: minimum(1, x), lambda x: min(x, 1)),
    "at_least, number first": (lambda g, x: at_least(1, x), lambda x: x <= 1),
    "equals, number first": (lambda g, x: equals(1, x), lambda x: x == 1),
    "product with a number": (lambda g, x: product(x, 3) + product(3, x), lambda x: 6 * x),
    "select by a number": (lambda g, x: select(1, x, 7), lambda x: x),
    "both with a number": (lambda g, x: both(1, at_least(x, 1)), lambda x: x >= 1),
    "table from a generator": (
        lambda g, x: function_table(x, (n * n for n in range(3))),
        lambda x: x * x,
    ),
    "table from an array": (lambda g, x: function_table(x, np.arange(3)[::-1]), lambda x: 2 - x),
    "np.int64 divisor": (lambda g, x: quotient_of(x, np.int64(2), np.int64(5)), lambda x: x // 2),
    "np.int64 back": (lambda g, x: back(np.int64(0), x), lambda x: x),
    "digits in a list": (lambda g, x: g.lookup(query=[x, x], key=[x, x], value=x), lambda x: x),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_numbers_of_any_kind_on_either_side(case: str) -> None:
    build, wanted = ALLOWED[case]
    graph, x = small()
    graph.score("t0", build(graph, x))
    session = GraphSession(compile(graph, 8).graph)
    for token in range(3):
        session.feed(token)
        assert session.values[session.graph.families[0].base] == wanted(token)


def test_lengths_and_tokens_of_any_kind() -> None:
    graph = Graph(token for token in "ab")
    graph.emit((token for token in "ab"), graph.is_token("b"))
    model = compile(graph, np.int64(8))  # type: ignore[arg-type]
    assert model.to_bytes() == compile(graph, 8).to_bytes()
    assert agreed(model, [0, 1]) == [0, 1]


# -- names ----


def test_a_name_given_later_is_the_one_that_counts() -> None:
    graph = Graph(["0", "1", "2"])
    marked = graph.is_token("1").named("marked")
    weight = graph.feature("x", {"1": 5, "2": 7}).named("weight")
    later = graph.declare("later").named("the sum")
    assert (marked.name, weight.name, later.name) == ("marked", "weight", "the sum")
    assert graph.is_token("1").name == "marked"
    assert graph.is_token("0", "2").name == "is 0 2"


def test_a_promise_is_called_what_it_is_about() -> None:
    _, x = small()
    node = x
    for high in range(5000):
        node = x.graph.assume(node, 0, high)
    assert node.name == "x"
    assert x.graph.assume(node, 0, 7).named("small").name == "small"


def test_names_are_in_errors_plan_and_c() -> None:
    graph = Graph(["0", "1"])
    weight = graph.feature("x", {"1": 5}).named("weight")
    heavy = graph.gate(graph.running_sum(weight) - 1, weight).named("heavy")
    graph.emit(["0", "1"], heavy)
    graph.assume(weight, 0, 4)
    model = compile(graph, 8)
    assert {"weight", "heavy"} <= {slot["name"] for slot in model.plan["slots"]}
    assert "weight" in model_to_c(model)
    for level in LEVELS:
        with pytest.raises(RegionError, match="position 0: weight is 5"):
            load(model, level).run([1], 1)


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
    graph.emit(["b", "a"], 1, when=graph.is_token("b"))
    graph.emit(["d", "c"], x, when=graph.is_token("a"))
    assert agreed(compile(graph, 8), [0, 1, 2, 3]) == [2, 0, 2, 0]


def test_scores_count_where_their_condition_holds() -> None:
    graph = Graph(["a", "b", "c", "d"])
    first = graph.is_token("a", "b")
    graph.score("a", graph.is_token("b"), when=first)
    graph.score("b", graph.is_token("a"), when=first)
    graph.score("c", 1000, when=1 - first)
    graph.score("d", graph.is_token("d") * 2000, when=1 - first)
    assert agreed(compile(graph, 8), [0, 1, 2, 3]) == [1, 0, 2, 3]


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


def test_a_condition_is_0_or_1() -> None:
    """Proved, promised, or refused."""
    graph, x = carrying([0, 1, 2])
    graph.emit_token("t0", when=x)
    graph.emit_token("t1", when=1 - graph.is_token("t1"))
    assert agreed(compile(graph, 8), [0, 1, 2]) == [1, 0, -1]
    graph, x = carrying([0, 0.5, 1])
    graph.emit_token("t0", when=x.named("half"))
    with pytest.raises(CertificateError, match="half: `when` has to be 0 or 1"):
        compile(graph, 8)
