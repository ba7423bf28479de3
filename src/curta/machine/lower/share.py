"""Share: what was computed on all ways here is not computed again.

One walk down the tree of dominators: a value that a dominating block has computed is there to be
read. Divisions are shared too: the first one has not trapped.
"""

from __future__ import annotations

from curta.machine.instructions import kind_of
from curta.machine.lower.code import Call, Code, Label, Step, Value, edges, end_reads, reads
from curta.machine.lower.drop import rename
from curta.machine.lower.flow import find_flow
from curta.machine.lower.operations import gives_value, replaced

Key = tuple[object, ...]
_SYMMETRIC = frozenset(("add", "mul", "mul_high", "and", "or", "xor", "carry", "eq", "ne"))


def share(code: Code) -> Code:
    """The code with fewer steps that compute something."""
    flow = find_flow(code)
    below: dict[Label, list[Label]] = {label: [] for label in flow.order}
    for label in flow.order[1:]:
        below[flow.dominators[label]].append(label)
    known = _Known(code)
    open_: list[tuple[Label, list[Key] | None]] = [(code.entry.label, None)]
    while open_:
        label, learnt = open_.pop()
        if learnt is not None:
            for key in learnt:
                del known.values[key]
            continue
        open_.append((label, known.walk(label)))
        open_ += [(inner, None) for inner in below[label]]
    if known.names:
        rename(code, known.names)
    return code


class _Known:
    """`values` are those computed by blocks that dominate the present one; `names` of others."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.values: dict[Key, Value] = {}
        self.names: dict[Value, Value] = {}
        """Values that are the same as others."""
        self.given: set[Value] = set()
        """Values that calls take."""
        self.used: set[Value] = set()
        """Values that anything but a call takes."""
        for block in code.blocks.values():
            for step in block.steps:
                (self.given if isinstance(step, Call) else self.used).update(reads(step))
            self.used.update(end_reads(block.end))
            for edge in edges(block.end):
                self.used.update(edge.arguments)

    def _is_for_calls(self, known: Value, step: Step) -> bool:
        """Whether only calls take a value, each in a register of its own: it is computed there as
        soon as copied.
        """
        return known in self.given and step.d not in self.used and gives_value(step.operation)

    def walk(self, label: Label) -> list[Key]:
        """Leave out of a block what is known; the keys of what it adds."""
        block = self.code.blocks[label]
        learnt: list[Key] = []
        kept: list[Step | Call] = []
        for step in block.steps:
            step = replaced(step, self.names) if self.names else step
            if isinstance(step, Step) and step.d is not None and _is_shared(step.operation):
                if step.operation == "copy" and step.b is not None:
                    self.names[step.d] = step.b
                    continue
                key = _key(step)
                same = self.values.setdefault(key, step.d)
                if same != step.d and not self._is_for_calls(same, step):
                    self.names[step.d] = same
                    continue
                if same == step.d:
                    learnt.append(key)
            kept.append(step)
        block.steps = kept
        return learnt


def _is_shared(operation: str) -> bool:
    return gives_value(operation) or kind_of(operation) == "divide"


def _key(step: Step) -> Key:
    operation, _, a, b, c, _, _ = step
    if operation in _SYMMETRIC and a is not None and b is not None and a > b:
        a, b = b, a
    return operation, a, b, c
