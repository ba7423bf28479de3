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
from curta.machine.lowering.flow import find_dominators, reverse_postorder
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
        self.home: dict[Value, Label] = {}
        """The block that writes a value."""
        self.wanted: dict[Label, set[Value]] = {}
        """What a block reads, and other blocks write."""

    def check(self) -> None:
        for label, block in self.code.blocks.items():
            if label != block.label:
                raise CodeError(f"block {label} says that it is block {block.label}")
            self.check_steps(block)
            self.check_ways(block)
        self.check_order()

    def check_steps(self, block: Block) -> None:
        label, home = block.label, self.home
        wanted: set[Value] = set()
        written = list(block.parameters)
        here = set(written)
        for step in block.steps:
            if isinstance(step, Call):
                wanted.update(value for value in reads(step) if value not in here)
                written += step.results
                here.update(step.results)
                continue
            name, d, a, b, c, _, _ = step
            forms = self.forms.get(name) or self.find_forms(name)
            if forms and (d is not None, a is not None, b is not None, c is not None) not in forms:
                raise CodeError(f"{step} in block {label} has sources that it should not have")
            for value in (a, b, c):
                if value is not None and value not in here:
                    wanted.add(value)
            if d is not None:
                written.append(d)
                here.add(d)
        for value in written:
            if value in home or value in self.code.constants:
                raise CodeError(f"value {value} is written once more in block {label}")
            home[value] = label
        wanted.update(end_reads(block.end))
        for edge in edges(block.end):
            wanted.update(edge.arguments)
        self.wanted[label] = wanted - here - self.code.constants.keys()

    def find_forms(self, name: str) -> set[Form]:
        """The forms that steps of an operation may have; none if it is an extension's."""
        kind, expected = kind_of(name), sources(name)
        if kind in ("jump", "end"):
            raise CodeError(f"{name} is no step")
        found: set[Form] = set()
        if expected is not None:
            gives = kind in ("value", "divide", "load", "read") and name != SET
            a, b, c = (source in expected for source in "abc")
            found.add((gives, a, b, c))
            if kind in ("load", "store") and name not in PRIVATE:
                found.add((gives, a, True, c))
        self.forms[name] = found
        return found

    def check_ways(self, block: Block) -> None:
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

    def check_order(self) -> None:
        """Of the blocks that are reached: those that dominate a block are above it in a tree."""
        order, before = reverse_postorder(self.code)
        dominators = find_dominators(order, before)
        depths: dict[Label, int] = {order[0]: 0}
        for label in order:
            depths.setdefault(label, depths[dominators[label]] + 1)
        for label in order:
            at, depth = label, depths[label]
            for value in sorted(self.wanted[label], key=self.depth_of(depths), reverse=True):
                home = self.home.get(value)
                if home is None or home not in depths:
                    raise CodeError(f"value {value} is read in block {label} and written nowhere")
                while depth > depths[home]:
                    at, depth = dominators[at], depth - 1
                if at != home:
                    raise CodeError(f"value {value} may be read in block {label} without a write")
