"""Baking: a program compiled into the weights (the first Futamura projection).

A baked machine has no program in its prompt, and no tokens to write one with: what the prompt of
the ordinary machine files under an instruction's number, here is a function of that number, a table
in a feed-forward part. Bytes that lie in memory before the program begins are stored by
instructions (stored.py).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Unpack

from curta import __version__
from curta.compiler import Model, compile, load_model
from curta.compiler.compile import OnPass
from curta.compiler.model import file_notes
from curta.compiler.serialize import identity as identity_of
from curta.engine import Engine
from curta.errors import FileError, LimitError, ProofError, UserError
from curta.machine.core_program import CoreProgram
from curta.machine.instance import Instance
from curta.machine.instructions import MOST_TOKENS, OPERATIONS
from curta.machine.kept.keeping import Ready, run_kept
from curta.machine.loaded import LoadedProgram
from curta.machine.machine import Machine
from curta.machine.parts.operations import Extension, Operations
from curta.machine.run import (
    MACHINE_LEVELS,
    LoadOptions,
    MachineLevel,
    ProgramSource,
    Run,
    TalkOptions,
    check_options,
    constructed,
    converse,
    program_name,
    run_to_end,
    start,
    talker_of,
)
from curta.machine.stored import with_stores
from curta.machine.talkers import ReferenceTalker, Talker
from curta.machine.vocabulary import vocabulary

PROGRAM_NOTE, NAME_NOTE, PROOF_NOTE = "machine", "name", "proved"
"""Keys in a model file's metadata: the program, for traces and entries, what it is called, and by
which curta it was proved, if it was.
"""
MOST_BAKED = 1 << 15
"""Instructions: one is about twenty kilobytes of weights."""


class BakedMachine:
    """A machine whose weights are one program; `run` and `instantiate` are as for `Machine`.

    What was decided when it was baked (flags of the compiler, the limit of memory, extensions) is
    not asked again.
    """

    def __init__(
        self,
        program: LoadedProgram,
        name: str,
        model: Callable[[], Model],
        level: MachineLevel = "native",
        extensions: Sequence[Extension] = (),
        key: str | None = None,
        *,
        proved: bool = False,
        path: str | Path | None = None,
    ) -> None:
        if level not in MACHINE_LEVELS:
            raise UserError(f"level={level!r}: expected one of {', '.join(MACHINE_LEVELS)}")
        self.program = program
        self.name = name
        self.level = level
        self.extensions = tuple(extensions)
        self.proved = proved
        """Whether it is proved that the weights' program does what its module does."""
        self.path = path
        """The file that it was read from."""
        self._model = model
        self._key = key
        """Stands for the model's content."""

    def __repr__(self) -> str:
        return f"<BakedMachine {self.name}, {len(self.program):,} instructions>"

    @cached_property
    def model(self) -> Model:
        """The weights and all that is proved about them."""
        return self._model()

    @cached_property
    def engine(self) -> Engine:
        """The weights, ready to run."""
        from curta.engine import load
        from curta.machine.weights import load_weights, native_key

        if self.level == "reference":
            raise UserError("level 'reference' has no weights; take another level")
        if self._key is None:
            return load(self.model, self.level)
        key = native_key((), self._key.encode())
        return load_weights(self.level, key, vocabulary(()), lambda: self.model)

    def talker(self) -> Talker:
        """A new conversation's other side."""
        if self.level == "reference":
            known = {extension.name for extension in self.extensions}
            for name in self.program.operations[len(OPERATIONS) :]:
                if name not in known:
                    raise UserError(
                        f"level 'reference' has to be told what {name} means: give it the "
                        f"extension (--extension {name})"
                    )
            return ReferenceTalker(self.extensions, self.program.core_program())
        return talker_of(self.engine)

    @property
    def identity(self) -> str:
        """What the weights compute, whichever level does it."""
        return identity_of(self.model.graph) if self.level == "reference" else self.engine.identity

    def run(
        self,
        *,
        keep: str | Path | None = None,
        keep_tokens: bool = False,
        **options: Unpack[TalkOptions],
    ) -> Run:
        """Run the program from its start to its end."""
        if keep is None:
            if keep_tokens:
                raise UserError("keep_tokens: say where the run is to be kept (keep)")
            return run_to_end(self.begin(**options))
        check_options(options, TalkOptions)
        return run_kept(keep, self.ready(), self.name, options, keep_tokens=keep_tokens)

    def ready(self) -> Ready:
        """All that it takes to begin a run, or to go on with one."""
        if self.path is None:
            raise UserError("a kept run needs the file of its weights: save them, and load_baked")
        names = tuple(extension.name for extension in self.extensions)
        weights = os.path.abspath(self.path)
        return Ready(self.talker(), self.program, self.identity, self.level, names, weights)

    def instantiate(self, **options: Unpack[TalkOptions]) -> Instance:
        """The program as functions that are invoked one by one; bake it with `library=True`."""
        return constructed(self.begin(**options))

    def begin(self, **options: Unpack[TalkOptions]) -> Instance:
        """A conversation in which nothing was asked of the program yet."""
        check_options(options, TalkOptions)
        return converse(partial(start, self.talker()), self.program, self.name, options)

    def save(self, path: str | Path) -> None:
        """Write a model file; `load_baked` reads it, and so does `curta run`."""
        notes = {PROGRAM_NOTE: self._note(), NAME_NOTE: self.name}
        if self.proved:
            notes[PROOF_NOTE] = __version__
        self.model.save(path, notes=notes)

    def _note(self) -> str:
        return base64.b64encode(self.program.to_bytes()).decode("ascii")

    def prepare(self, path: str | Path) -> None:
        """Make and keep the native code for a file that this was saved to.

        The first run of the file would do it, but would have to read the weights first.
        """
        from curta.machine.weights import load_weights, native_key

        before = identity(path)
        if file_notes(path, "curta bake").get(PROGRAM_NOTE) != self._note():
            raise FileError(f"{path} holds another program; save this one to it first")
        key = native_key((), file_digest(path).encode())
        if identity(path) == before:
            load_weights("native", key, vocabulary(()), lambda: self.model)


def bake(
    program: ProgramSource | CoreProgram,
    *,
    library: bool = False,
    extensions: Sequence[Extension] = (),
    level: MachineLevel = "native",
    on_pass: OnPass | None = None,
    **options: Unpack[LoadOptions],
) -> BakedMachine:
    """Weights that run this program and no other; with `library`, ones to be instantiated."""
    from curta.machine.computer import build

    machine = Machine(extensions=extensions)
    proved = not isinstance(program, CoreProgram) and options.get("prove", True)
    if isinstance(program, CoreProgram):
        stored, name = with_stores(program), "program"
    else:
        stored = machine.load(program, library=library, stored=True, **options).core_program()
        name = program_name(program)
    count = len(stored.instructions)
    if count > MOST_BAKED:
        raise LimitError(
            f"{name} has {count:,} core instructions, its memory included, and at most "
            f"{MOST_BAKED:,} can be baked; run it from the prompt (curta run)"
        )
    loaded = LoadedProgram.from_core(stored, Operations(machine.extensions).names)
    model = compile(build(machine.extensions, stored.instructions), MOST_TOKENS, on_pass)
    baked = replace(loaded, baked=True)
    return BakedMachine(baked, name, lambda: model, level, machine.extensions, proved=proved)


def load_baked(
    path: str | Path,
    level: MachineLevel = "native",
    extensions: Sequence[Extension] = (),
    *,
    prove: bool = True,
) -> BakedMachine:
    """A machine from its file. The weights are read when they are needed.

    They know what its extensions do; only level "reference" has to be told. What was baked without
    a proof is refused, unless `prove` is False.
    """
    if extensions and level != "reference":
        names = ", ".join(extension.name for extension in extensions)
        raise UserError(
            f"{path} is in the weights, with the extensions that it was baked with: {names} "
            "(--extension) means nothing to it; leave it out, or give it to `curta bake`"
        )
    before = identity(path)
    notes = file_notes(path, "curta bake")
    if PROGRAM_NOTE not in notes:
        raise FileError(f"{path} is a model, but no baked program; `curta bake` makes one")
    try:
        content = base64.b64decode(notes[PROGRAM_NOTE], validate=True)
    except ValueError as error:
        raise FileError(f"{path}: the program in it cannot be read; bake it again") from error
    program, key = replace(LoadedProgram.from_bytes(content), baked=True), file_digest(path)
    if identity(path) != before:
        raise FileError(f"{path} was written anew while it was opened; open it again")

    def model() -> Model:
        """The weights that belong to the program and to the key."""
        found = load_model(path)
        if file_digest(path) != key or file_notes(path, "curta bake") != notes:
            raise FileError(f"{path} was written anew since it was opened; open it again")
        return found

    for extension in extensions:
        if extension.name not in program.operations:
            raise UserError(
                f"{path} was baked without the extension {extension.name}; leave it out, or give "
                "it to `curta bake` (--extension)"
            )
    if prove and PROOF_NOTE not in notes:
        raise ProofError(
            f"{path} was baked without a proof that it does what its WebAssembly does; bake it "
            "again, or run it all the same with prove=False (--unproved)"
        )
    return BakedMachine(
        program,
        notes.get(NAME_NOTE, Path(path).name),
        model,
        level,
        extensions,
        key=key,
        proved=PROOF_NOTE in notes,
        path=path,
    )


def identity(path: str | Path) -> tuple[int, ...] | None:
    """Changes whenever a file is written or replaced."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return None


def file_digest(path: str | Path) -> str:
    """Stands for the weights of a file."""
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            total.update(block)
    return total.hexdigest()
