"""Modules: compiled programs that a language model hands over to.

    Module.c("sudoku.c")              a function of a C file, or its main; on the machine's weights
    Module.wasm("sums.wasm", "add")   the same of WebAssembly
    Module.gallery("multiplication")  a program of the gallery, which has weights of its own
    Module.calculator()               expressions, on the machine's weights

A module is a tool of `delegate` whose every token somebody hears. `modules_of` finds them by words
as users write them, those that curta ships (`registry`) by their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends.machine import Machine as MachineBackend
from curta.delegate.calculator.backends.machine import module as calculator_program
from curta.delegate.given_up import check_given_up
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.program import MainTool, ProgramTool, computer, first_comment
from curta.delegate.tools.schemas import arguments_schema, checked_arguments
from curta.delegate.tools.tool import Answer, Bounds, Tool, answered, refused
from curta.delegate.tools.words import named_by
from curta.engine import Engine, Level, load
from curta.engine.base import Ids
from curta.engine.model_cache import compile_cached
from curta.errors import CurtaError, UserError
from curta.gallery import NAMES, find_program
from curta.hybrid.hearing import HeardMachine, Hearing
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine

MACHINE = "machine"
"""The name of the machine's weights."""
INPUT = arguments_schema(
    {"input": {"type": "string"}}, {"input": "as the program's examples have it"}
)


@dataclass(frozen=True)
class GalleryTool:
    """A program of the gallery: its prompt is the input, what it says is the answer."""

    name: str
    description: str
    engine: Engine
    encode: Callable[[str], list[str]]
    decode: Callable[[Iterable[str]], str]
    hearing: Hearing | None = None
    sandboxed: bool = True
    parameters: Mapping[str, Any] = field(default_factory=lambda: INPUT)

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        hearing, said = self.hearing or Hearing(self.name), list[int]()
        try:
            prompt = self.engine.encode(self.encode(checked_arguments(INPUT, arguments)["input"]))
            opening = np.array(prompt, dtype=np.int32)
            hearing.opened(opening)
            chunks: Iterable[Ids] = self.engine.chunks(prompt)
            if hearing.recorded is not None:
                chunks = [hearing.recorded.behind(opening)]
            for chunk in chunks:
                hearing.said(chunk)
                said += chunk.tolist()
                check_given_up()
            answer = self.decode(self.engine.vocabulary[token] for token in said)
        except CurtaError as error:
            return refused(error, len(said))
        return answered(answer, Bounds(), len(prompt) + len(said))


Compiled = ProgramTool | MainTool | CalculatorTool | GalleryTool
"""The tools that weights execute."""


@dataclass(frozen=True)
class Module:
    """What a language model can hand over to."""

    tool: Compiled

    @classmethod
    def c(cls, path: str | Path, function: str = "", bounds: Bounds | None = None) -> Module:
        """A function of a C file: its signature is its interface; or the file's main."""
        found = named(f"{path}:{function}" if function else str(path), bounds)
        if len(found) > 1:
            names = ", ".join(module.name for module in found)
            raise UserError(f"{path} has several functions: say which one of {names}")
        return found[0]

    wasm = c

    @classmethod
    def gallery(cls, name: str, engine: Engine | None = None) -> Module:
        """A program of the gallery, compiled now or earlier."""
        program = find_program(name)
        if engine is None:
            engine = load(compile_cached(program.build(), program.max_tokens))
        example = program.cases[0].input
        about = f"{program.summary}. The input looks like {example!r}."
        return cls(GalleryTool(name, about, engine, program.encode, program.decode))

    @classmethod
    def calculator(cls) -> Module:
        """Exact rationals, by a program that the machine executes."""
        return cls(calculator_on(computer()))

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def weights(self) -> str:
        """What its weights are called."""
        return f"gallery:{self.name}" if isinstance(self.tool, GalleryTool) else MACHINE

    @property
    def engine(self) -> Engine:
        """Its weights, ready to run."""
        return self.tool.engine if isinstance(self.tool, GalleryTool) else computer().engine

    @property
    def program(self) -> LoadedProgram | None:
        """What the machine's weights are told to execute."""
        if isinstance(self.tool, CalculatorTool):
            return computer().load(calculator_program())
        return None if isinstance(self.tool, GalleryTool) else self.tool.program

    def at(self, level: Level) -> Engine:
        """The same at another level."""
        return engine_at(self.engine, level)

    def heard(self, hearing: Hearing) -> Tool:
        """Its tool for one call, every token of which is told."""
        if isinstance(self.tool, GalleryTool):
            return replace(self.tool, hearing=hearing)
        machine = HeardMachine(computer(), hearing)
        if isinstance(self.tool, CalculatorTool):
            return calculator_on(machine)
        return replace(self.tool, machine=machine)


@cache
def engine_at(engine: Engine, level: Level) -> Engine:
    """A model at another level, made once."""
    return load(engine.model, level)


def calculator_on(machine: Machine) -> CalculatorTool:
    """The calculator whose program this machine executes."""
    budget = Budget()
    backend = MachineBackend(budget)
    backend.computer = machine
    return CalculatorTool(Calculator(backend, budget))


# -- by words ---------------------------------------------


def modules_of(words: Iterable[str | Module]) -> list[Module]:
    """What words name: `sudoku` of those that are shipped, `gallery:sort`, `mine.c:function`."""
    return [
        module for word in words for module in ([word] if isinstance(word, Module) else named(word))
    ]


def named(word: str, bounds: Bounds | None = None) -> list[Module]:
    """The modules of one word."""
    kind, colon, name = word.partition(":")
    if kind == "gallery" and colon:
        return [Module.gallery(name)]
    place = registry().get(kind)
    if place is not None:
        word = f"{place}{colon}{name}"
    elif not Path(word.partition(":")[0]).suffix:
        raise UserError(
            f"--module {word}: expected one of {', '.join(registry())}; gallery:NAME with a "
            f"program of the gallery ({', '.join(NAMES[:3])}, ...); or a file, FILE.c, FILE.wasm, "
            "with :FUNCTION if not all of its functions are wanted"
        )
    found = []
    try:
        tools = named_by(word, bounds)
    except UserError as error:
        raise UserError(str(error).replace("--tool", "--module")) from None
    for tool in tools:
        if not isinstance(tool, ProgramTool | MainTool):
            raise UserError(f"--module {word}: {tool.name} is not compiled; give C or WebAssembly")
        found.append(Module(tool))
    return found


@cache
def registry() -> dict[str, Path]:
    """The files that curta ships, by name."""
    folder = Path(str(files("curta.hybrid"))) / "registry"
    return {path.stem: path for path in sorted(folder.glob("*.c"))}


def use_of(path: Path) -> str:
    """When to use a file of the registry: what its first comment says."""
    return " ".join(first_comment(path.read_text(encoding="utf-8")).split())
