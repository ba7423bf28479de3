"""Calls that were wrong once, each the smallest that shows it: every one is a mistake of its own.

A value was overwritten on the stack before it was read: by a temporary of a later instruction, by
the other word of a result, or by a rotation in place.
"""

from __future__ import annotations

from random import Random

import pytest

from curta.machine.wasm.decode import decode
from curta.machine.wasm.text import assemble
from tests.machine.lower.differences import Tally, compare

WORDS = (0, 1, 0xFFFFFFFF, 0x80000001)
WIDE = (0, 1, 0xFFFFFFFF, 1 << 32, (1 << 64) - 1, 0x123456789ABCDEF)
A, B, C, D = (f"(local.get {place})" for place in range(4))
WIDE_A, WIDE_B, WIDE_C = (f"(i64.extend_i32_u {one})" for one in (A, B, C))
PRODUCT = f"(i64.mul {WIDE_A} {WIDE_B})"

OF_WORDS = {
    "sum of three": f"(i64.add (i64.add {WIDE_A} {WIDE_B}) {WIDE_C})",
    "product and sum": f"(i64.add {PRODUCT} {WIDE_C})",
    "product of three": f"(i64.mul {PRODUCT} {WIDE_C})",
    "product, shifted": f"(i64.shl {PRODUCT} {WIDE_C})",
    "product, shifted back": f"(i64.shr_u {PRODUCT} {WIDE_C})",
    "product, rotated": f"(i64.rotl {PRODUCT} {WIDE_C})",
    "ones of a product": f"(i64.popcnt {PRODUCT})",
    "product below a sum": f"""(i64.add
        (i64.mul (i64.shl {WIDE_A} (i64.const 32)) {WIDE_B}) (i64.mul {WIDE_B} {WIDE_C}))""",
    "linear congruence": f"""(i64.add
        (i64.mul {WIDE_A} (i64.const 1103515245)) (i64.const 12345))""",
    "ones, added to a wide number": f"""(i64.add
        (i64.popcnt (i64.or {WIDE_A} {WIDE_B})) (i64.popcnt {WIDE_C}))""",
    "ones, multiplied": f"(i64.mul (i64.popcnt (i64.xor {WIDE_A} {WIDE_B})) (i64.popcnt {WIDE_C}))",
    "shifted by a register, added": f"(i64.add (i64.shl {WIDE_A} {WIDE_B}) {WIDE_C})",
    "rotated, added": f"(i64.add (i64.rotl {WIDE_A} {WIDE_B}) (i64.shl {WIDE_C} (i64.const 31)))",
}
OF_WIDE_NUMBERS = {
    "select by a sum's carry": f"""(select
        (i64.const 0)
        (i64.rotr (i64.add {A} {B}) (i64.add {B} {C}))
        (i64.lt_u (i64.add {C} {D}) (i64.add {D} {A})))""",
    "rotated in its global": """
        (global.set $g (i64.rotl (global.get $g) (i64.const 32)))
        (global.get $g)""",
}


def module_text(body: str, parameters: str) -> str:
    return f"""(module
        (global $g (mut i64) (i64.const 0x123456789abcdef))
        (func (export "f") (param {parameters}) (result i64) {body}))"""


@pytest.mark.parametrize("name", OF_WORDS)
def test_words_give_what_they_give_in_wasmtime(name: str) -> None:
    check(module_text(OF_WORDS[name], "i32 i32 i32"), WORDS, 3)


@pytest.mark.parametrize("name", OF_WIDE_NUMBERS)
def test_wide_numbers_give_what_they_give_in_wasmtime(name: str) -> None:
    check(module_text(OF_WIDE_NUMBERS[name], "i64 i64 i64 i64"), WIDE, 4)


def check(text: str, values: tuple[int, ...], count: int) -> None:
    """All choices of the values as arguments, up to some hundreds."""
    tally = Tally()

    def draw(_types: object, _random: Random, number: int) -> tuple[int, ...]:
        return tuple(values[number // len(values) ** place % len(values)] for place in range(count))

    compare(decode(assemble(text)), draw, Random(0), min(len(values) ** count, 400), tally)
    assert not tally.differences, str(tally.differences[0])
