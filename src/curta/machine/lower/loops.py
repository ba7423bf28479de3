"""Loops: what jumps back encloses what it jumps over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from curta.machine.lower.code import LABEL, NO_LABEL, Step


def loop_depths(steps: Sequence[Step]) -> list[int]:
    """In how many loops each step is."""
    starts: dict[int, int] = {}
    changes = [0] * len(steps)
    for index, step in enumerate(steps):
        if step.name == LABEL:
            starts[step.label] = index
        elif step.label != NO_LABEL and step.label in starts:
            changes[starts[step.label]] += 1
            changes[index] -= 1
    return list(accumulate(changes))
