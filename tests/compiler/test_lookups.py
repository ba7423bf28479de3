"""Lookups: how large keys may be, in how many digits, and that the ends of the range are right."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest

from curta.compiler import Graph, Model, Node, compile
from curta.compiler.derived import count_reached
from curta.dyadic import ceil_log2
from curta.engine import load
from curta.errors import CertificateError
from tests.support.agreement import agreed, carrying, said_by
from tests.support.slow import all_but

SAYING = 8


def filed(low: int, high: int, missing: Literal["nearest"] | float) -> Graph:
    """Keys and queries at both ends of [low, high] and beside them; says what was filed."""
    keys = [low, low + 1, (low + high) // 2, high - 1, high]
    graph, key = carrying(keys * 2, spare=3)
    tokens = list(graph.tokens)
    value = graph.feature("value", {name: number % 7 for number, name in enumerate(tokens)})
    away = graph.feature("away", dict(zip(tokens[5:10], (2, 2, 0, -2, -2), strict=True)))
    query = graph.assume(key + away, low, high)
    query = query if missing == "nearest" else key
    graph.emit(tokens[:SAYING], graph.lookup(query=query, key=key, value=value, missing=missing))
    return graph


def head_of(model: Model) -> dict[str, object]:
    heads = [head for layer in model.plan["layers"] for head in layer["heads"]]
    return next(head for head in heads if head["kind"] == "retrieve")


def digits_of(low: int, high: int, missing: Literal["nearest"] | float, max_tokens: int) -> int:
    """Digits of the head; 0 if it is refused."""
    try:
        return len(head_of(compile(filed(low, high, missing), max_tokens))["key"])  # type: ignore[arg-type]
    except CertificateError:
        return 0


def largest(fits: object, most: int) -> int:
    """The largest number up to `most` with a property that small numbers have."""
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)  # type: ignore[operator]
    return low


ORDER = [0, 4, 1, 3, 2, 0, 4, 5, 9, 6, 8, 7, 0, 4, 9, 5, 3, 1, 4, 0]


LENGTHS = [2, 3, 20, 2**10, 2**20, 2**33]


@pytest.mark.parametrize(
    ("max_tokens", "centred"),
    all_but([*zip(LENGTHS, 3 * [True, False], strict=True)], product(LENGTHS, (True, False))),
)
def test_one_digit_is_exact_up_to_the_formula(max_tokens: int, centred: bool) -> None:
    """2 q k + k**2 + 1 stays within 2**53 / T, with q and k measured from the middle."""
    span = largest(lambda k: digits_of(-k if centred else 0, k, "nearest", max_tokens) == 1, 2**28)
    reach = [span, span + 1] if centred else [(span + 1) // 2, (span + 2) // 2]
    limit = 2 ** (53 - ceil_log2(max_tokens))
    assert 3 * reach[0] ** 2 + 1 <= limit < 3 * reach[1] ** 2 + 1
    model = compile(filed(-span if centred else 0, span, "nearest"), max_tokens)
    assert agreed(model, ORDER[:max_tokens])[-1] >= 0


DIGITS = [
    (64, 23, 1),
    (64, 24, 2),
    (64, 26, 2),
    (2**20, 16, 1),
    (2**20, 17, 2),
    (2**26, 13, 1),
    (2**26, 14, 2),
    (2**26, 26, 2),
    (2**35, 18, 3),
    (2**39, 20, 4),
]


@pytest.mark.parametrize(("max_tokens", "bits", "digits"), DIGITS)
def test_more_digits_for_larger_keys(max_tokens: int, bits: int, digits: int) -> None:
    """As few digits as fit, and every number of digits is right at both ends of the keys."""
    model = compile(filed(0, 2**bits - 1, 7), max_tokens)
    assert len(head_of(model)["key"]) == digits  # type: ignore[arg-type]
    assert agreed(model, ORDER)[:2] == [0, 4]


@pytest.mark.parametrize(("max_tokens", "digits"), [(2**20, 2), (2**21, 3), (2**26, 3)])
def test_addresses_of_32_bits(max_tokens: int, digits: int) -> None:
    """Three digits of 11 bits are enough for all addresses and 2**26 tokens."""
    model = compile(filed(0, 2**32 - 1, 7), max_tokens)
    assert len(head_of(model)["key"]) == digits  # type: ignore[arg-type]
    assert agreed(model, ORDER)[:2] == [0, 4]


@pytest.mark.parametrize("missing", [0, "stop"])
def test_words_of_32_bits_at_addresses_of_32_bits(missing: Literal["stop"] | int) -> None:
    """What a computer's memory needs: the products of a default's gates stay small."""
    names = [f"t{number}" for number in range(4)]
    graph = Graph(names)
    words = [0, 7, 2**31 + 5, 2**32 - 1]
    word = graph.feature("word", dict(zip(names, words, strict=True)))
    asked = graph.feature("asked", dict(zip(names, (words[i] for i in (0, 1, 3, 2)), strict=True)))
    value = graph.lookup(query=asked, key=word, value=word, missing=missing).named("memory")
    graph.emit(names, count_reached(value, words[1:]))
    model = compile(graph, 2**26)
    said = agreed(model, [0, 1, 2, 3, 2, 1])
    assert said == ([0, 1, 0, 2, 3, 1] if missing == 0 else [0, 1, -1])


def test_addresses_of_32_bits_in_digits_of_the_user() -> None:
    graph = Graph([f"t{number}" for number in range(6)])
    names = list(graph.tokens)
    number = graph.feature("number", {name: place for place, name in enumerate(names)})
    words = [0, 2**32 - 1, 2**31, 1, 2**32 - 2, 2**11]
    digits = tuple(
        graph.feature(
            f"d{place}", {n: w >> place & 2047 for n, w in zip(names, words, strict=True)}
        )
        for place in (22, 11, 0)
    )
    swap = {names[a]: b for a, b in ((0, 1), (1, 0), (2, 4), (4, 2), (3, 3), (5, 5))}
    asked = tuple(
        graph.feature(f"q{place}", {n: words[w] >> place & 2047 for n, w in swap.items()})
        for place in (22, 11, 0)
    )
    found = graph.lookup(query=asked, key=digits, value=number, missing=5)
    graph.emit(names, found)
    model = compile(graph, 2**26)
    assert model.plan["layers"][0]["head_width"] == 4
    assert agreed(model, [0, 1, 2, 3, 4, 5, 1, 0]) == [5, 0, 5, 3, 2, 5, 0, 1]


def test_the_documented_room_of_a_plane_head() -> None:
    """64 Ki keys leave half a million tokens."""
    assert digits_of(0, 2**16 - 1, 7, 2**19) == 1


def test_the_most_recent_of_many_with_the_longest_memory() -> None:
    """Recency is one unit in the last place: adjacent duplicates, and one far behind."""
    max_tokens = 2**12
    span = largest(lambda k: digits_of(-k, k, "nearest", max_tokens) == 1, 2**28)
    graph, key = carrying([-span, span, -span, span, 0])
    asked = graph.feature("asked", {"t0": span, "t1": -span, "t2": -span, "t3": span})
    names = list(graph.tokens)
    value = graph.feature("value", {name: number for number, name in enumerate(names)})
    found = graph.lookup(query=asked, key=key, value=value, missing="nearest")
    graph.emit(names, found)
    model = compile(graph, max_tokens)
    prompt = [0, 2, 0, 1, 3, *[4] * 1500, 2, *[4] * 1500, 0, 1]
    expected = said_by("evaluate", model, prompt)
    assert expected[-2:] == [3, 0]
    assert expected == said_by("native", model, prompt)
    assert expected == np.concatenate([*load(model, "plain").replay(prompt)]).tolist()


# -- keys that are positions -------------------------------------------------------------------


def of_positions(factor: float, shift: float, missing: Literal["nearest"] | float) -> Graph:
    graph, value = carrying([0, 1, 2, 3])
    key = graph.position * factor
    query = graph.position * factor + shift
    graph.emit(list(graph.tokens), graph.lookup(query=query, key=key, value=value, missing=missing))
    return graph


POSITIONS = [
    (1, -2, 0),
    (-1, 2, 0),
    (-1, -1, 1),
    (2, -2, 0),
    (3, -1, 0),
    (1, -1000, "nearest"),
    (2, -1, "nearest"),
    (0.5, -0.25, "nearest"),
    (2, -1, 0),
    (1, -0.5, 0),
    (-4, 2, 2),
]


@pytest.mark.parametrize(("factor", "shift", "missing"), POSITIONS)
def test_keys_that_are_positions(
    factor: float, shift: float, missing: Literal["nearest"] | float
) -> None:
    model = compile(of_positions(factor, shift, missing), 64)
    agreed(model, [3, 3, 1, 1, 3, 2, 0, 1])


@pytest.mark.parametrize("max_tokens", [2, 3, 2**25, 2**26, 2**26 + 1])
def test_positions_of_any_length(max_tokens: int) -> None:
    model = compile(of_positions(1, -1, 3), max_tokens)
    assert agreed(model, [2, 3, 1, 1, 0][:max_tokens]) == [3, 2, 3, 1, 1][:max_tokens]


# -- magnitudes that float64 has no exponent for ------------------------------------------------


def product_of(exponent: int) -> Graph:
    graph, _ = carrying([0, 1])
    small: Node = graph.gate(graph.position - 1, 1) * 2.0**exponent
    graph.score("t0", 0)
    graph.score("t1", graph.gate(small, small + graph.position * 2.0**exponent))
    return graph


EXPONENTS = [
    100,
    -100,
    -400,
    -600,
    500,
]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_products_of_any_size_are_exact_or_refused(exponent: int) -> None:
    """2**-1200 has 53 bits to spare and no float64."""
    try:
        model = compile(product_of(exponent), 64)
    except CertificateError:
        return
    assert agreed(model, [0] * 5) == [0, 0, 1, 1, 1]
