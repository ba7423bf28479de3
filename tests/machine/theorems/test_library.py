"""Library functions for all operands, in one question each: WebAssembly beside z3's theories.

Products have a file of their own; quotients are tested (test_library_operands.py).
"""

from __future__ import annotations

import dataclasses

import pytest

pytest.importorskip("z3")
from tests.machine.runtime.runtime_operations import OPERATIONS, Operation
from tests.machine.theorems.library import arithmetic, claim_of, operand_words, prove_function
from tests.machine.theorems.proving import RefutedError, prove
from tests.machine.theorems.specifications import meaning
from tests.machine.theorems.webassembly import Executor

DECOMPOSED = ("mul", "div", "rem")
WHOLE = [
    operation for operation in OPERATIONS if not operation.name.split(".")[1].startswith(DECOMPOSED)
]
QUICK = ("i64.add", "i64.sub", "i64.shl", "i64.rotl", "f64.min", "f64.nearest", "i32.trunc_f32_s")


@pytest.mark.slow
@pytest.mark.parametrize("operation", WHOLE, ids=lambda operation: operation.name)
def test_function_gives_what_the_instruction_does(operation: Operation) -> None:
    prove_function(operation.name, operation.operands)


@pytest.mark.parametrize("name", QUICK)
def test_function_gives_what_the_instruction_does_quick(name: str) -> None:
    operation = next(one for one in OPERATIONS if one.name == name)
    prove_function(name, operation.operands)


MUTANTS = {
    "i64.add": ("i32.add", "i32.sub"),
    "i64.shl": ("i32.shl", "i32.shr_u"),
    "f32.max": ("i32.lt_s", "i32.gt_s"),
    "f64.floor": ("i32.add", "i32.sub"),
    "i64.trunc_f64_s": ("i32.sub", "i32.add"),
    "i64.trunc_sat_f32_u": ("i32.sub", "i32.add"),
}
"""An opcode of each function, and another for its place."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_function_is_refuted(name: str) -> None:
    """What is proved of a function is not true of one that was changed."""
    module = arithmetic()
    executor = Executor(module)
    wanted, other = MUTANTS[name]
    place = executor.exports[name] - len(executor.imports)
    function = module.functions[place]
    at = max(n for n, one in enumerate(function.body) if one.opcode == wanted)
    changed = dataclasses.replace(function.body[at], opcode=other)
    body = (*function.body[:at], changed, *function.body[at + 1 :])
    functions = list(module.functions)
    functions[place] = dataclasses.replace(function, body=body)
    mutant = Executor(dataclasses.replace(module, functions=tuple(functions)))
    kinds = next(one.operands for one in OPERATIONS if one.name == name)
    arguments, operands = operand_words(kinds)
    results = mutant.run(name, arguments)
    with pytest.raises(RefutedError):
        prove(claim_of(mutant, results, meaning(name, *operands)))
