"""Python functions with type hints as tools.

They are not sandboxed: a function may do what Python may. But every call is a process of its own,
so it is bounded in time and memory, and nothing stays from call to call. This module is what such a
process runs: it reads a call from its standard input, and answers where its standard output was
before the function could write there.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from curta.delegate.given_up import check_given_up, is_given_up
from curta.delegate.tools import confine
from curta.delegate.tools.schemas import Schema, arguments_schema, checked_arguments
from curta.delegate.tools.tool import Answer, Bounds, answered, refused
from curta.errors import CurtaError, ToolError, UserError

SIMPLE: dict[Any, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    Any: {},
    dict: {"type": "object", "additionalProperties": {}},
    list: {"type": "array", "items": {}},
    type(None): {"enum": [None]},
}
MEMORY, OUTPUT = 4 << 30, 64 << 20
"""Bytes that the process of a call may use, and write. (Libraries for numbers take much of it.)"""
SHORT = 80
"""Characters of an exception's words that a model is told."""


# -- functions ---------------------------------------------


def described(function: Callable[..., Any]) -> tuple[str, str, Schema]:
    """What a model has to know of a function, by its name, docstring and type hints: what it is
    called, what it does, what it takes; a `UserError` if it does not say enough.
    """
    name, hints = function.__name__, get_type_hints(function)
    properties, optional = dict[str, Schema](), set[str]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UserError(f"{name}: {parameter} takes anything: say which arguments there are")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UserError(f"{name}: {parameter.name} has no name to be given by: leave out the /")
        if parameter.name not in hints:
            raise UserError(f"{name}: {parameter.name} has no type: write {parameter.name}: int")
        where = f"{name}: {parameter.name}"
        properties[parameter.name] = schema_of(hints[parameter.name], where)
        if parameter.default is not parameter.empty:
            optional.add(parameter.name)
    lines = (inspect.getdoc(function) or "").splitlines()
    meanings = {match[1]: match[2] for match in map(MEANING.match, lines) if match}
    text = "\n".join(line for line in lines if not MEANING.match(line)).strip()
    return name, text, arguments_schema(properties, meanings, optional)


MEANING = re.compile(r"\s*(?::param )?(\w+)(?: \([^)]*\))?: +(\S.*)")
"""A line of a docstring about a parameter."""


def schema_of(hint: Any, where: str) -> Schema:
    """The values that a type hint allows."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, where) for each in inner]}
    if origin in (list, Sequence) or (origin is tuple and inner[-1] is Ellipsis):
        return {"type": "array", "items": schema_of(inner[0], where)}
    if origin in (dict, Mapping) and inner[0] is str:
        return {"type": "object", "additionalProperties": schema_of(inner[1], where)}
    raise UserError(
        f"{where} is {getattr(hint, '__name__', hint)}: take int, float, str, bool, list[...], "
        "dict[str, ...], Literal[...] or several of them with |"
    )


def plain(value: Any) -> Any:
    """A result as JSON; or a `ToolError`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy's
        return plain(value.tolist())
    what = f"it returned a {type(value).__name__}, which is no number, text, list or dict"
    raise ToolError(what, "no result")


@dataclass(frozen=True)
class FunctionTool:
    """A function that is called with checked arguments: of curta itself, or what asks a process."""

    name: str
    description: str
    parameters: Schema
    function: Callable[..., Answer]
    sandboxed: bool = True

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        try:
            return self.function(**checked_arguments(self.parameters, arguments))
        except CurtaError as error:
            return refused(error)


def python_tool(path: str, name: str, bounds: Bounds) -> FunctionTool:
    """A function in a user's file; a `UserError` says what it lacks."""
    question = {"path": os.path.abspath(path), "name": name}
    found = asked(question, Bounds(seconds=60))

    def answer(**arguments: Any) -> Answer:
        return answered(asked(question | {"arguments": arguments}, bounds), bounds)

    return FunctionTool(name, found["description"], found["parameters"], answer, sandboxed=False)


# -- the process of a call ---------------------------------------------


def asked(question: Mapping[str, Any], bounds: Bounds, module: str = __name__) -> Any:
    """What a new process answers; or an error, whatever happened there."""
    limits = confine.Limits(bounds.seconds, MEMORY, OUTPUT)
    command = [sys.executable, "-P", "-m", module]
    try:
        given = json.dumps(question).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are not JSON: {error}", "wrong arguments") from None
    environment = dict(os.environ) | {"OPENBLAS_NUM_THREADS": "1", "CURTA_PLACES": "off"}
    folder = str(Path(question.get("path", "")).absolute().parent)
    finished = confine.run(command, given, limits, folder, environment, is_given_up)
    if finished.status is None:
        check_given_up()
        raise ToolError(f"the call took more than {bounds.seconds:g} s", "took too long")
    if finished.status != 0:
        lines = finished.error.strip().splitlines()
        what = "out of memory" if "MemoryError" in finished.error else "ended without an answer"
        raise ToolError(f"the process of the call {what}: {lines[-1] if lines else ''}", what)
    answer = json.loads(finished.output)
    if "error" in answer:
        raise ToolError(answer["error"], answer["brief"])
    return answer["value"]


def answer_to(question: Mapping[str, Any]) -> Any:
    """Describe a function of a file, or call it."""
    function = function_in(question["path"], question["name"])
    _, description, parameters = described(function)
    if "arguments" not in question:
        return {"description": description, "parameters": parameters}
    given = checked_arguments(parameters, question["arguments"])
    try:
        return plain(function(**given))
    except CurtaError:
        raise
    except MemoryError:
        raise ToolError("the call needs more memory than it may have", "out of memory") from None
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        raise ToolError(words, words[:SHORT]) from error


def function_in(path: str, name: str) -> Callable[..., Any]:
    """The function of a name in a file."""
    import importlib.util

    sys.path.insert(0, str(Path(path).parent))
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise UserError(f"{path}: no such file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not inspect.isfunction(found):
        own = [one for one, each in vars(module).items() if inspect.isfunction(each)]
        names = ", ".join(one for one in own if not one.startswith("_")) or "none"
        raise UserError(f"{path} has no function {name}; there are: {names}")
    return found


def serve(answer: Callable[[Mapping[str, Any]], Any]) -> None:
    """Answer the question on the standard input; what is printed goes to the standard error."""
    output = os.dup(1)
    os.dup2(2, 1)
    question = json.load(sys.stdin)
    try:
        said: dict[str, Any] = {"value": answer(question)}
        text = json.dumps(said)
    except CurtaError as error:
        text = json.dumps({"error": str(error), "brief": refused(error).text})
    with os.fdopen(output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    serve(answer_to)
