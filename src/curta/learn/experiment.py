"""An experiment: one choice of each part, and the numbers that go with them."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.language import Language
from curta.learn.models.config import ModelConfig
from curta.learn.positions.base import Positions
from curta.learn.sampling import Sampler, Sampling
from curta.learn.statistics import check_split
from curta.learn.training.config import TrainingConfig


@dataclass(frozen=True)
class EvaluationConfig:
    """What is measured behind training.

    digits:  operand lengths, each pair of equal ones; grid: all pairs
    samples: problems for each of them
    """

    digits: tuple[int, int] | None = None
    grid: bool = False
    stride: int = 1
    samples: int = 200
    loops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """Everything that a run depends on. Two runs of one experiment are the same run."""

    name: str = "experiment"
    task: str = "addition"
    format: str = "reversed"
    positions: str = "abacus"
    model: ModelConfig = field(default_factory=ModelConfig)
    sampling: Sampling = field(default_factory=Sampling)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def with_(self, **changes: Any) -> Experiment:
        """The same with other choices; options of the four parts by their own names.

        `experiment.with_(steps=100, width=32)` finds out that steps belong to training.
        """
        own = {f.name for f in dataclasses.fields(self)}
        parts: dict[str, dict[str, Any]] = {}
        for name in [name for name in changes if name not in own]:
            for part in ("model", "sampling", "training"):
                if name in {f.name for f in dataclasses.fields(getattr(self, part))}:
                    parts.setdefault(part, {})[name] = changes.pop(name)
                    break
            else:
                raise ExperimentError(f"an experiment has no option {name!r}")
        for part, values in parts.items():
            changes[part] = dataclasses.replace(changes.get(part, getattr(self, part)), **values)
        return dataclasses.replace(self, **changes)

    def to_json(self) -> str:
        """All choices, readable and complete."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    @staticmethod
    def from_json(text: str) -> Experiment:
        """What `to_json` wrote."""
        given = json.loads(text)
        kinds: dict[str, Any] = {"model": ModelConfig, "sampling": Sampling}
        kinds |= {"training": TrainingConfig, "evaluation": EvaluationConfig}
        for name, kind in kinds.items():
            values = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in given[name].items()
            }
            given[name] = kind(**values)
        return Experiment(**given)


class Setup:
    """An experiment's parts, built and checked against each other."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.language = Language(
            catalogue.task(experiment.task),
            catalogue.format_(experiment.format),
            experiment.model.pauses,
        )
        self.positions: Positions = catalogue.positions(experiment.positions)
        self.positions.check(self.language)
        self.sampler = Sampler(self.language, experiment.sampling)
        check_split(self.sampler)

    @cached_property
    def longest(self) -> int:
        """The longest row of training and evaluation: what tables of positions are made for."""
        digits = self.experiment.evaluation.digits
        if digits is None:
            return self.sampler.width
        operands = self.sampler.operand_range[1]
        return max(self.sampler.width, self.language.width(operands, digits[1]))
