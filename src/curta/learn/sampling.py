"""Which problems are drawn: their lengths, their carries, and on which side of the split they lie.

Nothing is stored: a problem is a function of a key. The split between training and test is a
function of the problem, a hash of its question, so the two parts are disjoint by construction,
whatever the size of the space and whichever way a problem was drawn. A draw that falls on the
wrong side is drawn again; one that never falls on the right side does not count (`Rows.valid`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from curta.errors import ExperimentError
from curta.learn.config import Sampling
from curta.learn.keys import HASHED, mix, new_key
from curta.learn.language import Language, Rows
from curta.learn.numbers import Number, places_of, significant
from curta.learn.problem import Problem, Symbol

Split = Literal["train", "test", "all"]

TRIES = 64
"""Draws until a problem counts as not to be found."""


class Sampler:
    """Draws rows of a language."""

    def __init__(self, language: Language, sampling: Sampling) -> None:
        self.language = language
        self.sampling = sampling
        self.operand_range = operand_range(language, sampling)
        self.places = longest(language, sampling)
        self.width = language.width(self.operand_range[1], self.places)
        self.primed = priming_keys(self) if sampling.priming else None

    def rows(
        self, count: int, *, key: Array, split: Split = "train", step: Int[Array, ""] | int = 0
    ) -> Rows:
        """So many rows at random."""
        rows: Rows = self.drawn(count, key=key, split=split, step=step)[0]
        return rows

    @partial(jax.jit, static_argnames=("self", "count", "split"))
    def drawn(
        self, count: int, *, key: Array, split: Split = "train", step: Int[Array, ""] | int = 0
    ) -> tuple[Rows, Problem]:
        """So many rows at random, and the problems that they state."""

        def draw(key: Array) -> Problem:
            return self.problem(key=key, step=step)

        def row(key: Array) -> tuple[Rows, Problem]:
            return self.searched(draw, split, key=key)

        return jax.vmap(row)(jax.random.split(key, count))

    @partial(jax.jit, static_argnames=("self", "split"))
    def rows_of_sizes(
        self, sizes: Int[Array, "rows operands"], *, key: Array, split: Split = "test"
    ) -> Rows:
        """One row for each choice of digits per operand (0: no such operand)."""

        def row(sizes: Array, key: Array) -> Rows:
            def draw(key: Array) -> Problem:
                return self.problem_of_sizes(sizes, key=key)

            return self.searched(draw, split, key=key)[0]

        return jax.vmap(row)(sizes, jax.random.split(key, len(sizes)))

    def searched(
        self, draw: Callable[[Array], Problem], split: Split, *, key: Array
    ) -> tuple[Rows, Problem]:
        """Draw until the problem lies in the part."""
        share = self.sampling.test_share

        def wrong(problem: Problem) -> Bool[Array, ""]:
            return in_test(problem, self.sampling) != (split == "test")

        if split == "all" or (share == 0 and split == "train"):
            key, row_key = jax.random.split(key)
            problem = draw(key)
            return self.language.row(problem, self.width, key=row_key), problem
        if share == 0:
            part_missing = (
                "test_share = 0 leaves no test problems: set it above 0, or draw from all"
            )
            raise ExperimentError(part_missing)

        return self.until(draw, wrong, key=key)

    def until(
        self,
        draw: Callable[[Array], Problem],
        wrong: Callable[[Problem], Bool[Array, ""]],
        *,
        key: Array,
    ) -> tuple[Rows, Problem]:
        """Draw until the problem is not wrong; one that stays so is not valid."""
        key, row_key = jax.random.split(key)
        # The loop begins without a problem, so that drawing is compiled once, not also before it.
        none = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(draw, key)
        )

        def again(
            state: tuple[Array, Array, Array, Problem],
        ) -> tuple[Array, Array, Array, Problem]:
            tries, key, _, _ = state
            now, key = jax.random.split(key)
            problem = draw(now)
            return tries + 1, key, ~wrong(problem), problem

        def going_on(state: tuple[Array, Array, Array, Problem]) -> Bool[Array, ""]:
            tries, _, good, _ = state
            return ~good & (tries < TRIES)

        begin = (jnp.array(0), key, jnp.array(False), none)
        _, _, good, problem = jax.lax.while_loop(going_on, again, begin)
        row = self.language.row(problem, self.width, key=row_key)
        return replace(row, valid=good), problem

    def problem(self, *, key: Array, step: Int[Array, ""] | int = 0) -> Problem:
        """A problem with sizes at random."""
        sampling = self.sampling
        size_key, key, prime_key, which_key = jax.random.split(key, 4)
        if self.primed is None:
            return self.problem_of_sizes(self.sizes(key=size_key, step=step), key=key)
        which = small_integers(which_key, (), 0, sampling.priming_examples)
        fixed_sizes, fixed = jax.random.split(priming_key(jnp.asarray(self.primed)[which]))
        primed = jax.random.bernoulli(prime_key, sampling.priming_share)
        sizes = jnp.where(
            primed,
            self.sizes(key=fixed_sizes, digits=sampling.priming),
            self.sizes(key=size_key, step=step),
        )
        data = jnp.where(primed, jax.random.key_data(fixed), jax.random.key_data(key))
        return self.problem_of_sizes(sizes, key=jax.random.wrap_key_data(data, impl=HASHED))

    def priming_problem(self, *, key: Array) -> Problem:
        """The example for priming that belongs to a key."""
        size_key, key = jax.random.split(key)
        sizes = self.sizes(key=size_key, digits=self.sampling.priming)
        return self.problem_of_sizes(sizes, key=key)

    def sizes(
        self,
        *,
        key: Array,
        step: Int[Array, ""] | int = 0,
        digits: tuple[int, int] | None = None,
    ) -> Int[Array, " operands"]:
        """The digits of each operand; 0 for those that are not there."""
        length_key, count_key, alike_key = jax.random.split(key, 3)
        least, most = self.operand_range
        low, high = digits or self.sampling.digits
        top = jnp.array(high)
        if self.sampling.curriculum and digits is None:
            grown = (high - low) * jnp.asarray(step) // self.sampling.curriculum
            top = jnp.minimum(low + grown, high)
        shape = (1,) if self.sampling.equal else (most,)
        lengths = small_integers(length_key, shape, low, top + 1)
        count = jnp.array(most)
        if least < most:
            count = small_integers(count_key, (), least, most + 1)
        if self.language.task.alike:
            alike = jax.random.bernoulli(alike_key, self.language.task.alike)
            lengths = jnp.where(alike, lengths[0], lengths)
        return jnp.where(jnp.arange(most) < count, lengths, 0)

    def problem_of_sizes(self, sizes: Int[Array, " operands"], *, key: Array) -> Problem:
        """A problem about operands of these sizes."""
        digit_key, key = jax.random.split(key)
        operands = self.operands(self.language.task.sizes(sizes), key=digit_key)
        return self.language.problem(operands, key=key)

    def operands(self, sizes: Int[Array, " operands"], *, key: Array) -> Number:
        """Numbers of these sizes, or where the distribution is one of values, in their range."""
        base, task = self.language.format.base, self.language.task
        if self.sampling.values is not None:
            return uniform_values(sizes > 0, self.sampling.values, self.places, base, key)
        digits = uniform_digits(sizes, self.places, base, task.leading_zeros, key)
        if self.sampling.carries:
            digits = balanced_carries(
                digits,
                sizes,
                base,
                leading_zeros=task.leading_zeros,
                key=jax.random.fold_in(key, 1),
            )
        none = jnp.zeros_like(sizes)
        return Number(digits, sizes, none.astype(bool), none)


def operand_range(language: Language, sampling: Sampling) -> tuple[int, int]:
    """How many operands there are, at least and at most."""
    least, most = language.task.operands
    if sampling.carries and most < 2:
        raise ExperimentError(
            f"carries: {language.task.name} has a single operand; leave carries out"
        )
    if sampling.operands is None:
        return least, most
    low, high = sampling.operands
    if not least <= low <= high <= most:
        raise ExperimentError(
            f"operands = {low}..{high}: {language.task.name} takes {least} to {most}"
            + ("; its option numbers sets how many" if hasattr(language.task, "numbers") else "")
        )
    return low, high


def longest(language: Language, sampling: Sampling) -> int:
    """The room that operands need, in digits."""
    base = language.format.base
    if sampling.values is not None:
        places = places_of(sampling.values[1], base)
    else:
        places = max(sampling.digits[1], (sampling.priming or (0, 0))[1])
    most = language.task.digits_at_most(base)
    if most is not None and places > most:
        raise ExperimentError(
            f"digits = {places}: {language.task.name} takes operands of at most {most} digits in "
            f"base {base}"
        )
    return places


def small_integers(
    key: Array, shape: tuple[int, ...], low: int, high: Int[Array, ""] | int
) -> Int[Array, "*shape"]:
    """Integers from low up to, but without, high.

    Remainders of 32 random bits: with n of them, none is more than a share n / 2^32 too frequent.
    `jax.random.randint` draws three times as many bits to do better, in a batch's innermost loop.
    """
    span = jnp.asarray(high - low).astype(jnp.uint32)
    return low + (jax.random.bits(key, shape, jnp.uint32) % span).astype(jnp.int32)


def uniform_digits(
    sizes: Int[Array, " operands"], places: int, base: int, leading_zeros: bool, key: Array
) -> Int[Array, "operands places"]:
    """Digits at random; the first of a number with several is not zero."""
    inner, first = jax.random.split(key)
    shape = (sizes.shape[0], places)
    digits = small_integers(inner, shape, 0, base)
    place = jnp.arange(places)
    if not leading_zeros:
        leading = small_integers(first, (sizes.shape[0], 1), 1, base)
        is_leading = (place == sizes[:, None] - 1) & (sizes[:, None] > 1)
        digits = jnp.where(is_leading, leading, digits)
    return jnp.where(place < sizes[:, None], digits, 0)


def uniform_values(
    present: Bool[Array, " operands"], values: tuple[int, int], places: int, base: int, key: Array
) -> Number:
    """Operands uniform in a range."""
    low, high = values
    if high >= 2**31 - 1:
        raise ExperimentError(f"values up to {high}: use digits = for numbers above 2147483646")
    rest = jax.random.randint(key, present.shape, low, high + 1)
    columns = []
    for _ in range(places):
        columns.append(rest % base)
        rest = rest // base
    digits = jnp.where(present[:, None], jnp.stack(columns, axis=1), 0)
    none = jnp.zeros_like(rest)
    return Number(digits, jnp.where(present, significant(digits), 0), none.astype(bool), none)


def balanced_carries(
    digits: Int[Array, "operands places"],
    sizes: Int[Array, " operands"],
    base: int,
    *,
    leading_zeros: bool = False,
    key: Array,
) -> Int[Array, "operands places"]:
    """The first two operands drawn again, each possible number of carries as likely as others.

    With n digits in the shorter operand, there are k carries out of its places, k uniform in 0..n,
    at places drawn at random. With a carry c coming in, a place carries if a + b + c >= base: so a
    is uniform among the digits for which some b does what is wanted, and b among those b. Lengths
    stay; digits beyond the shorter operand do, too, and may hand a carry on. In base 2 two leading
    ones carry whatever is wanted.
    """
    count_key, order_key, digit_key = jax.random.split(key, 3)
    a, b = digits[0], digits[1]
    places = a.shape[0]
    shorter = jnp.minimum(sizes[0], sizes[1])
    inside = jnp.arange(places) < shorter
    wanted = jax.random.randint(count_key, (), 0, shorter + 1)
    order = jnp.where(inside, jax.random.uniform(order_key, (places,)), 2.0)
    carries = jnp.argsort(jnp.argsort(order)) < wanted
    drawn = jax.random.uniform(digit_key, (places, 2))
    leading = (jnp.arange(places)[:, None] == sizes[:2] - 1) & (sizes[:2] > 1)
    least = (leading & (not leading_zeros)).astype(digits.dtype)

    def between(low: Array, high: Array, share: Array) -> Array:
        """A digit from low to high; the high one if there is none, as in base 2."""
        low = jnp.clip(low, 0, base - 1)
        return jnp.clip(low + (share * (high - low + 1)).astype(low.dtype), low, base - 1)

    def place(carry: Array, at: tuple[Array, ...]) -> tuple[Array, tuple[Array, Array]]:
        a, b, least, carries, drawn, inside = at
        # A place that carries needs a + b >= base - carry, another one a + b <= base - 1 - carry.
        low_a = jnp.where(carries, jnp.maximum(least[0], 1 - carry), least[0])
        high_a = jnp.where(carries, base - 1, base - 1 - carry - least[1])
        new_a = between(low_a, high_a, drawn[0])
        low_b = jnp.where(carries, jnp.maximum(least[1], base - carry - new_a), least[1])
        high_b = jnp.where(carries, base - 1, base - 1 - carry - new_a)
        new_b = between(low_b, high_b, drawn[1])
        a, b = jnp.where(inside, new_a, a), jnp.where(inside, new_b, b)
        return (a + b + carry >= base).astype(a.dtype), (a, b)

    rows = (a, b, least, carries, drawn, inside)
    _, (a, b) = jax.lax.scan(place, jnp.zeros((), digits.dtype), rows)
    return digits.at[0].set(a).at[1].set(b)


PRIMING_DRAWS = 16
"""Candidates for each example of the priming, until there are not enough different ones."""


def priming_key(which: Int[Array, ""]) -> Array:
    """An example for priming is a function of its number, so there are only so many."""
    return jax.random.fold_in(new_key(1), which)


def priming_keys(sampler: Sampler) -> np.ndarray:
    """The numbers of the examples for priming: different ones that belong to training."""
    sampling = sampler.sampling
    candidates = jnp.arange(PRIMING_DRAWS * sampling.priming_examples)

    @jax.jit
    @jax.vmap
    def drawn(which: Array) -> tuple[Array, Array]:
        problem = sampler.priming_problem(key=priming_key(which))
        return fingerprint(problem), in_test(problem, sampling)

    prints, tested = map(np.asarray, drawn(candidates))
    _, firsts = np.unique(prints, return_index=True)
    usable = np.sort(firsts[~tested[firsts]])
    if len(usable) < sampling.priming_examples:
        low, high = sampling.priming or (0, 0)
        raise ExperimentError(
            f"priming_examples = {sampling.priming_examples}: only {len(usable)} different ones "
            f"were found with priming = {low}..{high}; ask for fewer, or for longer ones"
        )
    return usable[: sampling.priming_examples]


def in_test(problem: Problem, sampling: Sampling) -> Bool[Array, ""]:
    """Whether a problem belongs to the test part: its hash lies below the share."""
    most = jnp.uint32(min(int(sampling.test_share * 2**32), 2**32 - 1))
    below: Bool[Array, ""] = fingerprint(problem, ordered=sampling.mirrored) < most
    return below


def fingerprint(problem: Problem, *, ordered: bool = True) -> UInt32[Array, ""]:
    """A hash of the question: of what it says, not of how, nor of the room that it has.

    The sum of a hash for each piece at its place; places count only pieces that are there, so that
    it does not matter for how many operands there is room. Unordered, all numbers have one place.
    """
    total = jnp.uint32(0)
    before = jnp.uint32(0)
    for piece in problem.question:
        if isinstance(piece, Symbol):
            choice = piece.choice.reshape(-1)
            names = jnp.array([zlib.crc32(name.encode()) for name in piece.names], jnp.uint32)
            present = (choice >= 0).astype(jnp.uint32)
            place = mix(before + jnp.cumsum(present))
            terms = mix(place + names[jnp.maximum(choice, 0)])
        else:
            present = (piece.length > 0).astype(jnp.uint32)[None]
            place = mix(before + present if ordered else jnp.zeros_like(present))
            terms = mix(place + number_hash(piece))
        total += (present * terms).sum(dtype=jnp.uint32)
        before += present.sum(dtype=jnp.uint32)
    return mix(total)


def number_hash(given: Number) -> UInt32[Array, ""]:
    """A hash of digits, length, sign and point."""
    places = jnp.arange(given.places, dtype=jnp.uint32)
    terms = mix(mix(places) + (given.digits + 1).astype(jnp.uint32))
    total = jnp.where(places < given.length, terms, 0).sum(dtype=jnp.uint32)
    outside = 2 * given.fraction.astype(jnp.uint32) + given.negative.astype(jnp.uint32)
    return mix(total + mix(outside))
