"""The ledger of a run in C (`ledger.c`): what `PlainLedger` says, many times faster."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError
from curta.machine import ids
from curta.machine.core_program import Segment
from curta.machine.extents import Extents, extents_of
from curta.machine.ids import Ids
from curta.machine.instructions import GLOBALS, operation_of
from curta.machine.ledger import (
    FIRST_FRAME,
    LAST_FRAME,
    LEFT,
    MEMORY_END,
    MEMORY_PAGE,
    OUTPUT,
    REGISTERS,
    Words,
    Written,
    frame_size,
    reach,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.vocabulary import ADDRESS_BYTES, DIGIT, FAR, NEAR, WORD_DIGITS

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_KINDS = {"WORD": 0, "CALL": 1, "RETURN": 2, "OTHER": 3, "STORE": 64}
_STORE_SIZE, _STORE_INDEX, _STORE_PRIVATE = 7, 8, 16
_FAILURES = {
    "NO_MEMORY": "there is no memory left for the state of the run",
    "NO_PLACE": LEFT,
    "NO_INSTRUCTION": "the run leaves its program",
    "NO_STORE": "something was stored by an instruction that stores nothing",
    "NO_TOKEN": "a token has no place in a run",
}
_NAMES = (
    *("FIRST_LAST", "FIRST_MORE", "FIRST_JUMP", "FIRST_FAR_JUMP", "FIRST_OUTPUT", "FIRST_BYTE"),
    *("STORED_ID", "FRAME_ID", "EXIT_ID", "READ_ID", "AWAIT_ID", "FIRST_TRAP"),
)
_FIELDS = ("kind", "library", "a", "b", "c", "d", "immediate", "own")
_ROW = np.dtype([(name, "<u4") for name in _FIELDS])


class _State(ctypes.Structure):
    """How the C struct begins."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("counter", ctypes.c_int64),
        ("frame", ctypes.c_int64),
        ("ended_at", ctypes.c_int64),
        ("ended_frame", ctypes.c_int64),
        ("own_at", ctypes.c_int64),
    )


LONG = 1 << 16
"""Tokens that are worth another thread's time."""
MOST_WAITING = 16
"""Stretches of them that may wait for it."""
MOST_UNREAD = 1 << 20
"""Tokens that are not read as long as nobody asks what they file: most runs end before. All that is
wanted of them is output, and how many instructions they end.
"""
FEW = 1 << 10
"""For so many there is room at first."""


@cache
def _reader() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "curta-ledger")


_LATEST: deque[Future[None]] = deque(maxlen=MOST_WAITING)
"""What the reader was given last, of whichever ledgers."""


def _finish_reading() -> None:
    """A thread is not there in a child of its process: what it was given is done before."""
    for stretch in tuple(_LATEST):
        stretch.exception()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_reading, after_in_child=_reader.cache_clear)


Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _alone(
    order: Callable[Concatenate[FastLedger, Given], Answer],
) -> Callable[Concatenate[FastLedger, Given], Answer]:
    """One thread at a time: how far a run has come may be asked by another than runs it."""

    @wraps(order)
    def done(ledger: FastLedger, /, *given: Given.args, **options: Given.kwargs) -> Answer:
        with ledger.lock:
            return order(ledger, *given, **options)

    return done


Order = Callable[["FastLedger"], None]
"""What is done once somebody asks what comes of it. It does not hold the ledger, which would then
stay until Python's collector comes.
"""
Kept = npt.NDArray[np.uint16]


def _put_off(
    order: Callable[Concatenate[FastLedger, Given], None],
) -> Callable[Concatenate[FastLedger, Given], None]:
    @_alone
    def noted(ledger: FastLedger, /, *given: Given.args, **options: Given.kwargs) -> None:
        ledger._append(lambda other: order(other, *given, **options))

    return noted


class FastLedger:
    """The same, in C. What is taken is only counted and kept, until somebody asks what it comes to,
    or until it is much. Then another thread reads it while the next tokens are said.
    """

    def __init__(self, program: LoadedProgram) -> None:
        self._library, self.lock = _library(), threading.RLock()
        self._program, self.size = program, frame_size(program)
        self.left: list[Order] = []
        """What was put off, in its order."""
        self._stretch, self._length = np.empty(FEW, dtype=np.uint16), 0
        """Behind that: tokens, and how many they are."""
        self.unread = 0
        """How many tokens were put off."""
        self._is_long = False
        """Whether another thread reads what is much."""
        self.instructions = 0
        self._reading: deque[Future[None]] = deque()
        """What the other thread is given, in its order."""
        self._pointer = 0
        """The C struct, once there is anything to do."""
        self._failed: TokenError | None = None

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):  # nothing is read: that would hold the ledger
            self._library.curta_ledger_free(self._pointer)

    def _begin(self) -> None:
        self._rows = _rows(self._program)
        rows = _at(self._rows), len(self._rows)
        self._pointer = self._library.curta_ledger_new(*rows, self.size) or 0
        if not self._pointer:
            raise MemoryError(_FAILURES["NO_MEMORY"])
        self._fields = _State.from_address(self._pointer)
        words = self._library.curta_ledger_registers(self._pointer)
        held = (ctypes.c_uint32 * REGISTERS).from_address(words)
        self._words: Words = np.ctypeslib.as_array(held)

    @property
    @_alone
    def _address(self) -> int:
        """The C struct, once all that was put off is done."""
        if not self._pointer:
            self._begin()
        while self._reading:
            self._reading.popleft().result()
        self._do(self._take_left())
        if self._failed is not None:
            raise self._failed
        return self._pointer

    @property
    def _state(self) -> _State:
        _ = self._address
        return self._fields

    @property
    def _registers(self) -> Words:
        _ = self._address
        return self._words

    @property
    def counter(self) -> int:
        return int(self._state.counter)

    @property
    def frame(self) -> int:
        return int(self._state.frame)

    @property
    def ended_at(self) -> int:
        return int(self._state.ended_at)

    @property
    def ended_frame(self) -> int:
        return int(self._state.ended_frame)

    @property
    def own_at(self) -> int:
        return int(self._state.own_at)

    @_alone
    def take(self, said: Ids) -> Written:
        said = np.ascontiguousarray(said, dtype=np.int32)
        self.unread += len(said)
        if self._is_long and len(said) >= LONG:
            self._append(lambda other: other._read("take", said))
            kept = None
        else:
            kept = _at(self._room(len(said)))
            self._length += len(said)
        written, ended = np.empty(len(said), dtype=np.uint16), ctypes.c_int64()
        room = kept, _at(written), ctypes.byref(ended)
        count = self._library.curta_ledger_count(_at(said), len(said), *room)
        self.instructions += ended.value
        if self.unread > (LONG if self._is_long else MOST_UNREAD):
            self._hand_over()
        return written[:count]

    def _room(self, length: int) -> Kept:
        """For tokens that are kept."""
        if length > len(self._stretch) - self._length:
            self._close_stretch()
            self._stretch = np.empty(max(length, FEW, min(self.unread, LONG)), dtype=np.uint16)
        return self._stretch[self._length :]

    def _close_stretch(self) -> None:
        """What comes next is done behind the tokens that are kept."""
        if self._length:
            stretch, self._stretch = np.split(self._stretch, [self._length])
            self._length = 0
            self.left.append(lambda other: other._read("take_kept", stretch))

    def _append(self, order: Order) -> None:
        self._close_stretch()
        self.left.append(order)

    def _read(self, take: str, tokens: Ids | Kept) -> None:
        read = getattr(self._library, f"curta_ledger_{take}")
        _check(read(self._pointer, _at(tokens), len(tokens)))

    def _take_left(self) -> list[Order]:
        self._close_stretch()
        left, self.left, self.unread = self.left, [], 0
        return left

    def _do(self, left: list[Order]) -> None:
        """By whichever thread, while nobody else uses the C struct."""
        try:
            for each in left:
                if self._failed is None:
                    each(self)
        except TokenError as failed:
            self._failed = failed

    def _hand_over(self) -> None:
        """Have another thread read what was put off."""
        self._is_long = True
        if not self._pointer:
            self._begin()
        if len(self._reading) == MOST_WAITING:
            self._reading.popleft().result()
        reading = _reader().submit(self._do, self._take_left())
        self._reading.append(reading)
        _LATEST.append(reading)

    @_put_off
    def give(self, *segments: Segment) -> None:
        held = ((each.address, np.frombuffer(each.content, np.uint8)) for each in segments)
        self._fill("bytes", extents_of(held, np.uint8))

    @_put_off
    def fill(self, memory: Extents, registers: Extents) -> None:
        self._fill("bytes", memory)
        self._fill("words", registers)

    def _fill(self, kind: str, extents: Extents) -> None:
        content = np.ascontiguousarray(extents.content, np.uint8 if kind == "bytes" else np.uint32)
        fill = getattr(self._library, f"curta_ledger_{kind}")
        firsts, lengths = _at(extents.firsts), _at(extents.lengths)
        _check(fill(self._pointer, firsts, lengths, len(extents), _at(content)))

    @_alone
    def put(self, counter: int, frame: int, instructions: int, own_at: int) -> None:
        self.instructions = instructions
        self._put(counter, frame, own_at)

    @_put_off
    def _put(self, counter: int, frame: int, own_at: int) -> None:
        self._fields.counter, self._fields.frame, self._fields.own_at = counter, frame, own_at

    def word(self, register: int) -> int:
        return int(self._registers[register]) if register < REGISTERS else 0

    @_alone
    def registers(self) -> Words:
        return self._registers[: reach(self.frame, self.size)].copy()

    @_alone
    def forget(self) -> None:
        self._library.curta_ledger_forget(self._address, reach(self.frame, self.size))

    @_alone
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


@lru_cache(maxsize=8)
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
    own = np.where(rows["library"] == 0, np.arange(len(rows)), -1)
    rows["own"] = np.maximum.accumulate(own).astype(np.int32).view(np.uint32)
    is_indexed = (rows["kind"] >= _KINDS["STORE"]) & (operation < count)
    rows["kind"][is_indexed] |= _STORE_INDEX
    return rows


@cache
def _kinds(operations: tuple[str, ...]) -> npt.NDArray[np.uint32]:
    return np.array([_kind(name) for name in operations], dtype=np.uint32)


def _kind(name: str) -> int:
    operation = operation_of(name)
    if operation.kind == "store":
        private = 0 if operation.has_bounds else _STORE_PRIVATE
        return _KINDS["STORE"] | operation.size | private
    if name.startswith("call"):
        return _KINDS["CALL"]
    if name == "return":
        return _KINDS["RETURN"]
    return _KINDS["OTHER" if operation.kind in ("jump", "write", "end") else "WORD"]


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
        "NEAR": NEAR,
        "FAR": FAR,
        "GLOBALS": GLOBALS,
        "FIRST_FRAME": FIRST_FRAME,
        "REGISTERS": REGISTERS,
        "LAST_FRAME": LAST_FRAME,
        "MEMORY_END": f"UINT64_C({MEMORY_END})",
        "MEMORY_PAGE": MEMORY_PAGE,
        "WORD_DIGITS": WORD_DIGITS,
        "ADDRESS_BYTES": ADDRESS_BYTES,
        "OUTPUTS": len(OUTPUT),
        "TRAPS": len(ids.TRAP_IDS),
    }
    macros = "".join(f"#define {name} {number}\n" for name, number in numbers.items())
    source = Path(__file__).with_name("ledger.c").read_text(encoding="utf-8")
    library = load_library(build_library(macros + zeros_source() + source, name="ledger"))
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    for name, result, arguments in (
        ("new", pointer, (pointer, count, count)),
        ("free", None, (pointer,)),
        ("registers", pointer, (pointer,)),
        ("bytes", ctypes.c_int32, (pointer, pointer, pointer, count, pointer)),
        ("words", ctypes.c_int32, (pointer, pointer, pointer, count, pointer)),
        ("forget", None, (pointer, count)),
        ("pages", count, (pointer, pointer)),
        ("memory", None, (pointer, pointer, count, count, pointer, pointer, pointer, pointer)),
        ("take", ctypes.c_int32, (pointer, pointer, count)),
        ("take_kept", ctypes.c_int32, (pointer, pointer, count)),
        ("count", count, (pointer, count, pointer, pointer, pointer)),
    ):
        function = getattr(library, f"curta_ledger_{name}")
        function.restype, function.argtypes = result, list(arguments)
    return library
