"""`curta learn compare`: runs side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curta.options import option, word


@dataclass(frozen=True)
class Options:
    """Put runs side by side on a page: curves, heatmaps, tables with intervals.

    folders: of the runs
    output:  the page
    """

    folders: tuple[str, ...] = word("RUN")
    output: str = option("compare.html", short="-o", metavar="OUT.html")


def run(options: Options) -> int:
    """Write the page."""
    from curta.learn import runs
    from curta.learn.report.page import write_comparison

    folders = [folder for path in options.folders for folder in runs.runs_in(Path(path))]
    write_comparison(folders, Path(options.output))
    print(f"report: {options.output}")
    return 0
