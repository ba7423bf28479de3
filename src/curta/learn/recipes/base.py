"""What every recipe is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from curta.learn.experiment import Experiment


@dataclass(frozen=True)
class Claim:
    """One number that a paper or text states, and how ours is measured.

    measure: the name of a figure in the summary of an experiment: exact@30, loss.test, exact.ood
    """

    what: str
    published: str
    measure: str


@dataclass(frozen=True)
class Recipe:
    """A published experiment, or several in order.

    presets: smoke runs in seconds, small in minutes on two cores, full is what was published
    """

    name: str
    about: str
    source: str
    presets: Mapping[str, tuple[Experiment, ...]]
    claims: tuple[Claim, ...]
