"""Where a program trapped: who called whom, from the innermost core instruction outwards, and which
address was wanted.

A function finds the number of the instruction to go on with in a register of its frame, the one
that its `return` names. The instruction before that is the call, whose immediate says how far back
the caller's frame is. So a chain of calls can be read from what the ledger holds; nothing has to be
kept for it while a program runs.
"""

from __future__ import annotations

import numpy as np

from curta.machine.instructions import CORE, GLOBALS, MEMORY_PAGES, PAGE, SIGN, WORD
from curta.machine.ledger import FIRST_FRAME, Ledger
from curta.machine.loaded import LoadedProgram

MOST = 64
"""Calls that are shown, of a recursion that has no end."""


def backtrace(program: LoadedProgram, ledger: Ledger) -> tuple[int, ...]:
    """Where the program ended, then the calls that led there; as far as they can be told."""
    found, frame = [ledger.ended_at], ledger.ended_frame
    while len(found) < MOST:
        register = return_register(program, found[-1])
        if register is None:
            break
        call = ledger.word(FIRST_FRAME + frame + register) - 1
        if not 0 <= call < len(program):
            break
        instruction = program.instruction(call)
        if not instruction.operation.startswith("call"):
            break
        frame -= instruction.immediate
        if frame < 0:
            break
        found.append(call)
    return tuple(found)


def address_in_words(program: LoadedProgram, ledger: Ledger) -> str:
    """What address the instruction wanted at which the program ended, if it wants one."""
    if not 0 <= ledger.ended_at < len(program):
        return ""
    instruction = program.instruction(ledger.ended_at)
    access = CORE.get(instruction.operation)
    if access is None or not access.has_bounds:
        return ""
    sources = [r for r in (instruction.a, instruction.b) if r is not None]
    at = FIRST_FRAME + ledger.ended_frame
    base = sum(ledger.word(r if r >= GLOBALS else at + r) for r in sources) % WORD
    address = base + instruction.immediate
    if SIGN <= address < WORD:
        return f", at address {address - WORD:,}: below 0, as where a stack overflows"
    return f", at address {address:,} of {ledger.word(MEMORY_PAGES) * PAGE:,}"


def return_register(program: LoadedProgram, number: int) -> int | None:
    """The register that says where a function returns to; if it never does, where calls put it."""
    functions = program.origins["function"]
    if not 0 <= number < len(functions):
        return None
    others = np.flatnonzero(functions != functions[number])
    first = int(others[others < number][-1]) + 1 if (others < number).any() else 0
    end = int(others[others > number][0]) if (others > number).any() else len(functions)
    for instruction in map(program.instruction, range(first, end)):
        if instruction.operation == "return":
            return instruction.a
    for instruction in map(program.instruction, range(len(program))):
        if instruction.operation == "call" and instruction.target == first:
            return instruction.d - instruction.immediate
    return None
