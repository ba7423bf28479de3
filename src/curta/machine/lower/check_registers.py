"""Check registers: at every read, the register holds the value that was meant.

One walk over the lines, in the knowledge of which values each register holds, as far as one can
know: a copy makes two registers hold the same, a call leaves only what lies below its frame, and at
a label counts what all ways to it agree on. A loop is walked again until nothing changes.

What a shared register is to contain is a value as well: `set` says that it is another one from now
on, and whoever may look at the register has to find that value there.
"""

from __future__ import annotations

from typing import NoReturn

from curta.machine.instructions import GLOBALS, Instruction
from curta.machine.layout import SCRATCH
from curta.machine.lower.check import CodeError
from curta.machine.lower.code import (
    Branch,
    Call,
    Code,
    Edge,
    Exit,
    Label,
    Return,
    Step,
    Table,
    TailCall,
    Value,
    end_reads,
    return_register,
)
from curta.machine.lower.context import SharedRegisters
from curta.machine.lower.flat import Flat, Line, Mark
from curta.machine.lower.liveness import bits_of
from curta.machine.lower.operations import GET, SET, may_trap, shared_registers

_BEGIN = -1
"""Stands for the label of the first line, and for none behind the last one."""
Held = dict[int, int]
"""For every register the values that it holds, as the bits of a number."""


def check_registers(code: Code, flat: Flat, shared: SharedRegisters) -> Flat:
    """The same lines, if they do with registers what the code does with values."""
    _Checker(code, flat, shared).run()
    return flat


class _Checker:
    def __init__(self, code: Code, flat: Flat, shared: SharedRegisters) -> None:
        self.code, self.flat, self.shared = code, flat, shared
        self.returned = 1 << code.next_value
        self.contents = {
            register: 1 << code.next_value + 1 + n
            for n, register in enumerate(sorted(shared_registers(code)))
        }
        """What each shared register is to contain, as if it were a value."""
        always = self.returned | sum(self.contents.values())
        self.kept = {
            label: live | bits_of(code.blocks[label].parameters) | always
            for label, live in flat.registers.conflicts.live.items()
        }
        """The values that are known from each block on: with fewer of them less is allowed."""
        self.fixed = {register: word for word, register in shared.constants.items()}
        """The shared registers that hold constants."""
        self.words: dict[int, int] = {}
        """For each constant the values that it is."""
        for value, word in code.constants.items():
            self.words[word] = self.words.get(word, 0) | 1 << value
        self.arrived: dict[Label, Held] = {}

    # -- ways -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Walk until no label learns anything new."""
        begin: Held = dict(self.contents)
        for place, value in enumerate(self.code.entry.parameters):
            begin[place] = 1 << value
        begin[return_register(self.code.parameters, self.code.results)] = self.returned
        self._arrive(_BEGIN, begin)
        stretches = self._stretches()
        waiting = {_BEGIN}
        while waiting:
            for label, (lines, following) in stretches.items():
                if label in waiting:
                    waiting.remove(label)
                    waiting |= self._walk(lines, dict(self.arrived[label]), following)

    def _stretches(self) -> dict[Label, tuple[list[Line], Label]]:
        """By labels: the lines from there to the next label, and that one."""
        lines: list[Line] = []
        label = _BEGIN
        found: dict[Label, tuple[list[Line], Label]] = {}
        for line in self.flat.lines:
            if isinstance(line, Mark):
                found[label] = lines, line.label
                lines, label = [], line.label
            else:
                lines.append(line)
        found[label] = lines, _BEGIN
        return found

    def _walk(self, lines: list[Line], held: Held, following: Label) -> set[Label]:
        """The labels at which less is known than before."""
        changed = set()
        for line in lines:
            self._do(line, held)
            for label, taken in line.ways:
                there = dict(held) if taken else held
                for event in taken:
                    self._happen(event, line, there)
                if self._arrive(label, there):
                    changed.add(label)
            if line.ends:
                return changed
        if following == _BEGIN:
            raise CodeError(f"{self.code.name} behind allocation: nothing follows the last line")
        if self._arrive(following, held):
            changed.add(following)
        return changed

    def _arrive(self, label: Label, held: Held) -> bool:
        """One more way to a label; whether less is known there than before."""
        kept = self.kept.get(label, -1)
        known = self.arrived.get(label)
        if known is None:
            self.arrived[label] = {r: now for r, was in held.items() if (now := was & kept)}
            return True
        get = held.get
        agreed = {r: now for r, was in known.items() if (now := was & get(r, 0))}
        self.arrived[label] = agreed
        return agreed != known

    # -- lines ------------------------------------------------------------------------------------

    def _do(self, line: Line, held: Held) -> None:
        """Look at what a line reads, then let it write."""
        instruction, does = line.instruction, line.does
        if does is None:
            if instruction is not None and instruction.operation == "copy":
                held[instruction.d] = self._source(instruction, held)
            return
        if instruction is None or isinstance(does, Edge):
            self._happen(does, line, held)
        elif isinstance(does, Step):
            self._step(does, line, instruction, held)
        elif isinstance(does, Call):
            self._call(does, line, instruction, held)
        else:
            self._end(does, line, instruction, held)

    def _source(self, instruction: Instruction, held: Held) -> int:
        """The values that a copy writes."""
        if instruction.b is None:
            return self.words.get(instruction.immediate, 0)
        return held.get(instruction.b, 0) | self.words.get(self.fixed.get(instruction.b, -1), 0)

    def _meant(self, value: Value | None, register: int | None, line: Line, held: Held) -> None:
        """Stop if a register does not hold what is to be read from it; None: the immediate."""
        if value is None:
            return
        if register is None:
            assert line.instruction is not None
            right = self.code.constants.get(value, -1) == line.instruction.immediate
        elif held.get(register, 0) >> value & 1:
            return
        else:
            right = self.code.constants.get(value, -1) == self.fixed.get(register, -2)
        if not right:
            self._stop(line, f"value {value} is to be read from register {register}")

    def _stop(self, line: Line, problem: str) -> NoReturn:
        raise CodeError(f"{self.code.name} behind allocation: {problem}: {line}")

    def _step(self, step: Step, line: Line, instruction: Instruction, held: Held) -> None:
        operation = step.operation
        if operation in (GET, SET):
            held[instruction.d] = self._source(instruction, held)
            self._happen(step, line, held)
            return
        if operation != instruction.operation:
            self._stop(line, "another operation is meant")
        self._meant(step.a, instruction.a, line, held)
        self._meant(step.b, instruction.b, line, held)
        self._meant(step.c, instruction.c, line, held)
        if self.contents and may_trap(step, self.code):
            self._contents_in_place(line, held)
        if step.d is not None:
            held[instruction.d] = 1 << step.d
            if operation == "copy":
                held[instruction.d] |= self._source(instruction, held)

    def _happen(self, event: object, line: Line, held: Held) -> None:
        """What happens without an instruction, or besides one."""
        if isinstance(event, Edge):
            self._pass(event, held)
        elif isinstance(event, Step) and event.operation == GET and event.d is not None:
            content = self.contents[event.immediate]
            for register, values in held.items():
                if values & content:
                    held[register] = values | 1 << event.d
        elif isinstance(event, Step) and event.operation == SET and event.c is not None:
            content, register = self.contents[event.immediate], event.immediate
            for other, values in held.items():
                held[other] = values & ~content
            self._meant(event.c, register, line, held)
            held[register] |= content
        else:
            self._stop(line, "something is done without an instruction")

    def _pass(self, edge: Edge, held: Held) -> None:
        """The parameters of a block become what the edge gives."""
        block = self.code.blocks[edge.label]
        kept = self.kept[edge.label] & ~bits_of(block.parameters)
        for register, values in held.items():
            now = values & kept
            for parameter, value in zip(block.parameters, edge.arguments, strict=True):
                if values >> value & 1:
                    now |= 1 << parameter
            held[register] = now

    def _call(self, call: Call, line: Line, instruction: Instruction, held: Held) -> None:
        slot = instruction.immediate
        for place, value in enumerate(call.arguments):
            self._meant(value, slot + place, line, held)
        self._meant(call.pointer, instruction.a, line, held)
        if line.callee != call.callee:
            self._stop(line, "another function is meant")
        self._contents_in_place(line, held)
        for register in [r for r in held if slot <= r < GLOBALS]:
            del held[register]
        if call.callee is None or call.callee[0] == self.code.callee[0]:
            for register, content in self.contents.items():
                held[register] = content
        for place, value in enumerate(call.results):
            held[slot + place] = 1 << value

    def _contents_in_place(self, line: Line, held: Held) -> None:
        """Others may look at the shared registers now."""
        for register, content in self.contents.items():
            if not held.get(register, 0) & content:
                self._stop(line, f"shared register {register} has not got its content")

    def _end(self, end: object, line: Line, instruction: Instruction, held: Held) -> None:
        match end:
            case Branch():
                a, b = end.a, end.b
                if instruction.b is None and b not in self.code.constants:
                    a, b = b, a
                self._meant(a, instruction.a, line, held)
                self._meant(b, instruction.b, line, held)
                return
            case Table():
                self._meant(end.chosen, instruction.a, line, held)
                return
            case Exit():
                self._meant(end.code, SCRATCH, line, held)
            case Return() | TailCall():
                given = tuple(end_reads(end))
                for place, value in enumerate(given):
                    self._meant(value, place, line, held)
                back = instruction.a
                if isinstance(end, TailCall):
                    back = return_register(len(given), self.code.results)
                if not held.get(back, 0) & self.returned:
                    self._stop(line, "where to return to is lost")
        self._contents_in_place(line, held)
