"""Translate: the body of a WebAssembly function in, blocks of steps that do the same out.

Of instructions that move operands nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.lower.builder import Builder, Values, flat
from curta.machine.lower.code import Code, WasmLocation
from curta.machine.lower.conditions import choose, invert, pop_condition, value_of
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.control import CONTROL
from curta.machine.lower.effects import COMPUTED
from curta.machine.lower.numbers import Compute
from curta.machine.lower.rules import WIDE, Operation
from curta.machine.values import word_count
from curta.machine.wasm.module import Function
from curta.machine.wasm.opcodes import OPCODES

Handler = Callable[..., None]
_NESTING = ("block", "loop", "if", "else", "end")


def translate(context: ModuleContext, index: int, function: Function, name: str) -> Code:
    """A function of this index, not yet optimised."""
    b = Builder(context, index, function, name)
    for index, instruction in enumerate(b.body):
        if b.live or instruction.opcode in _NESTING:
            b.index, b.place = index, WasmLocation(b.code.callee, index)
            if b.live:
                b.tell()
            INSTRUCTIONS[instruction.opcode](b, *instruction.operands)
    b.code.blocks = {block.label: block for block in (*b.blocks, *b.rare)}
    return b.code


# -- instructions that move operands --------------------------------------------------------------


def local_set(b: Builder, index: int) -> None:
    b.locals[index] = b.stack.pop()


def local_tee(b: Builder, index: int) -> None:
    b.locals[index] = b.stack[-1]


def global_get(b: Builder, index: int) -> None:
    registers = b.context.global_registers.get(index)
    words = map(b.constant, b.context.global_words[index])
    b.push(tuple(words if registers is None else map(b.get, registers)))


def global_set(b: Builder, index: int) -> None:
    for register, value in zip(b.context.global_registers[index], b.stack.pop(), strict=True):
        b.set(register, value)


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


# -- all instructions -----------------------------------------------------------------------------


def _on_stack(compute: Compute, takes: int, b: Builder, *immediates: int) -> None:
    """Take operands from the stack, and leave what is computed of their words there."""
    result = compute(b, *immediates, *flat(b.pop(takes)))
    if result:
        b.push(result)


def _call_library(name: str, gives: int, b: Builder, *given: int) -> Values:
    return b.call_library(name, given, gives)


def _handlers() -> dict[str, Handler]:
    found: dict[str, Handler] = {
        "nop": lambda _: None,
        "drop": lambda b: b.stack.pop(),
        "select": select,
        "local.get": lambda b, index: b.stack.append(b.locals[index]),
        "local.set": local_set,
        "local.tee": local_tee,
        "global.get": global_get,
        "global.set": global_set,
    }
    for name, row in OPCODES.items():
        if row.signature is not None:
            call = partial(_call_library, name, word_count(row.signature.results))
            compute = COMPUTED.get(name, call)
            found[name] = partial(_on_stack, compute, len(row.signature.parameters))
    return found | CONTROL


INSTRUCTIONS = _handlers()
"""What every instruction does to the builder, given its immediates."""
