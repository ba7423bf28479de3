"""What the commands of the training lab do."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curta.app.learn_progress import Progress
from curta.errors import ExperimentError
from curta.learn import catalogue, recipes, runs
from curta.learn.experiment import Experiment
from curta.learn.folder import RunFolder, new_path
from curta.learn.formats.base import Format
from curta.learn.models import presets
from curta.learn.models.transformer import Transformer
from curta.learn.options import described, from_words, options, shown, with_options
from curta.learn.positions.base import Positions
from curta.learn.recipes import units
from curta.learn.runs import RecipeFolder
from curta.learn.tasks.base import Task

SHOWN = ("exact.test", "exact.ood", "exact.trained", "exact.longer", "length@0.95", "loss.test")


def show_list(given: argparse.Namespace) -> int:
    """Names with a line each."""
    sections: dict[str, dict[str, str]] = {
        "recipes": {name: made.about for name, made in recipes.recipes().items()}
        | {units.NAME: units.ABOUT},
        "tasks": abouts(Task),
        "formats": abouts(Format),
        "positions": abouts(Positions),
        "models": {name: about for name, (about, _) in presets.PRESETS.items()},
    }
    if given.what == "options":
        sections = {"options": option_lines()}
    elif given.what:
        sections = {given.what: sections[given.what]}
    for index, (title, lines) in enumerate(sections.items()):
        print(f"{chr(10) if index else ''}{title}:")
        room = max(map(len, lines), default=0)
        for name, about in lines.items():
            print(f"  {name:{room}}  {about}")
    return 0


def abouts(kind: type[Any]) -> dict[str, str]:
    """The parts of a kind."""
    return {name: made.about for name, made in sorted(catalogue.parts(kind).items())}


def option_lines() -> dict[str, str]:
    """All options, how they are written, and what they are without being given."""
    return {
        f"--{name.replace('_', '-')}": f"{option.part}: {described(option.kind)}"
        f" ({'none' if option.default in (None, ()) else shown(option.default)})"
        for name, option in options().items()
    }


def run(given: argparse.Namespace) -> int:
    """A recipe, or a task with choices."""
    choices = from_words(given.words)
    out = Path(given.out) if given.out else None
    if given.name == units.NAME:
        return benchmark_units(given.preset, choices, out)
    with Progress() as progress:
        if given.name in recipes.recipes():
            made = recipes.recipe(given.name)
            path = new_path(f"{made.name}-{given.preset}", out)
            folder = RecipeFolder.create(
                path, made, given.preset, lambda one: with_options(one, choices)
            )
            with resumable(path):
                runs.run_recipe(folder, progress.listener, log=given.log)
        else:
            experiment = experiment_of(given.name, choices)
            path = new_path(experiment.name, out)
            run_folder = RunFolder.create(path, experiment)
            with resumable(path):
                runs.run(run_folder, progress.listener, log=given.log)
    summarise(path)
    return 0


def benchmark_units(preset: str, choices: dict[str, str], out: Path | None) -> int:
    """The recipe that trains no transformers; its folder holds a page and the figures."""
    from curta.app.learn_tools import run_units

    others = [name for name in choices if name != "seed"]
    if others:
        raise ExperimentError(
            f"--{others[0].replace('_', '-')}: recipe {units.NAME} trains no transformers; it has "
            "--preset, --seed and --out"
        )
    seed = with_options(Experiment(), choices).training.seed
    units.check(preset, seed)
    run_units(preset, seed, new_path(f"{units.NAME}-{preset}", out) / "report.html")
    return 0


def experiment_of(name: str, choices: dict[str, str]) -> Experiment:
    """A task by its name or file, with the user's choices."""
    known = [*recipes.recipes(), units.NAME, *catalogue.parts(Task)]  # type: ignore[type-abstract]
    stem = name.partition("(")[0].strip()
    if stem not in known and not stem.endswith(".py"):
        near = difflib.get_close_matches(stem, known, 1)
        hint = f"did you mean {near[0]}?" if near else "see curta learn list"
        raise ExperimentError(f"no recipe or task is called {name!r}: {hint}")
    start = Experiment(name=Path(stem).stem, task=name)
    experiment = with_options(start, choices)
    runs.check(experiment)
    return experiment


@contextmanager
def resumable(path: Path) -> Iterator[None]:
    """Says after an interruption how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"to go on from the last checkpoint: curta learn resume {path}", file=sys.stderr)
        raise


def resume(given: argparse.Namespace) -> int:
    """Whatever is missing of a run, a recipe's run or a sweep's."""
    path = Path(given.run)
    with Progress() as progress, resumable(path):
        if RecipeFolder.at(path):
            runs.run_recipe(RecipeFolder.open(path), progress.listener, log=given.log)
        else:
            for folder in runs.runs_in(path):
                runs.run(folder, progress.listener, log=given.log)
    summarise(path)
    return 0


def evaluate(given: argparse.Namespace) -> int:
    """Measure again."""
    choices = from_words(given.words, "evaluation")
    path = Path(given.run)
    with Progress() as progress:
        for folder in runs.runs_in(path):
            progress.listener.begins(folder)
            runs.evaluate_again(folder, choices, on_progress=progress.listener.evaluates)
    if RecipeFolder.at(path):
        runs.report_recipe(RecipeFolder.open(path))
    summarise(path)
    return 0


def sweep(given: argparse.Namespace) -> int:
    """Many runs, a table and a report."""
    from curta.learn import sweep

    plan = sweep.read(Path(given.file))
    path = new_path(Path(given.file).stem, Path(given.out) if given.out else None)
    with Progress() as progress:
        sweep.run(plan, path, progress.listener, cluster=given.cluster)
    print(sweep.table(path))
    print(f"report: {path / 'report.html'}")
    return 0


def compare(given: argparse.Namespace) -> int:
    """Runs side by side."""
    from curta.learn.report.page import write_comparison

    folders = [folder for path in given.runs for folder in runs.runs_in(Path(path))]
    write_comparison(folders, Path(given.output))
    print(f"report: {given.output}")
    return 0


def ask(given: argparse.Namespace) -> int:
    """The answer, then each token with its probability and what else might have been."""
    from curta.learn.evaluation.samples import ask

    if given.loops is not None and given.loops < 1:
        raise ExperimentError(f"--loops {given.loops}: must be at least 1")
    folder, model, _ = picked_model(given.run, given.seed)
    answer = ask(model, folder.setup, given.prompt, loops=given.loops)
    print(f"{answer.prompt}{answer.text}")
    for spoken in answer.tokens:
        others = "  ".join(f"{token} {share:.4f}" for token, share in spoken.others)
        print(f"  {spoken.token}  {spoken.probability:.4f}   {others}")
    print(f"probability of the whole answer: {answer.probability:.4f}", file=sys.stderr)
    return 0


def picked_model(run: str, seed: int | None) -> tuple[RunFolder, Transformer, int]:
    """One of the models of a run: that of the seed, or the first."""
    from curta.learn.training.state import picked

    (folder, *more) = runs.runs_in(Path(run))
    if more:
        names = ", ".join(one.name for one in (folder, *more))
        raise ExperimentError(f"{run} holds several runs, choose one of them: {names}")
    training = folder.experiment.training
    seed = training.seed if seed is None else seed
    if not training.seed <= seed < training.seed + training.seeds:
        raise ExperimentError(
            f"--seed {seed}: the run has {training.seed} to {training.seed + training.seeds - 1}"
        )
    return folder, picked(folder.models(), seed - training.seed), seed


def print_claims(folder: RecipeFolder) -> None:
    """Published and ours, side by side."""
    from curta.learn.report.page import ours

    lines = [
        (claim.what, claim.published, ours(folder.runs, claim.measure))
        for claim in folder.recipe.claims
    ]
    rows = [("", "published", f"ours ({folder.preset})"), *lines]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    for what, published, value in rows:
        print(f"  {what:{first}}  {published:{second}}  {value}")


def summarise(path: Path) -> None:
    """The main figures of each run, and where the report is."""
    from curta.learn.report.parts import written

    for folder in runs.runs_in(path):
        figures = (folder.evaluation or {}).get("summary", {})
        names = [name for name in figures if name in SHOWN or name.startswith("walk.")]
        shown = ", ".join(f"{name} {written(figures, name)}" for name in names)
        print(f"{folder.name}: {shown}")
    if RecipeFolder.at(path):
        print_claims(RecipeFolder.open(path))
    report = path / "report.html"
    if report.is_file():
        print(f"report: {report}")
