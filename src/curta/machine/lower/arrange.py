"""Arrange: as few jumps on the way as possible.

A jump to a jump goes where that one goes, and a jump to a return is a return. What cannot be
reached is left out.
"""

from __future__ import annotations

from curta.machine.lower.code import Label
from curta.machine.lower.flat import Flat, Line, Mark

Lines = list[Line | Mark]


def arrange(flat: Flat) -> Flat:
    """Leave out what a function does not need."""
    lines = _thread(flat.lines)
    while len(fewer := _without_detours(_reached(lines))) < len(lines):
        lines = fewer
    flat.lines = fewer
    return flat


def _thread(lines: Lines) -> Lines:
    """Let jumps lead to where they end up."""
    first: dict[Label, Line] = {}
    """The line behind each label."""
    following = None
    for line in reversed(lines):
        if isinstance(line, Line):
            following = line
        elif following is not None:
            first[line.label] = following

    def last(label: Label) -> Label:
        """Where one ends up."""
        seen = set()
        while label not in seen and first[label].goes_on:
            seen.add(label)
            (label,) = first[label].ways
        return label

    threaded: Lines = []
    for line in lines:
        if isinstance(line, Line) and line.ways:
            line = line._replace(ways=tuple(map(last, line.ways)))
            there = first[line.ways[0]]
            if line.goes_on and there.ends and not there.ways:
                line = there
        threaded.append(line)
    return threaded


def _used(lines: Lines) -> set[Label]:
    return {label for line in lines if isinstance(line, Line) for label in line.ways}


def _reached(lines: Lines) -> Lines:
    """Without what comes after an end and before a label that is used."""
    used = _used(lines)
    kept: Lines = []
    live = True
    for line in lines:
        live = live or (isinstance(line, Mark) and line.label in used)
        if live:
            kept.append(line)
            live = isinstance(line, Mark) or not line.ends
    return kept


def _without_detours(lines: Lines) -> Lines:
    """No jumps to the next line, and none around a jump."""
    kept: Lines = []
    """What is kept, from the end on."""
    here: set[Label] = set()
    """The labels of the next line."""
    behind: set[Label] = set()
    """Those of the line after it, if the next one is a jump."""
    used = _used(lines)
    for line in reversed(lines):
        if isinstance(line, Mark):
            if line.label in used:
                here.add(line.label)
                behind = set()
        elif (line.goes_on or line.branches) and line.ways[0] in here:
            continue
        elif line.branches and line.ways[0] in behind:
            jump = kept.pop()
            assert isinstance(jump, Line)
            line = line.inverted(jump.ways)
            here, behind = set(), set()
        else:
            here, behind = set(), here if line.goes_on else set()
        kept.append(line)
    return kept[::-1]
