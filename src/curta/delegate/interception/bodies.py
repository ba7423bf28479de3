"""What stands between the markers of a call in a model's own format: three ways, as templates have
them. `read` says which calls are in a text, if any, and allows for what models write otherwise:
spaces, several calls, a list of calls. `grammar` says what the text has to go on like, in Lark's
words, and how much of that there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from curta.delegate.interception.events import Call
from curta.delegate.tools.schemas import arguments_schema
from curta.delegate.tools.tool import Tool
from curta.errors import ToolError

DECODER = json.JSONDecoder()
SPACE = "SPACE: /[ \\n]{0,4}/"
NOTHING: dict[str, Any] = {}


@dataclass(frozen=True)
class Json:
    """`{"name": "f", "arguments": {...}}`, or a list of such."""

    name: str
    arguments: str
    is_list: bool

    def read(self, text: str, tools: Sequence[Tool]) -> list[Call]:
        made = []
        for value in values_in(text):
            for each in value if isinstance(value, list) else [value]:
                asked = each.get("function", each) if isinstance(each, dict) else NOTHING
                asked = asked if isinstance(asked, dict) else NOTHING
                name = asked.get(self.name)
                if isinstance(name, str):
                    made.append(call(name, asked.get(self.arguments, NOTHING)))
        return made

    def grammar(self, text: str, tools: Sequence[Tool]) -> tuple[str, str] | None:
        kinds = [
            arguments_schema({self.name: {"const": tool.name}, self.arguments: tool.parameters})
            for tool in tools
        ]
        one = {"anyOf": kinds}
        several = {"type": "array", "items": one, "minItems": 1}
        return value_of(several if self.is_list else one), text


@dataclass(frozen=True)
class NameAndJson:
    """`f[ARGS]{...}`: a name, something between, and JSON."""

    between: str

    def read(self, text: str, tools: Sequence[Tool]) -> list[Call]:
        name, found = re.match(r"\s*([\w.-]*)", text), text.find("{")
        if name is None or not name[1]:
            return []
        values = list(values_in(text[found:])) if found >= 0 else [text[name.end() :]]
        return [call(name[1], values[0] if values else text[found:])]

    def grammar(self, text: str, tools: Sequence[Tool]) -> tuple[str, str] | None:
        name, between, rest = text.partition(self.between)
        tool = next((each for each in tools if each.name == name.strip()), None)
        return (value_of(dict(tool.parameters)), rest) if between and tool else None


@dataclass(frozen=True)
class Pairs:
    """`f> <parameter=x> 1 </parameter> ...`: a name, and each argument between signs.

    first: from the name to the first argument's name
    equal: from an argument's name to its value
    comma: from a value to the next argument's name
    last:  behind the last value
    """

    first: str
    equal: str
    comma: str
    last: str

    def read(self, text: str, tools: Sequence[Tool]) -> list[Call]:
        match = re.match(r"\s*([\w.-]+)", text)
        if match is None:
            return []
        tool = next((each for each in tools if each.name == match[1]), None)
        kinds = {} if tool is None else tool.parameters.get("properties", {})
        _, *pairs = re.split(flexible(self.first), text[match.end() :], maxsplit=1)
        inside = re.split(rf"{flexible(self.last)}\s*$", pairs[0])[0] if pairs else ""
        given = {}
        for pair in re.split(flexible(self.comma), inside) if inside.strip() else ():
            name, *value = re.split(flexible(self.equal), pair, maxsplit=1)
            if not value:
                return [unreadable(match[1], text)]
            given[name.strip()] = as_kind(value[0].strip("\n"), kinds.get(name.strip(), NOTHING))
        return [call(match[1], given)]

    def grammar(self, text: str, tools: Sequence[Tool]) -> tuple[str, str] | None:
        return None


Body = Json | NameAndJson | Pairs


def flexible(signs: str) -> str:
    """Signs as a pattern in which space may be missing, or be there."""
    return r"\s*" + r"\s*".join(map(re.escape, signs.split())) + r"\s?"


def as_kind(text: str, kind: Mapping[str, Any]) -> Any:
    """A value written without quotes: as its schema says what it is."""
    if kind.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def call(name: str, given: Any) -> Call:
    """A call with arguments as an object, or as JSON in a text."""
    if isinstance(given, str):
        given = next(values_in(given), given)
    if isinstance(given, dict):
        return Call(name, json.dumps(given, ensure_ascii=False), given)
    return unreadable(name, given if isinstance(given, str) else json.dumps(given))


def unreadable(name: str, text: str) -> Call:
    error = ToolError(f"{name}: its arguments are no JSON object", "wrong arguments")
    return Call(name, text.strip(), error=error)


def value_of(kind: Mapping[str, Any], space: str = "SPACE") -> str:
    """Text that is a value of JSON, with some space around it."""
    return f"start: {space} value {space}\nvalue: %json {json.dumps(kind)}\n{SPACE}"


def values_in(text: str) -> Iterator[Any]:
    """The values of JSON that stand in a text, one behind the other; up to what is none."""
    with suppress(ValueError, RecursionError):
        while text := text.lstrip(" \t\r\n;,"):
            value, end = DECODER.raw_decode(text)
            yield value
            text = text[end:]
