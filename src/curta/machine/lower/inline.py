"""Inline: short functions of the arithmetic library within loops, instead of calls.

The library's function works on its frame, which begins at the call's slot: so its steps do the same
in the caller's frame, with every register so much higher. Where it would jump to another function,
that is called. What is gained is not the call, but that operands need not be copied, and that a
number which is multiplied several times is taken apart once (`share`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import LABEL, NO_LABEL, Callee, FunctionCode, Step, return_register
from curta.machine.lower.library import ARITHMETIC
from curta.machine.lower.loops import loop_depths

_LONGEST = 80
"""Steps of a function that is put in place: not sums of floats, but products and comparisons."""
_MOST = 1600
"""Steps in one function: an instruction is 16 tokens of the prompt, and calls should stay near."""
_SPARE_REGISTERS = 48
"""Below the stack, for what is known of numbers across calls."""


def inline_in_loops(code: FunctionCode, lowered: Callable[[Callee], FunctionCode]) -> None:
    """Put the steps of the functions where they are called in loops."""
    chosen = _choose(code.steps, lowered)
    if not chosen:
        return
    _move_stack(code)
    steps: list[Step] = []
    for index, step in enumerate(code.steps):
        steps += _steps_of(code, step, chosen[index]) if index in chosen else [step]
    code.steps = steps
    code.needs = {step.callee for step in steps if step.callee is not None}


def _choose(
    steps: Sequence[Step], lowered: Callable[[Callee], FunctionCode]
) -> dict[int, FunctionCode]:
    """What to put in place of calls, by their indices: first those in most loops, as they are
    executed most often.
    """
    depths = loop_depths(steps)
    chosen: dict[int, FunctionCode] = {}
    left = _MOST
    for index in sorted(range(len(steps)), key=lambda index: -depths[index]):
        callee = steps[index].callee
        if callee is None or callee[0] != ARITHMETIC or not depths[index]:
            continue
        function = lowered(callee)
        if len(function.steps) <= min(left, _LONGEST):
            chosen[index] = function
            left -= len(function.steps)
    return chosen


def _move_stack(code: FunctionCode) -> None:
    """Make room for values that live across calls."""
    first, distance = code.first_cell, _SPARE_REGISTERS
    for step in code.steps:
        for name in ("a", "b", "c", "d"):
            register = getattr(step, name)
            if first <= register < GLOBALS:
                setattr(step, name, register + distance)
        if step.name in ("call", "call_to"):
            step.slot += distance
            step.immediate += distance
    code.first_cell += distance
    code.frame += distance


def _steps_of(code: FunctionCode, call: Step, function: FunctionCode) -> list[Step]:
    """What a call does."""
    steps: list[Step] = []
    end, first_label = code.labels, code.labels + 1
    code.labels += 1 + function.labels
    code.frame = max(code.frame, call.slot + function.frame)
    for step in function.steps:
        twin = step.clone()
        twin.place = call.place
        for name in ("a", "b", "c", "d"):
            register = getattr(twin, name)
            if 0 <= register < GLOBALS:
                setattr(twin, name, register + call.slot)
        if twin.label != NO_LABEL:
            twin.label += first_label
        if step.name == "return":
            twin = Step("jump", label=end, place=call.place)
        elif step.name == "call":
            twin.slot += call.slot
            twin.immediate += call.slot
        elif step.callee is not None:
            steps += _call_instead(code, call, function, step)
            twin = Step("jump", label=end, place=call.place)
        steps.append(twin)
    return [*steps, Step(LABEL, label=end, place=call.place)]


def _call_instead(code: FunctionCode, call: Step, function: FunctionCode, jump: Step) -> list[Step]:
    """Call what the function jumps to, in a frame above its own."""
    slot = call.slot + function.frame
    back = slot + return_register(jump.takes, call.gives)
    step = Step("call", back, immediate=slot, place=call.place)
    step.callee, step.slot = jump.callee, slot
    step.takes, step.gives = jump.takes, call.gives
    code.frame = max(code.frame, back + 1)
    given = [
        Step("copy", slot + word, b=call.slot + word, place=call.place)
        for word in range(jump.takes)
    ]
    taken = [
        Step("copy", call.slot + word, b=slot + word, place=call.place)
        for word in range(call.gives)
    ]
    return [*given, step, *taken]
