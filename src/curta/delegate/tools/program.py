"""Functions of C and WebAssembly as tools: every call is a new instance inside the transformer.

A new instance knows nothing of calls before, and what it can reach is its own memory: a call's
answer depends on its arguments alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from curta.delegate.given_up import check_given_up
from curta.delegate.tools import wrapper
from curta.delegate.tools.compile import Source, build
from curta.delegate.tools.schemas import Schema, arguments_schema, checked_arguments
from curta.delegate.tools.signature import Function, functions_of, number_schema
from curta.delegate.tools.tool import Answer, Bounds, Found, answered, refused
from curta.errors import CurtaError, ExitError, LimitError, ToolError, Trap
from curta.machine import layout
from curta.machine.conversation import Conversation, ConversationLimits, Figures
from curta.machine.host import Host
from curta.machine.instance import START, Instance
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine
from curta.machine.run import constructed
from curta.machine.wasm.module import FunctionType

WORDS = {
    "unreachable": "gave up",
    "integer divide by zero": "divided by zero",
    "integer overflow": "a number is too large",
    "invalid conversion to integer": "a number is too large",
    "out of bounds memory access": "used memory that is not there",
    "call stack exhausted": "too many calls in each other",
}
"""What a trap is to a model; all others are calls of functions that are not there."""
INPUT = arguments_schema(
    {"input": {"type": "string"}}, {"input": "what the program reads"}, ["input"]
)
"""What a whole program takes."""
LETTERS = {"i32": "i", "i64": "q", "f32": "f", "f64": "d"}
"""Types of WebAssembly, as `struct` has them."""


@cache
def computer() -> Machine:
    """The machine that all tools share."""
    return Machine()


def loaded(module: bytes, bounds: Bounds) -> LoadedProgram:
    """The program, lowered and proved, from a cache if it can; and the machine made ready."""
    computer().talker().close()
    return computer().load(module, max_memory=bounds.pages)


@dataclass(frozen=True)
class Executed:
    """A tool that the transformer executes: the program of a module, by a machine."""

    name: str
    description: str
    module: bytes = field(repr=False)
    bounds: Bounds
    parameters: Schema = field(kw_only=True)
    machine: Machine = field(default_factory=computer, repr=False, kw_only=True)
    sandboxed: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        _ = self.program  # what is wrong with it is said before a call

    @cached_property
    def program(self) -> LoadedProgram:
        return loaded(self.module, self.bounds)


@dataclass
class Execution:
    """One instance of a tool's program, within its bounds."""

    tool: Executed
    begun: float = field(default_factory=time.monotonic)
    figures: Figures = field(default_factory=Figures)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    @contextmanager
    def instance(self, *, payload: bytes = b"", stdin: bytes = b"") -> Iterator[Instance]:
        """The program, said, and set up; what it was is given back at the end.

        payload: what the program finds as its arguments
        """
        conversations: list[Conversation] = []
        tool, bounds = self.tool, self.tool.bounds
        host = Host(
            stdin, self.stdout.extend, self.stderr.extend, self.look, on_start=conversations.append
        )
        limits = ConversationLimits(
            bounds.tokens, max_memory=bounds.pages, keep_trace=False, keep_output=False
        )
        segments = layout.host_segments([payload], seed=0)
        try:
            yield constructed(tool.machine.start(tool.program, host, limits, segments))
        finally:
            for conversation in conversations:
                self.figures = conversation.figures
                conversation.talker.close()

    def look(self, figures: Figures) -> None:
        """At the clock, and at how much was written, while the program runs."""
        check_given_up()
        bounds = self.tool.bounds
        if time.monotonic() > self.begun + bounds.seconds:
            raise LimitError(f"the call took more than {bounds.seconds:g} s")
        most = 4 * bounds.characters + (1 << 20)
        if len(self.stdout) + len(self.stderr) > most:
            raise ToolError(f"the call wrote more than {most:,} bytes", "wrote too much")

    def failed(self, error: CurtaError) -> Answer:
        """A call that came to nothing, in short words."""
        if isinstance(error, Trap):
            words = WORDS.get(error.reason, "called a function that is not there")
        elif isinstance(error, ExitError):
            words = f"ended itself with exit code {error.code}"
        else:
            return refused(error, self.figures.tokens)
        return Answer(words, tokens=self.figures.tokens, error=str(error))


@dataclass(frozen=True, kw_only=True)
class ProgramTool(Executed):
    """A function of a program, by the name that it is exported by.

    written: the function in C, if it is one, which is called by way of its wrapper
    """

    entry: str
    written: Function | None = None

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        execution = Execution(self)
        try:
            value = self.result(execution, checked_arguments(self.parameters, arguments))
        except CurtaError as error:
            return execution.failed(error)
        return answered(value, self.bounds, execution.figures.tokens)

    def result(self, execution: Execution, given: Mapping[str, Any]) -> Any:
        """What the function returned, or what its wrapper wrote."""
        function = self.written
        if function is None:
            with execution.instance() as instance:
                returned = instance.invoke(self.entry, *given.values())
            return list(returned) if isinstance(returned, tuple) else returned
        with execution.instance(payload=wrapper.written(function, given)) as instance:
            returned = instance.invoke(self.entry)
        if returned == wrapper.NO_ROOM:
            raise ToolError(f"more than {self.bounds.pages} pages of memory", "out of memory")
        output = bytes(execution.stderr)
        if not isinstance(returned, int) or not 0 <= returned <= len(output):
            raise wrapper.damaged(function)
        return wrapper.read(function, output[len(output) - returned :], given)


@dataclass(frozen=True, kw_only=True)
class MainTool(Executed):
    """A whole program: it reads its input, and what it prints is the answer."""

    parameters: Schema = field(default_factory=lambda: INPUT)

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        execution = Execution(self)
        code: int | None = None
        failure: Answer | None = None
        try:
            given = checked_arguments(self.parameters, arguments)
            with execution.instance(stdin=given.get("input", "").encode()) as instance:
                code = instance.run() & 0xFF  # as systems pass it on
        except CurtaError as error:
            failure = execution.failed(error)
        said, complaints = (
            shortened(each, self.bounds) for each in (execution.stdout, execution.stderr)
        )
        value = {"stdout": said, "stderr": complaints, "exit_code": code}
        if failure is not None:
            return replace(failure, value=value)
        ending = "" if code == 0 else f"\n(ended with exit code {code})"
        return Answer(f"{said}{complaints}{ending}", value, True, execution.figures.tokens)


def shortened(content: bytes | bytearray, bounds: Bounds) -> str:
    """Output as text; of what is too long, how it begins and how it ends."""
    text, half = content.decode(errors="replace"), bounds.characters // 2
    left_out = len(text) - 2 * half
    if left_out <= 0:
        return text
    return f"{text[:half]}\n... {left_out:,} characters ...\n{text[len(text) - half :]}"


def program_name(path: str) -> str:
    """What a tool is called that is a whole file."""
    return re.sub(r"\W", "_", Path(path).stem)


# -- C ---------------------------------------------


def c_tools(source: Source, bounds: Bounds, *, functions: bool = False) -> Found:
    """A file of C with a main is one tool, unless its functions are asked for; of all others, every
    function, by its name, or why it cannot be a tool.
    """
    found = functions_of(source)
    if found.pop("main", None) is not None and not functions:
        name, above = program_name(source.name), ABOVE_MAIN.search(source.text)
        description = plain(above[1]) if above else first_comment(source.text)
        return {name: MainTool(name, description, build(source), bounds)}
    usable = [each for each in found.values() if isinstance(each, Function)]
    wrappers = "\n".join([wrapper.PRELUDE, *map(wrapper.wrapped, usable)])
    module = build(source, wrappers) if usable else b""
    return {
        name: c_tool(each, module, bounds) if isinstance(each, Function) else each
        for name, each in found.items()
    }


ABOVE_MAIN = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*(?:int|void)\s+main\s*\(", re.DOTALL)


def first_comment(text: str) -> str:
    """What a file of C begins with, if that is a comment."""
    first = re.match(r"\s*/\*(.*?)\*/", text, re.DOTALL)
    return plain(first[1]) if first else ""


def plain(comment: str) -> str:
    """A comment without stars before its lines."""
    return re.sub(r"(?m)^[\s*]+", "", comment).strip()


def c_tool(function: Function, module: bytes, bounds: Bounds) -> ProgramTool:
    return ProgramTool(
        function.name,
        function.description,
        module,
        bounds,
        parameters=function.schema,
        entry=wrapper.entry(function),
        written=function,
    )


# -- WebAssembly ---------------------------------------------


def wasm_tools(name: str, module: bytes, bounds: Bounds, *, functions: bool = False) -> Found:
    """A module with a _start is one tool, unless its functions are asked for; of others, every
    function that they export: numbers in, numbers out.
    """
    entries = loaded(module, bounds).entries
    if START in entries and not functions:
        return {name: MainTool(name, "", module, bounds)}
    return {name: wasm_tool(name, module, bounds) for name in entries if not name.startswith("_")}


def wasm_tool(name: str, module: bytes, bounds: Bounds) -> ProgramTool:
    entry = loaded(module, bounds).entries[name]
    type_ = FunctionType(entry.parameters, entry.results)
    numbers = {f"p{n}": number_schema(LETTERS[each]) for n, each in enumerate(type_.parameters)}
    about = f"{name} of a WebAssembly module: {type_}"
    parameters = arguments_schema(numbers)
    return ProgramTool(name, about, module, bounds, parameters=parameters, entry=name)
