"""Arithmetic units and their benchmark: which layers find an exact rule, and how often.

    results = run_benchmark("small", key=jax.random.key(0))
    rich.print(table(results))

`run_benchmark` trains NAC, NALU, NAU, NMU and baselines on sums, products and quotients of
subsets of a vector; `run_comparisons` trains NSR and baselines on comparisons, `run_sequences` on
loops around a comparison. All count the seeds whose network is right far outside of the range it
was trained on.
"""

from curta.learn.units.arithmetic import (
    OPERATIONS,
    ArithmeticProblem,
    ArithmeticTask,
    success_threshold,
)
from curta.learn.units.benchmark import (
    PRESETS,
    Preset,
    UnitResult,
    run_benchmark,
    run_comparisons,
    run_sequences,
)
from curta.learn.units.comparison import RELATIONS, ComparisonProblem
from curta.learn.units.layers import (
    NAC,
    NALU,
    NAU,
    NMU,
    NSR,
    Decision,
    Linear,
    MultiplicativeNAC,
    Unit,
)
from curta.learn.units.networks import (
    ARITHMETIC_DESIGNS,
    COMPARISON_DESIGNS,
    Design,
    Network,
    Schedule,
)
from curta.learn.units.published import PUBLISHED_RATES
from curta.learn.units.report import plot, table
from curta.learn.units.sequences import Count, Minimum, SequenceProblem
from curta.learn.units.statistics import Estimate, gamma_mean, median_interval, wilson_interval
from curta.learn.units.training import Evaluation, History, TrainingOptions, train

__all__ = [
    "ARITHMETIC_DESIGNS",
    "COMPARISON_DESIGNS",
    "NAC",
    "NALU",
    "NAU",
    "NMU",
    "NSR",
    "OPERATIONS",
    "PRESETS",
    "PUBLISHED_RATES",
    "RELATIONS",
    "ArithmeticProblem",
    "ArithmeticTask",
    "ComparisonProblem",
    "Count",
    "Decision",
    "Design",
    "Estimate",
    "Evaluation",
    "History",
    "Linear",
    "Minimum",
    "MultiplicativeNAC",
    "Network",
    "Preset",
    "Schedule",
    "SequenceProblem",
    "TrainingOptions",
    "Unit",
    "UnitResult",
    "gamma_mean",
    "median_interval",
    "plot",
    "run_benchmark",
    "run_comparisons",
    "run_sequences",
    "success_threshold",
    "table",
    "train",
    "wilson_interval",
]
