"""Check: what every pass has to leave behind, and what the next one may rest on.

- every value is written once, and no constant is
- on every way to a read, the value was written before it: the block that writes it dominates
- edges lead to blocks of the function, with an argument for every parameter
- operations are known, and have the sources that they should have
"""

from __future__ import annotations

from curta.machine.instructions import COMPARISONS, kind_of
from curta.machine.lowering.code import (
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
from curta.machine.lowering.flow import find_dominators, find_order
from curta.machine.lowering.operations import PRIVATE, SET, sources

Form = tuple[bool, bool, bool, bool]
"""Whether there are d, a, b, c."""


class CodeError(Exception):
    """A pass has left code that means nothing: an error of the compiler."""


def check(code: Code, behind: str) -> Code:
    """The same code, if it keeps the rules; else an error that names what is wrong."""
    try:
        _Checked(code).check()
    except CodeError as error:
        raise CodeError(f"{code.name} behind {behind}: {error}") from None
    return code


class _Checked:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.forms: dict[str, set[Form]] = {}
        self.home: dict[Value, Label] = dict.fromkeys(code.constants, code.entry.label)
        """The block that writes a value; constants are there from the beginning."""
        self.wanted: dict[Label, set[Value]] = {}
        """What a block reads before it writes it itself."""

    def check(self) -> None:
        for label, block in self.code.blocks.items():
            if label != block.label:
                raise CodeError(f"block {label} says that it is block {block.label}")
            self.check_block(block)
        self.check_order()

    def check_block(self, block: Block) -> None:
        label, home, forms = block.label, self.home, self.forms
        wanted = self.wanted[label] = set()
        for value in block.parameters:
            self.write(value, label)
        for step in block.steps:
            if isinstance(step, Call):
                wanted.update(value for value in reads(step) if home.get(value) != label)
                for value in step.results:
                    self.write(value, label)
                continue
            name, d, a, b, c, _, _ = step
            form = d is not None, a is not None, b is not None, c is not None
            if form not in (forms.get(name) or self.find_forms(name)):
                raise CodeError(f"{step} in block {label} has sources that it should not have")
            if a is not None and home.get(a) != label:
                wanted.add(a)
            if b is not None and home.get(b) != label:
                wanted.add(b)
            if c is not None and home.get(c) != label:
                wanted.add(c)
            if d is not None:
                self.write(d, label)
        wanted.update(value for value in end_reads(block.end) if home.get(value) != label)
        self.check_ways(block, wanted)

    def write(self, value: Value, label: Label) -> None:
        if value in self.home:
            raise CodeError(f"value {value} is written once more in block {label}")
        self.home[value] = label

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

    def check_ways(self, block: Block, wanted: set[Value]) -> None:
        end, code = block.end, self.code
        if isinstance(end, Branch) and end.comparison not in COMPARISONS:
            raise CodeError(f"{end.comparison} is no comparison")
        for edge in edges(end):
            there = code.blocks.get(edge.label)
            if there is None:
                raise CodeError(f"an edge leads from block {block.label} to none, {edge.label}")
            if len(there.parameters) != len(edge.arguments):
                raise CodeError(f"an edge of block {block.label} gives {len(edge.arguments)} words")
            if there is code.entry and there.parameters:
                raise CodeError("an edge leads to the entry of a function that takes something")
            wanted.update(v for v in edge.arguments if self.home.get(v) != block.label)

    def check_order(self) -> None:
        """Blocks that are reached read what is written in blocks that dominate them."""
        order, before = find_order(self.code)
        dominators = find_dominators(order, before)
        home, entry = self.home, order[0]
        depths: dict[Label, int] = {}
        for label in order:
            depths[label] = depths.get(dominators[label], 0) + 1
        for label in order:
            wanted = self.wanted[label]
            homes = {home.get(value, label) for value in wanted}
            if label == entry:
                homes = {label} if wanted - self.code.constants.keys() else set()
            if not homes.isdisjoint((label, *(homes - depths.keys()))):
                raise CodeError(f"of values {wanted} some are unwritten in block {label}")
            above = label
            for found in sorted(homes - {entry}, key=depths.__getitem__, reverse=True):
                while depths[above] > depths[found]:
                    above = dominators[above]
                if found != above:
                    raise CodeError(f"of values {wanted} some may be unwritten in block {label}")
