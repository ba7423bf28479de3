"""`curta hybrid evaluate`: a unit beside other systems, on the same questions."""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.delegate.options import SMOLLM2, folder_of
from curta.hybrid.unit.config import Asking
from curta.options import option
from curta.terminal import AsJson, Progress


@dataclass(frozen=True)
class Options(AsJson):
    """Measure a unit beside other systems: questions of wordings that it was trained on and that it
    was not, and texts where nothing should be computed. Writes answers, figures and report.html in
    two folders of --out, questions and texts; killed, it goes on with the same command.

    model:     on the Hub, or a folder
    unit:      from curta hybrid train; can be given repeatedly
    adapter:   from curta delegate train; its calls are answered
    inline:    an adapter trained with --no-calls
    untrained: the model as it came, too
    batch:     questions in a pass
    max_new_tokens: of an answer
    device:    as cpu or cuda:1 (a GPU if there is one)
    out:       the folder where it lies
    """

    model: str = option(SMOLLM2, metavar="NAME")
    unit: tuple[str, ...] = option((), metavar="[NAME=]FOLDER")
    adapter: tuple[str, ...] = option((), metavar="[NAME=]FOLDER")
    inline: tuple[str, ...] = option((), metavar="[NAME=]FOLDER")
    untrained: bool = False
    asking: Asking = field(default_factory=Asking)
    batch: int = 16
    max_new_tokens: int = 96
    device: str | None = None
    out: str = option("evaluation", metavar="FOLDER")


@dataclass(frozen=True)
class Row:
    """One system on one suite.

    system:   which one
    suite:    of questions or texts
    count:    how many were asked
    right:    share of right answers; of texts, of those where nothing was computed
    interval: 95%, wordings drawn again
    """

    system: str
    suite: str
    count: int
    right: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.interval
        share = f"{self.right:7.1%} [{low:.1%}, {high:.1%}]"
        return f"{self.system:14} {self.suite:17} {share} of {self.count}"


@dataclass(frozen=True)
class Report:
    """How it went.

    rows:    every system on every suite
    reports: the pages
    """

    rows: tuple[Row, ...]
    reports: tuple[str, ...]

    def __str__(self) -> str:
        pages = [f"report: {page}" for page in self.reports]
        return "\n".join([*map(str, self.rows), *pages])


def run(options: Options) -> int:
    """Ask, judge, and say how it went."""
    out = folder_of(options.out)
    from curta.delegate import models
    from curta.delegate.evaluation.systems import System, systems
    from curta.hybrid.unit.evaluation import compare, unit

    origin = models.origin(options.model)
    others: tuple[System, ...] = ()
    if options.untrained or options.inline or options.adapter:
        others = systems(
            options.model, adapters=options.adapter, inline=options.inline,
            untrained=options.untrained, origin=origin,
        )  # fmt: skip
    asked = (*others, *(unit(each, options.model, origin) for each in options.unit))
    with Progress() as progress:
        found = compare(
            asked, options.asking, out, options.batch, options.max_new_tokens, options.device,
            on_progress=progress.show,
        )  # fmt: skip
    rows = tuple(
        Row(system.name, suite, share.count, share.value, share.interval)
        for figures in found.values()
        for system in figures.systems
        for suite in figures.suites
        for share in [figures.accuracy(system.name, suite)]
    )
    return options.show(Report(rows, tuple(map(str, found))))
