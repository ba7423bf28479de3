"""Translate: the body of a WebAssembly function in, blocks of steps that do the same out."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.accesses import ACCESSES
from curta.machine.lower.builder import Builder
from curta.machine.lower.code import Code, Place
from curta.machine.lower.context import ModuleContext
from curta.machine.lower.control import CONTROL, Constructs
from curta.machine.lower.numbers import NUMERIC
from curta.machine.lower.variables import VARIABLES
from curta.machine.wasm.module import Function
from curta.machine.wasm.validate_code import FunctionInfo

_SIMPLE: dict[str, Callable[..., None]] = {
    **VARIABLES,
    **NUMERIC,
    **ACCESSES,
    "nop": lambda b: None,
}


def translate(
    context: ModuleContext, index: int, function: Function, info: FunctionInfo, name: str
) -> Code:
    """A function of this index, not yet optimised."""
    b = Builder(context, index, function, info, name)
    constructs = Constructs()
    while b.index < len(b.body):
        instruction = b.body[b.index]
        opcode = instruction.opcode
        if not b.live and opcode not in ("else", "end"):
            b.index = _past(b, opcode)
            continue
        b.place = Place(b.code.callee, b.index)
        b.tell()
        simple = _SIMPLE.get(opcode)
        if simple is not None:
            simple(b, *instruction.operands)
        else:
            CONTROL[opcode](b, constructs, *instruction.operands)
        b.index += 1
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
