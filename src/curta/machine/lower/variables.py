"""Instructions that move operands: mostly nothing is left of them."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.body import Body, Condition
from curta.machine.lower.conditions import (
    branch,
    condition_register,
    constant_truth,
    invert,
    pop_condition,
)


def local_get(body: Body, index: int) -> None:
    known = body.known
    for register in body.local_registers[index]:
        body.stack.append(known.get(register, register))


def local_set(body: Body, index: int) -> None:
    registers = body.local_registers[index]
    body.set_registers(registers, body.pop_words(len(registers)))


def local_tee(body: Body, index: int) -> None:
    registers = body.local_registers[index]
    operands = body.pop_words(len(registers))
    body.set_registers(registers, operands)
    for register, operand in zip(registers, operands, strict=True):
        constant = operand < 0
        body.stack.append(operand if constant else register)


def global_get(body: Body, index: int) -> None:
    for operand in body.context.globals[index]:
        body.stack.append(body.known.get(operand, operand))


def global_set(body: Body, index: int) -> None:
    registers = body.context.globals[index]
    body.set_registers(registers, body.pop_words(len(registers)))


def word_constant(body: Body, value: int) -> None:
    body.stack.append(~value)


def wide_constant(body: Body, value: int) -> None:
    body.stack += (~(value & 0xFFFF_FFFF), ~(value >> 32))


def _wide_on_top(body: Body, below: int) -> bool:
    """Whether the operand under `below` others has two words."""
    chain = body.types[body.index]
    for _ in range(below):
        assert chain is not None  # the module is valid
        chain = chain[0]
    return chain is not None and chain[1] in ("i64", "f64")


def drop(body: Body) -> None:
    body.pop_words(2 if _wide_on_top(body, 0) else 1)


def select(body: Body) -> None:
    wide = _wide_on_top(body, 1)
    fused = body.condition is not None
    condition = pop_condition(body)
    second = body.pop_words(1 + wide)
    first = body.pop_words(1 + wide)
    truth = constant_truth(condition)
    if truth is not None:
        body.push(*(first if truth else second))
        return
    if fused and all(word < 0 for word in first):
        condition, first, second = invert(condition), second, first
    if first == second:
        body.push(*first)
        return
    if fused and _choose_by_jump(body, condition, first, second):
        return
    chooser = condition_register(body, condition)
    results = []
    for place, (a, b) in enumerate(zip(first, second, strict=True)):
        if a == b:
            results.append(a)
            continue
        later = (*first[place + 1 :], *second[place + 1 :])
        d = body.new(place, (chooser, *later, *results) if wide else ())
        if b < 0:
            body.add("select", d, body.register(a), -1, chooser, ~b)
        else:
            body.add("select", d, body.register(a), b, chooser)
        results.append(d)
    body.push(*results)


def _choose_by_jump(
    body: Body, condition: Condition, first: tuple[int, ...], second: tuple[int, ...]
) -> bool:
    """If the result goes where one of the choices is, copy the other there or do not."""
    target = tuple(body.destination(word) for word in range(len(first)))
    if target == first:
        stays, other = condition, second
    elif target == second:
        stays, other = invert(condition), first
    else:
        return False
    if target[0] in other[1:] or any(register in body.stack for register in target):
        return False
    done = body.new_label()
    branch(body, stays, done)
    for register, operand in zip(target, other, strict=True):
        body.copy(register, operand)
        body.forget(register)
    body.put_label(done)
    body.push(*target)
    return True


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
