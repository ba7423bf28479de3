"""Drop: values that nobody reads, parameters that are always the same, blocks that are not reached.

Steps that do more than compute stay: calls, stores, input and output, what may trap.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import compress

from curta.machine.lower.code import Call, Code, Edge, Step, Value, edges, end_reads, mapped, reads
from curta.machine.lower.flow import find_order
from curta.machine.lower.operations import is_needless, replaced

Given = dict[Value, set[Value]]
"""For every parameter what edges give to it."""


def drop(code: Code) -> Code:
    """The code without what is not needed."""
    order, _ = find_order(code)
    if len(order) < len(code.blocks):
        reached = set(order)
        code.blocks = {label: b for label, b in code.blocks.items() if label in reached}
    given: Given = {}
    for block in code.blocks.values():
        for edge in edges(block.end):
            parameters = code.blocks[edge.label].parameters
            for parameter, value in zip(parameters, edge.arguments, strict=True):
                given.setdefault(parameter, set()).add(value)
    names = _same_parameters(given)
    return rename(code, names, _unread(code, given, names))


def _same_parameters(given: Given) -> dict[Value, Value]:
    """What parameters are, where all edges give the same value, or the parameter itself."""
    names: dict[Value, Value] = {}

    def name(value: Value) -> Value:
        while value in names:
            value = names[value]
        return value

    changed = True
    while changed:
        changed = False
        for parameter, values in given.items():
            if parameter not in names:
                others = {name(value) for value in values} - {parameter}
                if len(others) == 1:
                    names[parameter] = others.pop()
                    changed = True
    return {value: name(value) for value in names}


def _unread(code: Code, given: Given, names: Mapping[Value, Value]) -> set[Value]:
    """The values that are not needed for anything that is done, when some have other names."""
    sources = given.copy()
    """What values that may be left out are computed from."""
    waiting: list[Value] = []
    for block in code.blocks.values():
        for step in block.steps:
            if isinstance(step, Step) and step.d is not None and is_needless(step, code):
                sources[step.d] = set(reads(step))
            else:
                waiting += reads(step)
        waiting += end_reads(block.end)
    needed: set[Value] = set()
    while waiting:
        value = waiting.pop()
        value = names.get(value, value)
        if value not in needed:
            needed.add(value)
            waiting += sources.get(value, ())
    return sources.keys() - needed


def rename(
    code: Code, names: Mapping[Value, Value], unread: AbstractSet[Value] = frozenset()
) -> Code:
    """Read other values instead of some; what writes those goes, and what writes unread ones."""
    code.witness.names.update(names)
    gone = names.keys() | unread
    if not gone:
        return code
    kept = {
        label: [parameter not in gone for parameter in block.parameters]
        for label, block in code.blocks.items()
        if not gone.isdisjoint(block.parameters)
    }

    def name(value: Value) -> Value:
        return names.get(value, value)

    def way(edge: Edge) -> Edge:
        arguments = edge.arguments
        if edge.label in kept:
            arguments = tuple(compress(arguments, kept[edge.label]))
        return Edge(edge.label, tuple(map(name, arguments)))

    for label, block in code.blocks.items():
        if label in kept:
            block.parameters = tuple(compress(block.parameters, kept[label]))
        steps = [s for s in block.steps if isinstance(s, Call) or s.d not in gone]
        block.steps = [replaced(step, names) for step in steps] if names else steps
        block.end = mapped(block.end, name, way)
    return code
