"""A program without bytes in its prompt: instructions that run before all others store them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from curta.errors import UnsupportedFeatureError
from curta.machine.core_program import PRIVATE, CoreProgram, Origin, Segment
from curta.machine.instructions import FIRST_GLOBAL, GLOBALS, MEMORY_PAGES, ZERO, CoreInstruction

ALL_PAGES = 1 << 16
FIRST_ENTRY = 2
"""The instruction that jumps to entry 0: the first of the jump list behind `await`."""


def with_stores(program: CoreProgram) -> CoreProgram:
    """The same program without segments: entry 0 stores their bytes first."""
    if not program.segments:
        return program
    instructions = list(program.instructions)
    begin = instructions[FIRST_ENTRY]
    instructions[FIRST_ENTRY] = replace(begin, target=len(instructions))
    scratch = 1 + max(FIRST_GLOBAL, *(max(i.a, i.b or 0, i.c, i.d) for i in instructions))
    if scratch >= 2 * GLOBALS:
        raise UnsupportedFeatureError(
            "all shared registers are in use, none is left to store memory with; keep some of the "
            "module's globals in memory"
        )
    stored = stores(image(program.segments), scratch)
    if any(segment.address < PRIVATE for segment in program.segments):
        everything = CoreInstruction("copy", d=MEMORY_PAGES, immediate=ALL_PAGES)
        stored = [everything, *stored, CoreInstruction("copy", d=MEMORY_PAGES)]
    instructions += [*stored, begin]
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


def stores(words: Mapping[int, int], scratch: int) -> list[CoreInstruction]:
    """Instructions that store words; equal ones in a row need to be said only once."""
    found: list[CoreInstruction] = []
    held = 0
    for place, word in words.items():
        private, address = divmod(place, PRIVATE)
        if word != held:
            found.append(CoreInstruction("copy", d=scratch, immediate=word))
            held = word
        operation = "poke32" if private else "store32"
        found.append(CoreInstruction(operation, a=ZERO, c=scratch, immediate=address))
    return found
