"""Every bound from both sides: what is just inside compiles, what is just outside is named."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log2

import pytest

from curta.compiler import Graph, compile, product
from curta.errors import CertificateError, GraphError

MAX_TOKENS = 8


def graph_with(low: object, high: object) -> tuple[Graph, object]:
    graph = Graph(["low", "high"])
    return graph, graph.feature("x", {"low": low, "high": high}).named("x")


def said_as_it_is(bound: int) -> Graph:
    """A score of 2**53 - 1 + bound."""
    graph, x = graph_with(0, 2**52)
    graph.score("low", x + graph.position_feature(1, 2).named("odd") * 2**51 + bound)
    return graph


def a_product(bound: int) -> Graph:
    graph, x = graph_with(-1, 2**26 + bound)
    y = graph.position_feature(1, 2) * 2**27
    graph.score("low", product(x, y - graph.is_token("high")).named("xy"))  # type: ignore[arg-type]
    return graph


def a_total(bound: int) -> Graph:
    graph, x = graph_with(-(2**48), 2**48 + bound)
    graph.score("low", graph.running_sum(x))
    return graph


def a_nearest_key(bound: int) -> Graph:
    key = largest_nearest_key(MAX_TOKENS)
    graph, x = graph_with(-key, key + bound)
    found = graph.lookup(query=x, key=x, value=graph.position, missing="nearest")
    graph.score("low", found)
    return graph


def fits(key: int, max_tokens: int) -> bool:
    graph, x = graph_with(-key, key)
    found = graph.lookup(query=x, key=x, value=graph.position, missing="nearest")
    graph.score("low", found)
    try:
        compile(graph, max_tokens)
    except CertificateError:
        return False
    return True


def largest_nearest_key(max_tokens: int) -> int:
    low, high = 1, 2**30
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle, max_tokens) else (low, middle)
    return low


@pytest.mark.parametrize(
    ("build", "inside", "outside", "message"),
    [
        (said_as_it_is, 2**51, 2**51 + 1, r"score of token 'low': this sum needs 54 bits"),
        (a_product, -1, 0, r"score of token 'low': this sum needs 54 bits"),
        (a_product, -1, 1, r"gate\d+\(n\d+, x\): this product needs 54 bits"),
        (a_total, 0, 1, r"running_sum\(x\): over 8 tokens .*2\*\*51 steps"),
        (a_nearest_key, 0, 4, r"lookup.*scores reach .*2\*\*50 .*missing='stop'"),
    ],
)
def test_just_inside_and_just_outside(
    build: Callable[[int], Graph], inside: int, outside: int, message: str
) -> None:
    assert compile(build(inside), MAX_TOKENS).certificate.max_tokens == MAX_TOKENS
    with pytest.raises(CertificateError, match=message):
        compile(build(outside), MAX_TOKENS)


@pytest.mark.parametrize("max_tokens", [2, 2**8, 2**20, 2**30])
def test_how_large_keys_in_the_plane_may_be(max_tokens: int) -> None:
    """3 h**2 + 1 <= 2**53 / T for keys and queries in [-h, h]."""
    key = largest_nearest_key(max_tokens)
    assert 51 < 2 * log2(key) + log2(max_tokens) <= 53
    assert 3 * key**2 + 1 <= 2**53 // max_tokens < 3 * (key + 1) ** 2 + 1


def test_a_length_that_is_no_power_of_two_costs_as_much_as_the_next() -> None:
    assert largest_nearest_key(2**10 + 1) == largest_nearest_key(2**11)


def split(top: int) -> Graph:
    graph, x = graph_with(0, top)
    graph.score("low", graph.lookup(query=x, key=x, value=graph.position).named("wide"))
    return graph


def test_split_keys_reach_further_and_end_where_64_relus_of_them_fit() -> None:
    assert compile(split(2**48 - 1), 2**12)
    with pytest.raises(CertificateError, match=r"wide: keys in \[0, 281474976710656\]"):
        compile(split(2**48), 2**12)


@pytest.mark.parametrize(
    ("value", "step", "tokens"),
    [(2**40, 0, 62), (2**31, 0, 1446), (2**20, 0, 2**16 - 2), (2**20, -20, 62), (2**49, 9, 62)],
)
def test_softmax_tokens(value: int, step: int, tokens: int) -> None:
    """The largest n with n (n + 4) value < 2**(52 + step)."""
    graph, x = graph_with(Fraction(2) ** step, value)
    graph.score("low", graph.running_sum(x))
    length = 2**9 if tokens < 2**9 else 2**17
    found = compile(graph, length).certificate.softmax_tokens
    assert found == tokens
    limit = Fraction(2) ** (52 + step)
    assert tokens * (tokens + 4) * value < limit <= (tokens + 1) * (tokens + 5) * value


@pytest.mark.parametrize(("low", "high"), [(3, 9), (-9, -3), (2.5, 2.5)])
def test_a_promise_that_no_run_can_keep(low: float, high: float) -> None:
    graph, x = graph_with(-1, 2)
    graph.score("low", graph.assume(x, low, high))
    with pytest.raises(CertificateError, match=r"x is assumed in .*proved to lie in \[-1, 2\]"):
        compile(graph, MAX_TOKENS)


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (-1.5, 99)])
def test_a_promise_that_is_proved_is_no_promise(low: float, high: float) -> None:
    graph, x = graph_with(-1, 2)
    graph.score("low", graph.assume(x, low, high))
    model = compile(graph, MAX_TOKENS)
    assert model.certificate.promises == ()
    assert model.plan["guards"] == []


@pytest.mark.parametrize("max_tokens", [0, -1])
def test_no_tokens_at_all(max_tokens: int) -> None:
    with pytest.raises(GraphError, match="at least one token"):
        compile(said_as_it_is(0), max_tokens)


def test_the_certificate_in_words() -> None:
    graph, x = graph_with(1, 2**40)
    graph.score("low", graph.running_sum(graph.assume(x, 0, 2**39)))
    certificate = compile(graph, 2**9).certificate
    assert str(certificate) == (
        "exact for sequences of up to 512 tokens, in float64; through softmax up to 88"
    )
    assert certificate.promises == ("x in [1, 549755813888] in steps of 1",)
    assert {bound.kind for bound in certificate.tightest} >= {"sum", "slot", "total"}
