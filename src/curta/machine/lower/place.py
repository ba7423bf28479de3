"""Place: functions one after another, every label and callee the number of an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curta.errors import UnsupportedFeatureError
from curta.machine.instructions import MOST_INSTRUCTIONS, Instruction
from curta.machine.lower.code import LABEL, NO_LABEL, USER, Callee, FunctionCode, Step
from curta.machine.program import Origin


@dataclass(frozen=True, slots=True)
class Placed:
    instructions: tuple[Instruction, ...]
    origins: tuple[Origin, ...]
    starts: Mapping[Callee, int]
    """Where functions begin."""


def place(functions: Sequence[FunctionCode]) -> Placed:
    starts: dict[Callee, int] = {}
    labels: list[dict[int, int]] = []
    at = 0
    for function in functions:
        starts[function.callee] = at
        places: dict[int, int] = {}
        for step in function.steps:
            if step.name == LABEL:
                places[step.label] = at
            else:
                at += 1 + len(step.ways)
        labels.append(places)
    if at >= MOST_INSTRUCTIONS:
        raise UnsupportedFeatureError(
            f"a program of {at} core instructions, fewer than {MOST_INSTRUCTIONS} are possible; "
            "leave out code that is not needed, or compile with -Os"
        )
    instructions: list[Instruction] = []
    origins: list[Origin] = []
    for function, places in zip(functions, labels, strict=True):
        library = function.callee[0] != USER
        known: dict[int, Origin] = {}
        for step in function.steps:
            if step.name == LABEL:
                continue
            before = len(instructions)
            _instruct(step, places, starts, instructions)
            origin = known.get(step.place)
            if origin is None:
                origin = known[step.place] = Origin(function.name, step.place, library)
            origins += [origin] * (len(instructions) - before)
    return Placed(tuple(instructions), tuple(origins), starts)


def _instruct(
    step: Step, places: Mapping[int, int], starts: Mapping[Callee, int], out: list[Instruction]
) -> None:
    target = 0
    if step.callee is not None:
        target = starts[step.callee]
    elif step.label != NO_LABEL:
        target = places[step.label]
    out.append(
        Instruction(
            step.name,
            step.a if step.a >= 0 else 0,
            step.b if step.b >= 0 else None,
            step.c if step.c >= 0 else 0,
            step.d if step.d >= 0 else 0,
            step.immediate,
            target,
        )
    )
    out += [Instruction("jump", target=places[label]) for label in step.ways]
