"""Place: functions one after another, every label and callee the number of an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from curta.errors import UnsupportedFeatureError
from curta.machine.core_program import Claim, Origin
from curta.machine.instructions import MOST_INSTRUCTIONS, CoreInstruction, kind_of
from curta.machine.lower.code import USER, Callee, Label, WasmLocation
from curta.machine.lower.flat import Flat, JumpTarget


@dataclass(frozen=True, slots=True)
class Placed:
    instructions: tuple[CoreInstruction, ...]
    origins: tuple[Origin, ...]
    starts: Mapping[Callee, int]
    """Where functions begin."""
    blocks: Mapping[int, Claim]
    """What holds where jumps lead to a block, by its first instruction."""
    inlined: Mapping[WasmLocation, Callee]
    """Calls that have their function in line."""


def place(functions: Sequence[Flat]) -> Placed:
    starts: dict[Callee, int] = {}
    labels: dict[tuple[Callee, Label], int] = {}
    begun: dict[int, tuple[Flat, Label]] = {}
    at = 0
    for function in functions:
        starts[function.callee] = at
        for line in function.lines:
            if isinstance(line, JumpTarget):
                labels[function.callee, line.label] = at
                begun[at] = function, line.label  # what begins last is where all come
            else:
                at += 1 + len(line.entries)
    if at >= MOST_INSTRUCTIONS:
        raise UnsupportedFeatureError(
            f"a program of {at} core instructions, fewer than {MOST_INSTRUCTIONS} are possible; "
            "leave out code that is not needed, or compile with -Os"
        )
    instructions: list[CoreInstruction] = []
    origins: list[Origin] = []
    for function in functions:
        origin = cache(partial(_origin, function))
        for line in function.lines:
            if isinstance(line, JumpTarget):
                continue
            instruction = line.instruction
            if line.callee is not None:
                instruction = replace(instruction, target=starts[line.callee])
            elif line.targets and not line.entries:
                instruction = replace(instruction, target=labels[function.callee, line.targets[0]])
            targets = [labels[function.callee, target] for target in line.entries]
            instructions += [
                instruction,
                *(CoreInstruction("jump", target=target) for target in targets),
            ]
            origins += [origin(line.place)] * (1 + len(targets))
    inlined = {call: callee for function in functions for call, callee in function.inlined.items()}
    reached = {each.target for each in instructions if kind_of(each.operation) == "jump"}
    claims = {at: begun[at][0].claim(begun[at][1]) for at in begun.keys() & reached}
    blocks = {at: claim for at, claim in claims.items() if claim is not None}
    return Placed(tuple(instructions), tuple(origins), starts, blocks, inlined)


def _origin(function: Flat, place: WasmLocation | None) -> Origin:
    """Of an instruction in a function; what is put in line counts where it was called."""
    library = function.callee[0] != USER
    outer = place
    while outer is not None and outer.within is not None:
        outer = outer.within
    return Origin(function.name, -1 if outer is None else outer.instruction, library, place)
