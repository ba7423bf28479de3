"""Emit: from values in blocks to instructions in a row, once registers are chosen.

Copies are made where a value is not where it is wanted: on edges, before calls and returns. What an
edge copies comes right behind the jump that does not take it, or behind all else if it is rare.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from curta.machine.instructions import Instruction
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
    Place,
    Return,
    Step,
    Table,
    TailCall,
    Trap,
    Value,
    edges,
    end_uses,
    reads,
    return_register,
)
from curta.machine.lower.context import SharedRegisters
from curta.machine.lower.flat import INVERTED, Flat, Line, Mark, Way
from curta.machine.lower.liveness import members
from curta.machine.lower.moves import Word, in_turn
from curta.machine.lower.operations import GET, SET, takes_immediate
from curta.machine.lower.registers import Registers
from curta.machine.lower.rules import SWAPPED

_MOVED_SOURCE = 1
"""Beyond the frame lie a register to break circles, and one for the pointer of a call."""


def emit(code: Code, registers: Registers, shared: SharedRegisters) -> Flat:
    """The function's lines."""
    writer = _Writer(code, registers, shared)
    for block in code.blocks.values():
        writer.write(block)
    lines = writer.lines + writer.late
    frame = registers.frame + 1 + _MOVED_SOURCE
    return Flat(code.callee, code.name, lines, frame, writer.next_label, registers.calls)


class _Writer:
    def __init__(self, code: Code, registers: Registers, shared: SharedRegisters) -> None:
        self.code, self.registers, self.shared = code, registers, shared
        self.of = registers.of
        self.lines: list[Line | Mark] = []
        self.late: list[Line | Mark] = []
        """What is rare."""
        self.next_label = code.next_label
        self.read = _all_read(code)
        self.landings: dict[Edge, Label] = {}
        self.before: dict[Label, list[Edge]] = {}
        """Edges whose copies come right before blocks."""
        blocks = list(code.blocks.values())
        self.next = {block.label: after.label for block, after in pairwise(blocks)}
        self.following: Label | None = None
        self.fallen_into = {
            after.label
            for block, after in pairwise(blocks)
            if any(edge.label == after.label for edge in edges(block.end))
        }
        ends = [block.end for block in blocks]
        branched = {e for end in ends if not isinstance(end, Jump) for e in edges(end)}
        self.jumps = {
            end.edge for end in ends if isinstance(end, Jump) and self.edge_moves(end.edge)
        }
        """Edges that others branch to, and that are still to be written."""
        self.jumps &= branched
        self.written: set[Label] = set()

    def write(self, block: Block) -> None:
        for edge in self.before.get(block.label, ()):
            self.land(edge)
        self.written.add(block.label)
        self.following = self.next.get(block.label)
        self.lines.append(Mark(block.label, block.place))
        if block is self.code.entry and block.parameters:
            self.move(self.found_at(block.parameters, 0), block.place)
        for index, step in enumerate(block.steps):
            if isinstance(step, Call):
                self.call(step, self.registers.slots[block.label, index])
            else:
                self.step(step)
        self.end(block.end)

    # -- operands ---------------------------------------------------------------------------------

    def register(self, value: Value | None) -> int:
        """The register to read a value from; 0 if there is none."""
        if value is None:
            return 0
        word = self.code.constants.get(value)
        return self.of[value] if word is None else self.shared.constant(word)

    def source(self, value: Value) -> int | Word:
        word = self.code.constants.get(value)
        return self.of[value] if word is None else Word(word)

    def found_at(self, values: Sequence[Value], first: int) -> dict[int, int | Word]:
        """The moves that bring values, which are in a row, where they belong."""
        return {
            self.of[value]: first + place
            for place, value in enumerate(values)
            if value in self.read
        }

    def given_at(self, values: Sequence[Value], first: int) -> dict[int, int | Word]:
        """The moves that put values in a row."""
        return {first + place: self.source(value) for place, value in enumerate(values)}

    # -- lines ------------------------------------------------------------------------------------

    def add(
        self,
        place: Place | None,
        operation: str,
        a: int = 0,
        b: int | None = None,
        c: int = 0,
        d: int = 0,
        immediate: int = 0,
        does: Step | Call | End | None = None,
    ) -> None:
        self.lines.append(Line(Instruction(operation, a, b, c, d, immediate), place, does))

    def move(self, moves: dict[int, int | Word], place: Place | None) -> None:
        for d, source in in_turn(moves, self.registers.frame):
            if isinstance(source, Word):
                self.add(place, "copy", d=d, immediate=source.word)
            else:
                self.add(place, "copy", b=source, d=d)

    def step(self, step: Step) -> None:
        operation, place = step.operation, step.place
        d = 0 if step.d is None else self.of[step.d]
        if operation == SET:
            assert step.c is not None
            self.shared_copy(step, step.immediate, self.source(step.c))
        elif operation == GET:
            self.shared_copy(step, d, step.immediate)
        else:
            b, immediate = step.b, step.immediate
            word = None if b is None else self.code.constants.get(b)
            if word is not None and takes_immediate(operation):
                b, immediate = None, word
            self.add(
                place,
                operation,
                self.register(step.a),
                None if b is None else self.register(b),
                self.register(step.c),
                d,
                immediate,
                step,
            )

    def shared_copy(self, step: Step, d: int, source: int | Word) -> None:
        """A copy from or to a shared register; none if the value lies there anyway."""
        if isinstance(source, Word):
            self.add(step.place, "copy", d=d, immediate=source.word, does=step)
        elif d == source:
            self.lines.append(Line(None, step.place, step))
        else:
            self.add(step.place, "copy", b=source, d=d, does=step)

    def call(self, call: Call, slot: int) -> None:
        moves = self.given_at(call.arguments, slot)
        pointer = 0
        if call.pointer is not None:
            pointer = self.register(call.pointer)
            if pointer in moves:
                moved = self.registers.frame + _MOVED_SOURCE
                moves[moved], pointer = pointer, moved
        self.move(moves, call.place)
        d = slot + return_register(len(call.arguments), len(call.results))
        operation = "call" if call.callee else "call_to"
        instruction = Instruction(operation, pointer, d=d, immediate=slot)
        self.lines.append(Line(instruction, call.place, call, callee=call.callee))
        self.move(self.found_at(call.results, slot), call.place)

    # -- ends -------------------------------------------------------------------------------------

    def end(self, end: End) -> None:
        place = end.place
        match end:
            case Jump():
                self.jump(end.edge)
            case Branch():
                self.branch(end)
            case Table():
                self.table(end)
            case Return():
                self.move(self.given_at(end.values, 0), place)
                self.add(place, "return", self.registers.back, does=end)
            case TailCall():
                self.move(self.given_at(end.arguments, 0), place)
                self.lines.append(Line(Instruction("jump"), place, end, callee=end.callee))
            case Trap():
                self.add(place, "trap", immediate=end.number, does=end)
            case Exit():
                self.move({SCRATCH: self.source(end.code)}, place)
                self.add(place, "exit", does=end)

    def edge_moves(self, edge: Edge) -> dict[int, int | Word]:
        """What has to be copied on a way to a block."""
        moves: dict[int, int | Word] = {}
        if not edge.arguments:
            return moves
        for parameter, value in zip(
            self.code.blocks[edge.label].parameters, edge.arguments, strict=True
        ):
            d, source = self.of[parameter], self.source(value)
            if d != source and parameter in self.read:
                moves[d] = source
        return moves

    def follow(self, edge: Edge) -> None:
        """Copy what the edge wants, and jump: then WebAssembly is where the edge leads."""
        place = self.place_of(edge)
        self.move(self.edge_moves(edge), place)
        taken = (edge,) if edge.arguments else ()
        self.lines.append(Line(Instruction("jump", target=edge.label), place, taken=taken))

    def jump(self, edge: Edge) -> None:
        if edge in self.jumps:
            self.jumps.remove(edge)
            if edge not in self.landings:
                self.landings[edge] = self.new_label()
            self.land(edge)
        else:
            self.follow(edge)

    def place_of(self, edge: Edge) -> Place | None:
        return self.code.blocks[edge.label].place

    def branch(self, end: Branch) -> None:
        """Jump one way, and go on the other."""
        comparison, a, b = self.compared(end)
        jumped, other = end.then, end.otherwise
        if end.rare == -1 or (not end.rare and self.cost(other, jumped) < self.cost(jumped, other)):
            comparison, jumped, other = INVERTED[comparison], other, jumped
        behind = not end.rare and self.needs_room(jumped)
        if behind and self.may_copy_first(jumped, other, (a, b)):
            self.move(self.edge_moves(jumped), end.place)
            way, behind = Way(jumped.label, (jumped,)), False
        else:
            way = self.way(jumped, aside=end.rare != 0)
        word = self.code.constants.get(b)
        instruction = Instruction(
            comparison,
            self.register(a),
            self.register(b) if word is None else None,
            immediate=word or 0,
            target=way.label,
        )
        self.lines.append(Line(instruction, end.place, end, way.taken))
        self.follow(other)
        if behind:
            self.land(jumped)

    def may_copy_first(self, jumped: Edge, other: Edge, read: tuple[Value, ...] = ()) -> bool:
        """Whether the copy of an edge does no harm if it is done before the branch already."""
        moves = self.edge_moves(jumped)
        depths = self.registers.flow.depths
        if len(moves) != 1 or depths[jumped.label] < depths[other.label]:
            return False
        live = self.registers.conflicts.live[other.label]
        kept = {self.of.get(value) for value in (*members(live), *other.arguments, *read)}
        return kept.isdisjoint(moves)

    def compared(self, end: Branch) -> tuple[str, Value, Value]:
        """The jump's operation and sources; if one is constant, it is the second."""
        constants = self.code.constants
        if end.a in constants and end.b not in constants:
            return f"jump_{SWAPPED[end.comparison]}", end.b, end.a
        return f"jump_{end.comparison}", end.a, end.b

    def cost(self, jumped: Edge, other: Edge) -> int:
        """How many instructions a branch needs besides its own, and what is copied anyway."""
        on = other.label != self.following
        if not self.needs_room(jumped):
            return int(on)
        if self.may_copy_first(jumped, other):
            return int(on)
        return 1 + (jumped.label != self.following)

    # -- landings: where the copies of an edge are, to which branches jump ------------------------

    def needs_room(self, edge: Edge) -> bool:
        """Whether the copies of an edge have to be right behind the branch: they are nowhere else,
        and what lies before the block that it leads to goes on into it.
        """
        return bool(
            edge not in self.landings
            and edge not in self.jumps
            and (edge.label in self.written or edge.label in self.fallen_into)
            and self.edge_moves(edge)
        )

    def way(self, edge: Edge, *, aside: bool = False) -> Way:
        """Where to jump: to the copies of the edge, if there are any."""
        if not self.edge_moves(edge):
            return Way(edge.label, (edge,) if edge.arguments else ())
        if edge not in self.landings:
            behind = self.needs_room(edge)
            self.landings[edge] = self.new_label()
            if edge in self.jumps:
                pass  # where the jump is written
            elif aside:
                lines, self.lines = self.lines, self.late
                self.land(edge)
                self.lines = lines
            elif not behind:
                self.before.setdefault(edge.label, []).append(edge)
        return Way(self.landings[edge])

    def land(self, edge: Edge) -> None:
        """Put the copies of an edge here."""
        self.lines.append(Mark(self.landings[edge], self.place_of(edge)))
        self.follow(edge)

    def table(self, end: Table) -> None:
        new = [e for e in dict.fromkeys(end.edges) if e.arguments and e not in self.landings]
        behind = [edge for edge in new if self.needs_room(edge)]
        for edge in behind:
            self.landings[edge] = self.new_label()
        ways = tuple(self.way(edge) for edge in end.edges)
        instruction = Instruction(
            "jump_table", self.register(end.chosen), immediate=len(end.edges) - 1
        )
        self.lines.append(Line(instruction, end.place, end, ways=ways))
        for edge in behind:
            self.land(edge)

    def new_label(self) -> int:
        label, self.next_label = self.next_label, self.next_label + 1
        return label


def _all_read(code: Code) -> set[Value]:
    """The values that anybody reads."""
    found: set[Value] = set()
    for block in code.blocks.values():
        for step in block.steps:
            found.update(reads(step))
        found.update(end_uses(block.end))
    return found
