"""Options: fields of frozen dataclasses, as words on a command line and as values.

A field is an option of its name. Its type says how a value is written, its default what holds
without one, and its class's docstring what it means, in lines `name: meaning`. A field that is such
a dataclass itself stands for the fields of that. So what can be chosen is declared once, by
whoever is told the choice, and nothing here knows of any.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Made = TypeVar("Made")
MEANING = re.compile(r"(\w+(?:, \w+)*): +(\S.*)")
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One choice that can be made.

    name:     of the field
    kind:     the type of its values
    part:     the configuration that it belongs to, if a command has several
    short:    a letter that stands for it
    metavar:  what stands for its value in a usage line
    is_word:  it is written without its name
    rest:     it takes what is left of the words: says how many of them are other options'
    dashes:   the word may begin with a dash
    on_top:   it changes something that is not known here, so it can be set and unset
    """

    name: str
    kind: Any
    default: Any = MISSING
    meaning: str = ""
    part: str = ""
    short: str = ""
    metavar: str = ""
    is_word: bool = False
    rest: Callable[[Sequence[str]], int] | None = None
    dashes: bool = False
    on_top: bool = False

    @property
    def flag(self) -> str:
        """The option as it is written."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_flag(self) -> bool:
        """Whether it is written without a value."""
        return self.kind is bool

    @property
    def is_many(self) -> bool:
        """Whether it can be written again for further values."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[0] is str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it can be, if they are few."""
        return choices_of(self.kind)

    @property
    def names(self) -> tuple[str, ...]:
        """All ways to write it; a word has none."""
        if self.is_word:
            return ()
        negated = (f"--no-{self.flag[2:]}",)
        if self.is_flag and self.default is True:
            return (self.flag, *negated) if self.on_top else (*negated, self.flag)
        short = (self.short,) if self.short else ()
        return (*short, self.flag, *(negated if self.is_flag and self.on_top else ()))

    @property
    def placeholder(self) -> str:
        """What stands for its value."""
        if self.metavar or not self.choices:
            return self.metavar or PLACEHOLDERS.get(plain(self.kind), self.name.upper())
        return "{" + ",".join(self.choices) + "}"

    @property
    def explained(self) -> str:
        """What it means, and what holds without it."""
        if self.default in (MISSING, None, (), "") or isinstance(self.default, bool):
            return self.meaning
        return f"{self.meaning} ({shown(self.default, self.kind)})"


class Choices(dict[str, Any]):
    """Those options of several configurations that were given, for a command that has none of its
    own to begin with.
    """


PLACEHOLDERS: dict[Any, str] = {
    int: "N",
    float: "X",
    Path: "FILE",
    tuple[int, int]: "A..B",
    tuple[int, ...]: "N,N",
}


def word(metavar: str, default: Any = MISSING, *, dashes: bool = False) -> Any:
    """A field that is written without its name."""
    return field(default, {"metavar": metavar, "is_word": True, "dashes": dashes})


def rest(metavar: str, others: Callable[[Sequence[str]], int]) -> Any:
    """A field that takes the words behind the other ones, whatever they look like."""
    return field((), {"metavar": metavar, "is_word": True, "rest": others})


def option(default: Any = MISSING, *, short: str = "", metavar: str = "") -> Any:
    """A field that is more than its type and its default."""
    return field(default, {"short": short, "metavar": metavar})


def chosen_of(options: Callable[[], Iterable[Option]]) -> Any:
    """A field of type `Choices`, among these options."""
    return dataclasses.field(default_factory=Choices, metadata={"options": options})


def field(default: Any, metadata: Mapping[str, Any]) -> Any:
    made: Any = dataclasses.field(default=default, metadata=metadata, kw_only=True)
    return made


# -- what there is ---------------------------------------------


@cache
def options_of(configuration: Any) -> tuple[Option, ...]:
    """All options of a dataclass, by their names; of two with one name, the first."""
    hints, meanings = get_type_hints(configuration), meanings_of(configuration)
    options: dict[str, Option] = {}
    for each in dataclasses.fields(configuration):
        kind = hints[each.name]
        if dataclasses.is_dataclass(kind):
            inner: Iterable[Option] = options_of(kind)  # type: ignore[arg-type]
            inner = [dataclasses.replace(own, part=own.part or each.name) for own in inner]
        elif kind is Choices:
            inner = each.metadata["options"]()
        else:
            meaning = meanings.get(each.name, "")
            inner = [Option(each.name, kind, each.default, meaning, **each.metadata)]
        for own in inner:
            options.setdefault(own.name, own)
    return tuple(options.values())


def meanings_of(configuration: type[Any]) -> dict[str, str]:
    """What docstrings say of fields, those of the classes that this one is made of included."""
    found: dict[str, str] = {}
    for each in reversed(configuration.__mro__):
        names: list[str] = []
        for line in described_by(each)[1]:
            if match := MEANING.match(line):
                names = match[1].split(", ")
                found |= dict.fromkeys(names, match[2])
            else:
                found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def described_by(configuration: type[Any]) -> tuple[str, list[str]]:
    """A docstring: what it says, and the lines about fields."""
    lines = inspect.cleandoc(configuration.__dict__.get("__doc__") or "").splitlines()
    begins = next((at for at, line in enumerate(lines) if MEANING.match(line)), len(lines))
    return "\n".join(lines[:begins]).strip(), [line for line in lines[begins:] if line.strip()]


def build(configuration: type[Made], given: Mapping[str, Any]) -> Made:
    """The dataclass with these values; those within it get what has their names."""
    hints, values = get_type_hints(configuration), dict[str, Any]()
    for each in dataclasses.fields(configuration):  # type: ignore[arg-type]
        kind = hints[each.name]
        if dataclasses.is_dataclass(kind):
            values[each.name] = build(kind, given)  # type: ignore[arg-type]
        elif kind is Choices:
            names = {one.name for one in each.metadata["options"]()}
            values[each.name] = Choices({name: given[name] for name in given if name in names})
        elif each.name in given:
            values[each.name] = given[each.name]
    return configuration(**values)


# -- values ---------------------------------------------


def converted(kind: Any, value: Any) -> Any:
    """A value as `kind`, from text or from what TOML makes of it; ValueError if it is none."""
    origin = get_origin(kind)
    if plain(kind) is not kind:
        if value is None or (value == "none" and plain(kind) is not str):
            return None
        return converted(plain(kind), value)
    if origin is tuple:
        return many(value) if get_args(kind)[-1] is Ellipsis else pair(value)
    if origin is Literal or kind is str:
        if not isinstance(value, str):
            raise ValueError
        return value  # which words there are is for others to say
    if kind is Path:
        return Path(value)
    if kind is bool:
        return value if isinstance(value, bool) else boolean(value)
    if isinstance(value, bool) or (kind is int and isinstance(value, float)):
        raise ValueError
    return int(str(value).replace(",", "").replace("_", "")) if kind is int else float(value)


def plain(kind: Any) -> Any:
    """The type of what is there, if it is there."""
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = [one for one in get_args(kind) if one is not type(None)]
    return kind


def choices_of(kind: Any) -> tuple[str, ...]:
    return get_args(plain(kind)) if get_origin(plain(kind)) is Literal else ()


def boolean(value: Any) -> bool:
    if value not in BOOLEANS:
        raise ValueError
    return BOOLEANS[value]


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
    if plain(kind) is not kind:
        return f"{described(plain(kind))}, or none"
    if get_origin(kind) is tuple:
        return "numbers as in 1,2,4" if get_args(kind)[-1] is Ellipsis else "a range as in 1..10"
    if choices_of(kind):
        return " or ".join(choices_of(kind))
    return {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "a word")


def shown(value: Any, kind: Any = None) -> str:
    """A value as it would be written on a command line; two numbers are a range, or a list."""
    if isinstance(value, list | tuple):
        ends = [str(one) for one in value]
        listed = kind is not None and described(kind).startswith("numbers")
        return "..".join(ends) if len(ends) == 2 and not listed else ",".join(ends)
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
