"""`curta learn resume`: going on with runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curta.learn.commands.report import Report
from curta.learn.commands.run import Logger
from curta.options import word
from curta.terminal import AsJson

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(AsJson):
    """Go on with a run that was stopped, a recipe's or a sweep's, from its last checkpoint.

    folder: of the run
    log:    send the metrics there as well
    """

    folder: str = word("RUN")
    log: Logger | None = None


def run(options: Options) -> int:
    """Whatever is missing of it."""
    from curta.learn import runs
    from curta.learn.commands.shared import keep_compiled_programs, listening, resumable, summarise
    from curta.learn.runs import RecipeFolder

    keep_compiled_programs()
    path = Path(options.folder)
    with listening() as listener, resumable(path):
        if RecipeFolder.at(path):
            runs.run_recipe(RecipeFolder.open(path), listener, log=options.log)
        else:
            for folder in runs.runs_in(path):
                runs.run(folder, listener, log=options.log)
    return summarise(path, as_json=options.json)
