"""What several commands do: show how runs go, and what came of them."""

from __future__ import annotations

import difflib
import glob
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from curta.errors import ExperimentError
from curta.learn import catalogue, recipes, runs
from curta.learn.commands.report import Claim, Report, Run
from curta.learn.experiment import Experiment
from curta.learn.folder import RunFolder
from curta.learn.models.transformer import Transformer
from curta.learn.options import with_options
from curta.learn.recipes import units
from curta.learn.runs import Listener, RecipeFolder
from curta.learn.tasks.base import Task
from curta.learn.training.loop import ChunkMetrics
from curta.options import Choices
from curta.settings import read_settings
from curta.terminal import Progress, write_json

SECONDS_WORTH_KEEPING = 0.2


# -- while they go ---------------------------------------------


def keep_compiled_programs() -> None:
    """Let JAX keep them in curta's cache, unless the user has told it where to.

    Compiling takes longer than most of what is run, and a program from the cache is the one that
    was compiled, so runs stay the same bit for bit.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    place = read_settings().cache_directory / "learn" / machine()
    update: Callable[[str, object], None] = jax.config.update
    update("jax_compilation_cache_dir", str(place))
    update("jax_persistent_cache_min_compile_time_secs", SECONDS_WORTH_KEEPING)


def machine() -> str:
    """Names the processor: a cache that several machines share holds programs for each."""
    file = Path("/proc/cpuinfo")
    flags = ""
    if file.is_file():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    named = f"{platform.machine()} {platform.processor()} {flags}"
    return hashlib.sha256(named.encode()).hexdigest()[:12]


@contextmanager
def listening() -> Iterator[Listener]:
    """Shows what runs say about themselves."""
    with Progress() as progress:
        name = ""

        def begins(folder: RunFolder, step: int) -> None:
            nonlocal name
            name = folder.name
            steps = folder.experiment.training.steps
            what = f"from step {step} of {steps}" if step else f"{steps} steps"
            progress.say(f"{name}: {what}, in {folder.path}")
            if progress.bar is not None:
                progress.show(name, step, steps, f"{what}, compiling")

        def trains(chunk: ChunkMetrics, folder: RunFolder) -> None:
            loss = sum(chunk.loss) / len(chunk.loss)
            exact = sum(chunk.exact) / len(chunk.exact)
            words = f"loss {loss:.4f}  exact {exact:.2%}  {chunk.steps_per_second:.3g} steps/s"
            steps = folder.experiment.training.steps
            progress.show(folder.name, chunk.step, steps, words)

        def evaluates(done: int, total: int) -> None:
            progress.show(f"{name} evaluation", done, total)

        yield Listener(begins=begins, trains=trains, evaluates=evaluates)


@contextmanager
def resumable(path: Path) -> Iterator[None]:
    """Says after an interruption how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"to go on from the last checkpoint: curta learn resume {path}", file=sys.stderr)
        raise


# -- what is asked for ---------------------------------------------


def experiment_of(name: str, choices: Choices) -> Experiment:
    """A task by its name or file, with the user's choices."""
    known = [*recipes.recipes(), units.NAME, *catalogue.parts(Task)]  # type: ignore[type-abstract]
    stem = name.partition("(")[0].strip()
    if stem not in known and not stem.endswith(".py"):
        near = difflib.get_close_matches(stem, known, 1)
        hint = f"did you mean {near[0]}?" if near else "see curta learn list"
        raise ExperimentError(f"no recipe or task is called {name!r}: {hint}")
    experiment = with_options(Experiment(name=Path(stem).stem, task=name), choices)
    runs.check(experiment)
    return experiment


def runs_named(run: str) -> list[RunFolder]:
    """Those in a folder; FOLDER/EXPERIMENT is one of them, NAME the newest runs/NAME-TIMESTAMP."""
    path = Path(run)
    if path.exists():
        return runs.runs_in(path)
    if RecipeFolder.at(path.parent):
        parts = runs.runs_in(path.parent)
        return [one for one in parts if one.experiment.name == path.name] or parts
    dated = sorted(glob.glob(f"runs/{glob.escape(run)}-*"), key=os.path.getmtime)
    return runs.runs_in(Path(dated[-1]) if dated else path)


def picked_model(
    run: str, seed: int | None, question: str | None = None
) -> tuple[RunFolder, Transformer, int]:
    """One of the models of a run: that of the seed, or the first.

    Of several runs the one whose language has the question, if there is one only.
    """
    from curta.learn.evaluation.samples import is_question
    from curta.learn.training.state import picked

    found = runs_named(run)
    suited = [one for one in found if question is not None and is_question(one.setup, question)]
    if len(suited or found) > 1:
        names = ", ".join(str(one.path) for one in suited or found)
        raise ExperimentError(f"{run} holds several runs, choose one of them: {names}")
    (folder,) = suited or found
    training = folder.experiment.training
    seed = training.seed if seed is None else seed
    if not training.seed <= seed < training.seed + training.seeds:
        raise ExperimentError(
            f"--seed {seed}: the run has {training.seed} to {training.seed + training.seeds - 1}"
        )
    return folder, picked(folder.models(), seed - training.seed), seed


# -- what came of them ---------------------------------------------


def summarise(path: Path, measured: Sequence[RunFolder] = (), *, as_json: bool) -> int:
    """The main figures of each run, what was published beside ours, and where the report is.

    measured: the evaluations to show, if not those of the experiments
    """
    from curta.learn.evaluation.summary import main_figures
    from curta.learn.report.page import compared
    from curta.learn.report.parts import written

    folders = runs.runs_in(path)
    summaries = {run.name: run.figures for run in measured or folders}
    recipe = RecipeFolder.open(path) if RecipeFolder.at(path) else None
    claims = [compared(folders, claim) for claim in (recipe.recipe.claims if recipe else ())]
    report = path / "report.html"
    page = str(report) if report.is_file() else None
    if as_json:
        shown = (
            Run(run, {name: figure["value"] for name, figure in figures.items()})
            for run, figures in summaries.items()
        )
        write_json(Report(tuple(shown), tuple(Claim(*cells) for cells in claims), page))
        return 0
    for run, figures in summaries.items():
        names = [*main_figures(figures), *(name for name in figures if name.startswith("walk."))]
        print(f"{run}: " + ", ".join(f"{name} {written(figures, name)}" for name in names))
    if recipe:
        head = ("", "of", "published", f"ours ({recipe.preset})")
        print(*columns([head, *claims], indent=2), sep="\n")
    if page:
        print(f"report: {page}")
    return 0


def columns(rows: Sequence[tuple[str, ...]], *, indent: int = 0) -> Iterator[str]:
    """Columns of words; the last one is as wide as it is."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for *cells, last in rows:
        padded = (f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True))
        yield " " * indent + "  ".join([*padded, last]).rstrip()
