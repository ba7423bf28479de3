"""Optimise: steps that nobody needs are dropped, copies are done by what computes the value.

One walk from the end to the beginning, in the knowledge of what is read later. The function's
locals that may be read before they are written are zeroed here: before that nobody knows which.
"""

from __future__ import annotations

from curta.machine.instructions import GLOBALS, kind_of
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, FunctionCode, Step
from curta.machine.lower.liveness import defines, live_at_labels, uses

_FARTHEST = 60
"""How many steps back the source of a copy is looked for."""
_CALLS = ("call", "call_to")


def optimise(code: FunctionCode) -> None:
    """Make a function's steps fewer, and set its locals to zero where that is needed."""
    at_labels = live_at_labels(code.steps, code.labels)
    steps: list[Step | None] = list(code.steps)
    live = _sweep(steps, at_labels)
    zeroed = [register for register in range(live.bit_length()) if live >> register & 1]
    first = code.first_local
    zeros = [Step("copy", register) for register in zeroed if register >= first]
    code.steps = zeros + [step for step in steps if step is not None]


def _sweep(steps: list[Step | None], at_labels: list[int]) -> int:
    """Drop steps, the last first; the registers that are read before the first one."""
    live = 0
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step is None or step.name == LABEL:
            continue
        name = step.name
        if name in ENDS:
            live = 0
        if step.label != NO_LABEL:
            live |= at_labels[step.label]
        for label in step.ways:
            live |= at_labels[label]
        d = step.d
        if d >= 0 and name not in _CALLS:
            wanted = d >= GLOBALS or live >> d & 1
            if not wanted and kind_of(name) == "value":
                steps[index] = None
                continue
            if name == "copy" and 0 <= step.b < GLOBALS:
                done = step.b == d
                if not done and not live >> step.b & 1:
                    done = _coalesce(steps, index, d, step.b, at_labels)
                if done:
                    steps[index] = None
                    continue
        live = (live & ~defines(step)) | uses(step)
    return live


def _coalesce(
    steps: list[Step | None], index: int, wanted: int, given: int, at_labels: list[int]
) -> bool:
    """Let what computes `given` write to `wanted` instead, if nothing in between minds."""
    either = (1 << given) | (1 << wanted if wanted < GLOBALS else 0)
    readers: list[Step] = []
    for before in range(index - 1, max(index - _FARTHEST, -1), -1):
        step = steps[before]
        if step is None:
            continue
        name = step.name
        if name == LABEL or name in ENDS:
            return False
        if name in _CALLS:
            if wanted >= GLOBALS or step.slot <= given or step.slot <= wanted:
                return False
        elif step.d == given:
            step.d = wanted
            for reader in readers:
                _rename(reader, given, wanted)
            return True
        elif step.d == wanted:
            return False
        if step.label != NO_LABEL and (wanted >= GLOBALS or at_labels[step.label] & either):
            return False
        if wanted in (step.a, step.b, step.c):
            return False
        if given in (step.a, step.b, step.c):
            readers.append(step)
    return False


def _rename(step: Step, old: int, new: int) -> None:
    if step.a == old:
        step.a = new
    if step.b == old:
        step.b = new
    if step.c == old:
        step.c = new
