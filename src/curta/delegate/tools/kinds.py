"""Kinds of values: what their JSON schema is, and whether a value is of the kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from curta.errors import ToolError

QUOTED = 40
"""Characters of a wrong value that an error repeats."""


class Kind(Protocol):
    """A set of values."""

    def schema(self) -> dict[str, Any]:
        """In the words of JSON Schema."""

    def checked(self, value: Any, name: str) -> Any:
        """The value as Python has it; or a `ToolError`, in which it has a name."""


def wrong(name: str, expected: str, value: Any) -> ToolError:
    given = repr(value)
    given = given if len(given) <= QUOTED else f"{given[:QUOTED]}..."
    return ToolError(f"{name}: expected {expected}, got {given}", f"{name}: expected {expected}")


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers, of a range if there is one."""

    low: int | None = None
    high: int | None = None

    def schema(self) -> dict[str, Any]:
        ends = {"minimum": self.low, "maximum": self.high}
        return {"type": "integer"} | {end: n for end, n in ends.items() if n is not None}

    def checked(self, value: Any, name: str) -> int:
        if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
            value = int(value)  # JSON makes no difference
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong(name, "a whole number", value)
        if (self.low is not None and value < self.low) or (
            self.high is not None and value > self.high
        ):
            raise wrong(name, f"a whole number from {self.low} to {self.high}", value)
        return value


@dataclass(frozen=True, slots=True)
class Real:
    """Numbers."""

    def schema(self) -> dict[str, Any]:
        return {"type": "number"}

    def checked(self, value: Any, name: str) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong(name, "a number", value)
        with suppress(OverflowError):
            if math.isfinite(value):
                return float(value)
        raise wrong(name, "a number that a float can hold", value)


@dataclass(frozen=True, slots=True)
class Truth:
    """True and false."""

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def checked(self, value: Any, name: str) -> bool:
        if not isinstance(value, bool):
            raise wrong(name, "true or false", value)
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """Texts; those of C end at a zero character, so that they cannot have one in them."""

    of_c: bool = False

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}

    def checked(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise wrong(name, "a text", value)
        if self.of_c and "\0" in value:
            raise wrong(name, "a text without zero characters", value)
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise wrong(name, "a text without halves of characters", value)
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.values)}

    def checked(self, value: Any, name: str) -> Any:
        if value not in self.values:
            raise wrong(name, f"one of {', '.join(map(str, self.values))}", value)
        return value


@dataclass(frozen=True, slots=True)
class Several:
    """Lists of values of a kind, of any length or exactly so many."""

    of: Kind
    length: int | None = None

    def schema(self) -> dict[str, Any]:
        ends = {} if self.length is None else {"minItems": self.length, "maxItems": self.length}
        return {"type": "array", "items": self.of.schema()} | ends

    def checked(self, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise wrong(name, "a list", value)
        if self.length not in (None, len(value)):
            raise wrong(name, f"a list of {self.length}", value)
        return [self.of.checked(each, f"{name}[{at}]") for at, each in enumerate(value)]


@dataclass(frozen=True, slots=True)
class Named:
    """Objects with values of a kind, by any names."""

    of: Kind

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.of.schema()}

    def checked(self, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise wrong(name, "an object", value)
        return {key: self.of.checked(each, f"{name}.{key}") for key, each in value.items()}


@dataclass(frozen=True, slots=True)
class Either:
    """Values of one of several kinds, the first that fits."""

    kinds: tuple[Kind, ...]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [kind.schema() for kind in self.kinds]}

    def checked(self, value: Any, name: str) -> Any:
        for kind in self.kinds[:-1]:
            try:
                return kind.checked(value, name)
            except ToolError:
                continue
        return self.kinds[-1].checked(value, name)


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever JSON has."""

    def schema(self) -> dict[str, Any]:
        return {}

    def checked(self, value: Any, name: str) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class Arguments:
    """Those of a function: kinds by names, what some mean, and the names that can be left out."""

    kinds: Mapping[str, Kind]
    meanings: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def schema(self) -> dict[str, Any]:
        """As OpenAI's and MCP's lists of tools have it."""
        described = {name: {"description": text} for name, text in self.meanings.items()}
        return {
            "type": "object",
            "properties": {
                name: kind.schema() | described.get(name, {}) for name, kind in self.kinds.items()
            },
            "required": [name for name in self.kinds if name not in self.optional],
            "additionalProperties": False,
        }

    def checked(self, given: Any) -> dict[str, Any]:
        """All that are given, checked; or a `ToolError`."""
        if not isinstance(given, Mapping):
            raise wrong("arguments", "an object", given)
        for name in given:
            if name not in self.kinds:
                names = ", ".join(self.kinds) or "none"
                words = f"no argument {str(name)[:QUOTED]!r}"
                raise ToolError(f"{words}; there are: {names}", words)
        for name in self.kinds:
            if name not in given and name not in self.optional:
                raise ToolError(f"the argument {name} is missing", f"{name} is missing")
        return {name: self.kinds[name].checked(each, name) for name, each in given.items()}
