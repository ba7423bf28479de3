"""What the tokens of a run have filed: the latest word of every register, the latest byte of every
address, where the program is, and how far its frame has moved.

Nothing is computed. A word is what its digits say; a register and an address are what the program's
instruction and the registers say. `PlainLedger` is the definition, in Python; `ledger.c` is the
same for tens of millions of tokens a second.
"""

from __future__ import annotations

import ctypes
from collections import deque
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
    WORD,
    CoreInstruction,
    has_fourth,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.vocabulary import ADDRESS_BYTES, DIGIT, FAR, NEAR, QUOTIENT_DIGIT

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

FIRST_FRAME = 2 * GLOBALS
REGISTERS = FIRST_FRAME + FRAME_REGISTERS
MEMORY_PAGE = 1 << 12
"""Bytes that are kept together."""
Words = npt.NDArray[np.uint32]


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

    def take(self, said: Ids) -> None:
        """File what was said next, behind `start`."""

    def give(self, segment: Segment) -> None:
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
    try:
        library = _library()
    except ToolchainError:
        return PlainLedger(program)
    return FastLedger(program, library)


def frame_size(program: LoadedProgram) -> int:
    """No instruction names a register of its frame from this number on."""
    with_fourth = [n for n, name in enumerate(program.operations) if has_fourth(name)]
    numbers = program.rows["operation"] % len(program.operations)
    sources = [program.rows[name] for name in "abcd"]
    named = np.concatenate([*sources, program.rows["target"][np.isin(numbers, with_fourth)]])
    below = named[named < GLOBALS]
    return int(below.max(initial=0)) + 1


def _reach(frame: int, size: int) -> int:
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
        self.digits = self.quotient = self.far = 0
        """What was said of an unfinished word, quotient or jump."""
        self.since_frame = ADDRESS_BYTES
        """How many bytes of the last number were said."""

    def take(self, said: Ids) -> None:
        for token in said.tolist():
            self._take(token)

    def _take(self, token: int) -> None:
        if (digit := token - ids.FIRST_MORE) in range(DIGIT):
            self.digits = self.digits * DIGIT + digit
        elif (digit := token - ids.FIRST_LAST) in range(DIGIT):
            self._word(self.digits * DIGIT + digit)
        elif (digit := token - ids.FIRST_QUOTIENT_MORE) in range(QUOTIENT_DIGIT):
            self.quotient = self.quotient * QUOTIENT_DIGIT + digit
        elif (digit := token - ids.FIRST_QUOTIENT_LAST) in range(QUOTIENT_DIGIT):
            self._word(self.quotient * QUOTIENT_DIGIT + digit)
        elif (digit := token - ids.FIRST_QUOTIENT_NEGATIVE) in range(QUOTIENT_DIGIT):
            self._word(-(self.quotient * QUOTIENT_DIGIT + digit))
        elif token - ids.FIRST_QUOTIENT_SCRATCH in range(QUOTIENT_DIGIT):
            self.quotient = 0
        elif (distance := token - ids.FIRST_FAR_JUMP) in range(2 * FAR):
            self.far = 2 * NEAR * (distance - FAR)
        elif (distance := token - ids.FIRST_JUMP) in range(2 * NEAR):
            self._jump(self.far + distance - NEAR)
        elif token == ids.STORED_ID:
            self._store()
        elif token - ids.FIRST_OUTPUT in range(512):
            self._done(1)
        elif token == ids.FRAME_ID:
            self.digits = self.since_frame = 0
        elif (byte := token - ids.FIRST_BYTE) in range(256) and self.since_frame < ADDRESS_BYTES:
            self.digits, self.since_frame = self.digits * 256 + byte, self.since_frame + 1
            if self.since_frame == ADDRESS_BYTES:
                self.frame, self.digits = self.frame + self.digits, 0
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
        if not self.origin(self.counter).library:
            self.own_at = self.counter
        self.counter += distance
        self.instructions += 1
        self.digits = self.quotient = self.far = 0

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
            self.frame += now.immediate
        if now.operation == "return":
            self.frame -= self.instruction(self.counter + distance - 1).immediate
            if self.frame < 0:
                raise TokenError("the run returns from its first frame")
        self._done(distance)

    def _store(self) -> None:
        now = self._now
        access = CORE[now.operation]
        a, c = (self.words.get(self._place(register), 0) for register in (now.a, now.c))
        b = 0 if now.b is None else self.words.get(self._place(now.b), 0)
        address = (a + b) % WORD + now.immediate + (0 if access.has_bounds else PRIVATE)
        self.give(Segment(address, c.to_bytes(4, "little")[: access.size]))
        self._done(1)

    def give(self, segment: Segment) -> None:
        self.bytes.update(enumerate(segment.content, segment.address))

    def fill(self, memory: Extents, registers: Extents) -> None:
        for first, content in memory:
            self.bytes.update(enumerate(content.tolist(), first))
        for first, words in registers:
            self.words.update(enumerate(words.tolist(), first))

    def put(self, counter: int, frame: int, instructions: int, own_at: int) -> None:
        self.counter, self.frame = counter, frame
        self.instructions, self.own_at = instructions, own_at

    def word(self, register: int) -> int:
        return self.words.get(register, 0)

    def registers(self) -> Words:
        found = np.zeros(_reach(self.frame, self.size), dtype=np.uint32)
        for number, word in self.words.items():
            if number < len(found):
                found[number] = word
        return found

    def forget(self) -> None:
        reach = _reach(self.frame, self.size)
        self.words = {number: word for number, word in self.words.items() if number < reach}

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


# -- the same in C --------------------------------------------------------------------------------

_KINDS = {"CALL": 1, "RETURN": 2, "STORE": 64}
_STORE_SIZE, _STORE_INDEX, _STORE_PRIVATE = 7, 8, 16
_FAILURES = {
    "NO_MEMORY": "there is no memory left for the state of the run",
    "NO_PLACE": "the run leaves its registers or its memory",
    "NO_INSTRUCTION": "the run leaves its program",
    "NO_STORE": "something was stored by an instruction that stores nothing",
    "NO_TOKEN": "a token has no place in a run",
}
_NAMES = (
    *("FIRST_LAST", "FIRST_MORE", "FIRST_JUMP", "FIRST_FAR_JUMP", "FIRST_OUTPUT", "FIRST_BYTE"),
    *("FIRST_QUOTIENT_MORE", "FIRST_QUOTIENT_LAST", "FIRST_QUOTIENT_NEGATIVE"),
    *("FIRST_QUOTIENT_SCRATCH", "STORED_ID", "FRAME_ID", "EXIT_ID", "READ_ID", "AWAIT_ID"),
    "FIRST_TRAP",
)
_FIELDS = ("kind", "library", "a", "b", "c", "d", "immediate", "unused")
_ROW = np.dtype([(name, "<u4") for name in _FIELDS])


class _State(ctypes.Structure):
    """How the C struct begins."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("counter", ctypes.c_int64),
        ("frame", ctypes.c_int64),
        ("instructions", ctypes.c_int64),
        ("ended_at", ctypes.c_int64),
        ("ended_frame", ctypes.c_int64),
        ("own_at", ctypes.c_int64),
    )


LONG = 1 << 16
"""Tokens that are worth another thread's time: a chunk of the engine's."""
MOST_WAITING = 16
"""Stretches of them that may wait for it."""


@cache
def _reader() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "curta-ledger")


class FastLedger:
    """The same, in C. Long stretches are read by another thread while the next one is said."""

    def __init__(self, program: LoadedProgram, library: ctypes.CDLL) -> None:
        self.size = frame_size(program)
        self._library = library
        self._rows = _rows(program)
        self._reading: deque[Future[int]] = deque()
        """Stretches that are not read yet, in their order."""
        self._pointer = library.curta_ledger_new(_at(self._rows), len(self._rows))
        if not self._pointer:
            raise MemoryError(_FAILURES["NO_MEMORY"])
        self._fields = _State.from_address(self._pointer)
        words = library.curta_ledger_registers(self._address)
        held = (ctypes.c_uint32 * REGISTERS).from_address(words)
        self._registers: Words = np.ctypeslib.as_array(held)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            for reading in self._reading:
                reading.exception()
            self._library.curta_ledger_free(self._pointer)

    @property
    def _address(self) -> int:
        """The C struct, once all that was taken is filed."""
        while self._reading:
            _check(self._reading.popleft().result())
        return int(self._pointer)

    @property
    def _state(self) -> _State:
        _ = self._address
        return self._fields

    @property
    def counter(self) -> int:
        return int(self._state.counter)

    @property
    def frame(self) -> int:
        return int(self._state.frame)

    @property
    def instructions(self) -> int:
        return int(self._state.instructions)

    @property
    def ended_at(self) -> int:
        return int(self._state.ended_at)

    @property
    def ended_frame(self) -> int:
        return int(self._state.ended_frame)

    @property
    def own_at(self) -> int:
        return int(self._state.own_at)

    def take(self, said: Ids) -> None:
        said = np.ascontiguousarray(said, dtype=np.int32)
        if len(said) < LONG:
            _check(self._library.curta_ledger_take(self._address, _at(said), len(said)))
        else:
            if len(self._reading) == MOST_WAITING:
                _check(self._reading.popleft().result())
            self._reading.append(_reader().submit(self._read, said))

    def _read(self, said: Ids) -> int:
        return int(self._library.curta_ledger_take(self._pointer, _at(said), len(said)))

    def give(self, segment: Segment) -> None:
        content = np.frombuffer(segment.content, np.uint8)
        self._fill("bytes", extents_of([(segment.address, content)], np.uint8))

    def fill(self, memory: Extents, registers: Extents) -> None:
        self._fill("bytes", memory)
        self._fill("words", registers)

    def _fill(self, kind: str, extents: Extents) -> None:
        content = np.ascontiguousarray(extents.content, np.uint8 if kind == "bytes" else np.uint32)
        fill = getattr(self._library, f"curta_ledger_{kind}")
        firsts, lengths = _at(extents.firsts), _at(extents.lengths)
        _check(fill(self._address, firsts, lengths, len(extents), _at(content)))

    def put(self, counter: int, frame: int, instructions: int, own_at: int) -> None:
        self._state.counter, self._state.frame = counter, frame
        self._state.instructions, self._state.own_at = instructions, own_at

    def word(self, register: int) -> int:
        _ = self._address
        return int(self._registers[register]) if register < REGISTERS else 0

    def registers(self) -> Words:
        return self._registers[: _reach(self.frame, self.size)].copy()

    def forget(self) -> None:
        self._library.curta_ledger_forget(self._address, _reach(self.frame, self.size))

    def memory(self, apart: int) -> Extents:
        find, pages = self._library.curta_ledger_memory, self._library.curta_ledger_pages
        numbers = np.zeros(pages(self._address, None), dtype=np.int64)
        pages(self._address, _at(numbers))
        numbers.sort()
        sizes = np.zeros(2, dtype=np.int64)
        find(self._address, _at(numbers), len(numbers), apart, _at(sizes), None, None, None)
        firsts, lengths = np.zeros((2, sizes[0]), dtype=np.int64)
        content = np.zeros(sizes[1], dtype=np.uint8)
        find(
            *(self._address, _at(numbers), len(numbers), apart, _at(sizes)),
            *(_at(firsts), _at(lengths), _at(content)),
        )
        return Extents(firsts, lengths, content)


def _at(array: npt.NDArray[Any]) -> int:
    return array.ctypes.data


def _check(failed: int) -> None:
    if failed:
        raise TokenError(list(_FAILURES.values())[failed - 1])


def _rows(program: LoadedProgram) -> npt.NDArray[np.void]:
    """Instructions as the C code wants them."""
    count = len(program.operations)
    kinds = _kinds(program.operations)
    operation = program.rows["operation"]
    rows = np.zeros(len(program), dtype=_ROW)
    for name in ("a", "b", "c", "d", "immediate"):
        rows[name] = program.rows[name]
    rows["kind"] = kinds[operation % count]
    rows["library"][: len(program.origins)] = program.origins["library"]
    is_indexed = (rows["kind"] >= _KINDS["STORE"]) & (operation < count)
    rows["kind"][is_indexed] |= _STORE_INDEX
    return rows


@cache
def _kinds(operations: tuple[str, ...]) -> npt.NDArray[np.uint32]:
    return np.array([_kind(name) for name in operations], dtype=np.uint32)


def _kind(name: str) -> int:
    operation = CORE.get(name)
    if operation is None or operation.kind not in ("jump", "store"):
        return 0
    if operation.kind == "store":
        private = 0 if operation.has_bounds else _STORE_PRIVATE
        return _KINDS["STORE"] | operation.size | private
    return _KINDS["CALL"] if name.startswith("call") else _KINDS.get(name.upper(), 0)


@cache
def _library() -> ctypes.CDLL:
    from curta.engine.toolchain import build_library, load_library, zeros_source

    numbers = {
        **{name: getattr(ids, name) for name in _NAMES},
        **{f"KIND_{name}": number for name, number in _KINDS.items()},
        **{name: number for number, name in enumerate(_FAILURES, start=1)},
        "STORE_SIZE": _STORE_SIZE,
        "STORE_INDEX": _STORE_INDEX,
        "STORE_PRIVATE": _STORE_PRIVATE,
        "DIGIT": DIGIT,
        "QUOTIENT_DIGIT": QUOTIENT_DIGIT,
        "NEAR": NEAR,
        "FAR": FAR,
        "GLOBALS": GLOBALS,
        "FIRST_FRAME": FIRST_FRAME,
        "REGISTERS": REGISTERS,
        "MEMORY_PAGE": MEMORY_PAGE,
        "ADDRESS_BYTES": ADDRESS_BYTES,
        "TRAPS": len(ids.TRAP_IDS),
    }
    macros = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
    source = Path(__file__).with_name("ledger.c").read_text(encoding="utf-8")
    library = load_library(build_library(macros + zeros_source() + source, name="ledger"))
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    for name, result, arguments in (
        ("new", pointer, (pointer, count)),
        ("free", None, (pointer,)),
        ("registers", pointer, (pointer,)),
        ("bytes", ctypes.c_int32, (pointer, pointer, pointer, count, pointer)),
        ("words", ctypes.c_int32, (pointer, pointer, pointer, count, pointer)),
        ("forget", None, (pointer, count)),
        ("pages", count, (pointer, pointer)),
        ("memory", None, (pointer, pointer, count, count, pointer, pointer, pointer, pointer)),
        ("take", ctypes.c_int32, (pointer, pointer, count)),
    ):
        function = getattr(library, f"curta_ledger_{name}")
        function.restype, function.argtypes = result, list(arguments)
    return library
