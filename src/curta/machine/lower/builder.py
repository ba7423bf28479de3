"""The state of translating a function, and what it can be asked to build.

Everything is a value: the operand stack and the locals say only which. So `local.get` and constants
cost nothing, and nobody can overwrite what is still to be read.

Where ways meet there is a `Join`. Whoever goes there leaves what locals and results are on this
way; when the join begins, its block gets a parameter for each that ways disagree about. A `Loop`
begins before all its ways are known, so it has a parameter for everything that may change within.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from curta.machine.instructions import kind_of
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
    Place,
    Step,
    Table,
    Trap,
    Value,
    edges,
    return_register,
    with_edges,
    words,
)
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.rules import WIDE, Facts, Operation, reduce
from curta.machine.lower.witness import Held
from curta.machine.wasm.module import Expression, Function
from curta.machine.wasm.validate_code import Chain, FunctionInfo

_SETS = ("local.set", "local.tee")
Values = tuple[Value, ...]


class Way(NamedTuple):
    """A way to a join: the block that it comes from, and what is known at the end of that."""

    block: Block
    locals: Values
    values: Values
    shared: dict[int, Value]


@dataclass(slots=True)
class Join:
    """A place that ways lead to. `below` is the operand stack under the values that they bring."""

    label: Label
    below: Values
    ways: list[Way] = field(default_factory=list)


@dataclass(slots=True)
class Loop(Join):
    """Ways lead back here; `assigned` are the words of locals that may be others then."""

    assigned: tuple[int, ...] = ()


class To(NamedTuple):
    """Where to go, and with which values."""

    join: Join
    values: Values = ()


class Builder:
    """A function on its way from WebAssembly to blocks of steps."""

    def __init__(
        self, context: ModuleContext, index: int, function: Function, info: FunctionInfo, name: str
    ) -> None:
        self.context = context
        self.body: Expression = function.body
        self.types: tuple[Chain, ...] = info.stacks
        """Of the operands before each instruction, as the validator found them."""
        self.index = 0
        """Of the WebAssembly instruction that is being translated."""
        self.local_words: list[range] = []
        """Where the words of a local are among those of all."""
        self.registers: list[int] = []
        """Homes of the words of locals."""
        self.code = self._lay_out(Code((context.name, index), name, 0, {}, 0), function, info)
        self.pending: dict[Value, Operation] = {}
        """Values that are not computed, because the next instruction takes them."""
        self.facts = Facts(self.code.constants, self.pending)
        parameters = words(info.type.parameters)
        self.locals: Values = tuple(
            self.code.new_value(register) if word < parameters else self.constant(0)
            for word, register in enumerate(self.registers)
        )
        self.shared: dict[int, Value] = {}
        """What shared registers hold, as far as it is known."""
        self.stack: list[Value] = []
        self.blocks: list[Block] = []
        self.rare: list[Block] = []
        """What is seldom reached: it comes after all others."""
        self.place = Place(self.code.callee, 0)
        self.open(self.locals[:parameters])

    def _lay_out(self, code: Code, function: Function, info: FunctionInfo) -> Code:
        """Homes: parameters, where to return to, other locals, places of the stack."""
        parameters = len(info.type.parameters)
        code.results = words(info.type.results)
        back = return_register(words(info.type.parameters), code.results)
        at = 0
        for number, type_ in enumerate((*info.type.parameters, *function.locals)):
            at = back + 1 if number == parameters else at
            count, first = words((type_,)), len(self.registers)
            self.local_words.append(range(first, first + count))
            self.registers += range(at, at + count)
            at += count
        code.first_cell = max(at, back + 1)
        return code

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
        d = self.code.new_value()
        a, b, c = (*reduced.sources, None, None)[:3]
        self.steps.append(Step(reduced.name, d, a, b, c, place=self.place))
        self.make(d, reduced)
        return d

    def defer(self, operation: Operation) -> Value:
        """A value that stands for an operation which is not computed; only rules may take it."""
        value = self.code.new_value()
        self.pending[value] = operation
        self.make(value, operation)
        return value

    def make(self, value: Value, operation: Operation) -> None:
        """Note how a value is made of others, without more coming of it."""
        if kind_of(operation.name) == "value" and not operation.name.startswith(WIDE):
            self.code.witness.made[value] = operation

    def load(self, name: str, address: Value, offset: int) -> Value:
        d = self.code.new_value()
        self.steps.append(Step(name, d, address, immediate=offset, place=self.place))
        return d

    def store(self, name: str, address: Value, value: Value, offset: int) -> None:
        self.steps.append(Step(name, a=address, c=value, immediate=offset, place=self.place))

    def get(self, register: int) -> Value:
        """What a shared register holds."""
        value = self.shared.get(register)
        if value is None:
            value = self.code.new_value()
            self.steps.append(Step("get", value, immediate=register, place=self.place))
            self.shared = {**self.shared, register: value}
        return value

    def set(self, register: int, value: Value) -> None:
        self.steps.append(Step("set", c=value, immediate=register, place=self.place))
        self.shared = {**self.shared, register: value}

    def forget(self, registers: Iterable[int]) -> None:
        """Shared registers may have changed."""
        self.shared = {r: value for r, value in self.shared.items() if r not in registers}

    def set_local(self, index: int, values: Values) -> None:
        place = self.local_words[index]
        self.locals = (*self.locals[: place.start], *values, *self.locals[place.stop :])

    # -- the operand stack ------------------------------------------------------------------------

    def pop(self) -> Value:
        return self.stack.pop()

    def pop_words(self, count: int) -> Values:
        popped = self.top(count)
        del self.stack[len(self.stack) - count :]
        return popped

    def pop_wide(self) -> tuple[Value, Value]:
        """Low word, high word."""
        high = self.stack.pop()
        return self.stack.pop(), high

    def top(self, count: int) -> Values:
        return tuple(self.stack[len(self.stack) - count :])

    def push(self, *values: Value) -> None:
        """New values on the stack: they lie where the local does that comes next, or in cells."""
        following = self.following_local
        homes = () if following is None else self.local_words[following]
        for word, value in enumerate(values):
            if value not in self.code.constants:
                at_home = self.registers[homes[word]] if word < len(homes) else self.cell(word)
                self.code.home.setdefault(value, at_home)
        self.stack += values

    def cell(self, place: int) -> int:
        """The register of a place above the stack."""
        return self.code.first_cell + len(self.stack) + place

    @property
    def following_local(self) -> int | None:
        """The local that the next instruction sets."""
        following = self.body[self.index + 1]
        if following.opcode not in _SETS:
            return None
        index: int = following.operands[0]
        return index

    # -- blocks -----------------------------------------------------------------------------------

    def open(
        self, parameters: Values, label: Label | None = None, *, rare: bool = False, after: int = 0
    ) -> None:
        """Begin a block, of WebAssembly's instruction that is `after` this one."""
        self.steps: list[Step | Call] = []
        place = Place(self.code.callee, self.place.instruction + after)
        label = self.code.new_label() if label is None else label
        self._header: tuple[Label, Values, Place | None, bool] = label, parameters, place, rare
        self.live = True

    def end(self, end: End) -> Block:
        """Close the block; nothing is reached until another one begins."""
        label, parameters, place, rare = self._header
        block = Block(label, parameters, self.steps, end, place)
        (self.rare if rare else self.blocks).append(block)
        self.live = False
        return block

    def new_join(self) -> Join:
        """With the stack as it is now under the values that are brought."""
        return Join(self.code.new_label(), tuple(self.stack))

    def jump(self, join: Join, *values: Value) -> None:
        self._leave(Jump(self._edge(To(join, values)), self.place), To(join, values))

    def trap(self, number: int) -> None:
        self.end(Trap(number, self.place))

    def branch(
        self, comparison: str, a: Value, b: Value, then: To, otherwise: To, rare: int = 0
    ) -> None:
        ways = self._edge(then), self._edge(otherwise)
        self._leave(Branch(comparison, a, b, *ways, rare, self.place), then, otherwise)

    def table(self, index: Value, ways: Sequence[To]) -> None:
        self._leave(Table(index, tuple(self._edge(to) for to in ways), self.place), *ways)

    def _edge(self, to: To) -> Edge:
        """For a loop with all arguments, else with none: they come when the join begins."""
        if isinstance(to.join, Loop):
            return Edge(
                to.join.label, (*(self.locals[word] for word in to.join.assigned), *to.values)
            )
        return Edge(to.join.label)

    def _leave(self, end: End, *ways: To) -> None:
        block = self.end(end)
        for join, values in ways:
            join.ways.append(Way(block, self.locals, values, self.shared))

    def begin(self, join: Join, *, rare: bool = False, after: int = 0) -> Values:
        """Go on where ways meet, and with the values that they bring."""
        ways = join.ways
        self.stack = list(join.below)
        if not ways:
            return ()
        block, self.shared = ways[0].block, ways[0].shared
        for way in ways[1:]:
            self.shared = dict(self.shared.items() & way.shared.items())
        if len(ways) == 1 and isinstance(block.end, Jump) and self.blocks[-1:] == [block]:
            del self.blocks[-1]
            self._header = block.label, block.parameters, block.place, False
            self.steps, self.locals, self.live = block.steps, ways[0].locals, True
            return ways[0].values
        parameters, values = self._merge(ways)
        arguments = zip(*parameters.values(), strict=True) if parameters else [()] * len(ways)
        for way, given in zip(ways, arguments, strict=True):
            _give(way.block, join.label, given)
        self.open(tuple(parameters), join.label, rare=rare, after=after)
        return values

    def _merge(self, ways: Sequence[Way]) -> tuple[dict[Value, Values], Values]:
        """A parameter for each word that ways disagree about, and what it is on each of them;
        the values that they bring.
        """
        parameters: dict[Value, Values] = {}
        merged = []
        homes = (*self.registers, *[None] * len(ways[0].values))
        rows = (way.locals + way.values for way in ways)
        for home, column in zip(homes, zip(*rows, strict=True), strict=True):
            value = column[0]
            if column.count(value) != len(column):
                value = self.code.new_value(home)
                parameters[value] = column
            merged.append(value)
        count = len(self.registers)
        self.locals = tuple(merged[:count])
        return parameters, tuple(merged[count:])

    def begin_loop(self, assigned: tuple[int, ...], changing: Iterable[int], takes: int) -> Loop:
        """Go on in a loop that takes words from the stack; registers may change within."""
        given = self.pop_words(takes)
        loop = Loop(self.code.new_label(), tuple(self.stack), assigned=assigned)
        self.jump(loop, *given)
        changed = {word: self.code.new_value(self.registers[word]) for word in assigned}
        taken = tuple(self.code.new_value(self.cell(place)) for place in range(takes))
        self.locals = tuple(changed.get(word, value) for word, value in enumerate(self.locals))
        self.forget(set(changing))
        self.open((*changed.values(), *taken), loop.label)
        self.stack += taken
        return loop

    def held(self, place: Place) -> Held:
        """What WebAssembly's words are now."""
        return Held(place, (*self.locals, *self.stack), self.shared)

    def tell(self) -> None:
        """Note what is held before an instruction, where a block begins or a call comes back."""
        label = self._header[0]
        witness = self.code.witness
        if not self.live:
            return
        if not self.steps:
            witness.blocks.setdefault(label, self.held(self.place))
        elif isinstance(self.steps[-1], Call) and self.steps[-1].place is not None:
            witness.returns.setdefault(self.steps[-1].place, self.held(self.place))

    # -- calls ------------------------------------------------------------------------------------

    def call(
        self, callee: Callee | None, takes: int, gives: int, pointer: Value | None = None
    ) -> None:
        """Call with the words on top of the stack: a function, or the one that a value names."""
        arguments = self.pop_words(takes)
        results = tuple(self.code.new_value() for _ in range(gives))
        self.code.witness.calls[self.place] = self.held(self.place)
        self.steps.append(
            Call(callee, arguments, results, len(self.stack), pointer, self.place),
        )
        if callee is None or callee[0] == self.context.name:
            self.forget(self.context.mutable)
        self.push(*results)

    def call_library(self, name: str, takes: int, gives: int) -> None:
        """An instruction that is a function of the library."""
        self.call(self.context.library(name), takes, gives)


def _give(block: Block, label: Label, arguments: Values) -> None:
    """Let a block's ways to a label have these arguments."""
    block.end = with_edges(
        block.end,
        tuple(
            edge._replace(arguments=arguments) if edge.label == label else edge
            for edge in edges(block.end)
        ),
    )
