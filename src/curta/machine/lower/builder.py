"""The state of translating a function, and what it can be asked to build.

Everything is a value: the operand stack and the locals say only which. So `local.get` and constants
cost nothing, and nobody can overwrite what is still to be read. An operand is a tuple of words: one
of them, or a low and a high one.

Where ways meet there is a `Join`. Whoever goes there leaves what locals and results are on this
way; when the join begins, its block gets a parameter for each that ways disagree about. A loop
begins before all its ways are known, so it has a parameter for everything that may change within.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from curta.machine.library import instruction_function
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Callee,
    Code,
    Edge,
    End,
    Jump,
    Label,
    Return,
    Step,
    Switch,
    TrapEnd,
    Value,
    WasmLocation,
    mapped,
    return_register,
)
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.operations import GET, SET, gives_value
from curta.machine.lower.rules import WIDE, Facts, Operation, reduce
from curta.machine.lower.witness import HeldWords
from curta.machine.values import word_count
from curta.machine.wasm.module import Function

Values = tuple[Value, ...]
Operands = tuple[Values, ...]


def flat(operands: Iterable[Values]) -> Values:
    """The words of operands."""
    return tuple(chain.from_iterable(operands))


def grouped(values: Iterable[Value], widths: Iterable[int]) -> Operands:
    """Words as operands of so many words each."""
    rest = iter(values)
    return tuple(tuple(islice(rest, width)) for width in widths)


class IncomingEdge(NamedTuple):
    """An edge to a join: the block that it comes from, and what is known at the end of that."""

    block: Block
    locals: Operands
    values: Operands


@dataclass(slots=True)
class Join:
    """A place that ways lead to. `below` is the operand stack under the values that they bring."""

    label: Label
    below: Operands
    incoming: list[IncomingEdge] = field(default_factory=list)
    assigned: tuple[int, ...] | None = None
    """If this is a loop, the locals that may be others when a way leads back."""


class To(NamedTuple):
    """Where to go, and with which values."""

    join: Join
    values: Operands = ()


class Construct(NamedTuple):
    """A block, loop or if that is open. Branches bring `arity` operands to its label."""

    join: Join
    arity: int
    other: To | None = None
    """Where an if goes on when its condition does not hold, if it has an else."""


class Builder:
    """A function on its way from WebAssembly to blocks of steps."""

    def __init__(self, context: ModuleContext, index: int, function: Function, name: str) -> None:
        self.context = context
        self.type = context.functions[index]
        self.body = function.body
        self.index = 0
        """Of the WebAssembly instruction that is being translated."""
        self.code = Code((context.name, index), name, word_count(self.type.results), {}, 0)
        self.registers = self._lay_out(function)
        """Homes of the words of locals."""
        self.pending: dict[Value, Operation] = {}
        """Values that are not computed, because the next instruction takes them."""
        self.facts = Facts(self.code.constants, self.pending)
        taken = len(self.type.parameters)
        self.locals: list[Values] = [
            tuple(self.code.new_value(home) if n < taken else self.constant(0) for home in homes)
            for n, homes in enumerate(self.registers)
        ]
        self.stack: list[Values] = []
        self.constructs: list[Construct] = []
        """Those that are open."""
        self.exits: dict[Return | TrapEnd, Join] = {}
        """Ways out of the function that branches share."""
        self.blocks: list[Block] = []
        self.rare: list[Block] = []
        """What is seldom reached: it comes after all others."""
        self.place = WasmLocation(self.code.callee, 0)
        self.open(flat(self.locals[:taken]))

    def _lay_out(self, function: Function) -> tuple[range, ...]:
        """Parameters, where to return to, other locals, places of the stack."""
        parameters = self.type.parameters
        back = return_register(word_count(parameters), self.code.results)
        homes, at = [], 0
        for number, type_ in enumerate((*parameters, *function.locals)):
            at = back + 1 if number == len(parameters) else at
            homes.append(range(at, at + word_count((type_,))))
            at = homes[-1].stop
        self.code.first_cell = max(at, back + 1)
        return tuple(homes)

    # -- values -----------------------------------------------------------------------------------

    def constant(self, word: int) -> Value:
        return self.code.constant(word)

    def word(self, value: Value) -> int | None:
        """What a constant is."""
        return self.code.constants.get(value)

    def reduce(self, operation: Operation) -> Operation | Value:
        """The same by the rules: a value that is there already, or an operation."""
        return reduce(operation, self.facts, self.constant)

    def value(self, name: str, *sources: Value) -> Value:
        """What an operation gives, which is computed if it has to be."""
        reduced = self.reduce(Operation(name, sources))
        if isinstance(reduced, Value):
            return reduced
        return self.compute(reduced.name, *reduced.sources)

    def compute(self, name: str, *sources: Value, immediate: int = 0) -> Value:
        """What a new step gives."""
        d = self.code.new_value()
        a, b, c, e = (*sources, None, None, None, None)[:4]
        self.block.steps.append(Step(name, d, a, b, c, e, immediate, self.place))
        self.make(d, Operation(name, sources))
        return d

    def do(self, step: Step) -> None:
        """A new step that gives nothing."""
        self.block.steps.append(step._replace(place=self.place))

    def defer(self, operation: Operation) -> Value:
        """A value that stands for an operation which is not computed; only rules may take it."""
        value = self.code.new_value()
        self.pending[value] = operation
        self.make(value, operation)
        return value

    def make(self, value: Value, operation: Operation) -> None:
        """Note how a value is made of others, without more coming of it."""
        if gives_value(operation.name) and not operation.name.startswith(WIDE):
            self.code.witness.made[value] = operation

    def load(self, name: str, address: Value, offset: int) -> Value:
        return self.compute(name, address, immediate=offset)

    def get(self, register: int) -> Value:
        """What a shared register holds."""
        return self.compute(GET, immediate=register)

    def set(self, register: int, value: Value) -> None:
        self.do(Step(SET, c=value, immediate=register))

    # -- the operand stack ------------------------------------------------------------------------

    def top(self, count: int) -> Operands:
        return tuple(self.stack[len(self.stack) - count :])

    def pop(self, count: int) -> Operands:
        popped = self.top(count)
        del self.stack[len(self.stack) - count :]
        return popped

    def pop_word(self) -> Value:
        (word,) = self.stack.pop()
        return word

    def push(self, *operands: Values) -> None:
        """New operands on the stack."""
        self.settle(flat(operands))
        self.stack += operands

    def settle(self, values: Values) -> None:
        """New values lie where the local does that the next instruction sets, or in cells."""
        following = self.following_local
        homes = () if following is None else self.registers[following]
        home, constants = self.code.home, self.code.constants
        for word, value in enumerate(values):
            if value not in home and value not in constants:
                home[value] = homes[word] if word < len(homes) else self.cell(word)

    @property
    def height(self) -> int:
        """How many words are on the stack."""
        return sum(map(len, self.stack))

    def cell(self, place: int) -> int:
        """The register of a place above the stack."""
        return self.code.first_cell + self.height + place

    @property
    def following_local(self) -> int | None:
        """The local that the next instruction sets."""
        following = self.body[self.index + 1]
        if following.opcode not in ("local.set", "local.tee"):
            return None
        index: int = following.operands[0]
        return index

    # -- blocks -----------------------------------------------------------------------------------

    def open(
        self, parameters: Values, label: Label | None = None, *, rare: bool = False, after: int = 0
    ) -> None:
        """Begin a block, of WebAssembly's instruction that is `after` this one."""
        place = WasmLocation(self.code.callee, self.place.instruction + after)
        label = self.code.new_label() if label is None else label
        self.block = Block(label, parameters, [], TrapEnd(0), place)
        (self.rare if rare else self.blocks).append(self.block)
        self.live = True

    def end(self, end: End) -> None:
        """Close the block; nothing is reached until another one begins."""
        self.block.end = end
        self.live = False

    def new_join(self) -> Join:
        """With the stack as it is now under the values that are brought."""
        return Join(self.code.new_label(), tuple(self.stack))

    def jump(self, to: To) -> None:
        self._leave(Jump(self._edge(to), self.place), to)

    def branch(
        self, comparison: str, a: Value, b: Value, then: To, otherwise: To, rare: int = 0
    ) -> None:
        ways = self._edge(then), self._edge(otherwise)
        self._leave(Branch(comparison, a, b, *ways, rare, self.place), then, otherwise)

    def switch(self, index: Value, ways: Sequence[To]) -> None:
        self._leave(Switch(index, tuple(self._edge(to) for to in ways), self.place), *ways)

    def trap(self, number: int) -> None:
        self.end(TrapEnd(number, self.place))

    def exit(self, end: Return | TrapEnd) -> To:
        """To where the function returns or traps."""
        if end not in self.exits:
            self.exits[end] = self.new_join()
        return To(self.exits[end])

    def target(self, depth: int) -> To:
        """Where a branch leads, with the values on the stack."""
        if depth == len(self.constructs):
            return self.exit(Return(flat(self.top(len(self.type.results)))))
        construct = self.constructs[-1 - depth]
        return To(construct.join, self.top(construct.arity))

    def _edge(self, to: To) -> Edge:
        """For a loop with all arguments, else with none: they come when the join begins."""
        if to.join.assigned is None:
            return Edge(to.join.label)
        assigned = tuple(self.locals[index] for index in to.join.assigned)
        return Edge(to.join.label, flat(assigned + to.values))

    def _leave(self, end: End, *ways: To) -> None:
        self.end(end)
        for join, values in ways:
            join.incoming.append(IncomingEdge(self.block, tuple(self.locals), values))

    def begin(self, join: Join, *, rare: bool = False, after: int = 0) -> Operands:
        """Go on where ways meet, and with the values that they bring."""
        incoming = join.incoming
        self.stack = list(join.below)
        if not incoming:
            return ()
        block = incoming[0].block
        if len(incoming) == 1 and isinstance(block.end, Jump) and self.blocks[-1] is block:
            self.block, self.locals, self.live = block, list(incoming[0].locals), True
            return incoming[0].values
        parameters: dict[Value, Values] = {}
        values = self._merge(incoming, parameters)
        if parameters:
            for edge, arguments in zip(
                incoming, zip(*parameters.values(), strict=True), strict=True
            ):
                _give(edge.block, join.label, arguments)
        self.open(tuple(parameters), join.label, rare=rare, after=after)
        return values

    def _merge(self, incoming: Sequence[IncomingEdge], parameters: dict[Value, Values]) -> Operands:
        """A parameter for each word that ways disagree about, with what it is on each of them; the
        values that they bring.
        """
        homes = (*self.registers, *[None] * len(incoming[0].values))
        columns = zip(*(edge.locals + edge.values for edge in incoming), strict=True)
        merged = [
            operands[0]
            if operands.count(operands[0]) == len(operands)
            else self._meet(operands, registers, parameters)
            for registers, operands in zip(homes, columns, strict=True)
        ]
        self.locals = merged[: len(self.registers)]
        return tuple(merged[len(self.registers) :])

    def _meet(
        self, operands: Operands, registers: range | None, parameters: dict[Value, Values]
    ) -> Values:
        """An operand where it is one of these, with parameters for the words that differ."""
        met = []
        for number, given in enumerate(zip(*operands, strict=True)):
            value = given[0]
            if given.count(value) != len(given):
                value = self.code.new_value(None if registers is None else registers[number])
                parameters[value] = given
            met.append(value)
        return tuple(met)

    def begin_loop(self, assigned: tuple[int, ...], takes: int) -> Join:
        """Go on in a loop that takes operands from the stack."""
        given = self.pop(takes)
        loop = Join(self.code.new_label(), tuple(self.stack), assigned=assigned)
        self.jump(To(loop, given))
        for index in assigned:
            self.locals[index] = tuple(map(self.code.new_value, self.registers[index]))
        cells = range(self.cell(0), self.cell(len(flat(given))))
        taken = tuple(map(self.code.new_value, cells))
        self.open((*flat(self.locals[index] for index in assigned), *taken), loop.label)
        self.stack += grouped(taken, map(len, given))
        return loop

    def held(self) -> HeldWords:
        """What WebAssembly's words are before the present instruction, or at its call."""
        return HeldWords(self.place, flat((*self.locals, *self.stack)))

    def tell(self) -> None:
        """Note what is held before an instruction, where a block begins or a call comes back."""
        witness, steps = self.code.witness, self.block.steps
        if not steps:
            witness.blocks.setdefault(self.block.label, self.held())
        elif isinstance(steps[-1], Call) and steps[-1].place is not None:
            witness.returns.setdefault(steps[-1].place, self.held())

    # -- calls ------------------------------------------------------------------------------------

    def call(
        self, callee: Callee | None, arguments: Values, gives: int, pointer: Value | None = None
    ) -> Values:
        """What a function gives, or the one that a value names; arguments were popped."""
        self.settle(arguments)
        results = tuple(self.code.new_value() for _ in range(gives))
        self.code.witness.calls[self.place] = self.held()
        self.block.steps.append(Call(callee, arguments, results, self.height, pointer, self.place))
        self.settle(results)
        return results

    def call_library(self, name: str, arguments: Values, gives: int) -> Values:
        """What a function of the library gives that stands for an instruction."""
        return self.call(instruction_function(name), arguments, gives)


def _give(block: Block, label: Label, arguments: Values) -> None:
    """Let a block's ways to a label have these arguments."""
    given = Edge(label, arguments)
    block.end = mapped(
        block.end, lambda value: value, lambda edge: given if edge.label == label else edge
    )
