"""Which registers of the frame are read later: sets of registers as the bits of a number.

A call leaves nothing of the registers from its slot on but its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, Step


def uses(step: Step) -> int:
    """The registers that a step reads."""
    bits = 0
    for register in (step.a, step.b, step.c):
        if 0 <= register < GLOBALS:
            bits |= 1 << register
    if step.name == "return":
        bits |= (1 << step.gives) - 1
    elif step.name in ("call", "call_to"):
        bits |= ((1 << step.takes) - 1) << step.slot
    elif step.callee is not None:
        bits |= (1 << step.takes) - 1
    return bits


def defines(step: Step) -> int:
    """The registers whose values a step ends; for a call, all from its slot on."""
    if step.name in ("call", "call_to"):
        return -1 << step.slot
    return 1 << step.d if 0 <= step.d < GLOBALS else 0


@dataclass(slots=True)
class _Block:
    """Steps without a label but at the beginning, or a jump but at the end."""

    label: int = NO_LABEL
    use: int = 0
    define: int = 0
    targets: list[int] = field(default_factory=list)
    falls: bool = True


def _blocks(steps: Sequence[Step]) -> list[_Block]:
    blocks = [_Block()]
    members: list[list[Step]] = [[]]
    for step in steps:
        if step.name == LABEL:
            blocks.append(_Block(step.label))
            members.append([])
            continue
        members[-1].append(step)
        if step.name in ENDS or step.label != NO_LABEL:
            block = blocks[-1]
            block.falls = step.name not in ENDS
            block.targets = [step.label] if step.label != NO_LABEL else list(step.ways)
            blocks.append(_Block())
            members.append([])
    for block, inside in zip(blocks, members, strict=True):
        use = define = 0
        for step in reversed(inside):
            defined = defines(step)
            use = (use & ~defined) | uses(step)
            define |= defined
        block.use, block.define = use, define
    return blocks


def live_at_labels(steps: Sequence[Step], labels: int) -> list[int]:
    """For every label the registers that are read after it."""
    blocks = _blocks(steps)
    blocks.reverse()
    at = [0] * labels
    changed = True
    while changed:
        changed = False
        live = 0
        for block in blocks:
            if not block.falls:
                live = 0
            for label in block.targets:
                live |= at[label]
            live = block.use | (live & ~block.define)
            label = block.label
            if label >= 0 and at[label] != live:
                at[label] = live
                changed = True
    return at
