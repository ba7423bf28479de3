"""The machine as users meet it.

machine = Machine()
run = machine.run("prog.c", stdin=b"...", args=["a"])
instance = machine.instantiate("prog.wasm")
instance.invoke("fib", 30)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Unpack
from weakref import WeakValueDictionary

from curta.engine import Engine
from curta.errors import UserError
from curta.machine.conversation import ConversationLimits
from curta.machine.core_program import Segment
from curta.machine.host import Host
from curta.machine.instance import Instance
from curta.machine.load import load_program
from curta.machine.loaded import LoadedProgram
from curta.machine.parts.operations import Extension, Operations
from curta.machine.run import (
    DEFAULT_LIMITS,
    MACHINE_LEVELS,
    LoadOptions,
    MachineLevel,
    ProgramSource,
    Run,
    RunOptions,
    check_options,
    check_program,
    constructed,
    converse,
    program_name,
    run_to_end,
    start,
    talker_of,
)
from curta.machine.talkers import ReferenceTalker, Talker
from curta.machine.toolchain import Watcher, patient, read_program

if TYPE_CHECKING:
    from curta.machine.kept.keeping import Ready
    from curta.machine.many import Outcome, RunInput

LOADING = LoadOptions.__annotations__
LOOKS = 0.1
"""Seconds between two looks at what takes long."""


class Machine:
    """One fixed set of weights, built once and cached, that runs any program.

    `level` says how: "native" (generated C), "hull", "plain", "evaluate", or "reference", which is
    no transformer but the plain Python machine that says the same tokens. `extensions` are further
    operations that programs can import; `on_pass` is told how the compilation of weights goes.
    """

    def __init__(
        self,
        level: MachineLevel = "native",
        *,
        extensions: Sequence[Extension] = (),
        on_pass: Callable[[str], object] | None = None,
    ) -> None:
        if level not in MACHINE_LEVELS:
            raise UserError(f"level={level!r}: expected one of {', '.join(MACHINE_LEVELS)}")
        for extension in extensions:
            if not isinstance(extension, Extension):
                raise UserError(f"extensions: {extension!r} is no Extension")
        self.level = level
        operations = Operations(sorted(extensions, key=lambda one: one.name))
        self.extensions, self._operations = operations.extensions, operations.names
        self.on_pass = on_pass
        self._programs: WeakValueDictionary[object, LoadedProgram] = WeakValueDictionary()
        """Those that somebody still has, by what they were made of."""

    @cached_property
    def engine(self) -> Engine:
        """The weights, ready to run."""
        from curta.machine.weights import load_machine

        if self.level == "reference":
            raise UserError("level 'reference' has no weights; take another level")
        return load_machine(self.level, self.extensions, self.on_pass)

    @cached_property
    def identity(self) -> str:
        """What the weights compute, whichever level does it."""
        return identity_of(self.extensions) if self.level == "reference" else self.engine.identity

    def talker(self) -> Talker:
        """A new conversation's other side."""
        if self.level == "reference":
            return ReferenceTalker(self.extensions)
        return talker_of(self.engine)

    # -- what users call ---------------------------------------------

    def run(
        self,
        program: ProgramSource,
        *,
        keep: str | Path | None = None,
        keep_tokens: bool = False,
        **options: Unpack[RunOptions],
    ) -> Run:
        """Run a program from its start to its end.

        Raises Trap if it traps, LimitError at a limit. `keep` names a file that the run is kept in,
        with which `resume` goes on and `curta verify` checks it.
        """
        if keep is None:
            if keep_tokens:
                raise UserError("keep_tokens: say where the run is to be kept (keep)")
            return run_to_end(self.begin(program, **options))
        from curta.machine.kept.keeping import run_kept

        ready = self.ready(program, **options)
        return run_kept(keep, ready, program_name(program), options, keep_tokens=keep_tokens)

    def map(
        self,
        program: ProgramSource,
        inputs: Iterable[RunInput],
        *,
        jobs: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Iterator[Outcome]:
        """Run a program on many inputs, on all cores (or with so many processes, `jobs`, this
        one among them).

        An input is bytes for stdin, or a mapping of options (`stdin`, `args`, `env`, `seed`, ...);
        `options` are those of all. What comes of each is a Run, or the error that it ended with (a
        Trap, say), in their order, as inputs are read. Traces are not kept unless that is asked
        for. In a script the call stands behind `if __name__ == "__main__":`.
        """
        from curta.machine.many import SharedSetup, checked, run_many
        from curta.machine.processes import worker_setup

        if self.level == "reference":
            raise UserError("level 'reference' has no weights; take another level")
        ready = self.ready(program, **options)
        max_memory = options.get("max_memory", DEFAULT_LIMITS.max_memory)
        shared = checked({name: given for name, given in options.items() if name not in LOADING})
        worker = worker_setup(ready, self.level)
        setup = SharedSetup(worker, program_name(program), max_memory, shared)
        return run_many(self.engine, ready.program, setup, inputs, jobs)

    def instantiate(self, program: ProgramSource, **options: Unpack[RunOptions]) -> Instance:
        """A program whose exported functions are invoked one by one.

        Of C and C++ all functions that are not static are exported. Limits hold for all
        invocations together.
        """
        return constructed(self.begin(program, library=True, **options))

    def begin(
        self, program: ProgramSource, *, library: bool = False, **options: Unpack[RunOptions]
    ) -> Instance:
        """A conversation in which the program was said, and nothing was asked of it yet."""
        check_options(options, RunOptions)
        check_program(program)
        with self._made_ready(program, options.get("watcher")):
            loaded = self.load(program, library=library, **load_options(options))
        max_memory = options.get("max_memory", DEFAULT_LIMITS.max_memory)
        return converse(self.start, loaded, program_name(program), options, max_memory)

    # -- the steps ---------------------------------------------

    def ready(
        self, program: ProgramSource, *, library: bool = False, **options: Unpack[RunOptions]
    ) -> Ready:
        """All that it takes to begin a run, or to go on with one."""
        from curta.machine.kept.keeping import Ready

        check_options(options, RunOptions)
        check_program(program)
        loading = load_options(options)
        with self._made_ready(program, options.get("watcher")):
            content = module_of(program, library, loading)
            loaded = self._load(content, loading)
        return Ready(
            self.talker(),
            loaded,
            self.identity,
            self.level,
            tuple(extension.name for extension in self.extensions),
            module=content,
        )

    @contextmanager
    def _made_ready(self, program: ProgramSource, watcher: Watcher | None) -> Iterator[None]:
        """Have the weights made ready while a program is; both take long the first time."""
        if self.level == "reference" or "engine" in self.__dict__ or not is_there(program):
            yield
            return

        def prepare() -> None:
            with suppress(Exception):  # who asks for the engine again gets the error
                _ = self.engine

        preparing = Thread(target=prepare)
        preparing.start()
        yield
        watcher = watcher or patient("compiling the machine, once: five seconds or so")
        started = time.monotonic()
        while preparing.is_alive():
            preparing.join(LOOKS)
            watcher.waiting(time.monotonic() - started)

    def load(
        self,
        program: ProgramSource,
        *,
        library: bool = False,
        stored: bool = False,
        **options: Unpack[LoadOptions],
    ) -> LoadedProgram:
        """Compile and lower a program; every step comes from a cache if it can. If it is `stored`,
        it needs no bytes in its prompt, and can be baked.
        """
        return self._load(module_of(program, library, options), options, stored=stored)

    def _load(self, content: bytes, options: LoadOptions, *, stored: bool = False) -> LoadedProgram:
        limits = ConversationLimits(max_memory=options.get("max_memory", DEFAULT_LIMITS.max_memory))
        prove = options.get("prove", True)
        key = content, limits.max_memory, prove, stored
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = load_program(
                content, limits.max_memory, self.extensions, prove=prove, stored=stored
            )
        return program

    def start(
        self,
        program: LoadedProgram,
        host: Host | None = None,
        limits: ConversationLimits = DEFAULT_LIMITS,
        segments: Sequence[Segment] = (),
    ) -> Instance:
        """Begin a conversation about a program: say it, and have it set itself up."""
        if program.baked or program.operations != self._operations:
            raise UserError(
                "the program was loaded for a machine with other extensions; load it with this one"
            )
        return start(self.talker(), program, host, limits, segments)


def is_there(program: ProgramSource) -> bool:
    """Whether there are files to be read, if that is what it takes."""
    if isinstance(program, bytes | bytearray):
        return True
    names = [program] if isinstance(program, str | Path) else program
    return all(Path(name).is_file() for name in names)


@cache
def identity_of(extensions: tuple[Extension, ...]) -> str:
    """What weights with these extensions compute, without the weights."""
    from curta.compiler.resolve import resolve
    from curta.compiler.serialize import identity
    from curta.machine.computer import build

    return identity(resolve(build(extensions)))


def load_options(options: RunOptions) -> LoadOptions:
    """What of it is for loading the program."""
    loading: LoadOptions = {}
    for name in LOADING:
        if name in options:
            loading[name] = options[name]  # type: ignore[literal-required]
    return loading


def module_of(program: ProgramSource, library: bool, options: LoadOptions) -> bytes:
    """The WebAssembly, compiled if it is not that already."""
    if isinstance(program, bytes | bytearray):
        return bytes(program)
    flags, watcher = options.get("cflags", ()), options.get("watcher")
    return read_program(program, flags, library=library, watcher=watcher)
