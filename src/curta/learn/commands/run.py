"""`curta learn run`: experiments, from their choices to a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from curta.errors import ExperimentError
from curta.learn.commands.report import Report
from curta.learn.options import for_commands
from curta.options import Choices, chosen_of, option, word
from curta.terminal import AsJson

Logger = Literal["tensorboard", "wandb"]

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(AsJson):
    """Train, evaluate, and write a run folder with a report. Any option of an experiment can be
    given, as in --format reversed --positions coupled --model looped --train-digits 1..10
    --test-digits 1..60 --seeds 4 --steps 5000. A recipe's own choices stay where nothing is given.

    called:  a recipe, a task, or a file with a task
    preset:  of a recipe: smoke, small or full
    out:     the folder (runs/NAME-TIMESTAMP)
    log:     send the metrics there as well
    """

    called: str = word("NAME")
    preset: str = option("small", metavar="PRESET")
    out: str | None = option(None, metavar="DIR")
    log: Logger | None = None
    choices: Choices = chosen_of(for_commands)


def run(options: Options) -> int:
    """A recipe, or a task with choices."""
    from curta.learn import recipes, runs
    from curta.learn.commands.shared import (
        experiment_of,
        keep_compiled_programs,
        listening,
        resumable,
        summarise,
    )
    from curta.learn.folder import RunFolder, new_path
    from curta.learn.options import with_options
    from curta.learn.recipes import units
    from curta.learn.runs import RecipeFolder

    keep_compiled_programs()
    choices, out = options.choices, Path(options.out) if options.out else None
    if options.called == units.NAME:
        return benchmark_units(options, out)
    with listening() as listener:
        if options.called in recipes.recipes():
            made = recipes.recipe(options.called)
            path = new_path(f"{made.name}-{options.preset}", out)
            folder = RecipeFolder.create(
                path, made, options.preset, lambda one: with_options(one, choices)
            )
            with resumable(path):
                runs.run_recipe(folder, listener, log=options.log)
        else:
            experiment = experiment_of(options.called, choices)
            path = new_path(experiment.name, out)
            run_folder = RunFolder.create(path, experiment)
            with resumable(path):
                runs.run(run_folder, listener, log=options.log)
    return summarise(path, as_json=options.json)


def benchmark_units(options: Options, out: Path | None) -> int:
    """The recipe that trains no transformers; its folder holds a page and the figures."""
    from curta.learn.commands.units import Options as UnitOptions
    from curta.learn.commands.units import run as run_units
    from curta.learn.experiment import Experiment
    from curta.learn.folder import new_path
    from curta.learn.recipes import units

    if others := [name for name in options.choices if name != "seed"]:
        raise ExperimentError(
            f"--{others[0].replace('_', '-')}: recipe {units.NAME} trains no transformers; it has "
            "--preset, --seed and --out"
        )
    seed = options.choices.get("seed", Experiment().training.seed)
    page = new_path(f"{units.NAME}-{options.preset}", out) / "report.html"
    return run_units(
        UnitOptions(preset=options.preset, seed=seed, output=str(page), json=options.json)
    )
