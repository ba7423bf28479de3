"""An experiment: one choice of each part, and the numbers that go with them.

Nothing here needs JAX: these are the options of commands, too.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from curta.errors import ExperimentError
from curta.learn.models.config import ModelConfig
from curta.learn.training.config import TrainingConfig

__all__ = ["EvaluationConfig", "Experiment", "ModelConfig", "Sampling", "TrainingConfig"]


@dataclass(frozen=True)
class Sampling:
    """The distribution of problems.

    digits:      operands have between so many digits, each number of digits as likely as others
    values:      instead, operands are uniform in this range
    operands:    how many there are, for tasks that take more or fewer
    equal:       all operands of a problem have the same number of digits
    carries:     the first two operands have each possible number of carries as likely
    priming:     digits of the few long examples mixed in
    priming_examples: how many different ones there are
    priming_share: how often they come
    curriculum:  steps over which the upper end of `digits` grows from its lower end
    test_share:  the part of all problems that is never trained on
    mirrored:    a+b and b+a may lie on different sides of that split, as in most papers; if not,
                 questions that differ only in the order of their numbers lie on the same
    """

    digits: tuple[int, int] = (1, 10)
    values: tuple[int, int] | None = None
    operands: tuple[int, int] | None = None
    equal: bool = False
    carries: bool = False
    priming: tuple[int, int] | None = None
    priming_examples: int = 50
    priming_share: float = 0.1
    curriculum: int = 0
    test_share: float = 0.05
    mirrored: bool = True

    def __post_init__(self) -> None:
        for name in ("digits", "values", "operands", "priming"):
            given = getattr(self, name)
            least = 0 if name == "values" else 1
            if given is not None and not least <= given[0] <= given[1]:
                raise ExperimentError(
                    f"{name} = {given[0]}..{given[1]}: a range goes from {least} or more upwards"
                )
        if self.carries and self.values is not None:
            raise ExperimentError(
                f"carries with values = {self.values[0]}..{self.values[1]}: carries are balanced "
                "for operands drawn by digits; leave one of the two out"
            )
        for name, least in (("priming_examples", 1), ("curriculum", 0)):
            if getattr(self, name) < least:
                raise ExperimentError(f"{name} = {getattr(self, name)}: must be at least {least}")
        if not 0 <= self.test_share < 1:
            raise ExperimentError(f"test_share = {self.test_share}: must be at least 0, below 1")
        if not 0 <= self.priming_share < 1:
            raise ExperimentError(f"priming_share = {self.priming_share}: at least 0, below 1")


@dataclass(frozen=True)
class EvaluationConfig:
    """What is measured behind training.

    digits:  operand lengths, all operands alike (those of training, where none are given)
    grid:    instead, all pairs of lengths, for tasks with two operands
    stride:  between two lengths that are measured
    lengths: instead, these lengths
    samples: problems for each choice of lengths
    values:  operands in this range, at least one of them outside of the trained range
    test:    problems drawn as in training, from the test part; and as many from the training part
    loops:   numbers of loops to measure at (that of training, where none are given)
    solved:  a seed has solved the task if so large a share of its answers is exactly right
    probes:  also ask with exchanged operands and with exchanged digits
    walks:   numbers of so many digits are computed by asking for every step; for tasks of steps
    """

    digits: tuple[int, int] | None = None
    grid: bool = False
    stride: int = 1
    lengths: tuple[int, ...] = ()
    samples: int = 200
    values: tuple[int, int] | None = None
    test: int = 1_000
    loops: tuple[int, ...] = ()
    solved: float = 0.99
    probes: bool = False
    walks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("stride", "samples", "test"):
            if getattr(self, name) < 1:
                raise ExperimentError(
                    f"evaluation {name} = {getattr(self, name)}: must be at least 1"
                )
        for name, least in (("digits", 1), ("values", 0)):
            given = getattr(self, name)
            if given is not None and not least <= given[0] <= given[1]:
                raise ExperimentError(
                    f"evaluation {name} = {given[0]}..{given[1]}: a range goes from {least} or "
                    "more upwards"
                )
        for name in ("loops", "walks", "lengths"):
            if any(number < 1 for number in getattr(self, name)):
                raise ExperimentError(
                    f"evaluation {name} = {getattr(self, name)}: each must be at least 1"
                )
        if not 0 < self.solved <= 1:
            raise ExperimentError(f"evaluation solved = {self.solved}: must be above 0, at most 1")


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
            for part in ("model", "sampling", "training", "evaluation"):
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
