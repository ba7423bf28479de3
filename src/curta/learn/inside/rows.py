"""Rows to look at: problems that are all laid out alike, and every small number in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.learn.experiment import Setup
from curta.learn.keys import new_key
from curta.learn.language import Rows
from curta.learn.numbers import Number
from curta.learn.reading import Reading, read

NUMBERS = 100
FEWEST_NUMBERS = 10
Batch = TypeVar("Batch", Rows, Reading)

ANYTHING = -1
"""Stands for a token that is neither a digit nor the end."""


@dataclass(frozen=True)
class Alike:
    """Rows of one layout: digits of the same significance at the same places."""

    rows: Rows
    labels: tuple[str, ...]
    """What is at each place: a symbol, or a digit as a1 (the ones of the first number)."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.rows.tokens.shape[0])


def rows_alike(setup: Setup, count: int, *, key: Array) -> Alike:
    """Different problems about operands of the longest trained length, of the commonest layout."""
    sampler = setup.sampler
    sizes = jnp.full((4 * count, sampler.operand_range[1]), sampler.sampling.digits[1])

    def draw(key: Array) -> tuple[Rows, Reading]:
        rows = sampler.rows_of_sizes(sizes, key=key, split="all")
        return rows, read(rows.tokens, rows.prompt_length, setup.language)

    drawn, reading = jax.device_get(jax.jit(draw)(key))
    _, first = np.unique(drawn.tokens, axis=0, return_index=True)
    different = np.sort(first)  # in the order of drawing, which is random
    _, which, counts = np.unique(
        layout(drawn, reading)[different], axis=0, return_inverse=True, return_counts=True
    )
    chosen = different[which.ravel() == int(counts.argmax())][:count]
    width = int(drawn.length[chosen[0]])
    alike = trimmed(taken(drawn, chosen), width)
    return Alike(alike, labels(setup, alike, taken(reading, chosen[:1]), width))


def layout(rows: Rows, reading: Reading) -> Int[np.ndarray, "batch width"]:
    """For each token which digit of which number it is, or that it is none, or behind the end."""
    index = np.arange(rows.tokens.shape[1])
    digit = reading.number * 1_000 + reading.significance
    kinds = np.where(reading.is_digit, digit, ANYTHING)
    inside = index < rows.length[:, None]
    question = index < rows.prompt_length[:, None]
    found: np.ndarray = np.where(inside, 2 * kinds + question, 0)
    return found


def labels(setup: Setup, rows: Rows, reading: Reading, width: int) -> tuple[str, ...]:
    """Names of the places of rows that are laid out alike."""
    symbols, tokens = setup.language.alphabet.symbols, np.asarray(rows.tokens)
    names = []
    for place in range(width):
        if bool(reading.is_digit[0, place]):
            number = int(reading.number[0, place]) - 1
            letter = chr(ord("a") + number % 26)
            names.append(f"{letter}{int(reading.significance[0, place])}")
            continue
        seen = np.minimum(np.unique(tokens[:, place]), len(symbols) - 1)
        names.append(symbols[seen[0]] if len(set(seen)) == 1 else "·")
    return tuple(names)


@dataclass(frozen=True)
class NumberRows:
    """A question for each of some numbers in a row, which is its first operand."""

    first: int
    rows: Rows
    at: Int[np.ndarray, " numbers"]
    """Where the last token of the number is."""


def number_rows(setup: Setup) -> NumberRows | str:
    """Questions about 0, 1, 2, ... as far as they were trained; or why there are none."""
    sampling, base = setup.sampler.sampling, setup.language.format.base
    low, high = sampling.digits
    start, stop = (0 if low == 1 else base ** (low - 1)), base**high
    if sampling.values is not None:
        start, stop = sampling.values[0], sampling.values[1] + 1
    stop = min(start + NUMBERS, stop)
    if stop - start < FEWEST_NUMBERS:
        return f"only {stop - start} numbers were trained"
    if stop >= 2**31:
        return f"the smallest number that was trained is {start}"

    def ask(values: Array) -> tuple[Rows, Reading]:
        rows = jax.vmap(lambda value: question(setup, value, low))(values)
        return rows, read(rows.tokens, rows.prompt_length, setup.language)

    rows, reading = jax.device_get(jax.jit(ask)(jnp.arange(start, stop)))
    inside, values = first_operand(setup, rows, reading)
    if (values != np.arange(start, stop)).any():
        return "questions of this task and format do not begin with their first operand as it is"
    return NumberRows(start, rows, last_true(inside))


def first_operand(
    setup: Setup, rows: Rows, reading: Reading
) -> tuple[Bool[np.ndarray, "batch width"], Int[np.ndarray, " batch"]]:
    """Where the first number of each row is, and its value."""
    alphabet = setup.language.alphabet
    prompt = np.arange(rows.tokens.shape[1]) < rows.prompt_length[:, None]
    if alphabet.number_places:
        said = np.where(prompt, rows.tokens - alphabet.first_number, -1)
        inside = (said >= 0) & (np.cumsum(said >= 0, axis=1) == 1)
        return inside, np.where(inside, said, 0).sum(axis=1)
    inside = prompt & reading.is_digit & (reading.number == 1)
    digits = (rows.tokens - alphabet.first_digit) % alphabet.base
    weight = alphabet.base ** np.clip(reading.significance - 1, 0, 8).astype(np.int64)
    return inside, np.where(inside, digits * weight, 0).sum(axis=1)


def question(setup: Setup, value: Int[Array, ""], others: int) -> Rows:
    """The row of a problem whose first operand is the value; other operands are 1, 11 or 111..."""
    base, places = setup.language.format.base, setup.sampler.places
    operands = setup.sampler.operand_range[1]
    first = value // base ** jnp.arange(min(places, 9)) % base
    first = jnp.pad(first, (0, places - first.shape[0]))
    length = jnp.maximum(jnp.where(first > 0, jnp.arange(places) + 1, 0).max(), 1)
    ones = jnp.broadcast_to(jnp.arange(places) < others, (operands - 1, places))
    digits = jnp.concatenate([first[None], ones.astype(first.dtype)])
    lengths = jnp.concatenate([length[None], jnp.full((operands - 1,), others)])
    none = jnp.zeros_like(lengths)
    given = Number(digits, lengths, none.astype(bool), none)
    problem = setup.language.problem(given, key=new_key(0))
    return setup.language.row(problem, setup.sampler.width)


def last_true(given: Bool[np.ndarray, "batch width"]) -> Int[np.ndarray, " batch"]:
    """The last place of each row that is true."""
    flipped = given[:, ::-1]
    found: np.ndarray = flipped.shape[1] - 1 - flipped.argmax(axis=1)
    return found


def taken(rows: Batch, chosen: np.ndarray) -> Batch:
    """Some of the rows, or of what was read in them."""
    some: Batch = jax.tree.map(lambda leaf: leaf[chosen], rows)
    return some


def trimmed(rows: Rows, width: int) -> Rows:
    """Rows up to a width."""
    return Rows(rows.tokens[:, :width], rows.prompt_length, rows.length, rows.valid)


def answer_targets(
    setup: Setup, alike: Alike
) -> tuple[Int[np.ndarray, "batch targets"], list[str]]:
    """What the answers of rows laid out alike say, and a name for each column.

    A column for each token; where a number is one token, a column for each of its digits.
    """
    alphabet, rows = setup.language.alphabet, alike.rows
    start, end = int(rows.prompt_length[0]), int(rows.length[0]) - 1
    tokens = np.asarray(rows.tokens)[:, start:end]
    columns, names = [], []
    for place in range(end - start):
        given, name = tokens[:, place], alike.labels[start + place]
        if alphabet.number_places and (given >= alphabet.first_number).all():
            value = given - alphabet.first_number
            for digit in range(len(str(int(value.max())))):
                columns.append(value // alphabet.base**digit % alphabet.base)
                names.append(f"digit {digit + 1}")
        else:
            columns.append(np.minimum(given, alphabet.size - 1))
            names.append(name)
    return np.stack(columns, axis=1), names
