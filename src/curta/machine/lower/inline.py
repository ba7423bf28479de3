"""Inline: short functions of the arithmetic library within loops, instead of calls.

What is gained is not the call, but that operands need not be copied, and that a number which is
multiplied several times is taken apart once (`simplify`). Where the function would leave for
another one, that is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from curta.machine.library import ARITHMETIC
from curta.machine.lower.code import (
    Block,
    Call,
    Callee,
    Code,
    Edge,
    Jump,
    Label,
    Return,
    Step,
    TailCall,
    Value,
    WasmLocation,
    mapped,
    writes,
)
from curta.machine.lower.conflicts import Site
from curta.machine.lower.flow import find_flow
from curta.machine.lower.operations import replaced

_LONGEST = 80
"""Steps of a function that is put in line: not sums of floats, but products and comparisons."""
_MOST = 1300
"""Steps in one function: an instruction is 16 tokens of the prompt, and calls should stay near."""


def inline_in_loops(code: Code, lowered: Callable[[Callee], Code]) -> Code:
    """The code with functions in line where they are called in loops."""
    chosen = _choose(code, lowered)
    for (label, index), function in sorted(chosen.items(), key=lambda item: -item[0][1]):
        _Copy(code, function, label, index).put()
    return code


def _choose(code: Code, lowered: Callable[[Callee], Code]) -> dict[Site, Code]:
    """What to put in line of the calls: first those in most loops, as they are executed most
    often.
    """
    flow = find_flow(code)
    sites = [
        (-flow.depths[label], label, index, step.callee)
        for label in code.blocks
        if flow.depths.get(label)
        for index, step in enumerate(code.blocks[label].steps)
        if isinstance(step, Call) and step.callee is not None and step.callee[0] == ARITHMETIC
    ]
    chosen: dict[Site, Code] = {}
    left = _MOST
    for _, label, index, callee in sorted(sites, key=lambda site: site[0]):
        function = lowered(callee)
        length = sum(len(block.steps) + 1 for block in function.blocks.values())
        if length <= min(left, _LONGEST):
            chosen[label, index] = function
            left -= length
    return chosen


class _Copy:
    """A function's blocks, with names of their own, between the halves of a block that calls it."""

    def __init__(self, code: Code, function: Code, label: Label, index: int) -> None:
        self.code, self.function = code, function
        self.block = code.blocks[label]
        call = self.block.steps[index]
        assert isinstance(call, Call)
        self.call, self.index = call, index
        self.labels = {label: code.new_label() for label in function.blocks}
        self.names = dict(zip(function.entry.parameters, call.arguments, strict=True))
        self.behind = code.new_label()

    def put(self) -> None:
        block, index, code = self.block, self.index, self.code
        self.name_all()
        entry, *inner = self.function.blocks.values()
        copies = [self.copied(other) for other in inner]
        place = self.call.place
        after = place and place._replace(instruction=place.instruction + 1)
        rest = block.steps[index + 1 :]
        copies.append(Block(self.behind, self.call.results, rest, block.end, after))
        first = self.copied(entry)
        block.steps, block.end = block.steps[:index] + first.steps, first.end
        blocks = list(code.blocks.values())
        at = blocks.index(block) + 1
        code.blocks = {new.label: new for new in (*blocks[:at], *copies, *blocks[at:])}
        self.put_witness()

    def put_witness(self) -> None:
        """What is known of the function's words, in the place of the call."""
        witness, inner = self.code.witness, self.function.witness
        assert self.call.place is not None
        outer = witness.calls[self.call.place]
        witness.inlined[self.call.place] = self.function.callee
        if self.call.place in witness.returns:
            witness.blocks[self.behind] = witness.returns[self.call.place]
        for value in [value for value in self.names if value in inner.made]:
            self.make(value)
        for label, held in inner.blocks.items():
            if label in self.labels and label != self.function.entry.label:
                witness.blocks[self.labels[label]] = held.within(outer, self.spoken)
        for place, held in inner.calls.items():
            there = self.place(place)
            assert there is not None
            witness.calls[there] = held.within(outer, self.spoken)

    def spoken(self, value: Value) -> Value:
        """The name of a value of the function, which may be one that is not computed any more."""
        value = self.function.witness.name(value)
        if value not in self.names:
            self.names[value] = self.code.new_value()
            self.make(value)
        return self.names[value]

    def make(self, value: Value) -> None:
        """Note how a value of the function is made of others."""
        how = self.function.witness.made.get(value)
        if how is not None:
            self.code.witness.made[self.names[value]] = how[0], tuple(map(self.spoken, how[1]))

    def name_all(self) -> None:
        """Names for all values of the function."""
        code, function = self.code, self.function
        first = code.first_cell + self.call.height
        self.names |= {v: code.constant(word) for v, word in function.constants.items()}
        for block in function.blocks.values():
            for value in chain(block.parameters, *map(writes, block.steps)):
                if value not in self.names:
                    home = function.home.get(value)
                    self.names[value] = code.new_value(None if home is None else first + home)

    def place(self, place: WasmLocation | None) -> WasmLocation | None:
        """A place in the function, in the place of the call."""
        if place is None:
            return self.call.place
        return place._replace(within=self.place(place.within))

    def step(self, step: Step | Call) -> Step | Call:
        there = replaced(step, self.names)._replace(place=self.place(step.place))
        if isinstance(there, Call):
            height = self.call.height + self.function.first_cell + there.height
            return there._replace(results=self.all(there.results), height=height)
        return there if there.d is None else there._replace(d=self.names[there.d])

    def all(self, values: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(self.names[value] for value in values)

    def edge(self, edge: Edge) -> Edge:
        return Edge(self.labels[edge.label], self.all(edge.arguments))

    def copied(self, block: Block) -> Block:
        end, place = block.end, self.place(block.end.place)
        steps = [self.step(step) for step in block.steps]
        if isinstance(end, TailCall):
            results = tuple(self.code.new_value() for _ in self.call.results)
            height = self.call.height + self.function.first_cell
            steps.append(Call(end.callee, self.all(end.arguments), results, height, place=place))
            end = Jump(Edge(self.behind, results), place)
        elif isinstance(end, Return):
            end = Jump(Edge(self.behind, self.all(end.values)), place)
        else:
            end = mapped(end, self.names.__getitem__, self.edge)._replace(place=place)
        label, parameters = self.labels[block.label], self.all(block.parameters)
        return Block(label, parameters, steps, end, self.place(block.place))
