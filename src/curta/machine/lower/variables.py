"""Instructions that move operands: nothing is left of them."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.builder import Builder, Values, flat
from curta.machine.lower.conditions import choose, invert, pop_condition, value_of
from curta.machine.lower.rules import WIDE, Operation


def local_get(b: Builder, index: int) -> None:
    b.stack.append(b.locals[index])


def local_set(b: Builder, index: int) -> None:
    b.set_local(index, b.stack.pop())


def local_tee(b: Builder, index: int) -> None:
    b.set_local(index, b.stack[-1])


def global_get(b: Builder, index: int) -> None:
    registers = b.context.global_registers.get(index)
    if registers is None:
        b.push(tuple(map(b.constant, b.context.global_words[index])))
    else:
        b.push(tuple(map(b.get, registers)))


def global_set(b: Builder, index: int) -> None:
    for register, value in zip(b.context.global_registers[index], b.stack.pop(), strict=True):
        b.set(register, value)


def drop(b: Builder) -> None:
    b.stack.pop()


def select(b: Builder) -> None:
    fused = b.stack[-1][0] in b.pending
    condition = pop_condition(b)
    first, second = b.pop(2)
    if not isinstance(condition, Operation):
        b.push(first if b.word(condition) else second)
        return
    if fused and first != second:
        # Copying the other choice, or not, is less work than `select`.
        if _is_there(b, second):
            condition, first, second = invert(condition), second, first
        if _is_there(b, first):
            b.push(choose(b, condition, first, lambda: second))
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
    b.push(tuple(b.value("select", x, y, chooser) for x, y in zip(first, second, strict=True)))


def _is_there(b: Builder, choice: Values) -> bool:
    """Whether a choice most likely lies where the result goes."""
    if not set(choice).isdisjoint(flat(b.stack)):
        return False
    following = b.following_local
    if following is not None:
        return b.locals[following] == choice
    homes = [b.code.home.get(value) for value in choice]
    return homes == [b.cell(word) for word in range(len(choice))]


VARIABLES: dict[str, Callable[..., None]] = {
    "local.get": local_get,
    "local.set": local_set,
    "local.tee": local_tee,
    "global.get": global_get,
    "global.set": global_set,
    "drop": drop,
    "select": select,
    "nop": lambda _: None,
}
