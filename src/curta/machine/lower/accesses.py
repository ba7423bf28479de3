"""Instructions on memory, tables and passive segments.

An access of 64 bits is two of 32, the higher one first: it lies further up, so it is the one that
the bounds are checked for, before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import MEMORY_PAGES, TRAPS, WORD
from curta.machine.lower.builder import Builder, Values
from curta.machine.lower.code import Step, Value
from curta.machine.lower.conditions import choose
from curta.machine.lower.rules import Operation

OUT_OF_BOUNDS = TRAPS.index("out of bounds memory access")
_HIGH = 4
"""How far the high word lies behind the low one."""


def place_of(b: Builder, address: Value, offset: int, reach: int = 0) -> tuple[Value, int]:
    """Address and offset of an access; they and `reach` more are to fit the immediate."""
    word = b.word(address)
    if word is not None and word + offset + reach < WORD:
        return b.constant(0), word + offset
    return address, offset


def _load(name: str, b: Builder, _: int, offset: int, address: Value) -> Values:
    return (b.load(name, *place_of(b, address, offset)),)


def _load_long(name: str, signed: bool, b: Builder, _: int, offset: int, address: Value) -> Values:
    """A number of 64 bits of which fewer are in the memory."""
    low = b.load(name, *place_of(b, address, offset))
    return low, b.value("shr_s", low, b.constant(31)) if signed else b.constant(0)


def _store(name: str, b: Builder, _: int, offset: int, address: Value, *words: Value) -> None:
    address, offset = place_of(b, address, offset)
    b.do(Step(name, a=address, c=words[0], immediate=offset))


def _load_wide(b: Builder, _: int, offset: int, address: Value) -> Values:
    if offset + _HIGH >= WORD:
        b.trap(OUT_OF_BOUNDS)
        return ()
    address, offset = place_of(b, address, offset, _HIGH)
    high = b.load("load32", address, offset + _HIGH)
    return b.load("load32", address, offset), high


def _store_wide(b: Builder, _: int, offset: int, address: Value, low: Value, high: Value) -> None:
    if offset + _HIGH >= WORD:
        b.trap(OUT_OF_BOUNDS)
        return
    address, offset = place_of(b, address, offset, _HIGH)
    b.do(Step("store32", a=address, c=high, immediate=offset + _HIGH))
    b.do(Step("store32", a=address, c=low, immediate=offset))


def _memory_grow(b: Builder, pages: Value) -> Values:
    """The size before, or -1."""
    before = b.get(MEMORY_PAGES)
    room = b.value("sub", b.constant(b.context.most_pages), before)

    def grow() -> Values:
        b.set(MEMORY_PAGES, b.value("add", before, pages))
        return (before,)

    return choose(b, Operation("gt_u", (pages, room)), (b.constant(WORD - 1),), grow, rare=1)


# -- whole stretches: functions of the library ----------------------------------------------------


def _memory_init(b: Builder, segment: int, *words: Value) -> None:
    passive = b.context.data[segment]
    present = b.constant(passive.address), b.get(passive.length_register)
    b.call_library("memory.init", (*words, *present), 0)


def _table_init(b: Builder, segment: int, _: int, *words: Value) -> None:
    passive = b.context.elements[segment]
    size, address = b.constant(b.context.table_size), b.constant(passive.address)
    present = size, address, b.get(passive.length_register)
    b.call_library("table.init", (*words, *present), 0)


def _table_copy(b: Builder, _to: int, _from: int, *words: Value) -> None:
    b.call_library("table.copy", (*words, b.constant(b.context.table_size)), 0)


def _data_drop(b: Builder, segment: int) -> None:
    b.set(b.context.data[segment].length_register, b.constant(0))


def _elem_drop(b: Builder, segment: int) -> None:
    b.set(b.context.elements[segment].length_register, b.constant(0))


_LOADS = ("load8_u", "load8_s", "load16_u", "load16_s")
ACCESSES: dict[str, Callable[..., Values | None]] = {
    **{f"i32.{name}": partial(_load, name) for name in _LOADS},
    **{f"i64.{name}": partial(_load_long, name, name.endswith("_s")) for name in _LOADS},
    "i64.load32_u": partial(_load_long, "load32", False),
    "i64.load32_s": partial(_load_long, "load32", True),
    **dict.fromkeys(("i32.load", "f32.load"), partial(_load, "load32")),
    **dict.fromkeys(("i64.load", "f64.load"), _load_wide),
    **{f"i32.{name}": partial(_store, name) for name in ("store8", "store16")},
    **{f"i64.{name}": partial(_store, name) for name in ("store8", "store16", "store32")},
    **dict.fromkeys(("i32.store", "f32.store"), partial(_store, "store32")),
    **dict.fromkeys(("i64.store", "f64.store"), _store_wide),
    "memory.size": lambda b: (b.get(MEMORY_PAGES),),
    "memory.grow": _memory_grow,
    "memory.init": _memory_init,
    "data.drop": _data_drop,
    "table.init": _table_init,
    "elem.drop": _elem_drop,
    "table.copy": _table_copy,
}
"""What the instructions give, by their immediates and the words that they take."""
