"""`curta learn evaluate`: measuring again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curta.learn.commands.report import Report
from curta.learn.options import of_evaluation
from curta.options import Choices, chosen_of, word
from curta.terminal import AsJson

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(AsJson):
    """Measure a run again: other lengths, other numbers of loops. What is not given is as the run's
    experiment has it. What was measured so far stays; report.html shows all of it.

    folder: of the run
    """

    folder: str = word("RUN")
    choices: Choices = chosen_of(of_evaluation)


def run(options: Options) -> int:
    """Measure all runs of the folder."""
    from curta.learn import runs
    from curta.learn.commands.shared import keep_compiled_programs, listening, summarise
    from curta.learn.runs import RecipeFolder

    keep_compiled_programs()
    path = Path(options.folder)
    with listening() as listener:
        measured = [
            runs.evaluate_again(folder, options.choices, listener) for folder in runs.runs_in(path)
        ]
    if RecipeFolder.at(path):
        runs.report_recipe(RecipeFolder.open(path))
    return summarise(path, measured, as_json=options.json)
