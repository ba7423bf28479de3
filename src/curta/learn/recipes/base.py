"""What every recipe is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curta.learn.experiment import EvaluationConfig, Experiment


@dataclass(frozen=True)
class Claim:
    """One number that a paper or text states, and how ours is measured.

    what:    what is claimed of; which questions that is, `evaluation.asked` says
    measure: an experiment and a figure of its summary: masked:loss.test, base-10:exact@30;
             exact@longest is of the longest operands that are trained
    """

    what: str
    published: str
    measure: str

    @property
    def experiment(self) -> str:
        """Its name."""
        return self.measure.partition(":")[0]

    def figure(self, experiment: Experiment) -> str:
        """Of the summary of that experiment."""
        longest = str(experiment.sampling.digits[1])
        return self.measure.partition(":")[2].replace("longest", longest)


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


def smoke(experiment: Experiment, **changes: Any) -> Experiment:
    """The same in seconds, to see that it runs: a tiny model and a few steps."""
    return experiment.with_(
        **{
            "steps": 20,
            "batch": 32,
            "seeds": 2,
            "chunk": 20,
            "width": 16 if experiment.model.head_width is None else experiment.model.width,
            "heads": 2 if experiment.model.head_width is None else experiment.model.heads,
            "layers": 1,
            "feedforward": 32,
            "evaluation": EvaluationConfig(samples=50, test=50),
        }
        | changes
    )
