"""Instructions on memory, tables and passive segments.

An access of 64 bits is two of 32, the higher one first: it lies further up, so it is the one that
the bounds are checked for, before anything is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import MEMORY_PAGES, TRAPS, WORD, ZERO
from curta.machine.lower.body import Body

OUT_OF_BOUNDS = TRAPS.index("out of bounds memory access")
_HIGH = 4
"""How far the high word lies behind the low one."""

_LOADS = {
    "i32.load": "load32",
    "f32.load": "load32",
    **{f"{kind}.load8_{sign}": f"load8_{sign}" for kind in ("i32", "i64") for sign in "us"},
    **{f"{kind}.load16_{sign}": f"load16_{sign}" for kind in ("i32", "i64") for sign in "us"},
    "i64.load32_u": "load32",
    "i64.load32_s": "load32",
}
_STORES = {
    "i32.store": "store32",
    "f32.store": "store32",
    **{f"{kind}.store8": "store8" for kind in ("i32", "i64")},
    **{f"{kind}.store16": "store16" for kind in ("i32", "i64")},
    "i64.store32": "store32",
}


def _place(body: Body, address: int, offset: int, reach: int = 0) -> tuple[int, int]:
    """Register and immediate of an address; it and `reach` more are to fit the immediate."""
    if address < 0 and ~address + offset + reach < WORD:
        return ZERO, ~address + offset
    return body.register(address), offset


def _load(name: str, wasm_name: str, body: Body, _: int, offset: int) -> None:
    address, immediate = _place(body, body.pop(), offset)
    low = body.new()
    body.add(name, low, address, immediate=immediate)
    body.push(low)
    if wasm_name.startswith("i64"):
        if wasm_name.endswith("_s"):
            body.pop()
            body.push(low, body.binary("shr_s", low, ~31, None, 1, (low,)))
        else:
            body.push(~0)


def _store(name: str, wide: bool, body: Body, _: int, offset: int) -> None:
    value = body.pop_wide()[0] if wide else body.pop()
    address, immediate = _place(body, body.pop(), offset)
    body.add(name, a=address, c=body.register(value), immediate=immediate)


def _load_wide(body: Body, _: int, offset: int) -> None:
    address = body.pop()
    if offset + _HIGH >= WORD:
        body.trap(OUT_OF_BOUNDS)
        return
    address, immediate = _place(body, address, offset, _HIGH)
    high = body.new(1, (address,))
    low = body.new(0, (high,))
    body.add("load32", high, address, immediate=immediate + _HIGH)
    body.add("load32", low, address, immediate=immediate)
    body.push(low, high)


def _store_wide(body: Body, _: int, offset: int) -> None:
    low, high = body.pop_wide()
    address = body.pop()
    if offset + _HIGH >= WORD:
        body.trap(OUT_OF_BOUNDS)
        return
    address, immediate = _place(body, address, offset, _HIGH)
    body.add("store32", a=address, c=body.register(high), immediate=immediate + _HIGH)
    body.add("store32", a=address, c=body.register(low), immediate=immediate)


def _memory_size(body: Body) -> None:
    body.push(MEMORY_PAGES)


def _memory_grow(body: Body) -> None:
    """The size before, or -1."""
    pages = body.register(body.pop())
    if MEMORY_PAGES in body.stack:
        body.release(MEMORY_PAGES)
    too_many, done = body.new_label(), body.new_label()
    room = body.temporary()
    d = body.new(0, (pages,))
    body.add("sub", room, body.register(~body.context.most_pages), MEMORY_PAGES)
    body.jump("jump_gt_u", too_many, pages, room)
    body.copy(d, MEMORY_PAGES)
    body.add("add", MEMORY_PAGES, MEMORY_PAGES, pages)
    body.put_label(done)
    before = body.aside()
    body.put_label(too_many)
    body.copy(d, ~(WORD - 1))
    body.jump("jump", done)
    body.rarely(body.steps)
    body.steps = before
    body.forget(MEMORY_PAGES)
    body.push(d)


# -- whole stretches: functions of the library ----------------------------------------------------


def _memory_fill(body: Body) -> None:
    body.call_library("memory.fill", 3, 0)


def _memory_copy(body: Body) -> None:
    body.call_library("memory.copy", 3, 0)


def _memory_init(body: Body, segment: int) -> None:
    passive = body.context.data[segment]
    body.push(~passive.address, passive.length_register)
    body.call_library("memory.init", 5, 0)


def _data_drop(body: Body, segment: int) -> None:
    body.copy(body.context.data[segment].length_register, ~0)


def _table_init(body: Body, segment: int, _: int) -> None:
    passive = body.context.elements[segment]
    body.push(~body.context.table_size, ~passive.address, passive.length_register)
    body.call_library("table.init", 6, 0)


def _elem_drop(body: Body, segment: int) -> None:
    body.copy(body.context.elements[segment].length_register, ~0)


def _table_copy(body: Body, *_: int) -> None:
    body.push(~body.context.table_size)
    body.call_library("table.copy", 4, 0)


ACCESSES: dict[str, Callable[..., None]] = {
    **{wasm: partial(_load, name, wasm) for wasm, name in _LOADS.items()},
    **{
        wasm: partial(_store, name, wasm[0] == "i" and wasm[1] == "6")
        for wasm, name in _STORES.items()
    },
    "i64.load": _load_wide,
    "f64.load": _load_wide,
    "i64.store": _store_wide,
    "f64.store": _store_wide,
    "memory.size": _memory_size,
    "memory.grow": _memory_grow,
    "memory.fill": _memory_fill,
    "memory.copy": _memory_copy,
    "memory.init": _memory_init,
    "data.drop": _data_drop,
    "table.init": _table_init,
    "elem.drop": _elem_drop,
    "table.copy": _table_copy,
}
"""What the instructions add, given their operands."""
