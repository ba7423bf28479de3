"""The benchmark of arithmetic units, as one of the recipes.

Its experiments train no transformers, so it is no `Recipe`: it has presets of the same names, and
a table and a page of its own. See `curta.learn.units`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax

from curta.errors import ExperimentError
from curta.learn.units.benchmark import (
    PRESETS,
    UnitResult,
    run_benchmark,
    run_comparisons,
    run_sequences,
)
from curta.learn.units.training import Evaluation

NAME = "units"
ABOUT = "arithmetic units: how many seeds find an exact rule, far outside of the trained range"
SOURCE = "Measuring Arithmetic Extrapolation Performance (2019), Neural Arithmetic Units (2020)"

Table = tuple[str, list[UnitResult]]
"""One of the benchmarks: its title, its results."""

Progress = Callable[[str, Evaluation], None]


BENCHMARKS = {
    "arithmetic": run_benchmark,
    "comparisons": run_comparisons,
    "loops around a comparison": run_sequences,
}


def check(preset: str, seed: int) -> None:
    """Raise what is wrong before anything is compiled."""
    if preset not in PRESETS:
        raise ExperimentError(
            f"recipe {NAME} has no preset {preset!r}; its presets: {', '.join(PRESETS)}"
        )
    if not 0 <= seed < 2**32:
        raise ExperimentError(f"--seed {seed}: must be at least 0, below {2**32}")


def run(preset: str, *, seed: int, progress: Progress | None = None) -> Iterator[Table]:
    """One benchmark after the other."""
    check(preset, seed)
    keys = jax.random.split(jax.random.key(seed), len(BENCHMARKS))
    for key, (title, benchmark) in zip(keys, BENCHMARKS.items(), strict=True):

        def told(evaluation: Evaluation, title: str = title) -> None:
            if progress is not None:
                progress(title, evaluation)

        yield title, benchmark(preset, key=key, progress=told)
