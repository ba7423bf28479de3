"""The benchmark of the arithmetic units: success over seeds, by the published criterion.

A seed succeeds if its extrapolation error is below that of a nearly perfect solution, at the step
with the lowest interpolation error among the last evaluations: the choice sees no test data. Of
the seeds that succeed, the benchmark reports the first step that met the criterion and how sparse
the weights are. (Madsen & Johansen 2019, "Measuring Arithmetic Extrapolation Performance".)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from curta.errors import ExperimentError
from curta.intervals import wilson
from curta.learn.units.arithmetic import (
    OPERATIONS,
    ArithmeticProblem,
    ArithmeticTask,
    success_threshold,
)
from curta.learn.units.comparison import (
    DECISION_THRESHOLD,
    LARGEST_MAGNITUDE,
    RELATIONS,
    ComparisonProblem,
)
from curta.learn.units.networks import (
    ARITHMETIC_DESIGNS,
    COMPARISON_DESIGNS,
    Design,
    Schedule,
    select_designs,
)
from curta.learn.units.problem import Problem
from curta.learn.units.sequences import LOOPS, SequenceProblem, looped
from curta.learn.units.statistics import Estimate, gamma_mean, median_interval
from curta.learn.units.training import Evaluation, History, TrainingOptions, train

Progress = Callable[[Evaluation], None]


@dataclass(frozen=True)
class Preset:
    """Everything that a benchmark run depends on, besides its key."""

    name: str
    arithmetic: TrainingOptions
    comparison: TrainingOptions
    sequence: TrainingOptions
    task: ArithmeticTask = field(default_factory=ArithmeticTask)
    batch_size: int = 128
    evaluation_size: int = 10_000
    threshold_samples: int = 1_000_000
    selection_window: int = 100
    largest_magnitude: int = LARGEST_MAGNITUDE
    sequences: int = 400
    """Training sequences of each seed."""
    schedules: Mapping[str, Schedule] = field(default_factory=lambda: MappingProxyType({}))
    """Regularisation by unit, where the published one does not suit a shorter training."""

    def __post_init__(self) -> None:
        sizes = "batch_size", "evaluation_size", "threshold_samples"
        for option in (*sizes, "selection_window", "sequences"):
            if getattr(self, option) < 1:
                raise ExperimentError(f"{option} is {getattr(self, option)}: choose at least 1")


@dataclass(frozen=True)
class UnitResult:
    """A cell of the table: one unit on one operation."""

    unit: str
    operation: str
    seeds: int
    successes: int
    rate: float
    interval: tuple[float, float]
    solved_at: Estimate | None
    """Steps to the first success, of the seeds that succeed: mean and its gamma interval."""
    sparsity: Estimate | None
    """Sparsity error of the seeds that succeed: median and its interval."""
    threshold: float
    median_error: float
    """The median over seeds of the error that the threshold is for."""
    steps: int


def run_benchmark(
    preset: Preset | str,
    *,
    key: PRNGKeyArray,
    units: tuple[str, ...] | None = None,
    operations: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> list[UnitResult]:
    """Trains the units on the arithmetic task; a result for each unit and operation."""
    preset = resolve_preset(preset)
    operations = tuple(OPERATIONS) if operations is None else operations
    problem = ArithmeticProblem(preset.task, operations, preset.batch_size, preset.evaluation_size)
    designs = select_designs(ARITHMETIC_DESIGNS, units)
    threshold_key, training_key = jax.random.split(key)
    thresholds = tuple(
        success_threshold(
            preset.task, operation, samples=preset.threshold_samples, key=threshold_key
        )
        for operation in operations
    )
    return _run(
        problem, designs, preset.arithmetic, thresholds, preset, key=training_key, progress=progress
    )


def run_comparisons(
    preset: Preset | str,
    *,
    key: PRNGKeyArray,
    units: tuple[str, ...] | None = None,
    operations: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> list[UnitResult]:
    """Trains the units on comparisons of digits, in double precision as published.

    A seed succeeds if it decides every test pair rightly at every magnitude.
    """
    preset = resolve_preset(preset)
    operations = tuple(RELATIONS) if operations is None else operations
    problem = ComparisonProblem(operations, preset.largest_magnitude)
    designs = select_designs(COMPARISON_DESIGNS, units)
    thresholds = (DECISION_THRESHOLD,) * len(operations)
    with _double_precision():
        return _run(
            problem, designs, preset.comparison, thresholds, preset, key=key, progress=progress
        )


def run_sequences(
    preset: Preset | str,
    *,
    key: PRNGKeyArray,
    units: tuple[str, ...] | None = ("nsr", "mlp"),
    operations: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> list[UnitResult]:
    """Trains comparisons inside of a loop, from the loop's result: a minimum, and a count.

    A seed succeeds if each answer rounds to the right number. Loops are slow for wide networks;
    None as `units` trains all of them.
    """
    preset = resolve_preset(preset)
    designs = select_designs(COMPARISON_DESIGNS, units)
    results = []
    with _double_precision():
        for operation in tuple(LOOPS) if operations is None else operations:
            problem = SequenceProblem(operation, preset.sequences, preset.largest_magnitude)
            inside = [looped(design, operation) for design in designs]
            thresholds = (DECISION_THRESHOLD,)
            results += _run(
                problem, inside, preset.sequence, thresholds, preset, key=key, progress=progress
            )
    return results


def resolve_preset(preset: Preset | str) -> Preset:
    if isinstance(preset, Preset):
        return preset
    if preset not in PRESETS:
        raise ExperimentError(
            f"preset: there is no preset {preset!r}; choose from {', '.join(PRESETS)}, "
            "or make a Preset"
        )
    return PRESETS[preset]


def summarise(
    design: str,
    operation: str,
    history: History,
    index: int,
    *,
    threshold: float,
    selection_window: int,
) -> UnitResult:
    """The criterion, applied to one operation of a history."""
    validation, test, sparsity = (
        curve[:, :, index] for curve in (history.validation, history.test, history.sparsity)
    )
    count, seeds = test.shape
    start = max(0, count - selection_window)
    # A network that overflowed is the worst choice, not an unknown one.
    best = start + np.argmin(np.nan_to_num(validation[start:], nan=np.inf), axis=0)
    columns = np.arange(seeds)
    selected = test[best, columns]
    succeeded = selected < threshold
    first = history.steps[np.argmax(test < threshold, axis=0)]
    successes = int(np.sum(succeeded))
    return UnitResult(
        unit=design,
        operation=operation,
        seeds=seeds,
        successes=successes,
        rate=successes / seeds,
        interval=wilson(successes, seeds),
        solved_at=gamma_mean([float(step) for step in first[succeeded]]),
        sparsity=median_interval([float(s) for s in sparsity[best, columns][succeeded]]),
        threshold=threshold,
        median_error=float(np.median(np.nan_to_num(selected, nan=np.inf))),
        steps=int(history.steps[-1]),
    )


def _run(
    problem: Problem,
    designs: list[Design],
    options: TrainingOptions,
    thresholds: tuple[float, ...],
    preset: Preset,
    *,
    key: PRNGKeyArray,
    progress: Progress | None,
) -> list[UnitResult]:
    results = []
    for design in designs:
        scheduled = replace(design, schedule=preset.schedules.get(design.name, design.schedule))
        # Every design gets the same key: the same tasks and batches for all of them.
        history = train(problem, scheduled, options, key=key, progress=progress)
        for index, operation in enumerate(problem.operations):
            window, limit = preset.selection_window, thresholds[index]
            result = summarise(
                design.name, operation, history, index, threshold=limit, selection_window=window
            )
            results.append(result)
    return results


def _double_precision() -> AbstractContextManager[Any]:
    """JAX's context for 64-bit numbers, which older versions keep among the experiments."""
    enable: Callable[[bool], AbstractContextManager[Any]] | None
    enable = getattr(jax, "enable_x64", None)
    if enable is None:
        enable = importlib.import_module("jax.experimental").enable_x64
    return enable(True)


_PRESETS = (
    Preset(
        name="smoke",
        arithmetic=TrainingOptions(seeds=3, steps=1_000, evaluate_every=100),
        comparison=TrainingOptions(seeds=3, steps=1_000, evaluate_every=100),
        sequence=TrainingOptions(seeds=3, steps=500, evaluate_every=100),
        task=ArithmeticTask(input_size=4, subset_ratio=0.5),
        evaluation_size=500,
        threshold_samples=10_000,
        selection_window=5,
        largest_magnitude=6,
        sequences=32,
    ),
    # A tenth of the inputs, a fiftieth of the steps. The regulariser's pull on a weight is λ over
    # the number of weights, which keeps NAU's published pull at a tenth of λ. NMU's is kept in
    # proportion to the curvature of its loss, the square of a sum: λ shrinks with the cube of the
    # input size. Both start once most seeds have found which weights matter.
    Preset(
        name="small",
        arithmetic=TrainingOptions(seeds=24, steps=100_000, evaluate_every=500),
        comparison=TrainingOptions(seeds=12, steps=20_000, evaluate_every=500),
        sequence=TrainingOptions(seeds=12, steps=12_000, evaluate_every=500),
        task=ArithmeticTask(input_size=10),
        evaluation_size=2_000,
        threshold_samples=100_000,
        sequences=100,
        schedules=MappingProxyType(
            {
                "nau": Schedule(strength=0.001, start=5e3, end=5e4),
                "nmu": Schedule(strength=0.01, start=2e4, end=4e4),
            }
        ),
    ),
    Preset(
        name="full",
        arithmetic=TrainingOptions(seeds=100, steps=5_000_000, evaluate_every=1_000),
        comparison=TrainingOptions(seeds=100, steps=50_000, evaluate_every=1_000),
        sequence=TrainingOptions(seeds=100, steps=50_000, evaluate_every=1_000),
    ),
)
PRESETS = MappingProxyType({preset.name: preset for preset in _PRESETS})
