"""What lies in the memories before the program begins.

Active segments are copied in order, elements before data, until one does not fit: then the
instance traps while it is set up, with the segments before that one in place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from curta.machine.instructions import PAGE, TRAPS, WORD
from curta.machine.layout import ENTRY_BYTES, STATE_SEED, TABLE
from curta.machine.lower.context import LowerOptions, ModuleContext
from curta.machine.program import PRIVATE, Segment
from curta.machine.wasm.module import Data, Element

_RUNS = re.compile(rb"(?:[^\0]|\0{1,15}(?=[^\0]))+")
"""Bytes without long stretches of zeros, which need not be said."""


@dataclass(frozen=True, slots=True)
class InitialState:
    """`table` has indices of functions by their places. `trap` is one that setting up ends in."""

    memory: tuple[Segment, ...]
    table: Mapping[int, int]
    trap: int | None = None

    def functions(self, context: ModuleContext) -> set[int]:
        """The functions that tables hold, or may hold later."""
        found = set(self.table.values())
        for passive, element in zip(context.elements, context.module.elements, strict=True):
            if passive.length:
                found |= {index for index in element.functions if index is not None}
        return found


def find_initial_state(context: ModuleContext) -> InitialState:
    """Copy the active segments."""
    module = context.module
    table: dict[int, int | None] = {}
    found: list[Segment] = []
    trap = None
    segments: tuple[Element | Data, ...] = (*module.elements, *module.data)
    for segment in segments:
        if segment.mode != "active":
            continue
        offset: int = segment.offset[0].operands[0]
        if isinstance(segment, Data):
            if offset + len(segment.content) > module.memories[0].limits.minimum * PAGE:
                trap = TRAPS.index("out of bounds memory access")
                break
            found.append(Segment(offset, segment.content))
        elif offset + len(segment.functions) > context.table_size:
            trap = TRAPS.index("out of bounds table access")
            break
        else:
            table.update(enumerate(segment.functions, offset))
    held = {place: index for place, index in table.items() if index is not None}
    return InitialState(_without_zeros(found), held, trap)


def _without_zeros(segments: list[Segment]) -> tuple[Segment, ...]:
    """Leave stretches of zeros out, unless they may overwrite something."""
    ordered = sorted(segments, key=lambda segment: segment.address)
    ends = [segment.address + len(segment.content) for segment in ordered]
    starts = [segment.address for segment in ordered]
    if any(end > start for end, start in zip(ends, starts[1:], strict=False)):
        return tuple(segments)
    return tuple(
        Segment(segment.address + run.start(), run.group())
        for segment in ordered
        for run in _RUNS.finditer(segment.content)
    )


def all_segments(
    context: ModuleContext, state: InitialState, places: Mapping[int, int], options: LowerOptions
) -> tuple[Segment, ...]:
    """Of both memories. `places` has the instruction where each function in a table begins."""

    def entry(index: int | None) -> bytes:
        if index is None:
            return bytes(ENTRY_BYTES)
        signature = context.signatures[context.functions[index]] + 1
        return signature.to_bytes(4, "little") + places[index].to_bytes(4, "little")

    module = context.module
    found = [(TABLE + ENTRY_BYTES * n, entry(index)) for n, index in sorted(state.table.items())]
    for passive, element in zip(context.elements, module.elements, strict=True):
        if passive.length:
            found.append((passive.address, b"".join(map(entry, element.functions))))
    for passive, data in zip(context.data, module.data, strict=True):
        if passive.length:
            found.append((passive.address, data.content))
    if options.seed:
        found.append((STATE_SEED, (options.seed % WORD).to_bytes(4, "little")))
    private = _joined([Segment(PRIVATE + address, content) for address, content in found])
    return (*state.memory, *private)


def _joined(segments: list[Segment]) -> list[Segment]:
    """One segment instead of several that follow one another."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and joined[-1].address + len(joined[-1].content) == segment.address:
            last = joined.pop()
            segment = Segment(last.address, last.content + segment.content)
        joined.append(segment)
    return joined
