"""`curta learn units`: the benchmark of arithmetic units."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.options import option
from curta.terminal import AsJson, Progress, write_json

if TYPE_CHECKING:
    from curta.learn.units.training import Evaluation

WIDTH = 120
"""Of tables that no terminal shows."""


@dataclass(frozen=True)
class Options(AsJson):
    """The benchmark of arithmetic units: how often NAC, NALU, NAU, NMU, NSR and plain networks find
    a rule. Trains them on sums, products, comparisons and loops, many seeds of each, and counts
    those that are right far outside of the trained range.

    preset: smoke, small or full
    seed:   of all random draws
    output: also a page, with plots
    """

    preset: str = option("small", metavar="PRESET")
    seed: int = 0
    output: str | None = option(None, short="-o", metavar="OUT.html")


@dataclass(frozen=True)
class Report:
    """What was counted.

    benchmarks: by title, results, as curta.learn.units.UnitResult says
    report:     the page
    """

    benchmarks: dict[str, Any]
    report: str | None


def run(options: Options) -> int:
    """Train, show, write: tables as they come, and a page if it is asked for."""
    from rich.console import Console

    from curta.learn.commands.shared import keep_compiled_programs
    from curta.learn.folder import write
    from curta.learn.recipes import units
    from curta.learn.report.units import write_units
    from curta.learn.units.report import table

    keep_compiled_programs()
    preset, seed = options.preset, options.seed
    units.check(preset, seed)
    tables = []
    with Progress() as progress:

        def show(title: str, evaluation: Evaluation) -> None:
            words = f"{title}, {evaluation.design}"
            progress.show(words, evaluation.step, evaluation.steps, "steps")

        for title, results in units.run(preset, seed=seed, progress=show):
            tables.append((title, results))
            if not options.json:
                print(title)
                Console(width=None if sys.stdout.isatty() else WIDTH).print(table(results))
    if options.output is not None:
        out = Path(options.output)
        write_units(tables, preset, seed, out)
        found = {title: [asdict(result) for result in results] for title, results in tables}
        write(out.with_suffix(".json"), json.dumps(found, indent=2))
    if options.json:
        write_json(Report(dict(tables), options.output))
    elif options.output is not None:
        print(f"report: {options.output}")
    return 0
