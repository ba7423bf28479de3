"""Code of one function while it is lowered: values in blocks.

A *value* is a word of 32 bits that is computed once and never changes: a virtual register that one
step writes. Numbers of 64 bits are two values, the low word first. Constants are values too. Locals
of WebAssembly are not here: translation keeps in mind which value a local has, and where ways meet
a block has parameters, to which each edge gives arguments (SSA with block parameters).

What can change are the *shared registers* (globals, the size of the memory, lengths of passive
segments): `get` reads one, `set` writes one, and a call may change those that are mutable. Memory,
input and output are outside; their steps stay in order.

A block is steps without jumps, and an end that says where it goes on. Every block but the first is
reached by edges only; nothing falls through.

Passes take a `Code` and give one back; none changes a step. After each of them check.py says which
rule is broken, if one is. Registers are chosen at the very end (`allocate`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from curta.machine.core_program import USER, Callee, WasmLocation
from curta.machine.lower.witness import Witness

__all__ = ["USER", "Callee", "WasmLocation"]

Value = int
Label = int


class Step(NamedTuple):
    """A core instruction on values. `a`, `b`, `c`, `e` are its sources as instructions.py has
    them: a constant b becomes the immediate where there is none, other constants lie in shared
    registers.
    Loads and stores have an address a, maybe an index b, the value stored c, an offset `immediate`.

    Beside the operations of the machine there are `get` and `set`: the shared register is the
    immediate; `set` writes c.
    """

    operation: str
    d: Value | None = None
    a: Value | None = None
    b: Value | None = None
    c: Value | None = None
    e: Value | None = None
    immediate: int = 0
    place: WasmLocation | None = None


class Call(NamedTuple):
    """A call of `callee`, or of the function at `pointer`. The callee's frame begins `height`
    registers above the first that no local needs: as many words lie below its arguments on
    WebAssembly's stack, and so arguments can mostly be computed where they are wanted.
    """

    callee: Callee | None
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    height: int
    pointer: Value | None = None
    place: WasmLocation | None = None


class Edge(NamedTuple):
    """A way to a block, and what its parameters are when one comes this way."""

    label: Label
    arguments: tuple[Value, ...] = ()


class Jump(NamedTuple):
    edge: Edge
    place: WasmLocation | None = None


class Branch(NamedTuple):
    """`then` if a and b compare so (COMPARISONS), else `otherwise`. `rare` is 1 if `then` is seldom
    taken, -1 if `otherwise` is, 0 if nothing is known: what is rare lies behind all else.
    """

    comparison: str
    a: Value
    b: Value
    then: Edge
    otherwise: Edge
    rare: int = 0
    place: WasmLocation | None = None


class Switch(NamedTuple):
    """The edge of number `chosen`, or the last one if there are fewer."""

    chosen: Value
    edges: tuple[Edge, ...]
    place: WasmLocation | None = None


class Return(NamedTuple):
    values: tuple[Value, ...]
    place: WasmLocation | None = None


class TailCall(NamedTuple):
    """What the callee gives is what this function gives; it takes over the frame."""

    callee: Callee
    arguments: tuple[Value, ...]
    place: WasmLocation | None = None


class TrapEnd(NamedTuple):
    number: int
    place: WasmLocation | None = None


class Exit(NamedTuple):
    """The program ends with this exit code."""

    code: Value
    place: WasmLocation | None = None


End = Jump | Branch | Switch | Return | TailCall | TrapEnd | Exit


@dataclass(slots=True)
class Block:
    label: Label
    parameters: tuple[Value, ...]
    steps: list[Step | Call]
    end: End
    place: WasmLocation | None = None
    """Where WebAssembly is when the block begins."""


@dataclass(slots=True)
class Code:
    """A function. The first block is its entry; its parameters are the function's, in words.

    `home` is where a value would lie if every local and every place of the stack had a register of
    its own, as far as one is known: what allocation tries first. Locals come first (parameters,
    the register that holds where to return to, others), from `first_cell` on the stack.
    """

    callee: Callee
    name: str
    results: int
    blocks: dict[Label, Block]
    """In the order in which they are to lie."""
    first_cell: int
    constants: dict[Value, int] = field(default_factory=dict)
    numbers: dict[int, Value] = field(default_factory=dict)
    """Constants by their words."""
    home: dict[Value, int] = field(default_factory=dict)
    witness: Witness = field(default_factory=Witness)
    next_value: int = 0
    next_label: int = 0

    @property
    def entry(self) -> Block:
        return next(iter(self.blocks.values()))

    @property
    def parameters(self) -> int:
        """How many words the function takes."""
        return len(self.entry.parameters)

    @property
    def needs(self) -> set[Callee]:
        """What it calls."""
        calls = (s for b in self.blocks.values() for s in (*b.steps, b.end))
        return {s.callee for s in calls if isinstance(s, Call | TailCall) and s.callee}

    def new_value(self, home: int | None = None) -> Value:
        value, self.next_value = self.next_value, self.next_value + 1
        if home is not None:
            self.home[value] = home
        return value

    def constant(self, word: int) -> Value:
        value = self.numbers.get(word)
        if value is None:
            value = self.numbers[word] = self.new_value()
            self.constants[value] = word
        return value

    def new_label(self) -> Label:
        label, self.next_label = self.next_label, self.next_label + 1
        return label


def edges(end: End) -> tuple[Edge, ...]:
    """The ways out of a block, within the function."""
    match end:
        case Jump():
            return (end.edge,)
        case Branch():
            return end.then, end.otherwise
        case Switch():
            return end.edges
    return ()


def mapped(end: End, name: Callable[[Value], Value], way: Callable[[Edge], Edge]) -> End:
    """The same end with other names of what it reads itself, and other edges."""
    match end:
        case Jump():
            return end._replace(edge=way(end.edge))
        case Branch():
            comparison, a, b, then, otherwise, rare, place = end
            return Branch(comparison, name(a), name(b), way(then), way(otherwise), rare, place)
        case Switch():
            return end._replace(chosen=name(end.chosen), edges=tuple(map(way, end.edges)))
        case Return():
            return end._replace(values=tuple(map(name, end.values)))
        case TailCall():
            return end._replace(arguments=tuple(map(name, end.arguments)))
        case Exit():
            return end._replace(code=name(end.code))
    return end


def end_reads(end: End) -> tuple[Value, ...]:
    """The values that an end reads, those that it gives to edges left out."""
    match end:
        case Branch():
            return end.a, end.b
        case Switch():
            return (end.chosen,)
        case Return():
            return end.values
        case TailCall():
            return end.arguments
        case Exit():
            return (end.code,)
    return ()


def end_uses(end: End) -> tuple[Value, ...]:
    """The values that an end reads, and those that it gives to edges."""
    return sum((edge.arguments for edge in edges(end)), end_reads(end))


def reads(step: Step | Call) -> list[Value]:
    """The values that a step reads."""
    sources = (*step.arguments, step.pointer) if isinstance(step, Call) else step[2:6]
    return [value for value in sources if value is not None]


def writes(step: Step | Call) -> tuple[Value, ...]:
    if isinstance(step, Call):
        return step.results
    return () if step.d is None else (step.d,)


def return_register(parameters: int, results: int) -> int:
    """Where in its frame a function finds out where to return to."""
    return max(parameters, results)
