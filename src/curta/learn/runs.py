"""Runs: train, evaluate, report; the steps between, kept in a folder.

A run that was killed goes on from its last checkpoint, and ends in the same bytes as one that was
not: everything random is a function of seed and step, and chunks end at the same steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.errors import ExperimentError
from curta.learn import recipes
from curta.learn.evaluation.judging import Progress
from curta.learn.evaluation.measure import evaluate
from curta.learn.evaluation.problems import Problems
from curta.learn.evaluation.record import evaluation_key, record
from curta.learn.evaluation.summary import LEARNED_SHARE, as_json, steps_until
from curta.learn.evaluation.walks import stepping
from curta.learn.experiment import EvaluationConfig, Experiment, Setup
from curta.learn.folder import RunFolder, make, read_object, safe, write
from curta.learn.metrics import Logger, Metrics, logger, write_table
from curta.learn.options import of_part, with_fields
from curta.learn.recipes.base import Recipe
from curta.learn.training.loop import ChunkMetrics, train
from curta.learn.training.state import TrainingState, new_state, save_state
from curta.options import shown


@dataclass(frozen=True)
class Listener:
    """Who wants to know how a run is going."""

    begins: Callable[[RunFolder, int], None] = lambda folder, step: None
    """Told the step of training that it goes on from."""
    trains: Callable[[ChunkMetrics, RunFolder], None] = lambda chunk, folder: None
    evaluates: Progress = lambda done, total: None


def run(folder: RunFolder, listener: Listener | None = None, *, log: str | None = None) -> None:
    """Whatever is missing: training from the last checkpoint on, evaluation, the report."""
    from curta.learn.report.page import write_report

    listener = listener or Listener()
    state = trained(folder, listener, log=log)
    if folder.measured_step != int(state.step):
        measure(folder, state, on_progress=listener.evaluates)
    write_report(folder)


def trained(
    folder: RunFolder, listener: Listener | None = None, *, log: str | None = None
) -> TrainingState:
    """The state at the end of training, from a checkpoint as far as there is one."""
    listener = listener or Listener()
    experiment, config = folder.experiment, folder.experiment.training
    begun = folder.checkpoint_file.is_file()
    state = folder.state() if begun else new_state(folder.setup)
    done = int(state.step)
    listener.begins(folder, done)
    if begun and done >= config.steps and folder.table_file.is_file():
        return state
    loggers: list[Logger] = [logger(log, folder.path, experiment)] if log else []
    metrics = Metrics(folder.metrics_file, experiment, done, loggers)
    next_checkpoint = (done // config.checkpoint + 1) * config.checkpoint

    def on_chunk(chunk: ChunkMetrics, state: TrainingState) -> None:
        nonlocal next_checkpoint
        metrics.add(chunk)
        if chunk.step >= next_checkpoint or chunk.step == config.steps:
            metrics.sync()
            save_state(state, folder.checkpoint_file)
            next_checkpoint = (chunk.step // config.checkpoint + 1) * config.checkpoint
        listener.trains(chunk, folder)

    try:
        state = train(folder.setup, state, on_chunk=on_chunk)
    finally:
        metrics.close()
    write_table(folder.metrics, config.seed, folder.table_file)
    return state


def measure(
    folder: RunFolder,
    state: TrainingState | None = None,
    config: EvaluationConfig | None = None,
    *,
    on_progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Evaluate the models of a run, and keep it."""
    config = config or folder.experiment.evaluation
    state = folder.state() if state is None else state
    setup, models = folder.setup, state.model
    found = evaluate(setup, models, config, key=evaluation_key(setup), on_progress=on_progress)
    kept = {"step": int(state.step), **record(setup, models, config, found)}
    kept["summary"] |= as_json(steps_until(folder.metrics, LEARNED_SHARE))
    write(folder.evaluation_file, json.dumps(kept))
    return kept


@dataclass(frozen=True)
class RecipeFolder:
    """Of a recipe: a folder for each of its experiments, and one report."""

    path: Path
    recipe: Recipe
    preset: str

    @staticmethod
    def create(
        path: Path,
        recipe: Recipe,
        preset: str,
        change: Callable[[Experiment], Experiment] = lambda experiment: experiment,
    ) -> RecipeFolder:
        """All experiments written down before the first one runs."""
        experiments = [change(one) for one in recipes.experiments(recipe, preset)]
        for experiment in experiments:
            check(experiment)
        if path.exists() and any(path.iterdir()):
            raise ExperimentError(
                f"{path} is there already: choose another --out, or curta learn resume {path}"
            )
        make(path)
        for number, experiment in enumerate(experiments, start=1):
            RunFolder.create(path / f"{number:02}-{safe(experiment.name)}", experiment)
        about = {"recipe": recipe.name, "preset": preset}
        write(path / "recipe.json", json.dumps(about, indent=2))
        return RecipeFolder(path, recipe, preset)

    @staticmethod
    def open(path: Path) -> RecipeFolder:
        """A folder that is there."""
        about = read_object(path / "recipe.json")
        return RecipeFolder(path, recipes.recipe(about["recipe"]), about["preset"])

    @staticmethod
    def at(path: Path) -> bool:
        """Whether the folder is one of a recipe."""
        return (path / "recipe.json").is_file()

    @property
    def runs(self) -> list[RunFolder]:
        """In the order of the recipe."""
        return runs_in(self.path)


def run_recipe(
    folder: RecipeFolder, listener: Listener | None = None, *, log: str | None = None
) -> None:
    """Whatever is missing of it, one experiment after the other."""
    for one in folder.runs:
        run(one, listener, log=log)
    report_recipe(folder)


def runs_in(path: Path) -> list[RunFolder]:
    """The runs in a folder, or the run that it is."""
    if (path / "experiment.json").is_file():
        return [RunFolder.open(path)]
    if not path.is_dir():
        raise ExperimentError(f"{path}: there is no such run")
    found = sorted(file.parent for file in path.glob("*/experiment.json"))
    if not found:
        raise ExperimentError(f"{path} is not a run: it has no experiment.json")
    return [RunFolder.open(one) for one in found]


def check(experiment: Experiment) -> None:
    """Raise what is wrong with an experiment before anything is written or compiled."""
    setup = Setup(experiment)
    problems = Problems(setup, experiment.evaluation)
    if experiment.evaluation.walks:
        stepping(setup)
    if experiment.evaluation.values is not None:
        problems.outside()
    for places in problems.buckets():
        problems.by_length(places)


def evaluate_again(
    folder: RunFolder,
    choices: Mapping[str, Any],
    listener: Listener | None = None,
) -> RunFolder:
    """Measure a run with other choices, by the names of the evaluation's fields; report it.

    What was measured with the experiment's own choices stays: claims stand on it.
    """
    from curta.learn.report.page import write_report

    listener, own = listener or Listener(), folder.experiment.evaluation
    config = with_fields(own, "evaluation", choices)
    words = [
        f"{option.name} {shown(getattr(config, option.name), option.kind)}"
        for option in of_part("evaluation")
        if getattr(config, option.name) != getattr(own, option.name)
    ]
    measured = RunFolder(folder.path, safe(" ".join(words)) if words else "")
    state = folder.state()
    listener.begins(measured, int(state.step))
    measure(measured, state, config, on_progress=listener.evaluates)
    write_report(folder)
    return measured


def report_recipe(folder: RecipeFolder) -> None:
    """Write the report of a recipe anew."""
    from curta.learn.report.page import write_recipe_report

    write_recipe_report(folder)
