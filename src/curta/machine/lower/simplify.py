"""Simplify: the rules once more, where sources have become constants since they were applied."""

from __future__ import annotations

from curta.machine.instructions import kind_of
from curta.machine.lower.code import Branch, Call, Code, Jump, Step, Value
from curta.machine.lower.drop import rename
from curta.machine.lower.flow import find_order
from curta.machine.lower.operations import replaced
from curta.machine.lower.rules import Facts, Operation, reduce

_CHANGED = ("value", "divide")


def simplify(code: Code) -> Code:
    """The code with fewer or cheaper steps, and without branches that always go one way."""
    names: dict[Value, Value] = {}
    order, _ = find_order(code)
    for label in order:
        block = code.blocks[label]
        steps = [_simplified(code, replaced(step, names), names) for step in block.steps]
        block.steps = [step for step in steps if isinstance(step, Call) or step.d not in names]
    if names:
        rename(code, names)
    for label in order:
        block = code.blocks[label]
        if isinstance(block.end, Branch):
            block.end = _certain(code, block.end)
    return code


def _simplified(code: Code, step: Step | Call, names: dict[Value, Value]) -> Step | Call:
    """The step by the rules; what it writes has another name if it need not be computed."""
    constants = code.constants
    if isinstance(step, Call) or step.d is None or kind_of(step.operation) not in _CHANGED:
        return step
    sources = tuple(value for value in step[2:5] if value is not None)
    if constants.keys().isdisjoint(sources):
        return step
    operation = Operation(step.operation, sources)
    reduced = reduce(operation, Facts(constants, {}), code.constant)
    if isinstance(reduced, Value):
        names[step.d] = reduced
        return step
    a, b, c = (*reduced.sources, None, None)[:3]
    return step._replace(operation=reduced.name, a=a, b=b, c=c)


def _certain(code: Code, end: Branch) -> Branch | Jump:
    """The way that a branch always takes, if it does; a constant is the second source."""
    reduced = reduce(
        Operation(end.comparison, (end.a, end.b)), Facts(code.constants, {}), code.constant
    )
    if isinstance(reduced, Value):
        return Jump(end.then if code.constants[reduced] else end.otherwise, end.place)
    a, b = reduced.sources
    return end._replace(comparison=reduced.name, a=a, b=b)
