"""Baking: a program compiled into the weights (the first Futamura projection).

A baked machine has no program in its prompt, and no tokens to write one with: what the prompt of
the ordinary machine files under an instruction's number, here is a function of that number, a table
in a feed-forward part. Bytes that lie in memory before the program begins are stored by
instructions that run before all others.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from curta.compiler import Model, load_model
from curta.compiler.model import file_notes
from curta.engine.model_cache import compile_cached
from curta.errors import FileError
from curta.machine.computer import TRACE, build
from curta.machine.instructions import FIRST_GLOBAL, MEMORY_PAGES, ZERO, Instruction
from curta.machine.loaded import LoadedProgram
from curta.machine.program import PRIVATE, CoreProgram, Origin, Segment

NOTE = "machine"
"""The key in a model file's metadata under which the program is kept, for traces and entries."""
ALL_PAGES = 1 << 16
FIRST_ENTRY = 2
"""The instruction that jumps to entry 0: the first of the jump list behind `await`."""


@dataclass(frozen=True, slots=True)
class BakedMachine:
    """A model that is one program, and what a host has to know about it."""

    model: Model
    program: LoadedProgram

    def save(self, path: str | Path) -> None:
        note = base64.b64encode(self.program.to_bytes()).decode("ascii")
        self.model.save(path, notes={NOTE: note})


def bake(program: CoreProgram) -> BakedMachine:
    """Weights that run this program and no other."""
    stored = with_stores(program)
    model = compile_cached(build(baked=stored.instructions), TRACE)
    return BakedMachine(model, replace(LoadedProgram.from_core(stored), baked=True))


def load_baked(path: str | Path) -> BakedMachine:
    """A machine from its file."""
    note = file_notes(path).get(NOTE)
    if note is None:
        raise FileError(f"{path} is a model, but no baked program; bake() makes one")
    program = LoadedProgram.from_bytes(base64.b64decode(note))
    return BakedMachine(load_model(path), replace(program, baked=True))


def with_stores(program: CoreProgram) -> CoreProgram:
    """The same program without segments: entry 0 stores their bytes first."""
    if not program.segments:
        return program
    instructions = list(program.instructions)
    begin = instructions[FIRST_ENTRY]
    instructions[FIRST_ENTRY] = replace(begin, target=len(instructions))
    scratch = 1 + max(FIRST_GLOBAL, *(max(i.a, i.b or 0, i.c, i.d) for i in instructions))
    instructions.append(Instruction("copy", d=MEMORY_PAGES, immediate=ALL_PAGES))
    instructions += stores(image(program.segments), scratch)
    instructions.append(begin)
    added = len(instructions) - len(program.instructions) if program.origins else 0
    origins = program.origins + (Origin("memory", library=True),) * added
    return replace(program, instructions=tuple(instructions), segments=(), origins=origins)


def image(segments: Iterable[Segment]) -> dict[int, int]:
    """The words of memory that are not zero, by their addresses."""
    lanes: dict[int, bytearray] = {}
    for segment in segments:
        for address, byte in enumerate(segment.content, segment.address):
            lanes.setdefault(address & ~3, bytearray(4))[address & 3] = byte
    words = {address: int.from_bytes(lane, "little") for address, lane in sorted(lanes.items())}
    return {address: word for address, word in words.items() if word}


def stores(words: Mapping[int, int], scratch: int) -> list[Instruction]:
    """Instructions that store words; equal ones in a row need to be said only once."""
    found: list[Instruction] = []
    held = 0
    for place, word in words.items():
        private, address = divmod(place, PRIVATE)
        if word != held:
            found.append(Instruction("copy", d=scratch, immediate=word))
            held = word
        operation = "poke32" if private else "store32"
        found.append(Instruction(operation, a=ZERO, c=scratch, immediate=address))
    return found
