"""`curta learn profile`: where the time of a training step goes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.errors import ExperimentError
from curta.learn.options import for_commands
from curta.options import Choices, chosen_of, option, word
from curta.terminal import AsJson, write_json

if TYPE_CHECKING:
    from curta.learn.experiment import Experiment


@dataclass(frozen=True)
class Options(AsJson):
    """Time a training step: compiling, memory, arithmetic, how far from the roofline. Any option of
    an experiment can be given. Layers are compiled one after the other and scanned, and both are
    timed; the machine's own limits are measured beside them.

    called:  a recipe (its first experiment; recipe:experiment for another), a task, or a file with
             a task
    preset:  of a recipe: smoke, small or full
    repeats: steps to time
    output:  also a page, with a plot
    """

    called: str = word("NAME")
    preset: str = option("small", metavar="PRESET")
    repeats: int = 20
    output: str | None = option(None, short="-o", metavar="OUT.html")
    choices: Choices = chosen_of(for_commands)


@dataclass(frozen=True)
class Report:
    """What was measured.

    profile: parameters, tokens, roofline, steps and parts, as curta.learn.profile.Profile says
    report:  the page
    """

    profile: Any
    report: str | None


def run(options: Options) -> int:
    """Time, memory and arithmetic of a training step."""
    from curta.learn import profile as profiling
    from curta.learn.commands.shared import columns, keep_compiled_programs
    from curta.learn.report import profile as report

    keep_compiled_programs()
    experiment = profiled(options)
    if options.repeats < 1:
        raise ExperimentError(f"--repeats {options.repeats}: must be at least 1")

    def done(what: str) -> None:
        print(f"{experiment.name}: {what} done", file=sys.stderr, flush=True)

    found = profiling.profile(experiment, repeats=options.repeats, done=done)
    if options.output:
        report.write_profile(found, experiment, Path(options.output))
    if options.json:
        write_json(Report(found, options.output))
        return 0
    parts = [("parts", "", ""), *report.part_rows(found)]
    steps = [report.headings(found), *report.step_rows(found)]
    for number, rows in enumerate((report.size_rows(found), steps, parts)):
        print(*([""] if number else []), *columns([tuple(row) for row in rows]), sep="\n")
    if options.output:
        print(f"report: {options.output}")
    return 0


def profiled(options: Options) -> Experiment:
    """An experiment of a recipe, its first or the one behind a colon; or a task with choices."""
    from curta.learn import recipes, runs
    from curta.learn.commands.shared import experiment_of
    from curta.learn.options import with_options

    name, preset = options.called, options.preset
    recipe, colon, wanted = name.partition(":")
    if recipe not in recipes.recipes():
        return experiment_of(name, options.choices)
    those = recipes.experiments(recipes.recipe(recipe), preset)
    found = next((one for one in those if not colon or one.name == wanted), None)
    if found is None:
        names = ", ".join(one.name for one in those)
        raise ExperimentError(
            f"{name}: preset {preset} of recipe {recipe} has no experiment {wanted!r}; it has "
            f"{names}"
        )
    experiment = with_options(found, options.choices)
    runs.check(experiment)
    return experiment
