"""What `curta learn profile`, `units` and `inside` do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curta.app.learn_progress import Progress
from curta.errors import ExperimentError
from curta.learn import recipes, runs
from curta.learn.experiment import Experiment
from curta.learn.options import from_words, with_options

if TYPE_CHECKING:
    from curta.learn.units.training import Evaluation

WIDTH = 120
"""Of tables that no terminal shows."""


def profile(given: argparse.Namespace) -> int:
    """Time, memory and arithmetic of a training step."""
    from curta.learn import profile as profiling
    from curta.learn.report import profile as report

    experiment = profiled(given.name, given.preset, from_words(given.words))
    if given.repeats < 1:
        raise ExperimentError(f"--repeats {given.repeats}: must be at least 1")

    def done(what: str) -> None:
        print(f"{experiment.name}: {what} done", file=sys.stderr, flush=True)

    found = profiling.profile(experiment, repeats=given.repeats, done=done)
    print_table((), report.size_rows(found))
    print()
    print_table(report.headings(found), report.step_rows(found))
    print()
    print_table(("parts", "", ""), report.part_rows(found))
    if given.output:
        report.write_profile(found, experiment, Path(given.output))
        print(f"report: {given.output}")
    return 0


def profiled(name: str, preset: str, choices: dict[str, str]) -> Experiment:
    """An experiment of a recipe, its first or the one behind a colon; or a task with choices."""
    from curta.app.learn import experiment_of

    recipe, colon, wanted = name.partition(":")
    if recipe not in recipes.recipes():
        return experiment_of(name, choices)
    those = recipes.experiments(recipes.recipe(recipe), preset)
    found = next((one for one in those if not colon or one.name == wanted), None)
    if found is None:
        names = ", ".join(one.name for one in those)
        raise ExperimentError(
            f"{name}: preset {preset} of recipe {recipe} has no experiment {wanted!r}; it has "
            f"{names}"
        )
    experiment = with_options(found, choices)
    runs.check(experiment)
    return experiment


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns of words; the last one is as wide as it is."""
    lines = [tuple(row) for row in rows]
    every = [tuple(head), *lines] if head else lines
    widths = [max(len(row[column]) for row in every) for column in range(len(every[0]) - 1)]
    for row in every:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=False))
        print("  ".join([*cells, row[-1]]).rstrip())


def inside(given: argparse.Namespace) -> int:
    """A page about one model of a run."""
    import jax

    from curta.app.learn import picked_model
    from curta.learn.inside.look import look
    from curta.learn.inside.page import write_inside

    if given.samples < 1:
        raise ExperimentError(f"--samples {given.samples}: must be at least 1")
    folder, model, seed = picked_model(given.run, given.seed)
    out = Path(given.output) if given.output else folder.path / "inside.html"

    def done(what: str) -> None:
        print(f"{folder.name}: {what} done", file=sys.stderr, flush=True)

    found = look(model, folder.setup, samples=given.samples, key=jax.random.key(seed), done=done)
    write_inside(found, folder, seed, out)
    print(f"report: {out}")
    return 0


def units(given: argparse.Namespace) -> int:
    """The benchmark of arithmetic units: tables as they come, and a page if it is asked for."""
    run_units(given.preset, given.seed, Path(given.output) if given.output else None)
    return 0


def run_units(preset: str, seed: int, out: Path | None) -> None:
    """Train, show, write."""
    from rich.console import Console

    from curta.learn.recipes import units
    from curta.learn.report.units import write_units
    from curta.learn.units import table

    units.check(preset, seed)
    tables = []
    with Progress() as progress:

        def told(title: str, evaluation: Evaluation) -> None:
            name = f"{title}, {evaluation.design}"
            if progress.name != name:
                progress.name, progress.task = name, None
            progress.show(evaluation.step, evaluation.steps, "steps")

        for one in units.run(preset, seed=seed, progress=told):
            tables.append(one)
            print(one.title)
            Console(width=None if sys.stdout.isatty() else WIDTH).print(table(one.results))
    if out is not None:
        write_units(tables, preset, seed, out)
        units.write_results(tables, out.with_suffix(".json"))
        print(f"report: {out}")
