"""What a C file's functions take and give, as the compiler's front end reads them.

The front end's own tree says names, types without their typedefs, and the comment in front of a
function. How long an array in a list of parameters is it says elsewhere, in the declaration that it
prints. What C does not say is a convention:

- A pointer to const is an argument, any other pointer is a result, too: what is there afterwards.
  One whose name begins with `out` is a result only.
- The whole number behind pointers is their length. Nobody has to give it.
- An array `[9]` has that length.
- `const char *` is a text.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from curta.delegate.tools.compile import Source, dumped
from curta.delegate.tools.schemas import Schema, arguments_schema
from curta.errors import ToolError

LAYOUTS = {
    "_Bool": "?",
    **dict.fromkeys(("char", "signed char"), "b"),
    "unsigned char": "B",
    "short": "h",
    "unsigned short": "H",
    **dict.fromkeys(("int", "long"), "i"),
    **dict.fromkeys(("unsigned int", "unsigned long"), "I"),
    "long long": "q",
    "unsigned long long": "Q",
    "float": "f",
    "double": "d",
}
"""Types of numbers, and how `struct` lays them out."""
BODY = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*\{", re.DOTALL)
"""What follows a function's parameters if it is more than declared; the front end leaves it out."""
Role = Literal["value", "text", "array", "number", "length"]
ROOM = 4_096
"""Elements, or bytes of a text, of a result whose length is the function's to choose."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function takes.

    type:   in C, without typedefs; of what a pointer points to
    role:   a value, a text, an array, a number behind a pointer, or the length of such
    given:  whether it is an argument
    result: whether it is a result
    size:   elements of an array that always has so many
    length: which parameter has its length, or -1
    """

    name: str
    type: str
    role: Role = "value"
    given: bool = True
    result: bool = False
    size: int | None = None
    length: int = -1

    @property
    def letter(self) -> str:
        """How `struct` lays one of its numbers out, without an order of bytes."""
        return "i" if self.type.startswith("enum ") else LAYOUTS[self.type]

    @property
    def schema(self) -> Schema:
        if self.role == "text":
            return {"type": "string"}
        number = number_schema(self.letter)
        if self.role != "array":
            return number
        ends = {} if self.size is None else {"minItems": self.size, "maxItems": self.size}
        return {"type": "array", "items": number, **ends}


@dataclass(frozen=True, slots=True)
class Function:
    """One that can be called from outside.

    result: the type that it returns, in C; void is nothing
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    result: str
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> Schema:
        given = {each.name: each.schema for each in self.parameters if each.given}
        return arguments_schema(given, self.meanings)

    @property
    def returns_length(self) -> bool:
        """Whether what it returns is how many elements of its results there are."""
        return any(p.result and self.own_room(p) for p in self.parameters)

    def own_room(self, parameter: Parameter) -> bool:
        """Whether nothing that is given has the length of this array."""
        if parameter.role != "array" or parameter.length < 0:
            return False
        same = [p for p in self.parameters if p.length == parameter.length]
        return not any(p.given for p in same)


def number_schema(letter: str) -> Schema:
    """The values that a number of C can have."""
    if letter in "?fd":
        return {"type": "boolean" if letter == "?" else "number"}
    bits = 8 * struct.calcsize(f"<{letter}")
    least = -(1 << bits - 1) if letter.islower() else 0
    return {"type": "integer", "minimum": least, "maximum": least + (1 << bits) - 1}


def functions_of(source: Source) -> dict[str, Function | ToolError]:
    """Those of a file that are not static, by their names; or why one cannot be called."""
    flags = ("-fparse-all-comments", "-Xclang", "-skip-function-bodies", "-Xclang")
    try:
        tree = json.loads(dumped(source, *flags, "-ast-dump=json"))
    except RecursionError:
        raise ToolError(f"{source.name}: types in each other, too deep", "too deep") from None
    printed = dumped(source, *flags, "-ast-print").decode(errors="replace")
    aliases: dict[str, str] = {}
    found: dict[str, Function | ToolError] = {}
    for node in tree["inner"]:
        if node["kind"] == "TypedefDecl":
            aliases[node["name"]] = desugared(node["type"], aliases)
        elif is_offered(node, source.text.encode(errors="replace")):
            try:
                found[node["name"]] = function_of(node, aliases, printed)
            except ToolError as error:
                found[node["name"]] = error
    return found


def is_offered(node: Mapping[str, Any], text: bytes) -> bool:
    """Whether it is a function with a body, in the file itself, that others can call."""
    if node["kind"] != "FunctionDecl" or node.get("storageClass") == "static":
        return False
    places = (node["loc"], node["range"]["end"])
    place, end = (each.get("expansionLoc", each) for each in places)  # whatever macros made it
    name = node.get("name", "")
    if "includedFrom" in place or "offset" not in end or name.startswith("_"):
        return False
    return BODY.match(text, end["offset"] + end["tokLen"]) is not None


def function_of(node: Mapping[str, Any], aliases: Mapping[str, str], printed: str) -> Function:
    """A function out of the tree; or a `ToolError` that says what a tool cannot be like."""
    name, inner = node["name"], node.get("inner", [])
    taken = [each for each in inner if each["kind"] == "ParmVarDecl"]
    if node.get("variadic"):
        raise unusable(name, "it takes any number of arguments: say which")
    result = desugared({"qualType": node["type"]["qualType"].partition("(")[0]}, aliases)
    if pointed(result)[0] not in ("char", None) or not (pointed(result)[0] or is_number(result)):
        raise unusable(name, f"it returns {result}: return a number, a text (const char *) or void")
    if not all("name" in each for each in taken):
        raise unusable(name, "it has parameters without names: give them names")
    declared = re.search(rf"\b{re.escape(name)}\((.*)\)", printed)
    sizes = dict(re.findall(r"(\w+)\[(?:static )?(\d+)\]", declared[1] if declared else ""))
    parameters = [
        parameter_of(name, each["name"], desugared(each["type"], aliases), sizes) for each in taken
    ]
    description, meanings = described([each for each in inner if each["kind"] == "FullComment"])
    function = Function(name, description, with_lengths(name, parameters), result, meanings)
    if function.returns_length and (result not in LAYOUTS or LAYOUTS[result] in "?fd"):
        raise unusable(name, "it has to return how many elements of its results there are")
    return function


def unusable(name: str, why: str) -> ToolError:
    return ToolError(f"{name} cannot be a tool: {why}", "no such tool")


def desugared(type_: Mapping[str, str], aliases: Mapping[str, str]) -> str:
    """A type in C's own words."""
    text = type_.get("desugaredQualType", type_["qualType"])
    return re.sub(r"\w+", lambda word: aliases.get(word[0], word[0]), text).strip()


def pointed(text: str) -> tuple[str | None, bool]:
    """What a pointer points to, and whether that is const; None if it is no pointer."""
    to, star, rest = text.partition("*")
    if not star or rest.strip() not in ("", "restrict", "const"):
        return None, False
    words = to.split()
    return " ".join(word for word in words if word != "const"), "const" in words


def is_number(text: str) -> bool:
    return text in LAYOUTS or text == "void" or text.startswith("enum ")


def parameter_of(function: str, name: str, type_: str, sizes: Mapping[str, str]) -> Parameter:
    """By itself: what its length is comes later."""
    to, is_const = pointed(type_)
    if to is None:
        value = type_.removeprefix("const ")
        if not is_number(value):
            raise unusable(function, f"{name} is {type_}: take numbers, texts and arrays")
        return Parameter(name, value)
    if not is_number(to) or to == "void":
        raise unusable(function, f"{name} points to {to}: take numbers, texts and arrays")
    is_out = name.startswith("out")
    if to == "char":
        if not is_const and not is_out:
            raise unusable(function, f"{name} is char *: say const char *, or call it out_{name}")
        return Parameter(name, to, "text", given=is_const, result=not is_const)
    size = int(sizes[name]) if name in sizes else None
    role: Role = "array" if size is not None else "number"
    return Parameter(name, to, role, given=not is_out, result=not is_const, size=size)


def with_lengths(function: str, parameters: list[Parameter]) -> tuple[Parameter, ...]:
    """Whole numbers behind pointers are the lengths of these."""
    done, waiting = list(parameters), list[int]()
    for at, parameter in enumerate(parameters):
        if parameter.role == "number" or (parameter.role == "text" and not parameter.given):
            waiting.append(at)
        elif waiting and parameter.role == "value" and parameter.letter in "bBhHiIqQ":
            done[at] = replace(parameter, role="length", given=False)
            for each in waiting:
                role: Role = "text" if done[each].role == "text" else "array"
                done[each] = replace(done[each], role=role, length=at)
            waiting = []
    for each in waiting:
        if done[each].given or done[each].role == "text":
            name = done[each].name
            raise unusable(function, f"{name} needs its length behind it, such as int n_{name}")
    return tuple(done)


def described(comments: list[Any]) -> tuple[str, dict[str, str]]:
    """What a comment says of a function, and of its parameters (@param)."""
    paragraphs, meanings = [], {}
    for part in (part for comment in comments for part in comment.get("inner", [])):
        text = re.sub(r"\s*\n[\s*]*", " ", " ".join(texts(part)))
        text = re.sub(r"  +", " ", text).strip()
        if part["kind"] == "ParamCommandComment":
            meanings[part["param"]] = text
        elif text:
            paragraphs.append(text)
    return "\n".join(paragraphs), meanings


def texts(part: Mapping[str, Any]) -> Iterator[str]:
    if "text" in part:
        yield part["text"].strip()
    for inner in part.get("inner", []):
        yield from texts(inner)
