"""Claims that were made by hand to deceive the proof: other numbers than words, other answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from curta.machine.core_program import Claim, WasmLocation
from curta.machine.instructions import CoreInstruction
from curta.machine.lower import lower
from curta.machine.wasm.decode import decode
from curta.machine.wasm.text import assemble
from tests.machine.lower.test_deceptions import RETURN, constant, is_refused, put, with_constant

LARGE: dict[int, tuple[str, tuple[int, ...]]] = {
    3: ("mul_high", (2, ~(1 << 40))),  # of 2^24: 2^32, which is no word
    4: ("select", (~7, ~9, 3)),
    5: ("and", (3, ~0xFFFFFFFF)),  # of a constant 0, of a symbol itself
    6: ("select", (~7, ~9, 5)),
}
NARROW: dict[int, tuple[str, tuple[int, ...]]] = {
    4: ("mul_high", (2, ~0xFFFFFFFF)),
    6: ("mul_high", (2, np.int64(~0xFFFFFFFF))),  # the product has more than 64 bits
}


@pytest.mark.parametrize("made", [LARGE, NARROW])
def test_constants_of_claims_are_words(made: Mapping[int, tuple[str, tuple[int, ...]]]) -> None:
    """Terms of other numbers are not what operations of words give."""
    word = 1 << 24 if made is LARGE else 0xFFFFFFFF
    text = f"""(func (export "f") (param i32) (result i32) (local i32)
        (local.set 1 (i32.const {word})) (nop) (i32.const 10))"""
    module = decode(assemble(f"(module {text})"))
    program = lower(module)
    first = [constant(7, 6), constant(9, 7)]
    if made is NARROW:
        first = [constant(0xFFFFFFFE, 6), CoreInstruction("copy", b=0, d=7)]
    code = [
        *first,
        with_constant("jump_eq", 0, a=0, target=3),
        CoreInstruction("jump_eq", a=6, b=7, target=6),
        *(constant(666), RETURN, constant(10), RETURN),
    ]
    claim = Claim(WasmLocation(("user", 0), 2), (1, 2), {0: 1, 1: None, 6: 4, 7: 6}, made)
    with np.errstate(all="ignore"):
        assert is_refused(module, put(program, 0, code, {3: claim}))


class Twice(dict[int, tuple[int, ...]]):
    """Says one thing to those who look at all of it, and another to those who ask."""

    def get(self, key: int, default: object = None) -> tuple[int, ...]:  # type: ignore[override]
        return (~5,)


def test_claims_say_the_same_however_they_are_asked() -> None:
    text = '(global $g (mut i32) (i32.const 0)) (func (export "f") (result i32) (global.get $g))'
    module = decode(assemble(f"(module {text})"))
    program = put(lower(module), 0, [constant(5), RETURN])
    claims = replace(program.claims, globals=Twice({0: (32999,)}))
    assert is_refused(module, replace(program, claims=claims))
