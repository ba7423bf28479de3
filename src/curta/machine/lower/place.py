"""Place: functions one after another, every label and callee the number of an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curta.errors import UnsupportedFeatureError
from curta.machine.instructions import MOST_INSTRUCTIONS, Instruction
from curta.machine.lower.code import USER, Callee, Label, Place
from curta.machine.lower.flat import Flat, Mark, with_target
from curta.machine.program import Claim, Origin


@dataclass(frozen=True, slots=True)
class Placed:
    instructions: tuple[Instruction, ...]
    origins: tuple[Origin, ...]
    starts: Mapping[Callee, int]
    """Where functions begin."""
    blocks: Mapping[int, Claim]
    """What holds when a block begins, by its first instruction."""
    inlined: Mapping[Place, Callee]
    """Calls that have their function in line."""


def place(functions: Sequence[Flat]) -> Placed:
    starts: dict[Callee, int] = {}
    labels: list[dict[Label, int]] = []
    found: dict[int, Claim | None] = {}
    at = 0
    for function in functions:
        starts[function.callee] = at
        places: dict[Label, int] = {}
        for line in function.lines:
            if isinstance(line, Mark):
                places[line.label] = at
                found[at] = function.claims.get(line.label)  # what begins last is where all come
            elif line.instruction is not None:
                at += 1 + len(line.entries)
        labels.append(places)
    if at >= MOST_INSTRUCTIONS:
        raise UnsupportedFeatureError(
            f"a program of {at} core instructions, fewer than {MOST_INSTRUCTIONS} are possible; "
            "leave out code that is not needed, or compile with -Os"
        )
    instructions: list[Instruction] = []
    origins: list[Origin] = []
    for function, places in zip(functions, labels, strict=True):
        known: dict[Place | None, Origin] = {}
        for line in function.lines:
            if isinstance(line, Mark) or line.instruction is None:
                continue
            instruction = line.instruction
            if line.callee is not None:
                instruction = with_target(line, starts[line.callee])
            elif line.ways and not line.entries:
                instruction = with_target(line, places[line.ways[0].label])
            origin = known.get(line.place)
            if origin is None:
                origin = known[line.place] = _origin(function, line.place)
            instructions.append(instruction)
            instructions += [Instruction("jump", target=places[way.label]) for way in line.entries]
            origins += [origin] * (1 + len(line.entries))
    inlined = {call: callee for function in functions for call, callee in function.inlined.items()}
    blocks = {at: claim for at, claim in found.items() if claim is not None}
    return Placed(tuple(instructions), tuple(origins), starts, blocks, inlined)


def _origin(function: Flat, place: Place | None) -> Origin:
    """Of an instruction in a function; what is put in line counts where it was called."""
    library = function.callee[0] != USER
    outer = place
    while outer is not None and outer.within is not None:
        outer = outer.within
    return Origin(function.name, -1 if outer is None else outer.instruction, library, place)
