"""Check: what every pass has to leave behind, and what the next one may rest on.

- every value is written once, and no constant is
- on every way to a read, the value was written before it: the block that writes it dominates
- edges lead to blocks of the function, with an argument for every parameter
- operations are known, and have the sources that they should have
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, kind_of, operation_of
from curta.machine.lower.code import Block, Branch, Call, Code, Label, edges
from curta.machine.lower.conflicts import bits_of, find_uses, members
from curta.machine.lower.flow import find_dominators, find_order
from curta.machine.lower.operations import operands

OperandPresence = tuple[bool, bool, bool, bool, bool]
"""Whether there are d, a, b, c, e."""


class CodeError(Exception):
    """A pass has left code that means nothing: an error of the compiler."""


class _Summary(NamedTuple):
    """A block as it was; how many values it writes, and which; those that it reads of other blocks;
    where it leads with how many arguments. Sets of values are numbers (conflicts.py).
    """

    block: Block
    writes: int
    written: int
    wanted: int
    ways: tuple[tuple[Label, int], ...]


class Checker:
    """Checks a function behind every pass; of blocks that have not changed it knows all."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.known: dict[Label, _Summary] = {}
        self.ways: dict[Label, tuple[tuple[Label, int], ...]] = {}
        self.order: tuple[Label, ...] = ()
        self.dominators: dict[Label, Label] = {}

    def check(self, behind: str) -> None:
        """Stop if the code breaks a rule."""
        try:
            self.check_blocks()
            self.check_reads()
        except CodeError as error:
            raise CodeError(f"{self.code.name} behind {behind}: {error}") from None

    def check_blocks(self) -> None:
        known, blocks = self.known, self.code.blocks
        for label, block in blocks.items():
            if label not in known or known[label].block != block:
                if label != block.label:
                    raise CodeError(f"block {label} says that it is block {block.label}")
                known[label] = self.summary(block)
        ways = {label: known[label].ways for label in blocks}
        for label, out in ways.items():
            for there, given in out:
                if there not in blocks or len(blocks[there].parameters) != given:
                    raise CodeError(f"an edge from block {label} to {there} gives {given} words")
        if ways != self.ways:
            self.ways = ways
            self.order, before = find_order(self.code)
            self.dominators = find_dominators(self.order, before)
            if before[self.order[0]] and self.code.parameters:
                raise CodeError("an edge leads to the entry of a function that takes something")

    def summary(self, block: Block) -> _Summary:
        for step in block.steps:
            if isinstance(step, Call):
                continue
            name, d, a, b, c, e, _, _ = step
            presence = d is not None, a is not None, b is not None, c is not None, e is not None
            if presence not in _allowed_operands(name):
                raise CodeError(f"{step} in block {block.label} has sources that it must not have")
        end = block.end
        if isinstance(end, Branch) and end.comparison not in COMPARISONS:
            raise CodeError(f"{end.comparison} is no comparison")
        written, wanted = find_uses(block)
        ways = tuple((edge.label, len(edge.arguments)) for edge in edges(end))
        kept = replace(block, steps=block.steps.copy())
        return _Summary(kept, len(written), bits_of(written), bits_of(wanted), ways)

    def check_reads(self) -> None:
        """Blocks that are reached read what is written in blocks that dominate them."""
        constants = bits_of(self.code.constants)
        written, count = constants, len(self.code.constants)
        for label in self.code.blocks:
            written |= self.known[label].written
            count += self.known[label].writes
        if count != written.bit_count():
            raise CodeError(f"{count - written.bit_count()} values are written twice")
        there: dict[Label, int] = {}
        """What is written when a block ends."""
        for label in self.order:
            summary = self.known[label]
            above = there.get(self.dominators[label], constants)
            if early := summary.wanted & ~above:
                raise CodeError(f"block {label} may read what is not written: {members(early)}")
            there[label] = above | summary.written


@cache
def _allowed_operands(name: str) -> frozenset[OperandPresence]:
    """Which operands steps of an operation may have; an extension has its own."""
    expected = operands(name)
    if kind_of(name) in ("jump", "end"):
        raise CodeError(f"{name} is no step")
    if expected is None:
        return frozenset(product((True,), (True,), (False, True), (False, True), (False,)))
    d, a, b, c, e = (field in expected for field in "dabce")
    return frozenset({(d, a, b, c, e), (d, a, b or operation_of(name).has_bounds, c, e)})
