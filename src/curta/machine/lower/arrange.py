"""Arrange: as few jumps on the way as possible.

A jump to a jump goes where that one goes, and a jump to a return is a return. What cannot be
reached is left out.
"""

from __future__ import annotations

from curta.machine.lower.code import Label
from curta.machine.lower.flat import Flat, Line, Mark, Way, inverted

Lines = list[Line | Mark]


def arrange(flat: Flat) -> Flat:
    """Leave out what a function does not need; only labels that are used remain."""
    lines = _without_detours(_reached(_thread(flat.lines)))
    while len(fewer := _reached(lines)) < len(lines):
        lines = _without_detours(fewer)
    flat.lines = lines
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

    def last(way: Way) -> Way:
        """Where one ends up, with all that happens on the way there."""
        seen = set()
        while way.label not in seen and first[way.label].goes_on:
            seen.add(way.label)
            (further,) = first[way.label].ways
            way = Way(further.label, way.taken + further.taken)
        return way

    threaded: Lines = []
    for line in lines:
        if isinstance(line, Line) and line.ways:
            line = line._replace(ways=tuple([last(way) for way in line.ways]))
            there = first[line.ways[0].label]
            if line.goes_on and there.ends and not there.ways:
                threaded += _happening(line)
                line = there
        threaded.append(line)
    return threaded


def _happening(jump: Line) -> Lines:
    """What happens when a jump is taken, without the jump."""
    return [Line(None, jump.place, event) for event in jump.ways[0].taken]


def _reached(lines: Lines) -> Lines:
    """Without what comes after an end and before a label that is used."""
    used = {way.label for line in lines if isinstance(line, Line) for way in line.ways}
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
    """What is kept, from the end on."""
    here: set[Label] = set()
    """The labels of the next line."""
    behind: set[Label] = set()
    """Those of the line after it, if the next one is a jump."""
    for line in reversed(lines):
        if isinstance(line, Mark):
            here.add(line.label)
            behind = set()
            kept.append(line)
            continue
        instead: Lines = [line]
        if line.goes_on and line.ways[0].label in here:
            instead = _happening(line)
        elif line.branches and not line.ways[0].taken and line.ways[0].label in here:
            instead = []
        elif line.branches and line.ways[0].label in behind:
            jump = kept.pop()
            assert isinstance(jump, Line)
            instead = [inverted(line, jump.ways), *_happening(line)]
        if instead:
            kept += reversed(instead)
            here, behind = set(), here if instead[0] is line and line.goes_on else set()
    return kept[::-1]
