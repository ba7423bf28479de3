"""The machine as users meet it.

machine = Machine()
run = machine.run("prog.c", stdin=b"...", args=["a"])
instance = machine.instantiate("prog.wasm")
instance.invoke("fib", 30)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Unpack

from curta.engine import Engine
from curta.errors import UserError
from curta.machine.conversation import Host, Limits
from curta.machine.instance import Instance
from curta.machine.load import load_program
from curta.machine.loaded import LoadedProgram
from curta.machine.parts.operations import Extension, Operations
from curta.machine.program import Segment
from curta.machine.run import (
    DEFAULT_LIMITS,
    MACHINE_LEVELS,
    LoadOptions,
    MachineLevel,
    Program,
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
from curta.machine.toolchain import read_program


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
        self.extensions = Operations(sorted(extensions, key=lambda one: one.name)).extensions
        self.on_pass = on_pass

    @cached_property
    def engine(self) -> Engine:
        """The weights, ready to run."""
        from curta.machine.weights import load_machine

        if self.level == "reference":
            raise UserError("level 'reference' has no weights; take another level")
        return load_machine(self.level, self.extensions, self.on_pass)

    def talker(self) -> Talker:
        """A new conversation's other side."""
        if self.level == "reference":
            return ReferenceTalker(self.extensions)
        return talker_of(self.engine)

    # -- what users call ---------------------------------------------

    def run(self, program: Program, **options: Unpack[RunOptions]) -> Run:
        """Run a program from its start to its end.

        Raises Trap if it traps, LimitError at a limit.
        """
        return run_to_end(self.begin(program, **options))

    def instantiate(self, program: Program, **options: Unpack[RunOptions]) -> Instance:
        """A program whose exported functions are invoked one by one.

        Of C and C++ all functions that are not static are exported. Limits hold for all
        invocations together.
        """
        return constructed(self.begin(program, library=True, **options))

    def begin(
        self, program: Program, *, library: bool = False, **options: Unpack[RunOptions]
    ) -> Instance:
        """A conversation in which the program was said, and nothing was asked of it yet."""
        check_options(options, RunOptions)
        check_program(program)
        max_memory = options.get("max_memory", DEFAULT_LIMITS.max_memory)
        loading: LoadOptions = {
            "cflags": options.get("cflags", ()),
            "max_memory": max_memory,
            "watcher": options.get("watcher"),
            "prove": options.get("prove", True),
        }
        loaded = self.load(program, library=library, **loading)
        return converse(self.talker(), loaded, program_name(program), options, max_memory)

    # -- the steps ---------------------------------------------

    def load(
        self,
        program: Program,
        *,
        library: bool = False,
        stored: bool = False,
        **options: Unpack[LoadOptions],
    ) -> LoadedProgram:
        """Compile and lower a program; every step comes from a cache if it can. If it is `stored`,
        it needs no bytes in its prompt, and can be baked.
        """
        limits = Limits(max_memory=options.get("max_memory", DEFAULT_LIMITS.max_memory))
        if isinstance(program, bytes | bytearray):
            content = bytes(program)
        else:
            content = read_program(
                program,
                options.get("cflags", ()),
                library=library,
                watcher=options.get("watcher"),
            )
        prove = options.get("prove", True)
        return load_program(content, limits.max_memory, self.extensions, prove=prove, stored=stored)

    def start(
        self,
        program: LoadedProgram,
        host: Host | None = None,
        limits: Limits = DEFAULT_LIMITS,
        segments: Sequence[Segment] = (),
    ) -> Instance:
        """Begin a conversation about a program: say it, and have it set itself up."""
        if program.baked or program.operations != Operations(self.extensions).names:
            raise UserError(
                "the program was loaded for a machine with other extensions; load it with this one"
            )
        return start(self.talker(), program, host, limits, segments)
