"""Check registers: at every read, the register holds the value that was meant.

One walk over the lines, in the knowledge of which values each register holds, as far as one can
know: a copy makes two registers hold the same, a call leaves only what lies below its frame, and at
a label counts what all ways to it agree on. A loop is walked again until nothing changes.

What a shared register is to contain is a value as well: `set` says that it is another one from now
on, and whoever may look at the register has to find that value there.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import NoReturn

from curta.machine.instructions import GLOBALS, Instruction
from curta.machine.layout import SCRATCH
from curta.machine.lower.check import CodeError
from curta.machine.lower.code import (
    Call,
    Code,
    Edge,
    End,
    Exit,
    Label,
    Return,
    Step,
    TailCall,
    Value,
    edges,
    end_reads,
    return_register,
)
from curta.machine.lower.context import SharedRegisters
from curta.machine.lower.flat import Flat, Line, Mark, Way
from curta.machine.lower.liveness import bits_of
from curta.machine.lower.operations import GET, SET, may_trap, shared_registers

_BEGIN = -1
"""Stands for the label of the first line."""
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
        self.words: dict[int, int] = {}
        """For each constant the values that it is."""
        for value, word in code.constants.items():
            self.words[word] = self.words.get(word, 0) | 1 << value
        self.arrived: dict[Label, Held] = {}
        self.line = Line(None, None)
        """The present line, and what registers hold there."""
        self.held: Held = {}

    # -- ways -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Walk until no label learns anything new."""
        constants = self.shared.constants.items()
        begin: Held = {register: self.words.get(word, 0) for word, register in constants}
        begin |= self.contents
        for place, value in enumerate(self.code.entry.parameters):
            begin[place] = 1 << value
        begin[return_register(self.code.parameters, self.code.results)] = self.returned
        self._arrive(_BEGIN, begin)
        stretches = self._stretches()
        waiting = {_BEGIN}
        while waiting:
            for label, lines in stretches.items():
                if label in waiting:
                    waiting.remove(label)
                    waiting |= self._walk(lines, dict(self.arrived[label]))

    def _stretches(self) -> dict[Label, list[Line]]:
        """By labels: the lines from there to the next label, and a way to that."""
        lines: list[Line] = []
        found = {_BEGIN: lines}
        for line in self.flat.lines:
            if isinstance(line, Mark):
                lines.append(Line(None, None, None, (Way(line.label),)))
                lines = found[line.label] = []
            else:
                lines.append(line)
        if not lines or not lines[-1].ends:
            self._stop("nothing follows the last line")
        return found

    def _walk(self, lines: list[Line], held: Held) -> set[Label]:
        """The labels at which less is known than before."""
        changed = set()
        for line in lines:
            self.line, self.held = line, held
            self._do(line)
            for label, taken in line.ways:
                self.held = dict(held) if taken else held
                for edge in taken:
                    self._pass(edge)
                if self._arrive(label, self.held):
                    changed.add(label)
            if line.ends:
                break
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

    def _do(self, line: Line) -> None:
        """Look at what a line reads, then let it write."""
        instruction, does = line.instruction, line.does
        if isinstance(does, Edge):
            self._pass(does)
        elif does is None or (isinstance(does, Step) and does.operation in (GET, SET)):
            if line.operation == "copy" and instruction is not None:
                self.held[instruction.d] = self._copied(instruction)
            elif line.operation not in ("", "jump"):
                self._stop("an instruction is for nothing")
            if does is not None:
                self._share(does)
        elif instruction is None:
            self._stop("something is done without an instruction")
        elif isinstance(does, Step):
            self._step(does, instruction)
        elif isinstance(does, Call):
            self._call(does, instruction)
        else:
            self._end(does, instruction)

    def _copied(self, instruction: Instruction) -> int:
        """The values that a copy writes."""
        if instruction.b is None:
            return self.words.get(instruction.immediate, 0)
        return self.held.get(instruction.b, 0)

    def _meant(self, value: Value | None, register: int | None) -> None:
        """Stop if a register does not hold what is to be read from it; None: the immediate."""
        if value is None:
            return
        if register is not None:
            right = bool(self.held.get(register, 0) >> value & 1)
        else:
            assert self.line.instruction is not None
            right = self.code.constants.get(value) == self.line.instruction.immediate
        if not right:
            self._stop(f"value {value} is to be read from register {register}")

    def _stop(self, problem: str) -> NoReturn:
        raise CodeError(f"{self.code.name} behind allocation: {problem}: {self.line}")

    def _step(self, step: Step, instruction: Instruction) -> None:
        if step.operation != instruction.operation:
            self._stop("another operation is meant")
        self._meant(step.a, instruction.a)
        self._meant(step.b, instruction.b)
        self._meant(step.c, instruction.c)
        if self.contents and may_trap(step, self.code):
            self._contents_in_place()
        if step.d is not None:
            same = self._copied(instruction) if step.operation == "copy" else 0
            self.held[instruction.d] = 1 << step.d | same

    def _share(self, step: Step) -> None:
        """A shared register is read, or its content is another from now on."""
        content, register, held = self.contents[step.immediate], step.immediate, self.held
        if step.operation == GET and step.d is not None:
            for other, values in held.items():
                if values & content:
                    held[other] = values | 1 << step.d
        else:
            for other, values in held.items():
                held[other] = values & ~content
            self._meant(step.c, register)
            held[register] |= content

    def _pass(self, edge: Edge) -> None:
        """The parameters of a block become what the edge gives."""
        parameters = self.code.blocks[edge.label].parameters
        kept = self.kept[edge.label] & ~bits_of(parameters)
        given = list(zip(parameters, edge.arguments, strict=True))
        for register, values in self.held.items():
            now = values & kept
            for parameter, value in given:
                if values >> value & 1:
                    now |= 1 << parameter
            self.held[register] = now

    def _call(self, call: Call, instruction: Instruction) -> None:
        slot, held = instruction.immediate, self.held
        for place, value in enumerate(call.arguments, slot):
            self._meant(value, place)
        self._meant(call.pointer, instruction.a)
        if self.line.callee != call.callee:
            self._stop("another function is meant")
        self._contents_in_place()
        for register in [r for r in held if slot <= r < GLOBALS]:
            del held[register]
        if call.callee is None or call.callee[0] == self.code.callee[0]:
            held.update(self.contents)
        held.update({register: 1 << value for register, value in enumerate(call.results, slot)})

    def _contents_in_place(self) -> None:
        """Others may look at the shared registers now."""
        for register, content in self.contents.items():
            if not self.held.get(register, 0) & content:
                self._stop(f"shared register {register} has not got its content")

    def _end(self, end: End, instruction: Instruction) -> None:
        places: Iterable[int | None] = count()
        if edges(end):
            places = instruction.a, instruction.b
        elif isinstance(end, Exit):
            places = (SCRATCH,)
        for value, register in zip(end_reads(end), places, strict=False):
            self._meant(value, register)
        if isinstance(end, Return | TailCall):
            back = instruction.a
            if isinstance(end, TailCall):
                back = return_register(len(end.arguments), self.code.results)
            if not self.held.get(back, 0) & self.returned:
                self._stop("where to return to is lost")
        if not edges(end):
            self._contents_in_place()
