"""Arrange: as few jumps on the way as possible.

A jump to a jump goes where that one goes, and a jump to a return is a return. What cannot be
reached is left out. A loop that begins with its condition gets a second copy of it at its end,
instead of a jump back to the first.
"""

from __future__ import annotations

from itertools import pairwise

from curta.machine.instructions import Instruction
from curta.machine.lower.code import Call, Edge, Label
from curta.machine.lower.flat import INVERTED, Flat, Line, Mark, Way, with_target

Lines = list[Line | Mark]
_LONGEST_CONDITION = 6
"""Instructions of a condition that are worth a second copy."""


def arrange(flat: Flat) -> Flat:
    """Put a function's lines into their order; only labels that are used remain."""
    lines = _turn_loops(flat)
    lines = _jump_back_first(lines)
    lines = _thread(lines)
    while True:
        count = len(lines)
        lines = _without_detours(_reached(lines))
        if len(lines) == count:
            break
    flat.lines = lines
    return flat


def _places(lines: Lines) -> dict[Label, int]:
    """The index of the line after every label; the number of lines if there is none."""
    places: dict[Label, int] = {}
    following = len(lines)
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        if isinstance(line, Mark):
            places[line.label] = following
        else:
            following = index
    return places


# -- loops ----------------------------------------------------------------------------------------


def _turn_loops(flat: Flat) -> Lines:
    """Replace jumps back to a condition by the condition."""
    lines = flat.lines
    starts = {line.label: n for n, line in enumerate(lines) if isinstance(line, Mark)}
    entries: dict[int, Label] = {}
    """Labels to be put before lines, by their indices."""
    turned: list[Lines] = []
    for index, line in enumerate(lines):
        turned.append([line])
        if isinstance(line, Line) and line.goes_on:
            start = starts[line.leads[0].label]
            end = _condition_end(lines, start) if start < index else None
            if end is not None:
                turned[-1] = _second_condition(flat, line, start, end, entries)
    if not entries:
        return lines
    marked: Lines = []
    for index, instead in enumerate(turned):
        if index in entries:
            marked.append(Mark(entries[index], lines[index].place))
        marked += instead
    return marked


def _condition_end(lines: Lines, start: int) -> int | None:
    """The index of the jump that ends a condition, if there is a short one from `start` on."""
    length = 0
    for index in range(start, len(lines)):
        line = lines[index]
        if isinstance(line, Mark):
            if length:
                return None
            continue
        if line.branches:
            return index
        length += line.instruction is not None
        if length > _LONGEST_CONDITION or line.ends or line.callee or isinstance(line.does, Call):
            return None
    return None


def _second_condition(
    flat: Flat, back: Line, start: int, end: int, entries: dict[int, Label]
) -> Lines:
    """The condition, a jump into the loop, and one out of it."""
    if end + 1 not in entries:
        entries[end + 1] = flat.new_label()
    head = back.leads[0].label
    arrived: Lines = [Line(None, back.place, event) for event in back.taken or (Edge(head),)]
    condition = [line for line in flat.lines[start:end] if isinstance(line, Line)]
    leaves = flat.lines[end]
    assert isinstance(leaves, Line)
    assert leaves.instruction is not None
    goes_on = with_target(leaves, entries[end + 1], INVERTED[leaves.instruction.operation])
    out = Line(
        Instruction("jump", target=leaves.instruction.target), leaves.place, taken=leaves.taken
    )
    return [*arrived, *condition, goes_on._replace(taken=()), out]


def _where_it_ends(lines: Lines, places: dict[Label, int], label: Label) -> int:
    """The line that a jump to a label gets to, by further jumps."""
    seen = {places[label]}
    at = places[label]
    while at < len(lines):
        line = lines[at]
        if not isinstance(line, Line) or not line.goes_on or line.taken:
            break
        following = places[line.leads[0].label]
        if following in seen:
            break
        seen.add(following)
        at = following
    return at


def _jump_back_first(lines: Lines) -> Lines:
    """Where a loop goes on or is left, let one jump go back, and the other one leave.

    A loop goes on more often than it is left.
    """
    places = _places(lines)
    lines = lines.copy()
    for index, (first, second) in enumerate(pairwise(lines)):
        if not isinstance(first, Line) or not isinstance(second, Line):
            continue
        if not first.branches or not second.goes_on:
            continue
        assert first.instruction is not None
        out = _where_it_ends(lines, places, first.leads[0].label)
        leaves = out > index or _is(lines[out], "return")
        if leaves and places[second.leads[0].label] <= index:
            operation = INVERTED[first.instruction.operation]
            lines[index] = with_target(first, second.leads[0].label, operation)._replace(
                taken=second.taken
            )
            lines[index + 1] = with_target(second, first.leads[0].label)._replace(taken=first.taken)
    return lines


def _is(line: Line | Mark, operation: str) -> bool:
    return (
        isinstance(line, Line)
        and line.instruction is not None
        and line.instruction.operation == operation
    )


# -- jumps ----------------------------------------------------------------------------------------


def _thread(lines: Lines) -> Lines:
    """Let jumps lead to where they end up."""
    places = _places(lines)

    def last(way: Way) -> Way:
        """Where one ends up, with all that happens on the way there."""
        seen = set()
        while way.label not in seen and places[way.label] < len(lines):
            seen.add(way.label)
            line = lines[places[way.label]]
            if isinstance(line, Mark) or not line.goes_on:
                break
            (further,) = line.leads
            way = Way(further.label, way.taken + further.taken)
        return way

    threaded: Lines = []
    for line in lines:
        if isinstance(line, Line) and line.ways:
            line = line._replace(ways=tuple(last(way) for way in line.ways))
        elif isinstance(line, Line) and line.leads:
            label, taken = last(line.leads[0])
            line = with_target(line, label)._replace(taken=taken)
            if line.goes_on and places[label] < len(lines):
                there = lines[places[label]]
                if isinstance(there, Line) and _is_short_end(there):
                    threaded += [Line(None, line.place, event) for event in taken]
                    line = there
        threaded.append(line)
    return threaded


def _is_short_end(line: Line) -> bool:
    return _is(line, "return") or _is(line, "trap") or (_is(line, "jump") and not line.goes_on)


def _reached(lines: Lines) -> Lines:
    """Without what comes after an end and before a label that is used."""
    used = {label for line in lines if isinstance(line, Line) for label, _ in line.leads}
    kept: Lines = []
    live = True
    for line in lines:
        if isinstance(line, Mark):
            if line.label not in used:
                continue
            live = True
        if live:
            kept.append(line)
            live = isinstance(line, Mark) or not line.ends
    return kept


def _without_detours(lines: Lines) -> Lines:
    """No jumps to the next line, and none around a jump."""
    kept: Lines = []
    for index, line in enumerate(lines):
        if isinstance(line, Line) and line.goes_on:
            if _is_next(lines, index + 1, line.leads[0].label):
                kept += [Line(None, line.place, event) for event in line.taken]
                continue
            before = kept[-1] if kept else None
            if isinstance(before, Line) and before.branches:
                assert before.instruction is not None
                if _is_next(lines, index + 1, before.leads[0].label):
                    operation = INVERTED[before.instruction.operation]
                    kept[-1] = with_target(before, line.leads[0].label, operation)._replace(
                        taken=line.taken
                    )
                    kept += [Line(None, line.place, event) for event in before.taken]
                    continue
        elif _leads_on(lines, index):
            continue
        kept.append(line)
    return kept


def _leads_on(lines: Lines, index: int) -> bool:
    """Whether a branch leads to the next line anyway."""
    line = lines[index]
    if not isinstance(line, Line) or not line.branches or line.taken:
        return False
    return _is_next(lines, index + 1, line.leads[0].label)


def _is_next(lines: Lines, index: int, label: Label) -> bool:
    """Whether a label is right here."""
    while index < len(lines):
        line = lines[index]
        if not isinstance(line, Mark):
            return False
        if line.label == label:
            return True
        index += 1
    return False
