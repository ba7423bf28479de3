"""Functions of C and WebAssembly as tools: every call is a new instance inside the transformer.

A new instance knows nothing of calls before, and what it can reach is its own memory: a call's
answer depends on its arguments alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from curta.delegate.given_up import check_given_up
from curta.delegate.tools import wrapper
from curta.delegate.tools.compile import Source, build
from curta.delegate.tools.kinds import Arguments, Text
from curta.delegate.tools.signature import Function, functions_of, kind_of
from curta.delegate.tools.tool import Answer, Bounds, Found, answered, refused
from curta.errors import CurtaError, ExitError, LimitError, ToolError, Trap
from curta.machine import layout
from curta.machine.conversation import Conversation, ConversationLimits, Figures
from curta.machine.host import Host
from curta.machine.instance import START, Instance, Result
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
LETTERS = {"i32": "i", "i64": "q", "f32": "f", "f64": "d"}
"""Types of WebAssembly, as `struct` has them."""


@cache
def computer() -> Machine:
    """The machine that all tools share."""
    return Machine()


@dataclass
class Execution:
    """One instance of a program, within bounds."""

    program: LoadedProgram
    bounds: Bounds
    payload: bytes = b""
    """What the program finds as its arguments."""
    stdin: bytes = b""
    machine: Machine = field(default_factory=computer)
    figures: Figures = field(default_factory=Figures)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    @contextmanager
    def instance(self) -> Iterator[Instance]:
        """The program, said, and set up; what it was is given back at the end."""
        begun: list[Conversation] = []
        host = Host(
            self.stdin,
            self.stdout.extend,
            self.stderr.extend,
            self.looking(),
            on_start=begun.append,
        )
        limits = ConversationLimits(
            self.bounds.tokens, max_memory=self.bounds.pages, keep_trace=False, keep_output=False
        )
        segments = layout.host_segments([self.payload], seed=0)
        try:
            yield constructed(self.machine.start(self.program, host, limits, segments))
        finally:
            for conversation in begun:
                self.figures = conversation.figures
                conversation.talker.close()

    def looking(self) -> Callable[[Figures], None]:
        """What looks at the clock, and at how much was written, while the program runs."""
        ends = time.monotonic() + self.bounds.seconds
        most = 4 * self.bounds.characters + (1 << 20)

        def look(figures: Figures) -> None:
            check_given_up()
            if time.monotonic() > ends:
                raise LimitError(f"the call took more than {self.bounds.seconds:g} s")
            if len(self.stdout) + len(self.stderr) > most:
                raise ToolError(f"the call wrote more than {most:,} bytes", "wrote too much")

        return look


def loaded(module: bytes, bounds: Bounds) -> LoadedProgram:
    """The program, lowered and proved, from a cache if it can; and the machine made ready."""
    computer().talker().close()
    return computer().load(module, max_memory=bounds.pages)


def failed(error: CurtaError, tokens: int) -> Answer:
    """A call that came to nothing, in short words."""
    if isinstance(error, Trap):
        words = WORDS.get(error.reason, "called a function that is not there")
    elif isinstance(error, ExitError):
        words = f"ended itself with exit code {error.code}"
    else:
        return refused(error, tokens)
    return Answer(words, tokens=tokens, error=str(error))


@dataclass(frozen=True)
class ProgramTool:
    """A function of a program: `encode` gives what the program finds as its arguments and the
    numbers to call it with, `decode` makes the result of what it returned and wrote.

    module:  the program as WebAssembly
    written: the function in C, if it is one
    machine: who executes it
    """

    name: str
    description: str
    arguments: Arguments
    program: LoadedProgram
    entry: str
    encode: Callable[[Mapping[str, Any]], tuple[bytes, list[Any]]]
    decode: Callable[[Mapping[str, Any], Result, bytes], Any]
    module: bytes = field(repr=False)
    written: Function | None = None
    bounds: Bounds = field(default_factory=Bounds)
    machine: Machine = field(default_factory=computer, repr=False)
    sandboxed: bool = True

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.arguments.schema()

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        execution = Execution(self.program, self.bounds, machine=self.machine)
        try:
            given = self.arguments.checked(arguments)
            execution.payload, numbers = self.encode(given)
            with execution.instance() as instance:
                returned = instance.invoke(self.entry, *numbers)
            value = self.decode(given, returned, bytes(execution.stderr))
        except CurtaError as error:
            return failed(error, execution.figures.tokens)
        return answered(value, self.bounds, execution.figures.tokens)


@dataclass(frozen=True)
class MainTool:
    """A whole program: it reads its input, and what it prints is the answer."""

    name: str
    description: str
    program: LoadedProgram
    module: bytes = field(repr=False)
    bounds: Bounds = field(default_factory=Bounds)
    machine: Machine = field(default_factory=computer, repr=False)
    sandboxed: bool = True

    @property
    def parameters(self) -> Mapping[str, Any]:
        return INPUT.schema()

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        execution = Execution(self.program, self.bounds, machine=self.machine)
        code: int | None = None
        failure: Answer | None = None
        try:
            execution.stdin = INPUT.checked(arguments).get("input", "").encode()
            with execution.instance() as instance:
                code = instance.run()
        except CurtaError as error:
            failure = failed(error, execution.figures.tokens)
        said, complaints = (
            shortened(each, self.bounds) for each in (execution.stdout, execution.stderr)
        )
        value = {"stdout": said, "stderr": complaints, "exit_code": code}
        if failure is not None:
            return replace(failure, value=value)
        ending = "" if code == 0 else f"\n(ended with exit code {code})"
        return Answer(f"{said}{complaints}{ending}", value, True, execution.figures.tokens)


INPUT = Arguments({"input": Text()}, {"input": "what the program reads"}, frozenset({"input"}))


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


def c_tools(source: Source, bounds: Bounds | None = None, *, functions: bool = False) -> Found:
    """A file of C with a main is one tool, unless its functions are asked for; of all others, every
    function, by its name, or why it cannot be a tool.
    """
    bounds = bounds or Bounds()
    found = functions_of(source)
    if found.pop("main", None) is not None and not functions:
        name, description = program_name(source.name), first_comment(source.text)
        return {name: main_tool(name, description, build(source), bounds)}
    usable = [each for each in found.values() if isinstance(each, Function)]
    if not usable:
        return {name: each for name, each in found.items() if isinstance(each, ToolError)}
    module = build(source, "\n".join([wrapper.PRELUDE, *map(wrapper.wrapped, usable)]))
    return {
        name: c_tool(each, module, bounds) if isinstance(each, Function) else each
        for name, each in found.items()
    }


def first_comment(text: str) -> str:
    """What a file of C begins with, if that is a comment."""
    first = re.match(r"\s*/\*(.*?)\*/", text, re.DOTALL)
    return re.sub(r"(?m)^[\s*]+", "", first[1]).strip() if first else ""


def main_tool(name: str, description: str, module: bytes, bounds: Bounds) -> MainTool:
    return MainTool(name, description, loaded(module, bounds), module, bounds)


def c_tool(function: Function, module: bytes, bounds: Bounds) -> ProgramTool:
    def decode(given: Mapping[str, Any], returned: Result, output: bytes) -> Any:
        if returned == wrapper.NO_ROOM:
            raise ToolError(f"more than {bounds.pages} pages of memory", "out of memory")
        if not isinstance(returned, int) or not 0 <= returned <= len(output):
            raise wrapper.damaged(function)
        return wrapper.read(function, output[len(output) - returned :], given)

    return ProgramTool(
        function.name,
        function.description,
        function.arguments,
        loaded(module, bounds),
        wrapper.entry(function),
        lambda given: (wrapper.written(function, given), []),
        decode,
        module,
        function,
        bounds,
    )


# -- WebAssembly ---------------------------------------------


def wasm_tools(
    name: str, module: bytes, bounds: Bounds | None = None, *, functions: bool = False
) -> Found:
    """A module with a _start is one tool, unless its functions are asked for; of others, every
    function that they export: numbers in, numbers out.
    """
    bounds = bounds or Bounds()
    program = loaded(module, bounds)
    if START in program.entries and not functions:
        return {name: MainTool(name, "", program, module, bounds)}
    offered = [name for name in program.entries if not name.startswith("_")]
    return {name: wasm_tool(name, program, module, bounds) for name in offered}


def wasm_tool(name: str, program: LoadedProgram, module: bytes, bounds: Bounds) -> ProgramTool:
    entry = program.entries[name]
    type_ = FunctionType(entry.parameters, entry.results)
    kinds = {f"p{n}": kind_of(LETTERS[each]) for n, each in enumerate(type_.parameters)}

    def decode(given: Mapping[str, Any], returned: Result, output: bytes) -> Any:
        return list(returned) if isinstance(returned, tuple) else returned

    return ProgramTool(
        name,
        f"{name} of a WebAssembly module: {type_}",
        Arguments(kinds),
        program,
        name,
        lambda given: (b"", list(given.values())),
        decode,
        module,
        bounds=bounds,
    )
