"""Simplify: what rules make cheaper, and what was computed on all ways here, is not computed again.

The rules are applied once more, as sources may have become constants since. It is one walk down the
tree of dominators: a value that a dominating block has computed is there to be read. Divisions are
shared too, as the first one has not trapped; but if they may, not where ways have met in between: a
proof does not remember there what has happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from curta.machine.instructions import WORD, kind_of
from curta.machine.lower.code import Branch, Call, Code, Jump, Label, Step, Value, reads
from curta.machine.lower.drop import rename
from curta.machine.lower.flow import find_dominators, find_order
from curta.machine.lower.operations import GET, SET, replaced
from curta.machine.lower.rules import SWAPPED, Facts, Operation, reduce

Key = tuple[object, ...]


def simplify(code: Code) -> Code:
    """The code with fewer or cheaper steps, and without branches that always go one way."""
    order, before = find_order(code)
    dominators = find_dominators(order, before)
    below: dict[Label, list[Label]] = {label: [] for label in order}
    for label in order[1:]:
        below[dominators[label]].append(label)
    known = _Known(code, before)
    waiting: list[Label | list[Key]] = [code.entry.label]
    """Blocks to walk, and keys to forget when all below a block have been walked."""
    while waiting:
        at = waiting.pop()
        if isinstance(at, list):
            for key in at:
                del known.values[key]
        else:
            waiting += [known.walk(at), *below[at]]
    rename(code, known.names)
    for label in order:
        block = code.blocks[label]
        if isinstance(block.end, Branch):
            block.end = _certain(code, block.end)
    return code


class _Known:
    """`values` are those computed by blocks that dominate the present one; `names` of others."""

    def __init__(self, code: Code, before: Mapping[Label, Sequence[Label]]) -> None:
        self.code = code
        self.before = before
        self.stretches: dict[Label, Label] = {}
        """For each block, where ways met last before it."""
        self.facts = Facts(code.constants, {})
        self.values: dict[Key, Value] = {}
        self.names: dict[Value, Value] = {}
        """Values that are the same as others."""

    def walk(self, label: Label) -> list[Key]:
        """Leave out of a block what is known; the keys of what it adds."""
        block, before = self.code.blocks[label], self.before[label]
        self.stretches[label] = self.stretches[before[0]] if len(before) == 1 else label
        learnt: list[Key] = []
        kept: list[Step | Call] = []
        for step in block.steps:
            step = replaced(step, self.names) if self.names else step
            if isinstance(step, Call) or step.d is None or not _is_shared(step.operation):
                kept.append(step)
                continue
            reduced = self.reduced(step)
            if isinstance(reduced, Value):
                self.names[step.d] = reduced
                continue
            key = _key(reduced)
            if kind_of(reduced.operation) == "divide" and self._may_trap(reduced):
                key = *key, self.stretches[label]
            if key in self.values:
                self.names[step.d] = self.values[key]
                continue
            self.values[key] = step.d
            learnt.append(key)
            kept.append(reduced)
        block.steps = kept
        return learnt

    def _may_trap(self, division: Step) -> bool:
        return {self.code.constants.get(one, 0) for one in reads(division)[1:]} <= {0, WORD - 1}

    def reduced(self, step: Step) -> Step | Value:
        """The step by the rules, or the value that it computes if that is there already."""
        if step.operation == "copy" and step.b is not None:
            return step.b
        constants = self.code.constants
        if not any(source in constants for source in step[2:6]):
            return step
        operation = Operation(step.operation, tuple(reads(step)))
        found = reduce(operation, self.facts, self.code.constant)
        if isinstance(found, Value):
            return found
        a, b, c, e = (*found.sources, None, None, None)[:4]
        return Step(found.name, step.d, a, b, c, e, step.immediate, step.place)


def _is_shared(operation: str) -> bool:
    return operation not in (GET, SET) and kind_of(operation) in ("value", "divide")


def _key(step: Step) -> Key:
    operation, _, a, b, c, e, _, _ = step
    if SWAPPED.get(operation) == operation and a is not None and b is not None and a > b:
        a, b = b, a
    return operation, a, b, c, e


def _certain(code: Code, end: Branch) -> Branch | Jump:
    """The way that a branch always takes, if it does; a constant is the second source."""
    operation = Operation(end.comparison, (end.a, end.b))
    reduced = reduce(operation, Facts(code.constants, {}), code.constant)
    if isinstance(reduced, Value):
        return Jump(end.then if code.constants[reduced] else end.otherwise, end.place)
    a, b = reduced.sources
    return end._replace(comparison=reduced.name, a=a, b=b)
