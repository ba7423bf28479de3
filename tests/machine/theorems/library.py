"""The library's functions as terms, from their WebAssembly, beside what they are to give."""

from __future__ import annotations

from functools import cache

import z3

from curta.machine.runtime.build import ARITHMETIC, BULK
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module
from tests.machine.theorems.proving import SECONDS, prove
from tests.machine.theorems.specifications import Meaning, meaning
from tests.machine.theorems.webassembly import Executor
from tests.machine.theorems.words import Exact, Word, high_word, low_word, wide


@cache
def arithmetic() -> Module:
    return decode(ARITHMETIC.path.read_bytes())


@cache
def bulk() -> Module:
    return decode(BULK.path.read_bytes())


def operand_words(kinds: tuple[str, ...]) -> tuple[list[Word], list[z3.BitVecRef]]:
    """Unknown words for operands of these types, low word first; and the operands themselves."""
    words, operands = [], []
    for name, kind in zip("ab", kinds, strict=False):
        if kind in ("i64", "f64"):
            low, high = z3.BitVec(f"{name}_low", 32), z3.BitVec(f"{name}_high", 32)
            words += [low, high]
            operands.append(wide(low, high))
        else:
            words.append(z3.BitVec(name, 32))
            operands.append(words[-1])
    return words, operands


def claim_of(executor: Executor, results: list[Word], intended: Meaning) -> z3.BoolRef:
    """It traps as it should; where it does not, the results are those of the specification."""
    same = [executor.trapped() == intended.trap]
    if results:
        result = intended.result
        parts = [result] if result.size() == 32 else [low_word(result), high_word(result)]
        equal = z3.And([x == y for x, y in zip(results, parts, strict=True)])
        same.append(z3.Or(intended.trap != 0, equal))
    return z3.And(same)


def prove_function(
    name: str,
    kinds: tuple[str, ...],
    *assumptions: z3.BoolRef,
    words: Exact | None = None,
    seconds: int = SECONDS,
) -> None:
    """The library's function gives what WebAssembly's instruction of that name does."""
    arguments, operands = operand_words(kinds)
    executor = Executor(arithmetic(), words)
    results = executor.run(name, arguments)
    prove(claim_of(executor, results, meaning(name, *operands)), *assumptions, seconds=seconds)
