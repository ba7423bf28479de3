"""Values that lie on the operand stack stay what they are until they are read.

Each function was wrong once: a register that was still to be read was written.
"""

from __future__ import annotations

from itertools import islice, product

import pytest
import wasmtime

from curta.machine.lower import LowerOptions
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.text import assemble
from tests.machine.lower.core_run import CoreInstance
from tests.machine.wasm.oracle import Wasmtime, function_type

ENGINE = wasmtime.Engine()
WIDE = "(i64.extend_i32_u (local.get {}))"
A, B, C = (WIDE.format(number) for number in range(3))
WORDS = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1234_5678)
LONGS = (0, 1, 0xFFFF_FFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0123_4567_89AB_CDEF)
MOST_CALLS = 400

OF_WORDS = {
    "sum of three": f"(i64.add (i64.add {A} {B}) {C})",
    "product and sum": f"(i64.add (i64.mul {A} {B}) {C})",
    "product of three": f"(i64.mul (i64.mul {A} {B}) {C})",
    "product, shifted": f"(i64.shl (i64.mul {A} {B}) {C})",
    "product, rotated": f"(i64.rotl (i64.mul {A} {B}) {C})",
    "sum, counted": f"(i64.popcnt (i64.add (i64.popcnt {A}) (i64.mul {B} {C})))",
    "high words": f"(i64.add (i64.mul (i64.shl {A} (i64.const 32)) {B}) (i64.mul {B} {C}))",
    "congruence": f"(i64.add (i64.mul {A} (i64.const 1103515245)) (i64.const 12345))",
    "factor with a high word of 1": f"(i64.mul (i64.add {A} {B}) (i64.const 0x100000003))",
    "difference": f"(i64.sub (i64.sub {A} {B}) (i64.sub {C} {A}))",
}
P = tuple(f"(local.get {number})" for number in range(4))
SUMS = tuple(f"(i64.add {P[n]} {P[(n + 1) % 4]})" for n in range(4))
OF_LONGS = {
    "select by a comparison": f"(select (i64.const 0) (i64.rotr {SUMS[0]} {SUMS[1]}) "
    f"(i64.lt_u {SUMS[2]} {SUMS[3]}))",
    "select of two sums": f"(select {SUMS[0]} {SUMS[1]} (i64.eq {SUMS[2]} {SUMS[3]}))",
    "comparison of comparisons": f"(select {SUMS[0]} {P[2]} (i32.eqz (i64.ge_s {SUMS[3]} {P[0]})))",
    "sign of a product": f"(i64.reinterpret_f64 (f64.copysign (f64.reinterpret_i64 {SUMS[0]}) "
    f"(f64.reinterpret_i64 (i64.mul {P[2]} {P[3]}))))",
}


@pytest.mark.parametrize("name", OF_WORDS)
def test_words_that_became_long(name: str) -> None:
    parameters = "(param i32 i32 i32)"
    check(f'(func (export "f") {parameters} (result i64) {OF_WORDS[name]})', WORDS)


@pytest.mark.parametrize("name", OF_LONGS)
def test_long_operands(name: str) -> None:
    parameters = "(param i64 i64 i64 i64)"
    check(f'(func (export "f") {parameters} (result i64) {OF_LONGS[name]})', LONGS)


def test_both_words_of_a_global_change_places() -> None:
    rotated = "(i64.rotl (global.get $g) (i64.const 32))"
    check(
        '(global $g (mut i64) (i64.const 0x0123456789abcdef)) (func (export "f") (result i64) '
        f"(global.set $g {rotated}) (global.get $g))",
        (),
    )


def check(fields: str, values: tuple[int, ...]) -> None:
    """The function gives what wasmtime gives, for tuples of the values."""
    module = assemble(f"(module {fields})")
    binary = encode(decode(module) if isinstance(module, bytes) else module)
    module = decode(binary)
    lowered, reference = CoreInstance(module, LowerOptions()), Wasmtime(ENGINE, binary)
    type_ = function_type(module, "f")
    every = product(values, repeat=len(type_.parameters))
    step = max(1, len(values) ** len(type_.parameters) // MOST_CALLS)
    for arguments in islice(every, 0, None, step):
        assert lowered.invoke("f", *arguments) == reference.invoke(type_, "f", arguments)
