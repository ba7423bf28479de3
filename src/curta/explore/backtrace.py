"""A trap's calls with lines of C: `divide at stats.c:6`, and from where it was called.

The program is compiled once more, at the same optimisation, with debug information. Only if that
has given the same core instructions its lines are those of the run; otherwise, and for what is no
C, functions have their names alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from curta.errors import CurtaError
from curta.explore.dwarf import Scope
from curta.explore.program import Asked, ExploredProgram, relative
from curta.machine.backtrace import MOST
from curta.machine.conversation import COMPILED_MAIN
from curta.machine.instance import START
from curta.machine.loaded import LoadedProgram


def lines_of(asked: Asked, program: LoadedProgram, calls: Sequence[int]) -> list[str]:
    """One for each call that the user wrote, the innermost first."""
    known = explored(asked, program)
    lines = []
    for number in calls:
        origin = program.origin(number)
        if origin.library or origin.function == START or origin.place < 0:
            continue
        own = [] if known is None else list(places(known, number))
        lines += own or [named(origin.function)]
    return folded(lines, is_cut=len(calls) == MOST)


def folded(lines: Sequence[str], *, is_cut: bool) -> list[str]:
    """Lines with their numbers; of a recursion, one for all of the same."""
    made, at = list[str](), 0
    for line, group in groupby(lines):
        count = len(list(group))
        made.append(f"#{at} {line}" + (f", {count} times" if count > 1 else ""))
        at += count
    return [*made, "..."] if is_cut else made


def explored(asked: Asked, program: LoadedProgram) -> ExploredProgram | None:
    """The program with its lines, if it has any and is the one that ran."""
    try:
        made = ExploredProgram(asked)
    except (CurtaError, OSError):
        return None
    return made if made.debug.lines and np.array_equal(made.loaded.rows, program.rows) else None


def places(known: ExploredProgram, number: int) -> Iterator[str]:
    """Where an instruction is: in a function, and in those in whose place that one stands."""
    asked = known.core.origins[number].asked
    while asked is not None:
        pc = known.pc(asked)
        here = None if pc is None else known.line_at(pc)
        if pc is not None and here is not None:
            file, line = known.debug.files[here.file], here.line
            for scope in reversed(around(known.debug.scopes, pc)):
                yield f"{scope.name} at {relative(file)}:{line}"
                if scope.called_at is None:
                    break
                file, line = scope.called_at
        asked = asked.within


def around(scopes: Sequence[Scope], pc: int) -> list[Scope]:
    """Those with an instruction, each within the one before."""
    return [one for one in scopes if any(first <= pc < end for first, end in one.ranges)]


def named(function: str) -> str:
    """A function without lines."""
    return "main" if function == COMPILED_MAIN else function
