"""Drop: values that nobody reads, parameters that are always the same, blocks that are not reached.

Steps that do more than compute stay: calls, stores, input and output, what may trap.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import compress

from curta.machine.lower.code import (
    Branch,
    Call,
    Code,
    Edge,
    End,
    Exit,
    Label,
    Return,
    Step,
    Table,
    TailCall,
    Value,
    edges,
    end_reads,
    reads,
    with_edges,
)
from curta.machine.lower.operations import is_needless, replaced

_NONE: frozenset[Value] = frozenset()


def drop(code: Code) -> Code:
    """The code without what is not needed."""
    _drop_unreached(code)
    names = _same_parameters(code)
    if names:
        rename(code, names)
    _drop_unread(code)
    return code


def _drop_unreached(code: Code) -> None:
    reached = {code.entry.label}
    waiting = [code.entry.label]
    while waiting:
        for edge in edges(code.blocks[waiting.pop()].end):
            if edge.label not in reached:
                reached.add(edge.label)
                waiting.append(edge.label)
    if len(reached) < len(code.blocks):
        code.blocks = {label: b for label, b in code.blocks.items() if label in reached}


# -- parameters -----------------------------------------------------------------------------------


def _same_parameters(code: Code) -> dict[Value, Value]:
    """What parameters are, where all edges give the same value, or the parameter itself."""
    given: dict[Label, list[tuple[Value, ...]]] = {}
    for block in code.blocks.values():
        for edge in edges(block.end):
            if edge.arguments:
                given.setdefault(edge.label, []).append(edge.arguments)
    names: dict[Value, Value] = {}

    def name(value: Value) -> Value:
        while value in names:
            value = names[value]
        return value

    changed = True
    while changed:
        changed = False
        for label, ways in given.items():
            for parameter, arguments in zip(
                code.blocks[label].parameters, zip(*ways, strict=True), strict=True
            ):
                if parameter in names:
                    continue
                others = {name(value) for value in arguments} - {parameter}
                if len(others) == 1:
                    names[parameter] = others.pop()
                    changed = True
    return {value: name(value) for value in names}


def rename(code: Code, names: Mapping[Value, Value], unread: AbstractSet[Value] = _NONE) -> None:
    """Read other values instead of some; what writes those goes, and what writes unread ones."""
    code.witness.names.update(names)
    gone = names.keys() | unread
    kept = {
        label: [parameter not in gone for parameter in block.parameters]
        for label, block in code.blocks.items()
        if not gone.isdisjoint(block.parameters)
    }
    for label, block in code.blocks.items():
        if label in kept:
            block.parameters = tuple(compress(block.parameters, kept[label]))
        block.steps = [s for s in block.steps if isinstance(s, Call) or s.d not in gone]
        if names:
            block.steps = [replaced(step, names) for step in block.steps]
        changed = []
        for edge in edges(block.end):
            arguments = edge.arguments
            if edge.label in kept:
                arguments = tuple(compress(arguments, kept[edge.label]))
            changed.append(Edge(edge.label, tuple(names.get(v, v) for v in arguments)))
        block.end = renamed_end(with_edges(block.end, tuple(changed)), names)


def renamed_end(end: End, names: Mapping[Value, Value]) -> End:
    """The end with other names of what it reads itself."""
    if not any(value in names for value in end_reads(end)):
        return end
    match end:
        case Branch():
            return end._replace(a=names.get(end.a, end.a), b=names.get(end.b, end.b))
        case Table():
            return end._replace(chosen=names[end.chosen])
        case Return():
            return end._replace(values=tuple(names.get(v, v) for v in end.values))
        case TailCall():
            return end._replace(arguments=tuple(names.get(v, v) for v in end.arguments))
        case Exit():
            return end._replace(code=names[end.code])
    return end


# -- values ---------------------------------------------------------------------------------------


def _drop_unread(code: Code) -> None:
    sources: dict[Value, tuple[Value, ...]] = {}
    """What values that may be left out are computed from; for parameters, what edges give."""
    needed: set[Value] = set()
    waiting: list[Value] = []
    for block in code.blocks.values():
        if block is not code.entry:
            for parameter in block.parameters:
                sources[parameter] = ()
        for step in block.steps:
            if isinstance(step, Step) and step.d is not None and is_needless(step, code):
                sources[step.d] = tuple(reads(step))
            else:
                waiting += reads(step)
        waiting += end_reads(block.end)
    for block in code.blocks.values():
        for edge in edges(block.end):
            for parameter, value in zip(
                code.blocks[edge.label].parameters, edge.arguments, strict=True
            ):
                sources[parameter] = (*sources[parameter], value)
    while waiting:
        value = waiting.pop()
        if value not in needed:
            needed.add(value)
            waiting += sources.get(value, ())
    unread = sources.keys() - needed
    if unread:
        rename(code, {}, unread)
