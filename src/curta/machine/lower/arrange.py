"""Arrange: as few jumps on the way as possible, before steps get their places.

A jump to a jump goes where that one goes, and a jump to a return is a return. What cannot be
reached is left out. A loop that begins with its condition gets a second copy of it at its end,
instead of a jump back to the first.
"""

from __future__ import annotations

from itertools import pairwise

from curta.machine.instructions import COMPARISONS
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, FunctionCode, Step
from curta.machine.lower.folding import INVERTED

_INVERTED_JUMPS = {f"jump_{name}": f"jump_{INVERTED[name]}" for name in COMPARISONS}
_LONGEST_CONDITION = 6
"""Steps of a condition that are worth a second copy."""
_MOST_COPIES = 4
"""Before a return, that are done on every way."""


def arrange(code: FunctionCode) -> None:
    """Put a function's steps into their order; only labels that are used remain."""
    steps = _turn_loops(code)
    _jump_back_first(steps)
    steps = _thread(steps)
    while True:
        count = len(steps)
        steps = _without_detours(_reached(steps))
        if len(steps) == count:
            break
    code.steps = steps


def return_early(code: FunctionCode) -> None:
    """Copies before a return are done on every way to it: there they can often be left out."""
    steps = code.steps
    tails = _return_tails(steps)
    if not tails:
        return
    early: list[Step] = []
    for step in steps:
        tail = tails.get(step.label, [])
        if step.name == "jump" and tail:
            early += [twin.clone() for twin in tail]
            continue
        if step.name in _INVERTED_JUMPS and len(tail) > 1:
            past = Step(LABEL, label=code.labels, place=step.place)
            code.labels += 1
            step.name, step.label = _INVERTED_JUMPS[step.name], past.label
            early += [step, *(twin.clone() for twin in tail), past]
            continue
        if step.name == LABEL and tail and early and early[-1].name not in ENDS:
            early += [twin.clone() for twin in tail]
        early.append(step)
    code.steps = early


def _return_tails(steps: list[Step]) -> dict[int, list[Step]]:
    """For labels with nothing but a few copies between them and a return: copies and return."""
    tails: dict[int, list[Step]] = {}
    tail: list[Step] = []
    for step in reversed(steps):
        if step.name == "return":
            tail = [step]
        elif step.name == LABEL and tail:
            tails[step.label] = tail[::-1]
        elif step.name == "copy" and tail and len(tail) <= _MOST_COPIES:
            tail.append(step)
        else:
            tail = []
    return tails


def _places(steps: list[Step]) -> dict[int, int]:
    """The index of what comes after every label."""
    places: dict[int, int] = {}
    following = len(steps)
    for index in range(len(steps) - 1, -1, -1):
        step = steps[index]
        if step.name == LABEL:
            places[step.label] = following
        else:
            following = index
    return places


def _turn_loops(code: FunctionCode) -> list[Step]:
    """Replace jumps back to a condition by the condition."""
    steps = code.steps
    starts = {step.label: index for index, step in enumerate(steps) if step.name == LABEL}
    entries: dict[int, int] = {}
    """Labels to be put before steps, by their indices."""
    turned: list[list[Step]] = []
    for index, step in enumerate(steps):
        turned.append([step])
        if _is_within(step) and starts[step.label] < index:
            end = _condition_end(steps, starts[step.label])
            if end >= 0:
                turned[-1] = _second_condition(code, steps, starts[step.label], end, entries)
    if not entries:
        return steps
    marked: list[Step] = []
    for index, instead in enumerate(turned):
        if index in entries:
            marked.append(Step(LABEL, label=entries[index], place=steps[index].place))
        marked += instead
    return marked


def _condition_end(steps: list[Step], start: int) -> int:
    """The index of the jump that ends a condition, if there is a short one from `start` on."""
    length = 0
    for index in range(start, len(steps)):
        step = steps[index]
        if step.name == LABEL:
            if length:
                return -1
            continue
        if step.name in _INVERTED_JUMPS:
            return index
        length += 1
        if step.name in ENDS or step.callee or step.label != NO_LABEL:
            return -1
        if length > _LONGEST_CONDITION or step.name == "call_to":
            return -1
    return -1


def _second_condition(
    code: FunctionCode, steps: list[Step], start: int, end: int, entries: dict[int, int]
) -> list[Step]:
    copies = [step.clone() for step in steps[start:end] if step.name != LABEL]
    if end + 1 not in entries:
        entries[end + 1] = code.labels
        code.labels += 1
    back = steps[end].clone()
    back.name = _INVERTED_JUMPS[back.name]
    out = Step("jump", label=back.label, place=back.place)
    back.label = entries[end + 1]
    return [*copies, back, out]


def _jump_back_first(steps: list[Step]) -> None:
    """Where a loop goes on or is left, let one jump go back, and the other one leave.

    A loop goes on more often than it is left.
    """
    places = _places(steps)
    for index, (first, second) in enumerate(pairwise(steps)):
        if first.name not in _INVERTED_JUMPS or not _is_within(second):
            continue
        out = places[first.label]
        leaves = out > index or steps[out].name == "return"
        if leaves and places[second.label] <= index:
            first.name = _INVERTED_JUMPS[first.name]
            first.label, second.label = second.label, first.label


def _thread(steps: list[Step]) -> list[Step]:
    """Let jumps lead to where they end up."""
    places = _places(steps)

    def last(label: int) -> int:
        seen = set()
        while label not in seen and places[label] < len(steps):
            seen.add(label)
            step = steps[places[label]]
            if not _is_within(step):
                break
            label = step.label
        return label

    threaded = []
    for step in steps:
        if step.name != LABEL and step.label != NO_LABEL:
            step.label = last(step.label)
            if step.name == "jump" and places[step.label] < len(steps):
                there = steps[places[step.label]]
                if there.name in ("return", "trap", "jump"):
                    step = there.clone()
        elif step.ways:
            step.ways = tuple(last(label) for label in step.ways)
        threaded.append(step)
    return threaded


def _reached(steps: list[Step]) -> list[Step]:
    """Without what comes after an end and before a label that is used."""
    used = {step.label for step in steps if step.name != LABEL}
    for step in steps:
        used.update(step.ways)
    kept, live = [], True
    for step in steps:
        if step.name == LABEL:
            if step.label not in used:
                continue
            live = True
        if live:
            kept.append(step)
        if step.name in ENDS:
            live = False
    return kept


def _without_detours(steps: list[Step]) -> list[Step]:
    """No jumps to the next step, and none around a jump."""
    kept: list[Step] = []
    for index, step in enumerate(steps):
        if _is_within(step):
            if _is_next(steps, index + 1, step.label):
                continue
            before = kept[-1] if kept else None
            if (
                before is not None
                and before.name in _INVERTED_JUMPS
                and _is_next(steps, index + 1, before.label)
            ):
                before.name = _INVERTED_JUMPS[before.name]
                before.label = step.label
                continue
        elif step.name in _INVERTED_JUMPS and _is_next(steps, index + 1, step.label):
            continue
        kept.append(step)
    return kept


def _is_within(step: Step) -> bool:
    """Whether this is a jump to another place of the same function."""
    return step.name == "jump" and step.label != NO_LABEL


def _is_next(steps: list[Step], index: int, label: int) -> bool:
    """Whether a label is right here."""
    while index < len(steps) and steps[index].name == LABEL:
        if steps[index].label == label:
            return True
        index += 1
    return False
