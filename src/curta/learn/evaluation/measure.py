"""Evaluation: what is asked, what is counted, what it comes to.

Kinds of questions: problems drawn as in training (the training part and the test part), problems
by length, problems with operands outside of the trained range; and walks, which ask for each step
of a long computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from curta.learn.evaluation.exact import check_length
from curta.learn.evaluation.judging import (
    MOST_ROWS,
    Judge,
    Marks,
    Progress,
    Tally,
    numbered,
    power_above,
)
from curta.learn.evaluation.probes import Commuted, can_commute, can_relabel, relabelled
from curta.learn.evaluation.problems import Cell, Problems, RowSource
from curta.learn.evaluation.walks import WalkCell, stepping, walk_accuracy
from curta.learn.experiment import EvaluationConfig, Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.sampling import Sampler, Split
from curta.learn.training.state import picked

SAMPLES = 16
"""Sample answers of each kind."""


@dataclass
class Errors:
    """Where and when answers go wrong. Arrays are per seed and number of loops, then per bin."""

    tokens_at: np.ndarray
    wrong_at: np.ndarray
    carries_samples: np.ndarray
    carries_exact: np.ndarray

    @staticmethod
    def none(seeds: int, loops: int, bins: int) -> Errors:
        """Nothing counted yet."""
        flat, full = np.zeros(bins, np.int64), np.zeros((seeds, loops, bins), np.int64)
        return Errors(flat.copy(), full.copy(), flat.copy(), full.copy())

    def add(self, marks: Marks) -> None:
        """Count a batch."""
        tokens_at, wrong_at = np.asarray(marks.tokens_at), np.asarray(marks.wrong_at)
        self.tokens_at[: tokens_at.shape[-1]] += tokens_at
        self.wrong_at[..., : wrong_at.shape[-1]] += wrong_at
        carries, exact = np.asarray(marks.carries), np.asarray(marks.exact)
        for number in np.unique(carries[np.asarray(marks.valid) & (carries >= 0)]):
            rows = (carries == number) & np.asarray(marks.valid)
            self.carries_samples[number] += rows.sum()
            self.carries_exact[..., number] += exact[..., rows].sum(axis=-1)


@dataclass
class Evaluation:
    """What was measured, before any statistics."""

    loops: tuple[int, ...]
    own_loops: int
    """With so many loops the model was trained; its figures carry no mark."""
    seeds: tuple[int, ...]
    suites: dict[str, Tally] = field(default_factory=dict)
    """train, test (where problems were kept for it), ood."""
    cells: list[tuple[Cell, Tally]] = field(default_factory=list)
    errors: dict[str, Errors] = field(default_factory=dict)
    """trained, longer, ood: each where it was asked."""
    probes: dict[str, Tally] = field(default_factory=dict)
    walks: list[tuple[WalkCell, ...]] = field(default_factory=list)
    """Of one operation and length, a cell for each seed: all walk along the same numbers."""
    sampled: dict[str, Rows] = field(default_factory=dict)
    """A few questions of each kind, for models to answer in full."""
    data: dict[str, Any] = field(default_factory=dict)
    """Statistics of what training draws."""


def evaluate(
    setup: Setup,
    models: Transformer,
    config: EvaluationConfig | None = None,
    *,
    key: Array,
    on_progress: Progress = lambda done, total: None,
) -> Evaluation:
    """Ask models of several seeds (stacked, as training leaves them) the same questions."""
    config = setup.experiment.evaluation if config is None else config
    own, training = models.config.loops, setup.experiment.training
    loops = tuple(dict.fromkeys((*config.loops, own) if config.loops else (own,)))
    problems = Problems(setup, config)
    if config.walks:
        stepping(setup)
    rows = power_above(max(config.test, config.samples * len(problems.cells)))
    judge = Judge(setup, models, loops, most_rows=min(rows, MOST_ROWS))
    seeds = tuple(range(training.seed, training.seed + judge.seeds))
    evaluation = Evaluation(loops, own, seeds)
    for places in problems.buckets():
        check_length(judge.first, setup, problems.by_length(places).sampler.width)
    evaluator = Evaluator(judge, evaluation, on_progress, total(problems, judge.seeds))
    train_key, test_key, outside_key, length_key = jax.random.split(key, 4)
    sizes_key, length_key = jax.random.split(length_key)
    sizes = problems.random_sizes(config.test, key=sizes_key)
    source = problems.as_trained()
    evaluator.suite("train", source, sizes, problems.seen, key=train_key)
    if problems.unseen == "test":
        evaluator.suite("test", source, sizes, "test", key=test_key)
    if config.values is not None:
        evaluator.suite("ood", problems.outside(), sizes, "all", key=outside_key)
    if config.probes:
        evaluator.probes(problems, sizes, key=jax.random.fold_in(test_key, 1))
    for places, cells in problems.buckets().items():
        source, key = problems.by_length(places), jax.random.fold_in(length_key, places)
        for trained in (True, False):
            for split in ("test", "all"):
                group = [cell for cell in cells if (cell.trained, cell.split) == (trained, split)]
                if group:
                    evaluator.lengths(source, group, config.samples, key=key)
    evaluator.walks(config)
    return evaluation


def total(problems: Problems, seeds: int) -> int:
    """How many rows will be judged, and walks walked."""
    config = problems.config
    suites = 1 + (problems.unseen == "test") + (config.values is not None)
    if config.probes:
        suites += can_relabel(problems) + can_commute(problems)
    operations = len(stepping(problems.setup).operations) if config.walks else 0
    walks = operations * len(config.walks) * seeds
    return suites * config.test + (len(problems.cells) + walks) * config.samples


@dataclass
class Evaluator:
    """An evaluation under way."""

    judge: Judge
    evaluation: Evaluation
    on_progress: Progress
    total: int
    done: int = 0

    def suite(
        self, name: str, source: RowSource, sizes: np.ndarray, split: Split, *, key: Array
    ) -> None:
        """Problems drawn from a distribution."""
        tally = self.evaluation.suites.setdefault(name, self.empty())
        for which, rows, marks in self.judged(self.judge.batches(source, sizes, split, key=key)):
            tally.add(marks, which >= 0)
            if name == "train" and not self.evaluation.data:
                self.evaluation.data = statistics(self.judge.setup, rows)
            if split != "train" and name not in self.evaluation.sampled:
                self.evaluation.sampled[name] = spread(rows, (which >= 0) & marks.valid)
            if name == "ood":
                self.errors(name, source.sampler).add(marks)

    def probes(self, problems: Problems, sizes: np.ndarray, *, key: Array) -> None:
        """Questions of the test part, changed in ways that a rule does not mind."""
        source, split = problems.as_trained(), problems.unseen
        if can_commute(problems):
            size = self.judge.batch_rows(source.sampler.width)
            commuted = Commuted(source.sampler)
            tally = self.evaluation.probes["commuted"] = self.empty()
            batches = numbered(len(sizes), size)
            for which, _, marks in self.judged(
                (which, commuted.rows(sizes[which], key=jax.random.fold_in(key, number)))
                for number, which in enumerate(batches)
            ):
                tally.add(marks, which >= 0)
        if not can_relabel(problems):
            return
        tally = self.evaluation.probes["relabelled"] = self.empty()
        for which, _, marks in self.judged(
            (which, relabelled(rows, problems.setup.language.alphabet, key=key))
            for which, rows in self.judge.batches(source, sizes, split, key=key)
        ):
            tally.add(marks, which >= 0)

    def lengths(self, source: RowSource, cells: list[Cell], samples: int, *, key: Array) -> None:
        """So many samples of each cell, all of one kind; they go through together."""
        sizes = np.repeat(np.array([cell.sizes for cell in cells]), samples, axis=0)
        split, trained = cells[0].split, cells[0].trained
        key = jax.random.fold_in(jax.random.fold_in(key, trained), split == "test")
        tallies = [self.empty() for _ in cells]
        batches = self.judge.batches(source, sizes, split, key=key, trained=trained)
        for which, rows, marks in self.judged(batches):
            of_cell = np.where(which >= 0, which // samples, -1)
            for number in np.unique(of_cell[of_cell >= 0]):
                tallies[number].add(marks, of_cell == number)
            name = "trained" if trained else "longer"
            self.errors(name, source.sampler).add(marks)
            if not trained and name not in self.evaluation.sampled:
                self.evaluation.sampled[name] = spread(rows, (which >= 0) & marks.valid)
        self.evaluation.cells.extend(zip(cells, tallies, strict=True))

    def walks(self, config: EvaluationConfig) -> None:
        """Long computations, each seed alone: what is asked next depends on what it said."""
        if not config.walks:
            return

        def done() -> None:
            self.done += config.samples
            self.on_progress(self.done, self.total)

        seed = self.judge.setup.experiment.training.seed
        by_seed = [
            walk_accuracy(
                picked(self.judge.models, index), self.judge.setup, config.walks, config.samples,
                seed=seed, done=done,
            )
            for index in range(self.judge.seeds)
        ]  # fmt: skip
        self.evaluation.walks = list(zip(*by_seed, strict=True))

    def judged(
        self, batches: Iterator[tuple[np.ndarray, Rows]]
    ) -> Iterator[tuple[np.ndarray, Rows, Marks]]:
        """Marks of each batch, with progress told."""
        for which, rows in batches:
            marks = jax.device_get(self.judge(rows, which >= 0))
            self.done += int((which >= 0).sum())
            self.on_progress(self.done, self.total)
            yield which, rows, marks

    def empty(self) -> Tally:
        """Nothing counted, in the right shape."""
        shape = (self.judge.seeds, len(self.judge.loops))
        return Tally(
            exact=np.zeros(shape), right=np.zeros(shape), logprob=np.zeros(shape),
            loss=np.zeros(shape),
        )  # fmt: skip

    def errors(self, name: str, sampler: Sampler) -> Errors:
        """The bins of a kind of questions, with room for its rows' tokens and for all carries.

        A row is longer than all its digits, but for rows whose numbers are single tokens.
        """
        held = self.evaluation.errors.get(name)
        bins = max(sampler.width, sampler.language.alphabet.number_places + 1)
        if held is None or len(held.tokens_at) < bins:
            wider = Errors.none(self.judge.seeds, len(self.judge.loops), bins)
            if held is not None:
                size = len(held.tokens_at)
                for name_of_bins in ("tokens_at", "wrong_at", "carries_samples", "carries_exact"):
                    getattr(wider, name_of_bins)[..., :size] = getattr(held, name_of_bins)
            held = self.evaluation.errors[name] = wider
        return held


def spread(rows: Rows, valid: np.ndarray) -> Rows:
    """A few of the rows that count, evenly spread over the batch."""
    numbers = np.flatnonzero(valid)
    chosen = numbers[np.linspace(0, len(numbers) - 1, SAMPLES).astype(int)] if len(numbers) else []
    few: Rows = jax.tree.map(lambda leaf: np.asarray(leaf)[np.asarray(chosen, int)], rows)
    return few


def statistics(setup: Setup, rows: Rows) -> dict[str, Any]:
    """Lengths and carries of what training draws."""
    valid = np.asarray(rows.valid)
    assert rows.difficulty is not None
    digits, carries = (
        np.asarray(each)[valid] for each in (rows.difficulty.digits, rows.difficulty.carries)
    )
    return {
        "problems": int(valid.sum()),
        "width": rows.tokens.shape[1],
        "test_share": setup.experiment.sampling.test_share,
        "number_digits": histogram(digits[digits > 0]),
        "row_tokens": histogram(np.asarray(rows.length)[valid]),
        "carries": histogram(carries[carries >= 0]),
    }


def histogram(values: np.ndarray) -> dict[str, int]:
    """How often each value occurs."""
    distinct, counts = np.unique(values, return_counts=True)
    return {str(value): int(count) for value, count in zip(distinct, counts, strict=True)}
