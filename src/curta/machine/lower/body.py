"""The state of translating one function, and the steps that it can be asked to add.

The operand stack is kept as a list of words that are not there yet: constants, registers of locals
and globals whose values are wanted later, registers of stack cells. Instructions take their sources
from it, so `local.get` and constants cost nothing. A cell belongs to every place of the stack:
results go there, unless a local.set follows, and so do the arguments of calls.

What keeps this right: before a register changes that is on the stack, its value is saved
(`release`); and within a construct nothing that lay on the stack before is moved, so that all ways
to a label agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from curta.machine.instructions import GLOBALS
from curta.machine.lower.code import (
    LABEL,
    Callee,
    Step,
    return_register,
    words,
)
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.folding import SWAPPED, cheaper, fold, folds, simplify
from curta.machine.wasm.module import Expression, Function, FunctionType
from curta.machine.wasm.opcodes import ValueType
from curta.machine.wasm.validate_code import Chain

Condition = tuple[str, tuple[int, ...], tuple[int, ...]]
"""A comparison, and its two operands: one word each, or two."""
_SETS = ("local.set", "local.tee")
_BEYOND_OPERANDS = 8
"""Temporaries lie so far above the stack, so that results find their cells free."""


class Body:
    """A function on its way from WebAssembly to steps."""

    def __init__(
        self,
        context: ModuleContext,
        type_: FunctionType,
        function: Function,
        types: Sequence[Chain],
    ) -> None:
        self.context = context
        self.type = type_
        self.code: Expression = function.body
        self.types = types
        """Of the operands before each instruction, as the validator found them."""
        self.index = 0
        """Of the WebAssembly instruction that is being translated."""
        self.steps: list[Step] = []
        self.rare: list[Step] = []
        """What is seldom reached: it comes after all others."""
        self.labels = 0
        self.stack: list[int] = []
        self.known: dict[int, int] = {}
        """Operands that registers of locals and globals are equal to."""
        self.copied: set[int] = set()
        """All operands that ever were."""
        self.live = True
        self.condition: Condition | None = None
        """A comparison that the next instruction takes."""
        self.operands: set[int] = set()
        """What the stack and the condition held when the instruction began: some of it was popped
        and is still to be read.
        """
        self.temporaries: set[int] = set()
        """Registers that this instruction has for itself."""
        self.needs: set[Callee] = set()
        self._lay_out(function.locals)

    def _lay_out(self, locals_: Sequence[ValueType]) -> None:
        """Registers: parameters, where to return to, other locals, cells of the stack."""
        parameters = words(self.type.parameters)
        self.results = words(self.type.results)
        self.return_register = return_register(parameters, self.results)
        self.local_registers: list[tuple[int, ...]] = []
        at = 0
        for number, type_ in enumerate((*self.type.parameters, *locals_)):
            if number == len(self.type.parameters):
                at = self.return_register + 1
            count = words((type_,))
            self.local_registers.append(tuple(range(at, at + count)))
            if number >= len(self.type.parameters):
                self.known.update(dict.fromkeys(range(at, at + count), ~0))
            at += count
        self.base = max(at, self.return_register + 1)
        self.top = self.base

    def begin(self) -> None:
        """Another instruction of WebAssembly is next."""
        self.operands = set(self.stack)
        if self.condition is not None:
            _, a, b = self.condition
            self.operands.update(a, b)
        self.temporaries = set()

    # -- steps ------------------------------------------------------------------------------------

    def add(
        self, name: str, d: int = -1, a: int = -1, b: int = -1, c: int = -1, immediate: int = 0
    ) -> Step:
        step = Step(name, d, a, b, c, immediate, -1, self.index)
        self.steps.append(step)
        return step

    def jump(self, name: str, label: int, a: int = -1, b: int = -1, immediate: int = 0) -> None:
        self.steps.append(Step(name, -1, a, b, -1, immediate, label, self.index))

    def new_label(self) -> int:
        self.labels += 1
        return self.labels - 1

    def put_label(self, label: int) -> None:
        self.steps.append(Step(LABEL, label=label, place=self.index))

    def rarely(self, steps: list[Step]) -> None:
        """Move steps out of the way; they must not go on into what follows."""
        self.rare += steps

    def aside(self) -> list[Step]:
        """Start a list of steps of its own, giving back the one so far."""
        steps, self.steps = self.steps, []
        return steps

    def trap(self, number: int) -> None:
        self.add("trap", immediate=number)
        self.live = False

    # -- registers --------------------------------------------------------------------------------

    def cell(self, place: int) -> int:
        return self.base + place

    def free(self, place: int, avoid: Iterable[int] = ()) -> int:
        """A register at this place above the stack, or higher, that is no temporary."""
        register = self.base + len(self.stack) + place
        stack, temporaries = self.stack, self.temporaries
        while register in stack or register in avoid or register in temporaries:
            register += 1
        if register >= self.top:
            self.top = register + 1
        return register

    def temporary(self) -> int:
        """A register that nothing else is in while this instruction is translated."""
        register = self.free(_BEYOND_OPERANDS, self.operands)
        self.temporaries.add(register)
        return register

    def new(self, word: int = 0, avoid: Sequence[int] = ()) -> int:
        """Where to write a word of the result, once the operands are popped.

        `avoid` are registers that are still to be read after it is written.
        """
        registers = self._following_local()
        if word < len(registers) and registers[word] not in avoid:
            register = registers[word]
            if register in self.stack:
                self.release(register)
            self.forget(register)
            return register
        return self.free(word, avoid)

    def _following_local(self) -> tuple[int, ...]:
        """The registers that the next instruction sets, if it is local.set or local.tee."""
        following = self.code[self.index + 1]
        if following.opcode in _SETS:
            index: int = following.operands[0]
            return self.local_registers[index]
        return ()

    def destination(self, word: int) -> int:
        """Where `new` would write a word, if nothing was to be avoided."""
        registers = self._following_local()
        if word < len(registers):
            return registers[word]
        return self.base + len(self.stack) + word

    def register(self, operand: int) -> int:
        """A register that holds an operand."""
        return operand if operand >= 0 else self.context.registers.constant(~operand)

    def release(self, register: int) -> None:
        """Save what the stack wants from a register that is about to change."""
        home = -1
        for place, word in enumerate(self.stack):
            if word == register:
                if home < 0:
                    home = self.cell(place)
                    if home in self.stack:
                        home = self.temporary()
                    self.copy(home, register)
                self.stack[place] = home

    def forget(self, register: int) -> None:
        """A register changes: what was known about it is no longer true."""
        known = self.known
        known.pop(register, None)
        if register in self.copied:
            for key in [key for key, value in known.items() if value == register]:
                del known[key]

    def set_registers(self, registers: Sequence[int], operands: Sequence[int]) -> None:
        """local.set, global.set: also keep in mind what the registers hold now."""
        moves = [(r, o) for r, o in zip(registers, operands, strict=True) if r != o]
        for register, _ in moves:
            if register in self.stack:
                self.release(register)
        self.move(moves)
        for register, _ in moves:
            self.forget(register)
        for register, operand in moves:
            if (operand < self.base or operand >= GLOBALS) and operand not in registers:
                self.known[register] = operand
                self.copied.add(operand)

    # -- values -----------------------------------------------------------------------------------

    def copy(self, d: int, operand: int) -> None:
        if operand < 0:
            self.add("copy", d, immediate=~operand)
        else:
            self.add("copy", d, b=operand)

    def move(self, moves: Iterable[tuple[int, int]]) -> None:
        """Copies that happen at once: nothing is overwritten before it is read."""
        waiting = {d: operand for d, operand in moves if d != operand}
        while waiting:
            sources = set(waiting.values())
            ready = [d for d in waiting if d not in sources]
            for d in ready:
                self.copy(d, waiting.pop(d))
            if not ready:
                register = next(iter(waiting))
                saved = max((self.top, *(d + 1 for d in waiting if d < GLOBALS)))
                self.top = saved + 1
                self.copy(saved, register)
                waiting = {d: saved if o == register else o for d, o in waiting.items()}

    def binary(
        self,
        name: str,
        a: int,
        b: int,
        d: int | None = None,
        word: int = 0,
        avoid: Sequence[int] = (),
    ) -> int:
        """The operand that a value of two sources is; written to d if it has to be computed."""
        if a < 0:
            if b < 0 and folds(name):
                return ~fold(name, ~a, ~b)
            if b >= 0 and name in SWAPPED:
                name, a, b = SWAPPED[name], b, a
        if b < 0:
            if a >= 0:
                simple = simplify(name, a, ~b)
                if simple is not None:
                    return simple
            name, constant = cheaper(name, ~b)
            a = self.register(a)
            d = self.new(word, avoid) if d is None else d
            self.add(name, d, a, immediate=constant)
            return d
        a = self.register(a)
        d = self.new(word, avoid) if d is None else d
        self.add(name, d, a, b)
        return d

    def unary(
        self, name: str, a: int, d: int | None = None, word: int = 0, avoid: Sequence[int] = ()
    ) -> int:
        if a < 0:
            return ~fold(name, ~a, 0)
        d = self.new(word, avoid) if d is None else d
        self.add(name, d, a)
        return d

    # -- the operand stack ------------------------------------------------------------------------

    def pop(self) -> int:
        return self.stack.pop()

    def pop_wide(self) -> tuple[int, int]:
        """Low word, high word."""
        high = self.stack.pop()
        return self.stack.pop(), high

    def pop_words(self, count: int) -> tuple[int, ...]:
        first = len(self.stack) - count
        popped = tuple(self.stack[first:])
        del self.stack[first:]
        return popped

    def push(self, *operands: int) -> None:
        self.stack += operands

    def settle(self, first: int, unsafe: Iterable[int] = ()) -> None:
        """Bring words of the stack home to their cells: all from place `first` on, and below it
        those in cells of other places and in `unsafe` registers.
        """
        base, stack = self.base, self.stack
        moves = []
        for place, word in enumerate(stack):
            home = base + place
            if word == home:
                continue
            if place >= first or base <= word < GLOBALS or word in unsafe:
                moves.append((home, word))
                stack[place] = home
        if moves:
            self.top = max(self.top, base + len(stack))
            self.move(moves)

    # -- calls ------------------------------------------------------------------------------------

    def call(self, callee: Callee | None, type_words: tuple[int, int], pointer: int = -1) -> None:
        """Call with the words on top of the stack: a function, or the one that a register names."""
        takes, gives = type_words
        first = len(self.stack) - takes
        theirs = callee is not None and callee[0] != self.context.name
        self.settle(first, () if theirs else self.context.mutable)
        slot = self.cell(first)
        step = self.add(
            "call" if callee else "call_to",
            slot + return_register(takes, gives),
            pointer,
            immediate=slot,
        )
        step.callee, step.slot, step.takes, step.gives = callee, slot, takes, gives
        if callee:
            self.needs.add(callee)
        self.top = max(self.top, slot + return_register(takes, gives) + 1)
        del self.stack[first:]
        self.stack += range(slot, slot + gives)
        if not theirs:
            for register in self.context.mutable:
                self.forget(register)

    def call_library(self, name: str, takes: int, gives: int) -> None:
        """An instruction that is a function of the library."""
        self.call(self.context.library(name), (takes, gives))
