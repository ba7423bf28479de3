"""Tails: a jump to a return is a return, and a library function that only gives back what another
one gives leaves for it.

The other function takes over the frame and returns to where this one should have. Users' functions
do not do that: recursion without an end has to exhaust the call stack.
"""

from __future__ import annotations

from curta.machine.lower.code import (
    USER,
    Block,
    Branch,
    Call,
    Code,
    Edge,
    Jump,
    Label,
    Return,
    TailCall,
    mapped,
    return_register,
)


def return_early(code: Code) -> Code:
    """The code in which every way to a return is a return of its own: what it gives can then mostly
    be computed where it is to be given.
    """
    tails = {
        label: block
        for label, block in code.blocks.items()
        if isinstance(block.end, Return) and not block.steps and block is not code.entry
    }
    blocks: dict[Label, Block] = {}

    def own(edge: Edge) -> Edge:
        """An edge to a return without parameters."""
        if edge.label not in tails or not edge.arguments:
            return edge
        label = code.new_label()
        blocks[label] = Block(label, (), [], _given(tails, edge), tails[edge.label].place)
        return Edge(label)

    for block in code.blocks.values():
        blocks[block.label] = block
        if isinstance(block.end, Jump) and block.end.edge.label in tails:
            block.end = _given(tails, block.end.edge)
        elif isinstance(block.end, Branch):
            block.end = mapped(block.end, lambda value: value, own)
    code.blocks = blocks
    return code


def _given(tails: dict[Label, Block], edge: Edge) -> Return:
    block = tails[edge.label]
    assert isinstance(block.end, Return)
    names = dict(zip(block.parameters, edge.arguments, strict=True))
    return block.end._replace(values=tuple(names.get(v, v) for v in block.end.values))


def leave_for_last_calls(code: Code) -> Code:
    """The code with calls right before a return replaced."""
    if code.callee[0] == USER:
        return code
    back = return_register(code.parameters, code.results)
    for block in code.blocks.values():
        call, end = block.steps[-1] if block.steps else None, block.end
        if isinstance(call, Call) and call.callee and isinstance(end, Return):
            theirs = return_register(len(call.arguments), len(call.results))
            if call.results == end.values and theirs == back:
                block.steps = block.steps[:-1]
                block.end = TailCall(call.callee, call.arguments, call.place)
    return code
