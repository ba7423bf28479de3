"""Instructions that move operands: nothing is left of them."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.builder import Builder, Values
from curta.machine.lower.conditions import choose, invert, pop_condition, value_of
from curta.machine.lower.rules import WIDE, Operation


def local_get(b: Builder, index: int) -> None:
    place = b.local_words[index]
    b.stack += b.locals[place.start : place.stop]


def local_set(b: Builder, index: int) -> None:
    b.set_local(index, b.pop_words(len(b.local_words[index])))


def local_tee(b: Builder, index: int) -> None:
    local_set(b, index)
    local_get(b, index)


def global_get(b: Builder, index: int) -> None:
    registers = b.context.global_registers.get(index)
    if registers is None:
        b.stack += (b.constant(word) for word in b.context.global_words[index])
    else:
        b.push(*(b.get(register) for register in registers))


def global_set(b: Builder, index: int) -> None:
    registers = b.context.global_registers[index]
    for register, value in zip(registers, b.pop_words(len(registers)), strict=True):
        b.set(register, value)


def word_constant(b: Builder, value: int) -> None:
    b.stack.append(b.constant(value))


def wide_constant(b: Builder, value: int) -> None:
    b.stack += (b.constant(value & 0xFFFF_FFFF), b.constant(value >> 32))


def _wide_on_top(b: Builder, below: int) -> bool:
    """Whether the operand under `below` others has two words."""
    chain = b.types[b.index]
    for _ in range(below):
        assert chain is not None  # the module is valid
        chain = chain[0]
    return chain is not None and chain[1] in ("i64", "f64")


def drop(b: Builder) -> None:
    b.pop_words(2 if _wide_on_top(b, 0) else 1)


def select(b: Builder) -> None:
    width = 1 + _wide_on_top(b, 1)
    fused = b.stack[-1] in b.pending
    condition = pop_condition(b)
    second, first = b.pop_words(width), b.pop_words(width)
    if not isinstance(condition, Operation):
        b.push(*(first if b.word(condition) else second))
        return
    if fused and first != second:
        # Copying the other choice, or not, is less work than `select`.
        if _is_there(b, second):
            condition, first, second = invert(condition), second, first
        if _is_there(b, first):
            b.push(*choose(b, condition, first, lambda: second))
            return
    name, sources = condition
    if name in ("eq", "ne") and b.word(sources[1]) == 0:
        chooser = sources[0]
        first, second = (first, second) if name == "ne" else (second, first)
    else:
        constant = all(b.word(value) is not None for value in first)
        if constant and not name.startswith(WIDE):
            condition, first, second = invert(condition), second, first
        chooser = value_of(b, condition)
    b.push(*(b.value("select", x, y, chooser) for x, y in zip(first, second, strict=True)))


def _is_there(b: Builder, choice: Values) -> bool:
    """Whether a choice most likely lies where the result goes."""
    if any(value in b.stack for value in choice):
        return False
    following = b.following_local
    if following is not None:
        place = b.local_words[following]
        return b.locals[place.start : place.stop] == choice
    homes = [b.code.home.get(value) for value in choice]
    return homes == [b.cell(word) for word in range(len(choice))]


VARIABLES: dict[str, Callable[..., None]] = {
    "local.get": local_get,
    "local.set": local_set,
    "local.tee": local_tee,
    "global.get": global_get,
    "global.set": global_set,
    "i32.const": word_constant,
    "f32.const": word_constant,
    "i64.const": wide_constant,
    "f64.const": wide_constant,
    "drop": drop,
    "select": select,
}
