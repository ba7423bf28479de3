"""Place: functions one after another, every label and callee the number of an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from curta.errors import UnsupportedFeatureError
from curta.machine.instructions import MOST_INSTRUCTIONS, Instruction
from curta.machine.lower.code import USER, Callee, Label, Place
from curta.machine.lower.flat import Flat, Mark, with_target
from curta.machine.program import Origin


@dataclass(frozen=True, slots=True)
class Placed:
    instructions: tuple[Instruction, ...]
    origins: tuple[Origin, ...]
    starts: Mapping[Callee, int]
    """Where functions begin."""
    blocks: Mapping[int, Place]
    """Where WebAssembly is when a block begins, by its first instruction."""


def place(functions: Sequence[Flat]) -> Placed:
    starts: dict[Callee, int] = {}
    labels: dict[tuple[Callee, Label], int] = {}
    blocks: dict[int, Place] = {}
    at = 0
    for function in functions:
        starts[function.callee] = at
        for line in function.lines:
            if isinstance(line, Mark):
                labels[function.callee, line.label] = at
                if line.place is not None:
                    blocks[at] = line.place
            elif line.instruction is not None:
                at += 1 + len(line.ways)
    if at >= MOST_INSTRUCTIONS:
        raise UnsupportedFeatureError(
            f"a program of {at} core instructions, fewer than {MOST_INSTRUCTIONS} are possible; "
            "leave out code that is not needed, or compile with -Os"
        )
    instructions: list[Instruction] = []
    origins: list[Origin] = []
    for function in functions:
        origin = cache(partial(_origin, function))
        for line in function.lines:
            if isinstance(line, Mark) or line.instruction is None:
                continue
            if line.callee is not None:
                line = with_target(line, starts[line.callee])
            elif line.leads and not line.ways:
                line = with_target(line, labels[function.callee, line.leads[0].label])
            assert line.instruction is not None
            instructions.append(line.instruction)
            ways = [labels[function.callee, way.label] for way in line.ways]
            instructions += [Instruction("jump", target=target) for target in ways]
            origins += [origin(line.place)] * (1 + len(ways))
    return Placed(tuple(instructions), tuple(origins), starts, blocks)


def _origin(function: Flat, place: Place | None) -> Origin:
    """Of an instruction in a function; what is put in line counts where it was called."""
    library = function.callee[0] != USER
    outer = place
    while outer is not None and outer.within is not None:
        outer = outer.within
    return Origin(function.name, -1 if outer is None else outer.instruction, library, place)
