"""Judging rows on the device, all seeds and all numbers of loops in one pass.

Rows come in batches of one shape, so each bucket of lengths is compiled once; a batch is as large
as bounded memory allows. What comes back is per row, small, and added up on the host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from curta.errors import ExperimentError
from curta.learn.evaluation.exact import Verdicts, check_length, teacher_forced
from curta.learn.evaluation.problems import RowSource
from curta.learn.experiment import Setup
from curta.learn.keys import mix
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.sampling import Split
from curta.learn.training.objective import answer_mask
from curta.learn.training.state import picked

MEMORY = 2**28
"""Bytes that the activations of one batch may take, roughly."""

MOST_ROWS = 1024


class Marks(eqx.Module):
    """What the models made of a batch of rows."""

    valid: Bool[Array, " batch"]
    question: UInt32[Array, " batch"]
    """A hash of the prompt: asking the same question again tells nothing new."""
    carries: Int[Array, " batch"]
    """Of a+b; -1 where a question is not that."""
    exact: Bool[Array, "seeds loops batch"]
    right: Int[Array, "seeds loops batch"]
    """Tokens of the answer that are right, each behind the right ones before it."""
    tokens: Int[Array, " batch"]
    logprob: Float[Array, "seeds loops batch"]
    loss: Float[Array, "seeds loops batch"]
    counted: Float[Array, " batch"]
    wrong_at: Int[Array, "seeds loops width-1"]
    """Errors by place in the answer, counted from the end token, which is at 0."""
    tokens_at: Int[Array, " width-1"]
    """How many answers have a token there."""
    fit: Bool[Array, ""]
    """Whether the models have parameters for all places."""


@dataclass
class Tally:
    """Marks of many rows, added up. Arrays are per seed and number of loops."""

    samples: int = 0
    tokens: int = 0
    counted: float = 0.0
    exact: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    right: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    logprob: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    loss: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    questions: Counter[int] = field(default_factory=Counter)
    """How often each different one was asked, by its hash."""

    @property
    def independent(self) -> float:
        """As many questions, each asked once, would leave the share of right answers as uncertain.

        Those that were asked w times each weigh so much: (sum of w)^2 / (sum of w^2), after Kish.
        """
        return self.samples**2 / max(1, sum(times**2 for times in self.questions.values()))

    def add(self, marks: Marks, rows: np.ndarray) -> None:
        """Count these rows of a batch."""
        rows = rows & np.asarray(marks.valid)
        self.samples += int(rows.sum())
        self.questions.update(np.asarray(marks.question)[rows].tolist())
        self.tokens += int(np.asarray(marks.tokens)[rows].sum())
        self.counted += float(np.asarray(marks.counted)[rows].sum())
        for name in ("exact", "right", "logprob", "loss"):
            held = np.asarray(getattr(marks, name))[..., rows].sum(axis=-1)
            setattr(self, name, getattr(self, name) + held.astype(np.float64))


class Judge:
    """Models of several seeds, and the compiled programs that judge them."""

    def __init__(
        self,
        setup: Setup,
        models: Transformer,
        loops: tuple[int, ...] = (),
        *,
        most_rows: int = MOST_ROWS,
    ) -> None:
        self.setup = setup
        self.most_rows = most_rows
        self.models = models
        self.loops = loops or (models.config.loops,)
        self.compiled = eqx.filter_jit(self.marks)

    @cached_property
    def seeds(self) -> int:
        """How many models there are."""
        return int(self.models.embedding.shape[0])

    @cached_property
    def first(self) -> Transformer:
        """One of the models."""
        return picked(self.models, 0)

    def batch_rows(self, width: int) -> int:
        """How many rows fit into memory at once: a power of two."""
        config = self.models.config
        per_token = 3 * config.heads * width + 6 * config.feedforward + 8 * config.width
        per_token += config.width * max(self.loops) + 4 * self.setup.language.alphabet.size
        fits = MEMORY // (4 * width * per_token)
        rows = 1
        while 2 * rows <= min(fits, self.most_rows):
            rows *= 2
        return rows

    def batches(
        self,
        source: RowSource,
        sizes: np.ndarray,
        split: Split,
        *,
        key: Array,
        trained: bool = False,
    ) -> Iterator[tuple[np.ndarray, Rows]]:
        """A row for each choice of sizes, batch by batch; and which ones they are.

        Batches of one width have one size, whatever they are for; what fills up the last one has
        the number -1.
        """
        check_length(self.first, self.setup, source.sampler.width)
        size = self.batch_rows(source.sampler.width)
        for number, which in enumerate(numbered(len(sizes), size)):
            own_key = jax.random.fold_in(key, number)
            yield which, source.rows(sizes[which], split, key=own_key, trained=trained)

    def __call__(self, rows: Rows, counted: np.ndarray) -> Marks:
        """Judge a batch, of which these rows count."""
        rows = replace(rows, valid=rows.valid & counted)
        marks: Marks = self.compiled(self.models, rows)
        if not marks.fit:
            raise ExperimentError(
                f"there are numbers with more digits than positions {self.setup.positions.name} "
                "has places for: train with evaluation digits that long, or ask for shorter ones"
            )
        return marks

    def marks(self, models: Transformer, rows: Rows) -> Marks:
        """One seed after the other, so that memory is that of one model."""
        arrays, rest = eqx.partition(models, eqx.is_array)
        mask = answer_mask(rows) & rows.valid[:, None]
        index = jnp.arange(mask.shape[1])
        from_end = jnp.where(mask, rows.length[:, None] - 2 - index, mask.shape[1])

        def one(arrays: Transformer) -> tuple[Array, ...]:
            judged: Verdicts = teacher_forced(
                eqx.combine(arrays, rest), self.setup, rows, self.loops
            )
            right = (judged.right & mask).sum(axis=-1)
            wrong = ~judged.right & mask
            wrong_at = jax.vmap(lambda wrong: at_places(wrong, from_end))(wrong)
            counts = judged.logprob, judged.loss, wrong_at, judged.counted
            return judged.exact, right, *counts, judged.fit

        exact, right, logprob, loss, wrong_at, counted, fit = jax.lax.map(one, arrays)
        nothing = jnp.full(rows.length.shape, -1)
        return Marks(
            valid=rows.valid,
            question=question_hash(rows),
            carries=nothing if rows.difficulty is None else rows.difficulty.carries,
            exact=exact,
            right=right,
            tokens=mask.sum(axis=1),
            logprob=logprob,
            loss=loss,
            counted=counted[0],
            wrong_at=wrong_at,
            tokens_at=at_places(mask, from_end),
            fit=fit.all(),
        )


def question_hash(rows: Rows) -> UInt32[Array, " batch"]:
    """Of the tokens of the prompts."""
    index = jnp.arange(rows.tokens.shape[1], dtype=jnp.uint32)
    terms = mix(mix(index) + rows.tokens.astype(jnp.uint32) + 1)
    asked = jnp.where(index < rows.prompt_length[:, None], terms, 0)
    return mix(asked.sum(axis=1, dtype=jnp.uint32))


def at_places(
    marked: Bool[Array, "batch width"], place: Int[Array, "batch width"]
) -> Int[Array, " width"]:
    """How many tokens are marked at each place."""
    empty = jnp.zeros((marked.shape[1],), jnp.int32)
    return empty.at[place].add(marked.astype(jnp.int32), mode="drop")


def numbered(count: int, size: int) -> Iterator[np.ndarray]:
    """The numbers of all rows in batches of one size; -1 for what fills up the last one."""
    for start in range(0, count, size):
        which = np.arange(start, start + size)
        yield np.where(which < count, which, -1)


def power_above(count: int) -> int:
    """The least power of two that is not less, so that few shapes are compiled."""
    return 1 << max(count - 1, 0).bit_length()


Progress = Callable[[int, int], None]
"""Told how many rows of how many are judged."""
