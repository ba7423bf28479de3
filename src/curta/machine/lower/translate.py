"""Translate: the body of a WebAssembly function in, the steps that do the same out."""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.lower.accesses import ACCESSES
from curta.machine.lower.body import Body
from curta.machine.lower.code import FunctionCode, words
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
    "nop": lambda body: None,
}


def translate(
    context: ModuleContext, index: int, function: Function, info: FunctionInfo, name: str
) -> FunctionCode:
    """A function of this index, not yet optimised."""
    body = Body(context, info.type, function, info.stacks)
    constructs = Constructs(body)
    code = body.code
    while body.index < len(code):
        instruction = code[body.index]
        opcode = instruction.opcode
        if not body.live and opcode not in ("else", "end"):
            body.index = _past(body, opcode)
            continue
        body.begin()
        simple = _SIMPLE.get(opcode)
        if simple is not None:
            simple(body, *instruction.operands)
        else:
            CONTROL[opcode](body, constructs, *instruction.operands)
        body.index += 1
    return FunctionCode(
        (context.name, index),
        name,
        words(info.type.parameters),
        body.results,
        body.steps,
        body.return_register + 1,
        body.base,
        body.top,
        body.labels,
        body.needs,
    )


def _past(body: Body, opcode: str) -> int:
    """The index after an instruction that is not reached, and all that is within it."""
    if opcode not in ("block", "loop", "if"):
        return body.index + 1
    end: int = body.code[body.index].operands[1]
    if body.code[end].opcode == "else":
        end = body.code[end].operands[0]
    return end + 1
