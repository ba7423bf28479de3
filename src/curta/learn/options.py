"""Experiments by options: every choice has one name, wherever it is written.

The names are those of the configurations' fields, with dashes or underscores, and the few in
`ALIASES` where two configurations have a field of the same name. Values come as text (from a
command line) or as what TOML makes of them.
"""

from __future__ import annotations

import dataclasses
import difflib
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.experiment import EvaluationConfig, Experiment
from curta.learn.models import presets
from curta.learn.models.config import ModelConfig
from curta.learn.sampling import Sampling
from curta.learn.training.config import TrainingConfig

PARTS = {
    "model": ModelConfig,
    "sampling": Sampling,
    "training": TrainingConfig,
    "evaluation": EvaluationConfig,
}

CHOICES = ("name", "task", "format", "positions", "model")
"""Options of the experiment itself; `model` takes the name of a preset."""

ALIASES = {
    "train_digits": "sampling.digits",
    "train_values": "sampling.values",
    "test_digits": "evaluation.digits",
    "test_values": "evaluation.values",
    "test_loops": "evaluation.loops",
    "test_samples": "evaluation.samples",
}


@dataclass(frozen=True)
class Option:
    """One choice that can be made."""

    name: str
    part: str
    field: str
    kind: Any
    default: Any

    @property
    def flag(self) -> bool:
        """Whether it can be written without a value."""
        return self.kind is bool


def options() -> dict[str, Option]:
    """All options by name; where names clash, the earlier part has the short one."""
    found: dict[str, Option] = {}
    for part in PARTS:
        for option in of_part(part):
            found.setdefault(option.name, option)
            for alias, where in ALIASES.items():
                if where == f"{part}.{option.field}":
                    found[alias] = dataclasses.replace(option, name=alias)
    return found


def with_options(experiment: Experiment, given: Mapping[str, Any]) -> Experiment:
    """The experiment with these choices instead of its own."""
    known = options()
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
            changes.setdefault(option.part, {})[option.field] = parsed(option, value)
    for part, values in changes.items():
        changed = dataclasses.replace(getattr(experiment, part), **values)
        experiment = dataclasses.replace(experiment, **{part: changed})
    return experiment


Part = TypeVar("Part", ModelConfig, Sampling, TrainingConfig, EvaluationConfig)


def with_fields(config: Part, part: str, given: Mapping[str, Any]) -> Part:
    """One configuration with other choices, by the names of its own fields."""
    known = {option.field: option for option in of_part(part)}
    for name in given:
        check_known(name, known, ())
    values = {name: parsed(known[name], value) for name, value in given.items()}
    return dataclasses.replace(config, **values)


def of_part(part: str) -> list[Option]:
    """The options of one configuration, by the names of its own fields."""
    kind = PARTS[part]
    hints = get_type_hints(kind)
    return [
        Option(field.name, part, field.name, hints[field.name], field.default)
        for field in dataclasses.fields(kind)
    ]


def check_known(name: str, known: Mapping[str, Option], others: tuple[str, ...] = CHOICES) -> None:
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
            f"--{option.name.replace('_', '-')} {shown(value)}: write {described(option.kind)}"
        ) from error


def converted(kind: Any, value: Any) -> Any:
    """The value as `kind`, or ValueError."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None or value == "none":
            return None
        (kind,) = [one for one in inner if one is not type(None)]
        return converted(kind, value)
    if origin is tuple:
        return many(value) if inner[-1] is Ellipsis else pair(value)
    if origin is Literal or kind is str:
        if not isinstance(value, str):
            raise ValueError
        return value  # the configuration itself says what is allowed
    if kind is bool:
        words = {"true": True, "yes": True, "false": False, "no": False}
        return value if isinstance(value, bool) else words[checked(str(value), words)]
    if isinstance(value, bool) or (kind is int and isinstance(value, float)):
        raise ValueError
    if kind is int:
        return int(str(value).replace(",", "").replace("_", ""))
    return float(value)


def checked(word: str, words: Mapping[str, Any]) -> str:
    """The word, if it is one of those."""
    if word not in words:
        raise ValueError
    return word


def pair(value: Any) -> tuple[int, int]:
    """`1..10`, `7` (from 7 to 7), or two numbers."""
    ends: list[Any]
    if isinstance(value, str):
        ends = value.split("..") if ".." in value else [value, value]
    else:
        ends = [value, value] if isinstance(value, int) else list(value)
    low, high = (int(end) for end in ends)
    return low, high


def many(value: Any) -> tuple[int, ...]:
    """`1,2,4`, `1..4`, or numbers."""
    if isinstance(value, int):
        return (value,)
    if not isinstance(value, str):
        return tuple(int(one) for one in value)
    if ".." in value:
        low, high = pair(value)
        return tuple(range(low, high + 1))
    return tuple(int(one) for one in value.split(","))


def described(kind: Any) -> str:
    """How a value of this type is written."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return f"{described(next(one for one in inner if one is not type(None)))}, or none"
    if origin is tuple:
        return "numbers as in 1,2,4" if inner[-1] is Ellipsis else "a range as in 1..10"
    if origin is Literal:
        return " or ".join(inner)
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a word")


def shown(value: Any, kind: Any = None) -> str:
    """A value as it would be written on a command line; two numbers are a range, or a list."""
    if isinstance(value, list | tuple):
        ends = [str(one) for one in value]
        listed = kind is not None and described(kind).startswith("numbers")
        return "..".join(ends) if len(ends) == 2 and not listed else ",".join(ends)
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def from_words(words: list[str], part: str | None = None) -> dict[str, str]:
    """`--name value`, `--name=value`, `--flag` and `--no-flag`, by name.

    Of one part alone, options have the names of its fields: --digits of an evaluation.
    """
    known = options() if part is None else {option.field: option for option in of_part(part)}
    others = CHOICES if part is None else ()
    given = dict[str, str]()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("--"):
            raise ExperimentError(f"{word!r} does not belong to an option: write --option {word}")
        name, equals, value = word[2:].partition("=")
        name = name.replace("-", "_")
        negated = name.removeprefix("no_")
        if negated != name and negated in known and known[negated].flag:
            given[negated] = "false"
            continue
        check_known(name, known, others)
        alone = at >= len(words) or words[at].startswith("--")
        if equals:
            given[name] = value
        elif name in known and known[name].flag and (alone or words[at] not in ("true", "false")):
            given[name] = "true"
        elif alone:
            raise ExperimentError(f"{word} needs a value")
        else:
            given[name] = words[at]
            at += 1
    return given


def choices(experiment: Experiment) -> dict[str, Any]:
    """All choices of an experiment, by the names of their options."""
    found: dict[str, Any] = {n: getattr(experiment, n) for n in CHOICES if n != "model"}
    for name in ("task", "format", "positions"):
        found[name] = catalogue.moved(found[name], Path())  # wherever its files lie
    shorts = {(option.part, option.field): name for name, option in reversed(options().items())}
    for part, kind in PARTS.items():
        for field in dataclasses.fields(kind):
            found[shorts[part, field.name]] = getattr(getattr(experiment, part), field.name)
    return found


def described_changes(experiment: Experiment) -> str:
    """What is not as it would be without any option, as options."""
    plain = choices(Experiment())
    changed = {n: v for n, v in choices(experiment).items() if n != "name" and v != plain[n]}
    kinds = {name: option.kind for name, option in options().items()}
    return " ".join(
        f"--{name.replace('_', '-')} {shown(value, kinds.get(name))}"
        for name, value in changed.items()
    )
