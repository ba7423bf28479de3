"""What compiled heads fetch: for every token one earlier token, by keys and queries that are rules.

A rule gives each token a key and a query, both whole numbers. A token fetches the latest token, up
to itself, whose key is its query: the look-up of curta's compiler. Rules see digits and where they
stand in their numbers, so they are right at any length, and nothing in them is trained.

Below, t is the significance that the next token has if it is a digit, and n the number that it
belongs to, counted from 1 in the row; k is what is written behind a rule's name: `first-1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.reading import Reading

NONE = -1
"""The key of a token that nobody fetches; queries are never that."""
NOTHING = -2
"""The query of a token that fetches nothing; keys are never that."""
FURTHEST = 1 << 16
"""The digit of significance s in number n has the key n * 2^16 + s."""


class KeysAndQueries(NamedTuple):
    """One rule, applied to rows."""

    keys: Int[Array, "batch width"]
    queries: Int[Array, "batch width"]


Rule = Callable[[Reading, int], KeysAndQueries]


class Retrieval(NamedTuple):
    """A rule with its number, as it is written: `first-1`."""

    rule: str
    k: int = 0

    def fetched(self, reading: Reading) -> Int[Array, "batch width"]:
        """The index of the token that each token fetches, -1 where there is none."""
        return latest(RULES[self.rule][1](reading, self.k))


def retrievals(written: str) -> tuple[Retrieval, ...]:
    """Several, with spaces between them."""
    found = []
    for word in written.split():
        match = re.fullmatch(r"([a-z_]+)([+-]\d+)?", word)
        if match is None or match[1] not in RULES:
            there = ", ".join(f"{name} ({about})" for name, (about, _) in RULES.items())
            raise ExperimentError(
                f"{word!r} is not what a compiled head can fetch: write RULE, RULE+k or RULE-k, as "
                f"in 'first second first-1'; rules: {there}"
            )
        found.append(Retrieval(match[1], int(match[2] or 0)))
    return tuple(found)


def latest(rule: KeysAndQueries) -> Int[Array, "batch width"]:
    """The index of the last token up to each one whose key is its query, or -1."""
    index = jnp.arange(rule.keys.shape[1])
    matches = (rule.keys[:, None, :] == rule.queries[:, :, None]) & (index[:, None] >= index)
    return jnp.where(matches, index, -1).max(axis=-1)


# ---- the rules ----


def first(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(1), reading.next_significance + k)


def second(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(2), reading.next_significance + k)


def origin_first(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(1), carry_origin(reading, k))


def origin_second(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(2), carry_origin(reading, k))


def multiplicand(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(1), reading.next_significance - partial_product(reading) + k)


def multiplier(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, jnp.array(2), partial_product(reading) + 1 + k)


def last(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, next_number(reading) - 1, reading.next_significance + k)


def last_but_one(reading: Reading, k: int) -> KeysAndQueries:
    return digit_of(reading, next_number(reading) - 2, reading.next_significance + k)


def mark(reading: Reading, k: int) -> KeysAndQueries:
    count = jnp.cumsum(~reading.is_digit, axis=1)
    return KeysAndQueries(jnp.where(reading.is_digit, NONE, count), jnp.maximum(count + k, 0))


def token(reading: Reading, k: int) -> KeysAndQueries:
    index = jnp.broadcast_to(reading.index, reading.tokens.shape)
    return KeysAndQueries(index, jnp.where(index + k >= 0, index + k, NOTHING))


RULES: Mapping[str, tuple[str, Rule]] = MappingProxyType(
    {
        "first": ("the digit of significance t+k of the first number", first),
        "second": ("that of the second number", second),
        "origin_first": (
            "of the first number, the digit at the greatest place below t+k whose two digits do "
            "not add up to base-1: what is carried into t+k arises there or not at all",
            origin_first,
        ),
        "origin_second": ("that of the second number", origin_second),
        "multiplicand": (
            "of the first number, the digit that the j-th partial product has at t+k: t+k-j",
            multiplicand,
        ),
        "multiplier": ("of the second number, the digit of partial product j+k", multiplier),
        "last": ("the digit of significance t+k of number n-1", last),
        "last_but_one": ("that of number n-2", last_but_one),
        "mark": ("the latest token that is no digit; the k-th behind it, k being negative", mark),
        "token": ("the token k behind this one, k being negative", token),
    }
)  # fmt: skip
"""By name: what is fetched, and how."""


def digit_of(
    reading: Reading, number: Int[Array, "*batch"], significance: Int[Array, "batch width"]
) -> KeysAndQueries:
    """A digit, by its number and its significance there."""
    keys = jnp.where(reading.is_digit, reading.number * FURTHEST + reading.significance, NONE)
    asked = (number >= 1) & (significance >= 1) & (significance < FURTHEST)
    return KeysAndQueries(keys, jnp.where(asked, number * FURTHEST + significance, NOTHING))


def next_number(reading: Reading) -> Int[Array, "batch width"]:
    """Which number the next token belongs to if it is a digit."""
    return reading.number + ~reading.is_digit


def partial_product(reading: Reading) -> Int[Array, "batch width"]:
    """Which partial product is being written, from 0: products p and totals s alternate.

    a*b=p0+p1=s1+p2=s2+...: numbers 3, 4, 5, 6, 7 belong to 0, 1, 1, 2, 2.
    """
    return jnp.maximum(next_number(reading) - 2, 0) // 2


def carry_origin(reading: Reading, k: int) -> Int[Array, "batch width"]:
    """The significance at which what is carried into place t+k arises, or 0.

    A place whose digits add up to base-1 passes on what is carried into it; any other one decides.
    """
    places = reading.tokens.shape[1] + 1
    columns = column(reading, 1, places) + column(reading, 2, places)
    decides = jnp.where(columns != reading.base - 1, jnp.arange(places), 0)
    latest_decision = jax.lax.cummax(decides, axis=1)
    below = jnp.clip(reading.next_significance + k - 1, 0, places - 1)
    return jnp.take_along_axis(latest_decision, below, axis=1)


def column(reading: Reading, number: int, places: int) -> Int[Array, "batch places"]:
    """The digits of a number of the prompt by significance; 0 where it has none."""
    in_prompt = reading.index < reading.prompt_length[:, None]
    own = reading.is_digit & (reading.number == number) & in_prompt
    rows = jnp.arange(len(reading.tokens))[:, None]
    empty = jnp.zeros((len(reading.tokens), places), jnp.int32)
    return empty.at[rows, jnp.where(own, reading.significance, 0)].add(reading.digit * own)
