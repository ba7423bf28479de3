"""Experiments by options: every choice has one name, wherever it is written.

The names are those of the configurations' fields, with dashes or underscores, and the few in
`ALIASES` where two configurations have a field of the same name. Values are of their types already
(from a command line), text, or what TOML makes of them.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from curta.errors import ExperimentError
from curta.learn.config import EvaluationConfig, Experiment, Sampling
from curta.learn.models import presets
from curta.learn.models.config import ModelConfig
from curta.learn.training.config import TrainingConfig
from curta.options import Option, converted, described, options_of, shown

PARTS = {
    "model": ModelConfig,
    "sampling": Sampling,
    "training": TrainingConfig,
    "evaluation": EvaluationConfig,
}

CHOICES = {
    "name": "what reports call it",
    "task": "what is computed",
    "format": "how it is written",
    "positions": "how tokens know where they are",
    "model": "a preset of models",
}
"""Options of the experiment itself."""

ALIASES = {
    "train_digits": "sampling.digits",
    "train_values": "sampling.values",
    "test_digits": "evaluation.digits",
    "test_values": "evaluation.values",
    "test_loops": "evaluation.loops",
    "test_samples": "evaluation.samples",
}


@cache
def options() -> tuple[Option, ...]:
    """All options; where names clash, the earlier part has the short one."""
    found: dict[str, Option] = {}
    for part in PARTS:
        for option in of_part(part):
            found.setdefault(option.name, option)
            for alias, where in ALIASES.items():
                if where == f"{part}.{option.name}":
                    found[alias] = dataclasses.replace(option, name=alias)
    return tuple(found.values())


def for_commands() -> Iterable[Option]:
    """All options, and what an experiment is of; a recipe has others in their places."""
    defaults = Experiment()
    for name, meaning in CHOICES.items():
        default = "transformer" if name == "model" else getattr(defaults, name)
        yield Option(name, str, default, meaning, part="experiment", metavar="NAME")
    yield from options()


def of_evaluation() -> Iterable[Option]:
    """Those of an evaluation, which has no others beside it."""
    return (dataclasses.replace(option, part="") for option in of_part("evaluation"))


def of_part(part: str) -> list[Option]:
    """The options of one configuration, by the names of its own fields."""
    return [
        dataclasses.replace(option, part=part, on_top=True) for option in options_of(PARTS[part])
    ]


def field_of(option: Option) -> str:
    """The field of the option's part that it is."""
    return ALIASES.get(option.name, f".{option.name}").rpartition(".")[2]


def with_options(experiment: Experiment, given: Mapping[str, Any]) -> Experiment:
    """The experiment with these choices instead of its own."""
    known = {option.name: option for option in options()}
    given = {name.replace("-", "_"): value for name, value in given.items()}
    for name in given:
        check_known(name, known)
    for name in CHOICES:
        if name in given:
            value = str(given[name])
            made: Any = presets.model(value) if name == "model" else value
            experiment = dataclasses.replace(experiment, **{name: made})
    changes: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        if name not in CHOICES:
            option = known[name]
            changes.setdefault(option.part, {})[field_of(option)] = parsed(option, value)
    for part, values in changes.items():
        changed = dataclasses.replace(getattr(experiment, part), **values)
        experiment = dataclasses.replace(experiment, **{part: changed})
    return experiment


Part = TypeVar("Part", ModelConfig, Sampling, TrainingConfig, EvaluationConfig)


def with_fields(config: Part, part: str, given: Mapping[str, Any]) -> Part:
    """One configuration with other choices, by the names of its own fields."""
    known = {option.name: option for option in of_part(part)}
    for name in given:
        check_known(name, known, ())
    values = {name: parsed(known[name], value) for name, value in given.items()}
    return dataclasses.replace(config, **values)


def check_known(
    name: str, known: Mapping[str, Option], others: Iterable[str] = tuple(CHOICES)
) -> None:
    """Raise an error that names options nearby."""
    if name in known or name in others:
        return
    near = difflib.get_close_matches(name, [*known, *others], 3, cutoff=0.5)
    shown = " or ".join(f"--{other.replace('_', '-')}" for other in near)
    hint = f"did you mean {shown}?" if near else "see curta learn list options"
    raise ExperimentError(f"there is no option --{name.replace('_', '-')}: {hint}")


def parsed(option: Option, value: Any) -> Any:
    """A value of the option's type, from text or from TOML."""
    try:
        return converted(option.kind, value)
    except (ValueError, TypeError) as error:
        raise ExperimentError(
            f"{option.flag} {shown(value)}: write {described(option.kind)}"
        ) from error


def choices(experiment: Experiment) -> dict[str, Any]:
    """All choices of an experiment, by the names of their options."""
    from curta.learn import catalogue

    found: dict[str, Any] = {n: getattr(experiment, n) for n in CHOICES if n != "model"}
    for name in ("task", "format", "positions"):
        found[name] = catalogue.moved(found[name], Path())  # wherever its files lie
    shorts = {(option.part, field_of(option)): option.name for option in reversed(options())}
    for part, kind in PARTS.items():
        for field in dataclasses.fields(kind):
            found[shorts[part, field.name]] = getattr(getattr(experiment, part), field.name)
    return found


def described_changes(experiment: Experiment) -> str:
    """What is not as it would be without any option, as options."""
    plain, known = choices(Experiment()), {option.name: option for option in options()}
    words = []
    for name, value in choices(experiment).items():
        if name != "name" and value != plain[name]:
            kind, flag = known[name].kind if name in known else str, name.replace("_", "-")
            is_flag = isinstance(value, bool)
            words.append(
                f"--{'' if value else 'no-'}{flag}" if is_flag else f"--{flag} {shown(value, kind)}"
            )
    return " ".join(words)
