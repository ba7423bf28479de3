"""Tail calls: where a library function only gives back what another one gives, it jumps there.

The other function takes over the frame: its arguments go to the first registers, and it returns to
where this one should have. Users' functions do not do that: recursion without an end has to exhaust
the call stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.machine.lower.code import USER, FunctionCode, Step, return_register


def jump_to_last_calls(code: FunctionCode) -> None:
    """Replace calls right before a return."""
    if code.callee[0] == USER:
        return
    steps = code.steps
    kept: list[Step] = []
    index = 0
    while index < len(steps):
        step = steps[index]
        end = _return_behind(steps, index) if step.name == "call" else -1
        if end < 0 or return_register(step.takes, step.gives) != steps[end].a:
            kept.append(step)
            index += 1
            continue
        kept += [
            Step("copy", d=word, b=step.slot + word, place=step.place) for word in range(step.takes)
        ]
        jump = Step("jump", a=steps[end].a, place=step.place)
        jump.callee, jump.takes = step.callee, step.takes
        kept.append(jump)
        index = end + 1
    code.steps = kept


def _return_behind(steps: Sequence[Step], index: int) -> int:
    """The index of a return of all that a call gives, if nothing else comes before it."""
    call = steps[index]
    moved: set[int] = set()
    for place in range(index + 1, len(steps)):
        step = steps[place]
        if step.name == "return":
            return place if step.gives == call.gives == len(moved) else -1
        if step.name != "copy" or step.b != call.slot + step.d or not 0 <= step.d < call.gives:
            return -1
        moved.add(step.d)
    return -1
