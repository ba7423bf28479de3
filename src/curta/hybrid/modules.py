"""Modules: compiled programs that a language model hands over to.

    Module.c("sudoku.c")              a function of a C file, or its main; on the machine's weights
    Module.wasm("sums.wasm", "add")   the same of WebAssembly
    Module.gallery("multiplication")  a program of the gallery, which has weights of its own
    Module.calculator()               expressions, on the machine's weights

A module is a tool of `delegate` whose every token somebody hears. `modules_of` finds them by words
as users write them, those that curta ships (`registry`) by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.calculator.backends.machine import Machine as MachineBackend
from curta.delegate.calculator.backends.machine import module as calculator_program
from curta.delegate.given_up import check_given_up
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.kinds import Arguments, Text
from curta.delegate.tools.program import MainTool, ProgramTool, computer
from curta.delegate.tools.tool import Answer, Bounds, Tool, answered, refused
from curta.delegate.tools.words import named_by
from curta.engine import Engine, Level, load
from curta.engine.base import Ids
from curta.engine.model_cache import compile_cached
from curta.errors import CurtaError, UserError, VerifyError
from curta.gallery import NAMES, find_program
from curta.machine.conversation import ConversationLimits, Host
from curta.machine.core_program import Segment
from curta.machine.ids import STOP_IDS
from curta.machine.instance import Instance
from curta.machine.instructions import MOST_TOKENS
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine
from curta.machine.run import DEFAULT_LIMITS
from curta.machine.talkers import Talker

MACHINE = "machine"
"""The name of the machine's weights."""


class Hears(Protocol):
    """Whom a module's tokens are told."""

    def opened(self, ids: Ids) -> None:
        """A context begins with these: a program, its state, or a prompt."""

    def said(self, ids: Ids) -> None:
        """What is said behind that, the words that the host puts in included."""


class Recorded:
    """Contexts that were said before, one after the other.

    failure: why a run that says them again came to another end
    """

    def __init__(self, contexts: Iterable[Ids]) -> None:
        self.contexts = iter(contexts)
        self.failure: VerifyError | None = None

    def context(self, given: Ids) -> Ids:
        """What was said in the next one, behind what it is given."""
        ids = next(self.contexts, np.zeros(0, dtype=np.int32))
        return self.behind(ids, given)

    def behind(self, ids: Ids, given: Ids) -> Ids:
        """What is left of tokens behind what has to be the first ones."""
        if not np.array_equal(ids[: len(given)], given):
            raise self.failed("the host says something else here than the transcript has")
        return ids[len(given) :]

    def failed(self, why: str) -> VerifyError:
        self.failure = VerifyError(why)
        return self.failure


class RecordedTalker:
    """Says what was said before instead of what weights say."""

    max_tokens = MOST_TOKENS
    memory_bytes = placed = 0
    engine = None

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.ids: Ids | None = None
        """What is left of the context."""

    def fresh(self) -> RecordedTalker:
        return RecordedTalker(self.recorded)

    def close(self) -> None:
        """There is nothing to be given back."""

    def talk(self, given: Ids, most: int) -> Iterator[Ids]:
        recorded = self.recorded
        if self.ids is None:
            self.ids = recorded.context(given)
        else:
            self.ids = recorded.behind(self.ids, given)
        stops = np.flatnonzero(np.isin(self.ids[:most], STOPS))
        end = int(stops[0]) + 1 if len(stops) else min(most, len(self.ids))
        said, self.ids = self.ids[:end], self.ids[end:]
        if not len(stops) and end < most:
            yield said
            raise recorded.failed("the tokens end before the program does")
        yield said


STOPS = np.array(sorted(STOP_IDS))


class HeardMachine(Machine):
    """The machine, heard. With `recorded` tokens it says these instead of what weights say."""

    def __init__(self, machine: Machine, hears: Hears, recorded: Recorded | None = None) -> None:
        super().__init__(machine.level)
        self.engine = machine.engine
        self._programs = machine._programs
        self.hears = hears
        self.recorded = recorded

    def talker(self) -> Talker:
        return super().talker() if self.recorded is None else RecordedTalker(self.recorded)

    def start(
        self,
        program: LoadedProgram,
        host: Host | None = None,
        limits: ConversationLimits = DEFAULT_LIMITS,
        segments: Sequence[Segment] = (),
    ) -> Instance:
        heard = replace(host or Host(), on_opening=self.hears.opened, on_tokens=self.hears.said)
        return super().start(program, heard, limits, segments)


class Unheard:
    """Nobody listens."""

    def opened(self, ids: Ids) -> None: ...

    def said(self, ids: Ids) -> None: ...


@dataclass(frozen=True)
class GalleryTool:
    """A program of the gallery: its prompt is the input, what it says is the answer.

    recorded: what it says again
    """

    name: str
    description: str
    engine: Engine
    encode: Callable[[str], list[str]]
    decode: Callable[[Iterable[str]], str]
    bounds: Bounds = field(default_factory=Bounds)
    hears: Hears = field(default_factory=Unheard)
    recorded: Recorded | None = None
    sandboxed: bool = True

    @property
    def parameters(self) -> Mapping[str, Any]:
        return INPUT.schema()

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        said: list[int] = []
        try:
            prompt = self.engine.encode(self.encode(INPUT.checked(arguments)["input"]))
            self.hears.opened(np.array(prompt, dtype=np.int32))
            for chunk in self.chunks(prompt):
                self.hears.said(chunk)
                said += chunk.tolist()
                check_given_up()
            answer = self.decode(self.engine.vocabulary[token] for token in said)
        except CurtaError as error:
            return refused(error, len(said))
        return answered(answer, self.bounds, len(prompt) + len(said))

    def chunks(self, prompt: list[int]) -> Iterable[Ids]:
        """What is said behind the prompt."""
        if self.recorded is not None:
            return [self.recorded.context(np.array(prompt, dtype=np.int32))]
        return self.engine.chunks(prompt)


INPUT = Arguments({"input": Text()}, {"input": "as the program's examples have it"})

Compiled = ProgramTool | MainTool | CalculatorTool | GalleryTool
"""The tools that weights execute."""


@dataclass(frozen=True)
class Module:
    """What a language model can hand over to."""

    tool: Compiled

    @classmethod
    def c(cls, path: str | Path, function: str = "", bounds: Bounds | None = None) -> Module:
        """A function of a C file: its signature is its interface; or the file's main."""
        return one_of(f"{path}:{function}" if function else str(path), bounds)

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

    def heard(self, hears: Hears, recorded: Recorded | None = None) -> Tool:
        """Its tool, every token of which is told; or that says what it said before."""
        tool = self.tool
        if isinstance(tool, GalleryTool):
            return replace(tool, hears=hears, recorded=recorded)
        machine = HeardMachine(computer(), hears, recorded)
        if isinstance(tool, CalculatorTool):
            return calculator_on(machine)
        return replace(tool, machine=machine)


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


def one_of(word: str, bounds: Bounds | None) -> Module:
    """The only module of a file."""
    found = modules_of([word], bounds)
    if len(found) > 1:
        names = ", ".join(module.name for module in found)
        raise UserError(f"{word} has several functions: say which one of {names}")
    return found[0]


def modules_of(words: Iterable[str], bounds: Bounds | None = None) -> list[Module]:
    """What words name: `sudoku` of those that are shipped, `gallery:sort`, `mine.c:function`."""
    return [module for word in words for module in named(word, bounds)]


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
    first = re.match(r"/\*\s*(.*?)\*/", path.read_text(encoding="utf-8"), re.DOTALL)
    return " ".join(re.sub(r"(?m)^\s*\*", "", first[1]).split()) if first else ""
