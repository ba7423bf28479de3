"""Translate: the body of a WebAssembly function in, blocks of steps that do the same out."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.accesses import ACCESSES
from curta.machine.lower.builder import Builder, flat
from curta.machine.lower.code import Code, Place, words
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.control import CONTROL
from curta.machine.lower.numbers import NUMBERS, Compute
from curta.machine.lower.variables import VARIABLES
from curta.machine.wasm.module import Function
from curta.machine.wasm.opcodes import OPCODES, Signature

Handler = Callable[..., None]


def _on_stack(compute: Compute, takes: int) -> Handler:
    """Take operands from the stack, and leave what is computed of their words there."""

    def handler(b: Builder, *immediates: int) -> None:
        result = compute(b, *immediates, *flat(b.pop(takes)))
        if result:
            b.push(result)

    return handler


def _library(name: str, signature: Signature) -> Compute:
    gives = words(signature.results)
    return lambda b, *given: b.call_library(name, given, gives)


def _handlers() -> dict[str, Handler]:
    computed = NUMBERS | ACCESSES
    found = VARIABLES | CONTROL
    for name, row in OPCODES.items():
        if row.signature is not None:
            compute = computed.get(name) or _library(name, row.signature)
            found[name] = _on_stack(compute, len(row.signature.parameters))
    return found


INSTRUCTIONS = _handlers()
"""What every instruction does to the builder, given its immediates."""


def translate(context: ModuleContext, index: int, function: Function, name: str) -> Code:
    """A function of this index, not yet optimised."""
    b = Builder(context, index, function, name)
    while b.index < len(b.body):
        instruction = b.body[b.index]
        if b.live or instruction.opcode in ("else", "end"):
            b.place = Place(b.code.callee, b.index)
            INSTRUCTIONS[instruction.opcode](b, *instruction.operands)
            b.index += 1
        else:
            b.index = _past(b, instruction.opcode)
    b.code.blocks = {block.label: block for block in (*b.blocks, *b.rare)}
    return b.code


def _past(b: Builder, opcode: str) -> int:
    """The index after an instruction that is not reached, and all that is within it."""
    if opcode not in ("block", "loop", "if"):
        return b.index + 1
    end: int = b.body[b.index].operands[1]
    if b.body[end].opcode == "else":
        end = b.body[end].operands[0]
    return end + 1
