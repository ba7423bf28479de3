"""At the edge of what is certified all levels are right; one step beyond, all stop at one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

from curta.compiler import Graph, Model, at_least, compile
from curta.engine import LEVELS, load
from curta.errors import RegionError, TokenError
from tests.support.expected import expected_residuals
from tests.support.general_step import residuals

TOKENS = ("low", "high", "no", "yes")


def outcome(model: Model, level: str, prompt: Sequence[str], count: int | None = 1) -> object:
    """The tokens said, or else the error and the position it names."""
    said: list[str] = []
    try:
        for token in load(model, level).generate(prompt, count):
            said.append(token)
    except (RegionError, TokenError) as error:
        return said, type(error), re.findall(r"^position \d+", str(error))
    return said


def outcomes(
    model: Model, prompt: Sequence[str], count: int | None = 1, levels: Sequence[str] = LEVELS
) -> object:
    """What every level does, if all do the same."""
    found = {level: outcome(model, level, prompt, count) for level in levels}
    assert all(what == found[levels[0]] for what in found.values()), found
    return found[levels[0]]


def ends(low: object, high: object) -> tuple[Graph, object]:
    graph = Graph(TOKENS)
    return graph, graph.feature("x", {"low": low, "high": high})


def wide_sum(limit: int) -> Graph:
    """A sum of two features that reaches the limit."""
    graph, x = ends(-(limit // 2), limit // 2)
    y = graph.position_feature(1, 2) + x + graph.feature("y", {"low": 0, "high": limit // 2 - 1})
    graph.score("yes", y)
    graph.score("no", limit - 1)
    return graph


def running_total(value: int) -> Graph:
    graph, x = ends(-value, value)
    total = graph.running_sum(x)
    graph.score("yes", total)
    graph.score("no", 4 * value - 1)
    return graph


@pytest.mark.parametrize(
    ("build", "max_tokens", "prompt", "said"),
    [
        (lambda: wide_sum(2**52), 8, ["high", "high"], "yes"),
        (lambda: wide_sum(2**52), 8, ["high", "low"], "no"),
        (lambda: wide_sum(2**52), 8, ["high"], "no"),
        (lambda: running_total(2**40), 8, ["high"] * 4, "yes"),
        (lambda: running_total(2**40), 8, ["low", *["high"] * 4], "no"),
        (lambda: running_total(2**44), 8, ["high"] * 4, "yes"),
    ],
)
def test_right_at_the_extremes(
    build: Callable[[], Graph], max_tokens: int, prompt: list[str], said: str
) -> None:
    model = compile(build(), max_tokens)
    assert outcomes(model, prompt) == [said]


@pytest.mark.parametrize("bits", [40, 46, 47, 48])
def test_softmax_is_right_up_to_its_own_limit_and_stops_there(bits: int) -> None:
    """Sums of the largest values, of one sign and of alternating signs, to the last token."""
    model = compile(totals(2**bits), max_tokens=8)
    limit = model.certificate.softmax_tokens
    assert limit == {40: 8, 46: 6, 47: 4, 48: 2}[bits]
    sums = [
        carrier["slot"]
        for carrier in model.plan["slots"]
        if carrier["members"][0]["kind"] == "Restore"
    ]
    for prompt in ([1] * 8, [0, 1] * 4, [0] * 8, [1, 1, 0, 1, 0, 0, 0, 1]):
        expected = expected_residuals(model, prompt)
        for level, length in (("plain", limit), ("hull", 8), ("native", 8)):
            last = residuals(model, level, prompt[:length])[:, -1]
            assert np.array_equal(last[:, sums], expected[:length, -1, sums])
        if limit < 8:
            with pytest.raises(TokenError, match="certificate covers"):
                load(model, "plain").run(prompt[: limit + 1])


def totals(value: int) -> Graph:
    graph, x = ends(-value, value - 1)
    graph.score("yes", graph.running_sum(x))
    graph.score("no", graph.running_sum(graph.feature("y", {"low": 1, "high": -1})))
    return graph


def nearest_key(key: int) -> Graph:
    graph, x = ends(-key, key)
    there = graph.feature("query", {"low": -key, "high": key, "no": key - 1, "yes": 1 - key})
    value = graph.feature("value", {"low": 0, "high": 1})
    found = graph.lookup(query=there, key=x, value=value, missing="nearest")
    graph.emit(["low", "high"], found)
    return graph


@pytest.mark.parametrize("max_tokens", [4, 256, 2**20])
def test_two_dimensional_heads_are_right_at_the_largest_keys(max_tokens: int) -> None:
    key = 2 ** ((51 - max_tokens.bit_length()) // 2)
    model = compile(nearest_key(key), max_tokens)
    for prompt, said in ((["low", "high", "no"], "high"), (["high", "low", "yes"], "low")):
        assert outcomes(model, prompt) == [said]


def split_key(top: int, missing: object) -> Graph:
    graph = Graph(TOKENS)
    x = graph.feature("key", {"low": 0, "high": top, "no": top - 1, "yes": 1})
    back = graph.feature("query", {"low": 0, "high": top - 1, "no": top, "yes": 0})
    value = graph.feature("value", {"low": 0, "high": 1, "no": 2, "yes": 3})
    found = graph.lookup(query=back, key=x, value=value, missing=missing)  # type: ignore[arg-type]
    graph.emit(TOKENS, found)
    return graph


@cache
def split_model(top: int, missing: object) -> Model:
    model = compile(split_key(top, missing), 2**16)
    heads = [head for layer in model.plan["layers"] for head in layer["heads"]]
    assert max(len(head["key"]) for head in heads) > 1
    return model


@pytest.mark.parametrize("top", [2**19, 2**24 - 1])
@pytest.mark.parametrize(
    ("prompt", "with_default", "with_stop"),
    [
        (["low"], ["low"], ["low"]),
        (["high"], ["yes"], ([], RegionError, ["position 0"])),
        (["low", "yes", "no"], ["yes"], ([], RegionError, ["position 2"])),
        (["low", "high"], ["yes"], ([], RegionError, ["position 1"])),
    ],
)
def test_split_keys_one_apart(
    top: int, prompt: list[str], with_default: object, with_stop: object
) -> None:
    assert outcomes(split_model(top, 3), prompt) == with_default
    assert outcomes(split_model(top, "stop"), prompt) == with_stop


@pytest.mark.parametrize(
    ("prompt", "result"),
    [
        (["low", "high"], ["low"]),
        (["yes", "no"], ["yes"]),
        (["high"], ([], RegionError, ["position 0"])),
    ],
)
def test_missing_stop_stops_if_the_key_is_missing_and_only_then(
    prompt: list[str], result: object
) -> None:
    """Of the defect, "yes no" is a false alarm, "high" a wrong token under a certificate."""
    graph = Graph(TOKENS)
    asked = graph.feature("asked", {"low": 0, "high": 0, "no": 5, "yes": 5})
    key = graph.feature("key", {"low": 0, "high": 1, "no": 2, "yes": 5})
    value = graph.feature("value", {token: place for place, token in enumerate(TOKENS)})
    graph.emit(TOKENS, graph.lookup(query=asked, key=key, value=value, missing="stop"))
    assert outcomes(compile(graph, 8), prompt) == result


def promised(low: object, high: object) -> Graph:
    graph = Graph(TOKENS)
    x = graph.feature("x", {"low": -1.5, "high": 2.25, "no": -1.75, "yes": 2.5})
    y = graph.assume((x + graph.position_feature(1, 1)).named("y"), low, high)
    graph.emit(TOKENS, graph.gate(y, 1))
    return graph


@pytest.mark.parametrize(
    ("prompt", "result"),
    [
        (["low", "high", "low"], ["low"]),
        (["low", "high"], ["no"]),
        (["low", "low", "no", "yes"], ([], RegionError, ["position 2"])),
        (["high", "yes"], ([], RegionError, ["position 1"])),
    ],
)
def test_promises_are_kept_at_both_ends(prompt: list[str], result: object) -> None:
    model = compile(promised(-1.5, 2.25), 8)
    assert outcomes(model, prompt) == result


def counting(limit: int) -> Graph:
    """Says high for ever; promises that the count stays within the limit."""
    graph = Graph(TOKENS)
    count = graph.assume(graph.running_sum(graph.is_token("high")).named("count"), 0, limit)
    graph.emit(["low", "high"], 1 + 0 * count)
    return graph


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, None])
def test_a_promise_broken_while_generating(count: int | None) -> None:
    result = outcomes(compile(counting(3), 16), ["low"], count)
    if count is not None and count <= 4:
        assert result == ["high"] * count
    else:
        assert result == (["high"] * 4, RegionError, ["position 4"])


@pytest.mark.parametrize(
    ("length", "count", "result"),
    [
        (7, 1, ["high"]),
        (7, 2, (["high"], RegionError, [])),
        (7, None, (["high"], RegionError, [])),
        (8, 0, []),
        (8, 1, ([], RegionError, [])),
        (8, None, ([], RegionError, [])),
        (9, 0, ([], TokenError, [])),
        (1, 7, ["high"] * 7),
        (1, 8, (["high"] * 7, RegionError, [])),
        (1, -1, ([], TokenError, [])),
        (0, 1, ([], TokenError, [])),
    ],
)
def test_length_limits(length: int, count: int | None, result: object) -> None:
    assert outcomes(compile(counting(100), 8), ["low"] * length, count) == result


@pytest.mark.parametrize("level", LEVELS)
def test_sessions_stop_at_the_length_limit(level: str) -> None:
    session = load(compile(counting(100), 2), level).session()
    assert [session.feed(0), session.feed(0)] == [1, 1]
    with pytest.raises(RegionError, match=r"reached the 2 tokens .* larger max_tokens"):
        session.feed(0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("ids", "text"), [([4], "token id 4"), ([-1], "token id -1")])
def test_ids_outside_of_the_vocabulary(level: str, ids: list[int], text: str) -> None:
    with pytest.raises(TokenError, match=text):
        load(compile(counting(100), 8), level).run(ids, 1)


def halves(tokens: Sequence[str]) -> Graph:
    graph = Graph(TOKENS)
    graph.emit(tokens, graph.feature("x", {"low": 0.5, "high": 1.5, "no": 2.5, "yes": -7}))
    return graph


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("tokens", [TOKENS, TOKENS[::-1], ("no", "low", "yes", "high")])
def test_ties_between_the_tokens_of_one_rule(tokens: tuple[str, ...], token: str) -> None:
    outcomes(compile(halves(tokens), 8), [token])


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("divisor", [1, 2, 3])
def test_quotients(token: str, divisor: int) -> None:
    graph = Graph(TOKENS)
    dividend = graph.feature("a", {"low": 0, "high": divisor, "no": 3 * divisor - 1, "yes": 99})
    graph.emit_quotient(TOKENS, dividend, divisor + at_least(graph.position, 9))
    wanted = {"low": 0, "high": 1, "no": 2, "yes": 3}[token]
    assert outcomes(compile(graph, 16), [token]) == [TOKENS[wanted]]


@pytest.mark.parametrize("token", TOKENS)
def test_a_divisor_that_is_not_positive(token: str) -> None:
    graph = Graph(TOKENS)
    divisor = graph.feature("b", {"low": 0, "high": -1, "no": -2, "yes": 0})
    graph.emit_quotient(TOKENS, graph.feature("a", {"low": 3, "high": -2, "no": 5}), divisor)
    outcomes(compile(graph, 16), [token])
