"""`curta learn sweep`: many runs that differ in some options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curta.learn.commands.report import Report
from curta.options import option, word
from curta.terminal import AsJson

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(AsJson):
    """Run every combination of some options, or random ones. FILE.toml has a table [base] with
    options of all runs, and [grid] with lists of values, or [random] with runs = N and lists or
    {low, high, log}.

    file:    what varies
    cluster: through Ray, all at once
    out:     the folder (runs/FILE-TIMESTAMP); one that is there is gone on with
    """

    file: str = word("FILE.toml")
    cluster: bool = False
    out: str | None = option(None, metavar="DIR")


def run(options: Options) -> int:
    """Many runs, a table and a report."""
    from curta.learn import sweep
    from curta.learn.commands.shared import keep_compiled_programs, listening, summarise
    from curta.learn.folder import new_path

    keep_compiled_programs()
    plan = sweep.read(Path(options.file))
    path = new_path(Path(options.file).stem, Path(options.out) if options.out else None)
    with listening() as listener:
        sweep.run(plan, path, listener, cluster=options.cluster)
    if options.json:
        return summarise(path, as_json=True)
    print(sweep.table(path))
    print(f"report: {path / 'report.html'}")
    return 0
