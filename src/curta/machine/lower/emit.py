"""Emit: from values in blocks to instructions in a row, once registers are chosen.

Copies are made where a value is not where it is wanted: on edges, before calls and returns. What an
edge copies is the edge's *landing*. It comes right behind the branch that leads there, or behind
all else if it is rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from curta.machine.core_program import Claim
from curta.machine.instructions import CoreInstruction
from curta.machine.layout import SCRATCH
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Code,
    Edge,
    End,
    Exit,
    Jump,
    Label,
    Return,
    Step,
    Switch,
    TailCall,
    TrapEnd,
    Value,
    WasmLocation,
    return_register,
)
from curta.machine.lower.conflicts import bits_of, members
from curta.machine.lower.context import SharedRegisters
from curta.machine.lower.flat import INVERTED, Flat, JumpTarget, Line
from curta.machine.lower.operations import GET, SET, takes_immediate
from curta.machine.lower.registers import Registers

_MOVED_SOURCE = 1
"""Beyond the frame lie a register to break circles, and one for the pointer of a call."""


class Constant(NamedTuple):
    """A constant that a register is to hold."""

    word: int


Moves = dict[int, int | Constant]
"""The registers that are written at once, and where their contents come from."""


def emit(code: Code, registers: Registers, shared: SharedRegisters) -> Flat:
    """The function's lines."""
    writer = _Writer(code, registers, shared)
    for block in code.blocks.values():
        writer.write(block)
    lines = writer.lines + writer.late
    frame = registers.frame + 1 + _MOVED_SOURCE
    return Flat(code.callee, code.name, lines, frame, registers, writer.claim, code.witness.inlined)


class _Writer:
    def __init__(self, code: Code, registers: Registers, shared: SharedRegisters) -> None:
        self.code, self.registers, self.shared = code, registers, shared
        self.of = registers.of
        self.lines: list[Line | JumpTarget] = []
        self.late: list[Line | JumpTarget] = []
        """What is rare."""
        self.landings: dict[Edge, Label] = {}
        """Where the copies of edges begin to which others jump."""

    def write(self, block: Block) -> None:
        self.lines.append(JumpTarget(block.label))
        if block is self.code.entry:
            self.move(self.found_at(block.parameters, 0), block.place)
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                self.call(step, self.registers.slots[block.label, index])
            else:
                self.step(step)
        self.end(block.end)

    def claim(self, label: Label) -> Claim | None:
        """What registers hold where a block begins, and WebAssembly; of a block that only goes on
        to another one, where that begins.
        """
        conflicts, seen = self.registers.conflicts, {label}
        if label not in self.code.blocks:
            return None
        block = self.code.blocks[label]
        while not block.steps and isinstance(block.end, Jump):
            edge = block.end.edge
            if edge.label in seen or self.edge_moves(edge):
                break
            seen.add(edge.label)
            block = self.code.blocks[edge.label]
        live = conflicts.live[block.label] | bits_of(block.parameters) & ~conflicts.unread
        held = [
            (self.of[value], None if value == conflicts.returned else value)
            for value in members(live)
            if value in self.of
        ]
        return self.code.witness.claim(block.label, held, self.code.constants)

    # -- operands ---------------------------------------------------------------------------------

    def register(self, value: Value | None) -> int:
        """The register to read a value from; 0 if there is none."""
        if value is None:
            return 0
        word = self.code.constants.get(value)
        return self.of[value] if word is None else self.shared.constant(word)

    def source(self, value: Value) -> int | Constant:
        word = self.code.constants.get(value)
        return self.of[value] if word is None else Constant(word)

    def found_at(self, values: Sequence[Value], first: int) -> Moves:
        """The moves that bring values, which are in a row, where they belong if they are read."""
        read = ~self.registers.conflicts.unread
        return {self.of[v]: place for place, v in enumerate(values, first) if read >> v & 1}

    def given_at(self, values: Sequence[Value], first: int) -> Moves:
        """The moves that put values in a row."""
        return {place: self.source(value) for place, value in enumerate(values, first)}

    # -- lines ------------------------------------------------------------------------------------

    def add(self, instruction: CoreInstruction, place: WasmLocation | None) -> None:
        self.lines.append(Line(instruction, place))

    def move(self, moves: Moves, place: WasmLocation | None) -> None:
        """The copies that make the moves."""
        self.lines += self.moved(moves, place)

    def moved(self, moves: Moves, place: WasmLocation | None) -> list[Line]:
        turns = in_turn(moves, self.registers.frame) if moves else ()
        return [Line(_copy(d, source), place) for d, source in turns]

    def step(self, step: Step) -> None:
        operation, d, a, b, c, e, immediate, place = step
        if operation == SET and c is not None:
            self.move({immediate: self.source(c)}, place)
        elif operation == GET and d is not None:
            self.move({self.of[d]: immediate}, place)
        else:
            word = None if b is None else self.code.constants.get(b)
            if word is not None and takes_immediate(operation):
                b, immediate = None, word
            a, c = self.register(a), self.register(c)
            b = None if b is None else self.register(b)
            to = 0 if d is None else self.of[d]
            fourth = 0 if e is None else self.register(e)
            self.add(CoreInstruction(operation, a, b, c, to, immediate, fourth), place)

    def call(self, call: Call, slot: int) -> None:
        moves = self.given_at(call.arguments, slot)
        pointer = self.register(call.pointer)
        if call.pointer is not None and pointer in moves:
            beyond = self.registers.frame + _MOVED_SOURCE
            moves[beyond], pointer = pointer, beyond
        self.move(moves, call.place)
        d = slot + return_register(len(call.arguments), len(call.results))
        operation = "call" if call.callee else "call_to"
        instruction = CoreInstruction(operation, pointer, d=d, immediate=slot)
        self.lines.append(Line(instruction, call.place, callee=call.callee))
        self.move(self.found_at(call.results, slot), call.place)

    # -- ends -------------------------------------------------------------------------------------

    def end(self, end: End) -> None:
        match end:
            case Jump():
                self.lines += self.followed(end.edge)
            case Branch():
                self.branch(end)
            case Switch():
                self.switch(end)
            case Return():
                self.move(self.given_at(end.values, 0), end.place)
                self.add(CoreInstruction("return", self.registers.back), end.place)
            case TailCall():
                self.move(self.given_at(end.arguments, 0), end.place)
                self.lines.append(Line(CoreInstruction("jump"), end.place, callee=end.callee))
            case TrapEnd():
                self.add(CoreInstruction("trap", immediate=end.number), end.place)
            case Exit():
                self.move({SCRATCH: self.source(end.code)}, end.place)
                self.add(CoreInstruction("exit"), end.place)

    def branch(self, end: Branch) -> None:
        """Jump one way, and go on the other."""
        comparison, jumped, other = f"jump_{end.comparison}", end.then, end.otherwise
        if end.rare == -1:
            comparison, jumped, other = INVERTED[comparison], other, jumped
        waiting: list[Edge] = []
        target = self.target(jumped, waiting)
        word = self.code.constants.get(end.b)
        b = self.register(end.b) if word is None else None
        instruction = CoreInstruction(comparison, self.register(end.a), b, immediate=word or 0)
        self.lines.append(Line(instruction, end.place, (target,)))
        self.lines += self.followed(other)
        for edge in waiting:
            (self.late if end.rare else self.lines).extend(self.landing(edge))

    def switch(self, end: Switch) -> None:
        waiting: list[Edge] = []
        targets = tuple(self.target(edge, waiting) for edge in end.edges)
        chosen, last = self.register(end.chosen), len(end.edges) - 1
        instruction = CoreInstruction("jump_table", chosen, immediate=last)
        self.lines.append(Line(instruction, end.place, targets))
        for edge in waiting:
            self.lines += self.landing(edge)

    # -- edges ------------------------------------------------------------------------------------

    def edge_moves(self, edge: Edge) -> Moves:
        """What has to be copied on a way to a block."""
        if not edge.arguments:
            return {}
        parameters = self.code.blocks[edge.label].parameters
        return {
            self.of[parameter]: source
            for parameter, value in zip(parameters, edge.arguments, strict=True)
            if self.of[parameter] != (source := self.source(value))
        }

    def followed(self, edge: Edge) -> list[Line]:
        """Copy what the edge wants, and jump: then WebAssembly is where the edge leads."""
        place = self.code.blocks[edge.label].place
        jump = Line(CoreInstruction("jump"), place, (edge.label,))
        return [*self.moved(self.edge_moves(edge), place), jump]

    def landing(self, edge: Edge) -> list[Line | JumpTarget]:
        """The copies of an edge, to which others jump."""
        return [JumpTarget(self.landings[edge]), *self.followed(edge)]

    def target(self, edge: Edge, waiting: list[Edge]) -> Label:
        """Where to jump: to the edge's landing, which waits to be written, if it has one."""
        if not self.edge_moves(edge):
            return edge.label
        if edge not in self.landings:
            self.landings[edge] = self.code.new_label()
            waiting.append(edge)
        return self.landings[edge]


def _copy(d: int, source: int | Constant) -> CoreInstruction:
    if isinstance(source, Constant):
        return CoreInstruction("copy", d=d, immediate=source.word)
    return CoreInstruction("copy", b=source, d=d)


def in_turn(moves: Moves, scratch: int) -> Iterator[tuple[int, int | Constant]]:
    """The moves one by one, with nothing overwritten too early; circles are broken by a register
    that nothing else is in.
    """
    waiting = {d: source for d, source in moves.items() if d != source}
    readers: dict[int | Constant, int] = {}
    for source in waiting.values():
        readers[source] = readers.get(source, 0) + 1
    ready = [d for d in waiting if d not in readers]
    while waiting:
        while ready:
            d = ready.pop()
            source = waiting.pop(d)
            yield d, source
            readers[source] -= 1
            if not readers[source] and source in waiting:
                ready.append(source)
        if waiting:
            d = next(iter(waiting))
            yield scratch, d
            readers[scratch], readers[d] = readers[d], 0
            waiting = {x: scratch if s == d else s for x, s in waiting.items()}
            ready.append(d)
