"""Check: what every pass has to leave behind, and what the next one may rest on.

- every value is written once, and no constant is
- on every way to a read, the value was written before it: the block that writes it dominates
- edges lead to blocks of the function, with an argument for every parameter
- operations are known, and have the sources that they should have
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, kind_of
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Code,
    Label,
    Value,
    edges,
    end_reads,
    reads,
)
from curta.machine.lower.flow import find_dominators, find_order
from curta.machine.lower.operations import PRIVATE, SET, sources

Form = tuple[bool, bool, bool, bool]
"""Whether there are d, a, b, c."""


class CodeError(Exception):
    """A pass has left code that means nothing: an error of the compiler."""


def check(code: Code, behind: str) -> Code:
    """The same code, if it keeps the rules; else an error that names what is wrong."""
    Checker(code).check(behind)
    return code


class _Summary(NamedTuple):
    """A block as it was, what it writes, what it reads of others, where it leads with how many
    arguments.
    """

    block: Block
    written: tuple[Value, ...]
    wanted: frozenset[Value]
    ways: tuple[tuple[Label, int], ...]


class Checker:
    """Checks a function behind every pass; of blocks that have not changed it knows all."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.forms: dict[str, set[Form]] = {}
        self.known: dict[Label, _Summary] = {}
        self.ways: dict[Label, tuple[tuple[Label, int], ...]] = {}
        self.order: tuple[Label, ...] = ()
        self.dominators: dict[Label, Label] = {}
        self.depths: dict[Label, int] = {}

    def check(self, behind: str) -> None:
        """Stop if the code breaks a rule."""
        try:
            self.check_blocks()
            self.check_reads()
        except CodeError as error:
            raise CodeError(f"{self.code.name} behind {behind}: {error}") from None

    def check_blocks(self) -> None:
        known = self.known
        for label, block in self.code.blocks.items():
            if label not in known or known[label].block != block:
                if label != block.label:
                    raise CodeError(f"block {label} says that it is block {block.label}")
                known[label] = self.summary(block)
        ways = {label: known[label].ways for label in self.code.blocks}
        counts = {label: len(block.parameters) for label, block in self.code.blocks.items()}
        for label, out in ways.items():
            for there, given in out:
                if counts.get(there) != given:
                    raise CodeError(f"an edge from block {label} to {there} gives {given} words")
        if ways != self.ways:
            self.ways = ways
            self.find_order()

    def find_order(self) -> None:
        self.order, before = find_order(self.code)
        entry = self.code.entry
        if before[entry.label] and entry.parameters:
            raise CodeError("an edge leads to the entry of a function that takes something")
        self.dominators = find_dominators(self.order, before)
        self.depths = {}
        for label in self.order:
            self.depths[label] = self.depths.get(self.dominators[label], 0) + 1

    def summary(self, block: Block) -> _Summary:
        forms = self.forms
        written = list(block.parameters)
        here = set(written)
        wanted: set[Value] = set()
        for step in block.steps:
            if isinstance(step, Call):
                wanted.update(value for value in reads(step) if value not in here)
                written += step.results
                here.update(step.results)
                continue
            name, d, a, b, c, _, _ = step
            form = d is not None, a is not None, b is not None, c is not None
            if form not in (forms.get(name) or self.find_forms(name)):
                raise CodeError(f"{step} in block {block.label} has sources that it must not have")
            wanted.update(v for v in (a, b, c) if v is not None and v not in here)
            if d is not None:
                written.append(d)
                here.add(d)
        end = block.end
        if isinstance(end, Branch) and end.comparison not in COMPARISONS:
            raise CodeError(f"{end.comparison} is no comparison")
        out = edges(end)
        for values in (end_reads(end), *(edge.arguments for edge in out)):
            wanted.update(value for value in values if value not in here)
        ways = tuple((edge.label, len(edge.arguments)) for edge in out)
        kept = replace(block, steps=block.steps.copy())
        return _Summary(kept, tuple(written), frozenset(wanted), ways)

    def find_forms(self, name: str) -> set[Form]:
        """The forms that steps of an operation may have; an extension has its own."""
        kind, expected = kind_of(name), sources(name)
        if kind in ("jump", "end"):
            raise CodeError(f"{name} is no step")
        found = {(True, True, b, c) for b in (False, True) for c in (False, True)}
        if expected is not None:
            gives = kind in ("value", "divide", "load", "read") and name != SET
            a, b, c = (source in expected for source in "abc")
            found = {(gives, a, b, c)}
            if kind in ("load", "store") and name not in PRIVATE:
                found.add((gives, a, True, c))
        self.forms[name] = found
        return found

    def check_reads(self) -> None:
        """Blocks that are reached read what is written in blocks that dominate them."""
        known, constants = self.known, self.code.constants
        home: dict[Value, Label] = dict.fromkeys(constants, self.code.entry.label)
        count = len(home)
        for label in self.code.blocks:
            home.update(dict.fromkeys(known[label].written, label))
            count += len(known[label].written)
        if count != len(home):
            raise CodeError(f"{count - len(home)} values are written twice")
        for label in self.order:
            homes = {home.get(value, label) for value in known[label].wanted}
            if label == self.order[0]:
                homes = {label} if known[label].wanted - constants.keys() else set()
            if homes and not self.are_above(homes, label):
                raise CodeError(
                    f"block {label} may read what is not written: {known[label].wanted}"
                )

    def are_above(self, homes: set[Label], label: Label) -> bool:
        """Whether all these other blocks dominate a block."""
        depths, dominators = self.depths, self.dominators
        if label in homes or not homes <= depths.keys():
            return False
        above = label
        for found in sorted(homes, key=depths.__getitem__, reverse=True):
            while depths[above] > depths[found]:
                above = dominators[above]
            if found != above:
                return False
        return True
