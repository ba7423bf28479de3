"""What several commands write as JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Run:
    """One of the runs.

    name:    of its folder
    figures: of its evaluation, by their names: means over seeds
    """

    name: str
    figures: dict[str, float]


@dataclass(frozen=True)
class Claim:
    """A number that was published.

    what:      it is
    of:        which questions
    published: there
    ours:      what it is here
    """

    what: str
    of: str
    published: str
    ours: str


@dataclass(frozen=True)
class Report:
    """What came of runs.

    runs:   each of them
    claims: of a recipe
    report: the page
    """

    runs: tuple[Run, ...]
    claims: tuple[Claim, ...]
    report: str | None
