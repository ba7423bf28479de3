"""Which problems are drawn: their lengths, their carries, and on which side of the split they lie.

Nothing is stored: a problem is a function of a key. The split between training and test is a
function of the problem, a hash of its question, so the two parts are disjoint by construction,
whatever the size of the space and whichever way a problem was drawn. A draw that falls on the
wrong side is drawn again; one that never falls on the right side does not count (`Rows.valid`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from curta.errors import ExperimentError
from curta.learn.language import Language, Rows
from curta.learn.numbers import Number, significant
from curta.learn.problem import Problem, Symbol

Part = Literal["train", "test", "all"]

TRIES = 64
"""Draws until a problem counts as not to be found."""


@dataclass(frozen=True)
class Sampling:
    """The distribution of problems.

    digits:      operands have between so many digits, each number of digits as likely as others
    values:      instead, operands are uniform in this range
    operands:    how many there are, for tasks that take more or fewer
    equal:       all operands of a problem have the same number of digits
    carries:     pairs of digits are drawn so that few and many carries are as likely
    priming:     digits of the few long examples mixed in
    priming_examples, priming_share: how many different ones there are, and how often they come
    curriculum:  steps over which the upper end of `digits` grows from its lower end
    test_share:  the part of all problems that is never trained on
    """

    digits: tuple[int, int] = (1, 10)
    values: tuple[int, int] | None = None
    operands: tuple[int, int] | None = None
    equal: bool = False
    carries: bool = False
    priming: tuple[int, int] | None = None
    priming_examples: int = 50
    priming_share: float = 0.1
    curriculum: int = 0
    test_share: float = 0.05

    def __post_init__(self) -> None:
        for name in ("digits", "values", "operands", "priming"):
            given = getattr(self, name)
            least = 0 if name == "values" else 1
            if given is not None and not least <= given[0] <= given[1]:
                raise ExperimentError(
                    f"{name} = {given[0]}..{given[1]}: a range goes from {least} or more upwards"
                )
        if not 0 <= self.test_share < 1:
            raise ExperimentError(f"test_share = {self.test_share}: must be at least 0, below 1")
        if not 0 <= self.priming_share < 1:
            raise ExperimentError(f"priming_share = {self.priming_share}: at least 0, below 1")


class Sampler:
    """Draws rows of a language."""

    def __init__(self, language: Language, sampling: Sampling) -> None:
        self.language = language
        self.sampling = sampling
        self.operand_range = operand_range(language, sampling)
        self.places = longest(language, sampling)
        self.width = language.width(self.operand_range[1], self.places)

    def rows(
        self, count: int, *, key: Array, part: Part = "train", step: Int[Array, ""] | int = 0
    ) -> Rows:
        """So many rows at random."""

        def draw(key: Array) -> Problem:
            return self.problem(key=key, step=step)

        return jax.vmap(lambda key: self.searched(draw, part, key=key))(
            jax.random.split(key, count)
        )

    def rows_of_sizes(
        self, sizes: Int[Array, "rows operands"], *, key: Array, part: Part = "test"
    ) -> Rows:
        """One row for each choice of digits per operand (0: no such operand)."""

        def row(sizes: Array, key: Array) -> Rows:
            def draw(key: Array) -> Problem:
                return self.problem_of_sizes(sizes, key=key)

            return self.searched(draw, part, key=key)

        return jax.vmap(row)(sizes, jax.random.split(key, len(sizes)))

    def searched(self, draw: Callable[[Array], Problem], part: Part, *, key: Array) -> Rows:
        """Draw until the problem lies in the part."""
        share = self.sampling.test_share

        def wrong(problem: Problem) -> Bool[Array, ""]:
            return in_test(problem, share) != (part == "test")

        if part == "all" or (share == 0 and part == "train"):
            return self.language.row(draw(key), self.width)
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
    ) -> Rows:
        """Draw until the problem is not wrong; one that stays so is not valid."""
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
        row = self.language.row(problem, self.width)
        return Rows(row.tokens, row.prompt_length, row.length, good)

    def problem(self, *, key: Array, step: Int[Array, ""] | int = 0) -> Problem:
        """A problem with sizes at random."""
        sampling = self.sampling
        size_key, key, prime_key, which_key = jax.random.split(key, 4)
        if sampling.priming is None:
            return self.problem_of_sizes(self.sizes(key=size_key, step=step), key=key)
        # An example for priming is a function of its number, so there are only so many.
        which = jax.random.randint(which_key, (), 0, sampling.priming_examples)
        fixed_sizes, fixed = jax.random.split(jax.random.fold_in(jax.random.key(1), which))
        primed = jax.random.bernoulli(prime_key, sampling.priming_share)
        sizes = jnp.where(
            primed,
            self.sizes(key=fixed_sizes, digits=sampling.priming),
            self.sizes(key=size_key, step=step),
        )
        data = jnp.where(primed, jax.random.key_data(fixed), jax.random.key_data(key))
        return self.problem_of_sizes(sizes, key=jax.random.wrap_key_data(data))

    def sizes(
        self,
        *,
        key: Array,
        step: Int[Array, ""] | int = 0,
        digits: tuple[int, int] | None = None,
    ) -> Int[Array, " operands"]:
        """The digits of each operand; 0 for those that are not there."""
        length_key, count_key = jax.random.split(key)
        least, most = self.operand_range
        low, high = digits or self.sampling.digits
        top = jnp.array(high)
        if self.sampling.curriculum and digits is None:
            grown = (high - low) * jnp.asarray(step) // self.sampling.curriculum
            top = jnp.minimum(low + grown, high)
        shape = (1,) if self.sampling.equal else (most,)
        lengths = jax.random.randint(length_key, shape, low, top + 1)
        count = jax.random.randint(count_key, (), least, most + 1)
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
            digits = balanced_carries(digits, base, key=jax.random.fold_in(key, 1))
        none = jnp.zeros_like(sizes)
        return Number(digits, sizes, none.astype(bool), none)


def operand_range(language: Language, sampling: Sampling) -> tuple[int, int]:
    """How many operands there are, at least and at most."""
    least, most = language.task.operands
    if sampling.operands is None:
        return least, most
    low, high = sampling.operands
    if not least <= low <= high <= most:
        raise ExperimentError(
            f"operands = {low}..{high}: {language.task.name} takes {least} to {most}"
        )
    return low, high


def longest(language: Language, sampling: Sampling) -> int:
    """The room that operands need, in digits."""
    base = language.format.base
    if sampling.values is not None:
        places = places_of(sampling.values[1], base)
    else:
        places = max(sampling.digits[1], (sampling.priming or (0, 0))[1])
    most = language.task.digits_at_most
    if most is not None and places > most:
        raise ExperimentError(
            f"operands of {places} digits: {language.task.name} takes at most {most}"
        )
    return places


def places_of(value: int, base: int) -> int:
    """How many digits a value has."""
    places = 1
    while base**places <= value:
        places += 1
    return places


def uniform_digits(
    sizes: Int[Array, " operands"], places: int, base: int, leading_zeros: bool, key: Array
) -> Int[Array, "operands places"]:
    """Digits at random; the first of a number with several is not zero."""
    inner, first = jax.random.split(key)
    shape = (sizes.shape[0], places)
    digits = jax.random.randint(inner, shape, 0, base)
    place = jnp.arange(places)
    if not leading_zeros:
        leading = jax.random.randint(first, (sizes.shape[0], 1), 1, base)
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
    digits: Int[Array, "operands places"], base: int, *, key: Array
) -> Int[Array, "operands places"]:
    """The second operand drawn again, so that a share of places carries that is itself uniform.

    Digits beyond an operand's length and leading digits stay: neither lengths nor values of
    leading digits change.
    """
    share_key, pick_key, carry_key = jax.random.split(key, 3)
    a, b = digits[0], digits[1]
    share = jax.random.uniform(share_key)
    carrying = jax.random.uniform(carry_key, a.shape) < share
    low = jnp.where(carrying, base - a, 0)
    high = jnp.where(carrying, base, base - a)
    low = jnp.minimum(low, base - 1)
    drawn = low + (jax.random.uniform(pick_key, a.shape) * (high - low)).astype(a.dtype)
    inside = jnp.arange(a.shape[0]) < significant(b) - 1
    return digits.at[1].set(jnp.where(inside, jnp.minimum(drawn, base - 1), b))


def in_test(problem: Problem, share: float) -> Bool[Array, ""]:
    """Whether a problem belongs to the test part: its hash lies below the share."""
    below: Bool[Array, ""] = fingerprint(problem) < jnp.uint32(min(int(share * 2**32), 2**32 - 1))
    return below


def fingerprint(problem: Problem) -> UInt32[Array, ""]:
    """A hash of the question: of what it says, not of how, nor of the room that it has."""
    total = jnp.uint32(0)
    for index, piece in enumerate(problem.question):
        place = mixed(jnp.uint32(index + 1))
        if isinstance(piece, Symbol):
            total += mixed(place + piece.choice.astype(jnp.uint32))
            continue
        where = mixed(place + jnp.arange(piece.places, dtype=jnp.uint32))
        terms = mixed(where + mixed((piece.digits + 1).astype(jnp.uint32)))
        inside = jnp.arange(piece.places) < piece.length
        total += jnp.where(inside, terms, 0).sum(dtype=jnp.uint32)
        total += mixed(place - 1 - piece.negative.astype(jnp.uint32))
    return mixed(total)


def mixed(value: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Scrambles 32 bits: multiplications and shifts, each of them reversible."""
    value = (value ^ (value >> 16)) * jnp.uint32(0x7FEB352D)
    value = (value ^ (value >> 15)) * jnp.uint32(0x846CA68B)
    return value ^ (value >> 16)
