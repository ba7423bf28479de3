"""What the tokens of a run have filed: the latest word of every register, the latest byte of every
address, where the program is, and how far its frame has moved.

Nothing is computed. A word is what its digits say; a register and an address are what the program's
instruction and the registers say. `PlainLedger` is the definition, in Python; `fast_ledger.py` is
the same for tens of millions of tokens a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError, ToolchainError
from curta.machine import ids
from curta.machine.core_program import PRIVATE, Segment
from curta.machine.extents import Extents, extents_of
from curta.machine.ids import Ids
from curta.machine.instructions import (
    CORE,
    FRAME_REGISTERS,
    GLOBALS,
    LARGEST_FRAME,
    WORD,
    CoreInstruction,
    has_fourth,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.vocabulary import ADDRESS_BYTES, DIGIT, FAR, NEAR

FIRST_FRAME = 2 * GLOBALS
REGISTERS = FIRST_FRAME + FRAME_REGISTERS
MEMORY_PAGE = 1 << 12
"""Bytes that are kept together."""
MEMORY_END = 2 * PRIVATE + MEMORY_PAGE
"""Behind both memories, and what an access at their end may reach."""
LAST_FRAME = FRAME_REGISTERS - LARGEST_FRAME
"""No frame begins behind this register."""
Words = npt.NDArray[np.uint32]
OUTPUT = range(ids.FIRST_OUTPUT, ids.FIRST_OUTPUT + 512)
Written = npt.NDArray[np.uint16]
"""Bytes of output; those of standard error are 256 more."""
LEFT = "the run leaves its registers or its memory"


class Ledger(Protocol):
    """The state of a run, from its tokens alone."""

    @property
    def counter(self) -> int:
        """The instruction to execute."""

    @property
    def frame(self) -> int:
        """Where the current frame begins, counted from the first."""

    @property
    def instructions(self) -> int:
        """How many were executed."""

    @property
    def ended_at(self) -> int:
        """The instruction at which the program ended last."""

    @property
    def ended_frame(self) -> int:
        """Where its frame began then."""

    @property
    def own_at(self) -> int:
        """The latest instruction that was executed and is not the library's; -1 before there is."""

    def take(self, said: Ids) -> Written:
        """File what was said next, behind `start`; what of it is output. That no run says it may be
        found where somebody asks what it came to.
        """

    def give(self, *segments: Segment) -> None:
        """Bytes that lie in memory."""

    def fill(self, memory: Extents, registers: Extents) -> None:
        """What memory and registers hold."""

    def put(self, counter: int, frame: int, instructions: int, own_at: int) -> None:
        """Where the run is, and how far it has come."""

    def word(self, register: int) -> int:
        """What a register holds; those of frames are counted from FIRST_FRAME on."""

    def registers(self) -> Words:
        """All that the current frame, or one below it, can name."""

    def forget(self) -> None:
        """What no frame can name now: later ones find 0 there, as where nothing was written."""

    def memory(self, apart: int) -> Extents:
        """What is not 0 in both memories, in order: more than so many zeros part two extents."""


def new_ledger(program: LoadedProgram) -> Ledger:
    """A ledger of a run of this program; in C, if there is a compiler.

    Without one there is no native level, beside which the ledger in Python would be slow: it takes
    a few microseconds for a token, as the reference level does, and others take milliseconds.
    """
    from curta.machine.fast_ledger import FastLedger

    try:
        return FastLedger(program)
    except ToolchainError:
        return PlainLedger(program)


@lru_cache(maxsize=8)
def frame_size(program: LoadedProgram) -> int:
    """No instruction names a register of its frame from this number on."""
    with_fourth = [n for n, name in enumerate(program.operations) if has_fourth(name)]
    numbers = program.rows["operation"] % len(program.operations)
    sources = [program.rows[name] for name in "abcd"]
    named = np.concatenate([*sources, program.rows["target"][np.isin(numbers, with_fourth)]])
    below = named[named < GLOBALS]
    return int(below.max(initial=0)) + 1


def reach(frame: int, size: int) -> int:
    """All registers that this frame, or one below it, can name."""
    return min(FIRST_FRAME + frame + size, REGISTERS)


class PlainLedger:
    """The definition."""

    def __init__(self, program: LoadedProgram) -> None:
        self.size = frame_size(program)
        self.end = len(program)
        self.instruction, self.origin = cache(program.instruction), cache(program.origin)
        self.counter = self.frame = self.instructions = self.ended_at = self.ended_frame = 0
        self.own_at = -1
        self.words: dict[int, int] = {}
        self.bytes: dict[int, int] = {}
        self.digits = self.far = 0
        """What was said of an unfinished word or jump."""
        self.number, self.since_frame = 0, ADDRESS_BYTES
        """What a frame moves on by, and how many bytes of that were said."""

    def take(self, said: Ids) -> Written:
        self._move(0)
        for token in said.tolist():
            self._take(token)
        written = [t - ids.FIRST_OUTPUT for t in said.tolist() if t in OUTPUT]
        return np.array(written, dtype=np.uint16)

    def _take(self, token: int) -> None:
        if (digit := token - ids.FIRST_MORE) in range(DIGIT):
            self.digits = self.digits * DIGIT + digit
        elif (digit := token - ids.FIRST_LAST) in range(DIGIT):
            self._word(self.digits * DIGIT + digit)
        elif (distance := token - ids.FIRST_FAR_JUMP) in range(2 * FAR):
            self.far = 2 * NEAR * (distance - FAR)
        elif (distance := token - ids.FIRST_JUMP) in range(2 * NEAR):
            self._jump(self.far + distance - NEAR)
        elif token == ids.STORED_ID:
            self._store()
        elif token in OUTPUT:
            self._done(1)
        elif token == ids.FRAME_ID:
            self.number = self.since_frame = 0
        elif (byte := token - ids.FIRST_BYTE) in range(256) and self.since_frame < ADDRESS_BYTES:
            self.number, self.since_frame = self.number * 256 + byte, self.since_frame + 1
            if self.since_frame == ADDRESS_BYTES:
                self._move(self.number)
        elif token == ids.EXIT_ID or token in ids.TRAP_IDS:
            self.ended_at, self.ended_frame = self.counter, self.frame
            self.counter = self.frame = 0
        elif token not in (ids.READ_ID, ids.AWAIT_ID):
            raise TokenError(f"token {token} has no place in a run")

    @property
    def _now(self) -> CoreInstruction:
        if not 0 <= self.counter < self.end:
            raise TokenError(f"the run leaves its program, for instruction {self.counter}")
        return self.instruction(self.counter)

    def _done(self, distance: int) -> None:
        _ = self._now  # there is one
        if not self.origin(self.counter).library:
            self.own_at = self.counter
        self.counter += distance
        self.instructions += 1
        self.digits = self.far = 0

    def _place(self, register: int) -> int:
        return register if register >= GLOBALS else FIRST_FRAME + self.frame + register

    def _write(self, register: int, word: int) -> None:
        self.words[self._place(register)] = word % WORD

    def _word(self, word: int) -> None:
        self._write(self._now.d, word)
        self._done(1)

    def _jump(self, distance: int) -> None:
        now = self._now
        if now.operation.startswith("call"):
            self._write(now.d, self.counter + 1)
            self._move(now.immediate)
        if now.operation == "return" and 0 < self.counter + distance <= self.end:
            self._move(-self.instruction(self.counter + distance - 1).immediate)
        self._done(distance)

    def _move(self, by: int) -> None:
        self.frame += by
        if not 0 <= self.frame <= LAST_FRAME:
            raise TokenError(LEFT)

    def _store(self) -> None:
        now = self._now
        access = CORE.get(now.operation)
        if access is None or access.kind != "store":
            raise TokenError("something was stored by an instruction that stores nothing")
        a, c = (self.words.get(self._place(register), 0) for register in (now.a, now.c))
        b = 0 if now.b is None else self.words.get(self._place(now.b), 0)
        address = (a + b) % WORD + now.immediate + (0 if access.has_bounds else PRIVATE)
        self.give(Segment(address, c.to_bytes(4, "little")[: access.size]))
        self._done(1)

    def give(self, *segments: Segment) -> None:
        for segment in segments:
            self._hold(self.bytes, MEMORY_END, segment.address, segment.content)

    def fill(self, memory: Extents, registers: Extents) -> None:
        for first, content in memory:
            self._hold(self.bytes, MEMORY_END, first, content.tolist())
        for first, words in registers:
            self._hold(self.words, REGISTERS, first, words.tolist())

    def _hold(self, held: dict[int, int], end: int, first: int, content: Sequence[int]) -> None:
        if first + len(content) > end:
            raise TokenError(LEFT)
        held.update(enumerate(content, first))

    def put(self, counter: int, frame: int, instructions: int, own_at: int) -> None:
        self.counter, self.frame = counter, frame
        self.instructions, self.own_at = instructions, own_at

    def word(self, register: int) -> int:
        return self.words.get(register, 0)

    def registers(self) -> Words:
        found = np.zeros(reach(self.frame, self.size), dtype=np.uint32)
        for number, word in self.words.items():
            if number < len(found):
                found[number] = word
        return found

    def forget(self) -> None:
        end = reach(self.frame, self.size)
        self.words = {number: word for number, word in self.words.items() if number < end}

    def memory(self, apart: int) -> Extents:
        extents: list[tuple[int, bytearray]] = []
        end = 0
        for address in sorted(address for address, byte in self.bytes.items() if byte):
            if not extents or address - end > apart:
                extents.append((address, bytearray()))
            else:
                extents[-1][1].extend(bytes(address - end))
            extents[-1][1].append(self.bytes[address])
            end = address + 1
        return extents_of(
            ((first, np.frombuffer(held, np.uint8)) for first, held in extents), np.uint8
        )
