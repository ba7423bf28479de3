"""Instructions on what is outside of a function: memory, tables, segments, input and output.

An access of 64 bits is two of 32, the higher one first: it lies further up, so it is the one that
the bounds are checked for, before anything is changed. Native instructions, which the library
imports from "curta", have names that begin so.
"""

from __future__ import annotations

from functools import partial

from curta.machine.instructions import MEMORY_PAGES, TRAPS, WORD
from curta.machine.layout import ARGUMENTS, ARGUMENTS_LENGTH, ENVIRONMENT, ENVIRONMENT_LENGTH, STATE
from curta.machine.lower.builder import Builder, To, Values
from curta.machine.lower.code import Exit, Step, Value
from curta.machine.lower.conditions import branch, choose
from curta.machine.lower.numbers import NUMBERS, Compute
from curta.machine.lower.rules import Operation
from curta.machine.values import WORD_BITS
from curta.machine.wasm.opcodes import MEMORY_ACCESSES, Opcode

OUT_OF_BOUNDS = TRAPS.index("out of bounds memory access")
_HIGH = 4
"""How far the high word lies behind the low one."""
_END_OF_BYTES = 0xFFFF_FFFF
_ERRORS_FILE = 2


def place_of(b: Builder, address: Value, offset: int, reach: int = 0) -> tuple[Value, int]:
    """Address and offset of an access; they and `reach` more are to fit the immediate."""
    word = b.word(address)
    if word is not None and word + offset + reach < WORD:
        return b.constant(0), word + offset
    return address, offset


def _load(name: str, row: Opcode, b: Builder, _: int, offset: int, address: Value) -> Values:
    low = b.load(name, *place_of(b, address, offset))
    if row.bits == WORD_BITS:
        return (low,)
    return low, b.value("shr_s", low, b.constant(31)) if row.signed else b.constant(0)


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


# -- native instructions --------------------------------------------------------------------------


def _trap(b: Builder, code: Value) -> None:
    """The number of a trap is part of the instruction: one that is computed is looked for."""
    known, last = b.word(code), len(TRAPS) - 1
    for number in range(last) if known is None else ():
        this, other = To(b.new_join()), To(b.new_join())
        branch(b, Operation("eq", (code, b.constant(number))), this, other)
        b.begin(this.join)
        b.trap(number)
        b.begin(other.join)
    b.trap(last if known is None else min(known, last))


def _say(b: Builder, name: str, byte: Value) -> Values:
    word = b.word(byte)
    b.do(Step(name, b=byte if word is None else b.constant(word % 256)))
    return ()


def _write(b: Builder, file: Value, byte: Value) -> None:
    word = b.word(file)
    if word is not None:
        _say(b, "write_err" if word == _ERRORS_FILE else "write_out", byte)
        return
    to_errors = Operation("eq", (file, b.constant(_ERRORS_FILE)))
    choose(b, to_errors, lambda: _say(b, "write_err", byte), lambda: _say(b, "write_out", byte), 1)


def _string_byte(length: int, place: int, b: Builder, index: Value) -> Values:
    """A byte of the arguments or the environment, or the end."""
    limit = b.load("peek32", b.constant(0), length)
    beyond = Operation("ge_u", (index, limit))
    end = (b.constant(_END_OF_BYTES),)
    return choose(b, beyond, end, lambda: (b.load("peek8", index, place),))


def _peek(name: str, base: int, shift: int, b: Builder, place: Value) -> Values:
    address = b.value("shl", place, b.constant(shift))
    return (b.load(name, *place_of(b, address, base)),)


def _poke(name: str, base: int, shift: int, b: Builder, place: Value, value: Value) -> None:
    address, offset = place_of(b, b.value("shl", place, b.constant(shift)), base)
    b.do(Step(name, a=address, c=value, immediate=offset))


def _access(row: Opcode) -> Compute:
    """By the bytes in the memory; eight are two words."""
    bits = 8 * row.width
    if bits > WORD_BITS:
        return _load_wide if row.results else _store_wide
    if not row.results:
        return partial(_store, f"store{bits}")
    name = "load32" if bits == WORD_BITS else f"load{bits}_{'s' if row.signed else 'u'}"
    return partial(_load, name, row)


COMPUTED: dict[str, Compute] = {
    **NUMBERS,
    **{name: _access(row) for name, row in MEMORY_ACCESSES.items()},
    "memory.size": lambda b: (b.get(MEMORY_PAGES),),
    "memory.grow": _memory_grow,
    "memory.init": _memory_init,
    "data.drop": lambda b, n: b.set(b.context.data[n].length_register, b.constant(0)),
    "table.init": _table_init,
    "elem.drop": lambda b, n: b.set(b.context.elements[n].length_register, b.constant(0)),
    "table.copy": lambda b, _to, _from, *words: b.call_library(
        "table.copy", (*words, b.constant(b.context.table_size)), 0
    ),
    "curta.trap": _trap,
    "curta.exit": lambda b, code: b.end(Exit(code, b.place)),
    "curta.write": _write,
    "curta.read": lambda b: (b.compute("read"),),
    "curta.argument": partial(_string_byte, ARGUMENTS_LENGTH, ARGUMENTS),
    "curta.environ": partial(_string_byte, ENVIRONMENT_LENGTH, ENVIRONMENT),
    "curta.load_state": partial(_peek, "peek32", STATE, 2),
    "curta.store_state": partial(_poke, "poke32", STATE, 2),
    **{f"curta.{name}": partial(_peek, name, 0, 0) for name in ("peek8", "peek32")},
    **{f"curta.{name}": partial(_poke, name, 0, 0) for name in ("poke8", "poke32")},
}
"""What instructions give that take words and give words; all others of them are functions of the
library.
"""
