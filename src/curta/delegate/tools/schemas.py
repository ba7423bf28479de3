"""Values that are checked against JSON schemas; an error says in a few words what was expected.

A schema here has one of `anyOf`, `enum` and `type`, as those that tools are made with have; without
any of these it is of whatever JSON has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from curta.errors import ToolError

Schema = Mapping[str, Any]
QUOTED = 40
"""Characters of a wrong value that an error repeats."""


def arguments_schema(
    properties: Mapping[str, Schema],
    meanings: Mapping[str, str] | None = None,
    optional: Iterable[str] = (),
) -> Schema:
    """A function's arguments, what some mean, and those that can be left out: as OpenAI's and MCP's
    lists of tools have them.
    """
    described = {name: {"description": text} for name, text in (meanings or {}).items()}
    return {
        "type": "object",
        "properties": {
            name: {**schema, **described.get(name, {})} for name, schema in properties.items()
        },
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def checked_arguments(schema: Schema, given: Any) -> dict[str, Any]:
    """All that are given, checked; or a `ToolError`."""
    properties = schema["properties"]
    if not isinstance(given, Mapping):
        raise wrong("arguments", "an object", given)
    for name in given:
        if name not in properties:
            words = f"no argument {str(name)[:QUOTED]!r}"
            raise ToolError(f"{words}; there are: {', '.join(properties) or 'none'}", words)
    for name in schema["required"]:
        if name not in given:
            raise ToolError(f"the argument {name} is missing", f"{name} is missing")
    return {name: checked(each, properties[name], name) for name, each in given.items()}


def checked(value: Any, schema: Schema, name: str) -> Any:
    """The value as Python has it; or a `ToolError`, in which it has a name."""
    if "anyOf" in schema:
        for each in schema["anyOf"]:
            with suppress(ToolError):
                return checked(value, each, name)
        return checked(value, schema["anyOf"][0], name)  # what is wrong is said of the first
    if "enum" in schema:
        for each in schema["enum"]:
            if each == value and isinstance(each, bool) == isinstance(value, bool):
                return each
        raise wrong(name, f"one of {', '.join(map(str, schema['enum']))}", value)
    return CHECKS[schema["type"]](value, schema, name) if "type" in schema else value


def whole(value: Any, schema: Schema, name: str) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        value = int(value)  # JSON makes no difference
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(name, "a whole number", value)
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    if not low <= value <= high:
        raise wrong(name, f"a whole number from {low} to {high}", value)
    return value


def real(value: Any, schema: Schema, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise wrong(name, "a number", value)
    with suppress(OverflowError):
        if math.isfinite(value):
            return float(value)
    raise wrong(name, "a number that a float can hold", value)


def truth(value: Any, schema: Schema, name: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(name, "true or false", value)
    return value


def text(value: Any, schema: Schema, name: str) -> str:
    if not isinstance(value, str):
        raise wrong(name, "a text", value)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise wrong(name, "a text without halves of characters", value)
    return value


def several(value: Any, schema: Schema, name: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise wrong(name, "a list", value)
    if len(value) != (length := schema.get("maxItems", len(value))):
        raise wrong(name, f"a list of {length}", value)
    return [checked(each, schema["items"], f"{name}[{at}]") for at, each in enumerate(value)]


def named(value: Any, schema: Schema, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong(name, "an object", value)
    of = schema["additionalProperties"]
    return {key: checked(each, of, f"{name}.{key}") for key, each in value.items()}


CHECKS: dict[str, Callable[[Any, Schema, str], Any]] = {
    "integer": whole,
    "number": real,
    "boolean": truth,
    "string": text,
    "array": several,
    "object": named,
}


def wrong(name: str, expected: str, value: Any) -> ToolError:
    given = repr(value)
    given = given if len(given) <= QUOTED else f"{given[:QUOTED]}..."
    return ToolError(f"{name}: expected {expected}, got {given}", f"{name}: expected {expected}")
