"""The slow, obvious machine: what every core instruction does, in plain Python.

It says the same tokens as the transformer, so tests compare the two token by token, and the
lowering can be tested without weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.machine.core_program import PRIVATE, CoreProgram, Segment
from curta.machine.encode import encode_jump, encode_word
from curta.machine.instructions import (
    CORE,
    FRAME_REGISTERS,
    GLOBALS,
    LARGEST_FRAME,
    MEMORY_PAGES,
    PAGE,
    SIGN,
    TRAPS,
    VALUES,
    WORD,
    CoreInstruction,
    has_fourth,
    kind_of,
    signed,
)
from curta.machine.parts.operations import Extension
from curta.machine.vocabulary import (
    AWAIT,
    ERRORS,
    EXIT,
    OUTPUT,
    READ,
    STORED,
    TRAP_TOKENS,
)


class TrappedError(Exception):
    """Why the program was stopped: one of TRAPS."""


class CoreMachine:
    """Runs a program; `tokens` is all that was said since `start`."""

    def __init__(self, program: CoreProgram, extensions: Sequence[Extension] = ()) -> None:
        self.instructions = program.instructions
        self.meanings = {**VALUES, **{e.name: e.value for e in extensions}}
        self.registers: dict[int, int] = {}
        self.memory: dict[int, int] = {}
        self.tokens: list[str] = []
        self.counter = 0
        self.frame = 0
        self.steps = 0
        for segment in program.segments:
            self.give_memory(segment)

    # -- what the host does -------------------------------------------------------------------

    def run(self, most_steps: int = 10_000_000) -> str:
        """Go on until a word is wanted or the program ends; the token that says which."""
        for _ in range(most_steps):
            stopped = self.step()
            if stopped is not None:
                return stopped
        raise RuntimeError(f"more than {most_steps:,} core instructions")

    def give(self, word: int) -> None:
        """The word that the last token asked for."""
        self.tokens += encode_word(word)
        self.write(self.instructions[self.counter].d, word)
        self.counter += 1

    def give_memory(self, segment: Segment) -> None:
        for place, byte in enumerate(segment.content):
            self.memory[segment.address + place] = byte

    # -- registers ----------------------------------------------------------------------------

    def place(self, register: int) -> int:
        return register if register >= GLOBALS else self.frame + register + 2 * GLOBALS

    def read(self, register: int) -> int:
        return self.registers.get(self.place(register), 0)

    def write(self, register: int, word: int) -> None:
        self.registers[self.place(register)] = word

    # -- one instruction ----------------------------------------------------------------------

    def step(self) -> str | None:
        """Execute an instruction; the token said, if it hands over to the host."""
        instruction = self.instructions[self.counter]
        self.steps += 1
        a, c = self.read(instruction.a), self.read(instruction.c)
        b = instruction.immediate if instruction.b is None else self.read(instruction.b)
        try:
            return self.execute(instruction, a, b, c)
        except TrappedError as error:
            token = TRAP_TOKENS[TRAPS.index(str(error))]
            return self.end(token)

    def execute(self, instruction: CoreInstruction, a: int, b: int, c: int) -> str | None:
        name = instruction.operation
        match kind_of(name):
            case "value":
                e = [self.read(instruction.e)] if has_fourth(name) else []
                self.say_word(instruction, self.meanings[name](a, b, c, *e))
            case "divide":
                self.say_word(instruction, divided(name, a, b))
            case "load":
                self.say_word(instruction, self.load(name, self.sum(instruction, a, b)))
            case "store":
                self.store(name, self.sum(instruction, a, b), c)
            case "jump":
                self.jump(instruction, a, b)
            case "write":
                self.say((OUTPUT if name == "write_out" else ERRORS)[b % 256])
                self.counter += 1
            case "read":
                self.say(wanted := READ if name == "read" else AWAIT)
                return wanted
            case "end":
                if name == "trap":
                    raise TrappedError(TRAPS[b])
                return self.end(EXIT)
        return None

    def say(self, *tokens: str) -> None:
        self.tokens += tokens

    def say_word(self, instruction: CoreInstruction, word: int) -> None:
        self.say(*encode_word(word))
        self.write(instruction.d, word)
        self.counter += 1

    def end(self, token: str) -> str:
        self.counter = self.frame = 0
        self.say(token)
        return token

    def jump(self, instruction: CoreInstruction, a: int, b: int) -> None:
        name, target = instruction.operation, self.counter + 1
        comparison = CORE[name].comparison
        if name in ("jump", "call"):
            target = instruction.target
        elif name == "jump_table":
            target += min(a, b)
        elif name in ("call_to", "return"):
            target = a
        elif comparison is not None and VALUES[comparison](a, b, 0):
            target = instruction.target
        if name.startswith("call"):
            if self.frame + instruction.immediate > FRAME_REGISTERS - LARGEST_FRAME:
                raise TrappedError("call stack exhausted")
            self.write(instruction.d, self.counter + 1)
            self.frame += instruction.immediate
        if name == "return":
            self.frame -= self.instructions[target - 1].immediate
        self.say(*encode_jump(target - self.counter))
        self.counter = target

    # -- memory -------------------------------------------------------------------------------

    def sum(self, instruction: CoreInstruction, a: int, b: int) -> int:
        """Where an access is; register b, if there is one, is an index, added as i32.add does."""
        base = a if instruction.b is None else (a + b) % WORD
        return base + instruction.immediate

    def address(self, name: str, place: int) -> range:
        access = CORE[name]
        if not access.has_bounds:
            place += PRIVATE
        elif place + access.size > self.registers.get(MEMORY_PAGES, 0) * PAGE:
            raise TrappedError("out of bounds memory access")
        return range(place, place + access.size)

    def load(self, name: str, place: int) -> int:
        found = bytes(self.memory.get(at, 0) for at in self.address(name, place))
        return int.from_bytes(found, "little", signed=name.endswith("_s")) % WORD

    def store(self, name: str, place: int, value: int) -> None:
        for shift, at in enumerate(self.address(name, place)):
            self.memory[at] = value >> 8 * shift & 255
        self.say(STORED)
        self.counter += 1


def divided(name: str, a: int, b: int) -> int:
    """A quotient, towards zero, or what is left, which has the dividend's sign."""
    dividend, divisor = (signed(a), signed(b)) if name.endswith("_s") else (a, b)
    if divisor == 0:
        raise TrappedError("integer divide by zero")
    quotient, rest = divmod(abs(dividend), abs(divisor))
    if name.startswith("rem"):
        return (-rest if dividend < 0 else rest) % WORD
    if name == "div_s" and dividend // divisor == SIGN:
        raise TrappedError("integer overflow")
    return (-quotient if (dividend < 0) != (divisor < 0) else quotient) % WORD
