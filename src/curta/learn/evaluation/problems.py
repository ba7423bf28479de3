"""Which problems an evaluation asks: by length, from the test part, outside of trained values.

What training could have drawn is tested on the test part, which it never drew. Lengths that were
never trained are drawn from all problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.errors import ExperimentError
from curta.learn.config import Sampling
from curta.learn.experiment import EvaluationConfig, Setup
from curta.learn.language import Rows
from curta.learn.numbers import Number, places_of
from curta.learn.problem import Problem, numbers_in
from curta.learn.sampling import TRIES, Sampler, Split, in_test

Sizes = tuple[int, ...]
"""Digits of each operand."""


@dataclass(frozen=True)
class Cell:
    """All problems with operands of these lengths."""

    sizes: Sizes
    trained: bool
    split: Split


def lengths_asked(config: EvaluationConfig, trained: tuple[int, int]) -> tuple[int, ...]:
    """The lengths that are measured; those of training where none are given."""
    low, high = config.digits or trained
    return config.lengths or tuple(range(low, high + 1, config.stride))


class Problems:
    """The problems of an evaluation, drawn by samplers of their own."""

    def __init__(self, setup: Setup, config: EvaluationConfig) -> None:
        self.setup = setup
        self.config = config
        self.sampling = setup.experiment.sampling
        self.sources: dict[Sampling, RowSource] = {}

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The lengths that are measured, short ones first."""
        return tuple(self.cell(sizes) for sizes in sorted(self.all_sizes(), key=max))

    def all_sizes(self) -> Iterator[Sizes]:
        """All operands alike, or all pairs."""
        lengths = lengths_asked(self.config, self.trained_digits)
        most = self.setup.sampler.operand_range[1]
        if self.config.grid and most != 2:
            raise ExperimentError(
                f"evaluation grid: {self.setup.experiment.task} has up to {most} operands, a grid "
                "is for two; leave it out"
            )
        if not self.config.grid:
            return iter([(length,) * most for length in lengths])
        return ((a, b) for a in lengths for b in lengths)

    @cached_property
    def trained_digits(self) -> tuple[int, int]:
        """The lengths that training draws, priming left out."""
        if self.sampling.values is None:
            return self.sampling.digits
        base = self.setup.language.format.base
        return places_of(self.sampling.values[0], base), self.setup.sampler.places

    def cell(self, sizes: Sizes) -> Cell:
        """Problems of these lengths, from the test part if training draws such."""
        low, high = self.trained_digits
        alike = len(set(sizes)) == 1 or not self.sampling.equal
        trained = alike and all(low <= size <= high for size in sizes)
        priming = self.sampling.priming
        primed = priming is not None and all(priming[0] <= size <= priming[1] for size in sizes)
        return Cell(sizes, trained, self.unseen if trained or primed else "all")

    @property
    def unseen(self) -> Split:
        """The test part, if there is one."""
        return "test" if self.sampling.test_share > 0 else "all"

    @property
    def seen(self) -> Split:
        """The training part, if the space is split."""
        return "train" if self.sampling.test_share > 0 else "all"

    def buckets(self) -> dict[int, list[Cell]]:
        """Cells by the room for digits that their rows are written with.

        All lengths up to the trained ones share one compiled program, and the rows of training
        have its shape, too; each further bucket is twice as long.
        """
        longest = max(max(cell.sizes) for cell in self.cells)
        found: dict[int, list[Cell]] = {}
        for cell in self.cells:
            places = self.setup.sampler.places
            while places < max(cell.sizes):
                places *= 2
            found.setdefault(min(places, longest), []).append(cell)
        return found

    def by_length(self, places: int) -> RowSource:
        """Draws problems of given lengths, up to so many places."""
        plain = replace(self.plain, digits=(1, places), values=None, carries=False)
        return self.source(plain, within=self.sampling.values)

    def as_trained(self) -> RowSource:
        """Draws what training draws at its end, without the examples that prime it."""
        return self.source(self.plain)

    @property
    def plain(self) -> Sampling:
        """The distribution of training without what changes it over time."""
        return replace(self.sampling, priming=None, curriculum=0)

    def source(self, sampling: Sampling, within: tuple[int, int] | None = None) -> RowSource:
        """One for each distribution of problems of a size; the sizes are chosen outside."""
        if sampling.values is None:
            sampling = replace(sampling, digits=(1, sampling.digits[1]), equal=False)
        if sampling not in self.sources:
            self.sources[sampling] = RowSource(Sampler(self.setup.language, sampling), within)
        return self.sources[sampling]

    def outside(self) -> RowSource:
        """Draws operands of which at least one lies outside of the trained range."""
        assert self.config.values is not None
        return RowSource(OutsideSampler(self.setup, self.config.values))

    def random_sizes(self, count: int, *, key: Array) -> np.ndarray:
        """Lengths as training draws them."""
        sampler = Sampler(self.setup.language, self.plain)
        draw = jax.jit(jax.vmap(lambda key: sampler.sizes(key=key)))
        return np.asarray(draw(jax.random.split(key, count)))


class RowSource:
    """A compiled program that writes rows of given lengths, of any part.

    within: the range of the operands of problems that training could draw
    """

    def __init__(self, sampler: Sampler, within: tuple[int, int] | None = None) -> None:
        self.sampler = sampler
        self.within = within
        self.drawn = jax.jit(self.draw)

    def rows(self, sizes: np.ndarray, split: Split, *, key: Array, trained: bool = False) -> Rows:
        """A row for each choice of lengths; `trained`: of those that training could draw."""
        want = {"train": 0, "test": 1, "all": 2}[split]
        rows: Rows = self.drawn(jnp.asarray(sizes), jnp.array(want), jnp.array(trained), key)
        return rows

    def draw(
        self,
        sizes: Int[Array, "rows operands"],
        want: Int[Array, ""],
        trained: Bool[Array, ""],
        key: Array,
    ) -> Rows:
        """The same, with the part as a number, so that it is compiled for all parts at once."""
        sampling, base = self.sampler.sampling, self.sampler.language.format.base

        def row(sizes: Array, key: Array) -> Rows:
            def wrong(problem: Problem) -> Bool[Array, ""]:
                other_part = (want < 2) & (in_test(problem, sampling) != (want == 1))
                if self.within is None:
                    return other_part
                return other_part | trained & is_outside(problem, self.within, base)

            def problem(key: Array) -> Problem:
                return self.sampler.problem_of_sizes(sizes, key=key)

            return self.sampler.until(problem, wrong, key=key)[0]

        return jax.vmap(row)(sizes, jax.random.split(key, len(sizes)))


class OutsideSampler(Sampler):
    """Operands uniform in a range, drawn again until one of them lies outside of another."""

    def __init__(self, setup: Setup, values: tuple[int, int]) -> None:
        sampling, base = setup.experiment.sampling, setup.language.format.base
        super().__init__(
            setup.language, replace(sampling, values=values, priming=None, curriculum=0)
        )
        low, high = sampling.values or (0, base ** sampling.digits[1] - 1)
        self.trained = low, min(high, 2**31 - 2)
        if low <= values[0] and values[1] <= high:
            raise ExperimentError(
                f"evaluation values = {values[0]}..{values[1]} lie within the trained ones, "
                f"{low}..{high}: choose values outside of them"
            )

    def operands(self, sizes: Int[Array, " operands"], *, key: Array) -> Number:
        def draw(key: Array) -> Number:
            return Sampler.operands(self, sizes, key=key)

        def going_on(state: tuple[Array, Array, Number]) -> Bool[Array, ""]:
            tries, _, drawn = state
            return ~self.is_outside(drawn) & (tries < TRIES)

        def again(state: tuple[Array, Array, Number]) -> tuple[Array, Array, Number]:
            tries, key, _ = state
            key, now = jax.random.split(key)
            return tries + 1, key, draw(now)

        first, key = jax.random.split(key)
        return jax.lax.while_loop(going_on, again, (jnp.array(1), key, draw(first)))[2]

    def is_outside(self, drawn: Number) -> Bool[Array, ""]:
        """Whether one of the operands was never trained. All values are below 2^31."""
        return outside(drawn, self.trained, self.language.format.base).any()


def is_outside(problem: Problem, values: tuple[int, int], base: int) -> Bool[Array, ""]:
    """Whether a number of the question lies outside of a range."""
    return jnp.stack([outside(one, values, base) for one in numbers_in(problem.question)]).any()


def outside(given: Number, values: tuple[int, int], base: int) -> Bool[Array, "*batch"]:
    """Which numbers are there and outside of a range; places beyond those of its end are zero."""
    low, high = values
    few = min(given.places, places_of(high, base))
    value = jnp.zeros_like(given.length)
    for place in reversed(range(few)):
        value = value * base + given.digits[..., place]
    longer = (given.digits[..., few:] > 0).any(axis=-1)
    return (given.length > 0) & (longer | (value < low) | (value > high))
