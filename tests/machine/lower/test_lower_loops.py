"""Random loops over doubles and integers: multiplications are put in place there, values shared.

A drawn function has parameters, and locals that its statements set: products above all, with each
other's operands, now and then behind a condition, within a second loop, or around a call.
"""

from __future__ import annotations

from random import Random

import pytest
import wasmtime

from curta.machine.instructions import CoreInstruction
from curta.machine.lower import lower
from curta.machine.wasm.decode import decode
from curta.machine.wasm.text import assemble, parse_text
from tests.machine.lower.core_run import CoreInstance
from tests.machine.wasm.oracle import Wasmtime, function_type

ENGINE = wasmtime.Engine()
DOUBLES, WORDS = range(6), range(6, 10)
PATTERNS = (
    *(0x3FF0000000000000, 0xBFF8000000000000, 0x4000000000000001, 0x3FEFFFFFFFFFFFFF),
    *(0, 1 << 63, 1, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF),
    *(0x7FF0000000000000, 0xFFF0000000000000, 0x2000000000000003, 0x5FF0000000000000),
)


def double(random: Random) -> str:
    return f"(local.get {random.choice(DOUBLES)})"


def word(random: Random) -> str:
    return f"(local.get {random.choice(WORDS)})"


def product(random: Random) -> str:
    first, second = double(random), double(random)
    return f"(f64.mul {first} {random.choice((first, second, second))})"


def statement(random: Random, depth: int) -> str:
    kind = random.randrange(11)
    if kind < 5:
        return f"(local.set {random.choice(DOUBLES)} {product(random)})"
    if kind == 5:
        name = random.choice(("add", "sub", "mul", "copysign"))
        return (
            f"(local.set {random.choice(DOUBLES)} (f64.{name} {product(random)} {double(random)}))"
        )
    if kind == 6:
        name = random.choice(("add", "xor", "mul", "shl"))
        return f"(local.set {random.choice(WORDS)} (i32.{name} {word(random)} {word(random)}))"
    if kind == 7:
        return (
            f"(local.set {random.choice(DOUBLES)} (call $half {double(random)} {double(random)}))"
        )
    if kind == 8:
        return f"(local.set {random.choice(DOUBLES)} {double(random)})"
    inner = statements(random, depth - 1) if depth else ""
    if kind == 9:
        return f"(if (f64.lt {double(random)} {double(random)}) (then {inner}))"
    return f"(if (i32.and {word(random)} (i32.const 5)) (then {inner}) (else {inner}))"


def statements(random: Random, depth: int) -> str:
    return "\n".join(statement(random, depth) for _ in range(random.randrange(1, 7)))


def draw(random: Random) -> str:
    """Results are all bits of the locals, mixed into one number."""
    mixed = "(i64.const 0)"
    for local in DOUBLES:
        mixed = (
            f"(i64.add (i64.rotl {mixed} (i64.const 7)) (i64.reinterpret_f64 (local.get {local})))"
        )
    for local in WORDS:
        mixed = f"(i64.add {mixed} (i64.extend_i32_u (local.get {local})))"
    starts = "".join(
        f"(local.set {local} (f64.reinterpret_i64 (i64.const {random.choice(PATTERNS)})))"
        for local in DOUBLES[2:]
    )
    return f"""(module
      (func $half (param f64 f64) (result f64)
        (f64.mul (f64.mul (local.get 0) (f64.const 0.5)) (local.get 1)))
      (func (export "f") (param f64 f64) (result i64)
        (local f64 f64 f64 f64 i32 i32 i32 i32 i32 i32)
        {starts}
        (loop $outer
          {statements(random, 2)}
          (local.set 11 (i32.const 0))
          (loop $inner
            {statements(random, 2)}
            (br_if $inner (i32.lt_u (local.tee 11 (i32.add (local.get 11) (i32.const 1)))
                                    (i32.const 2))))
          {statements(random, 1)}
          (br_if $outer (i32.lt_u (local.tee 10 (i32.add (local.get 10) (i32.const 1)))
                                  (i32.const 3))))
        {mixed}))"""


def check(seed: int) -> None:
    random = Random(seed)
    binary = assemble(draw(random))
    module = decode(binary)
    lowered, reference = CoreInstance(module), Wasmtime(ENGINE, binary)
    for _ in range(3):
        arguments = [random.choice((random.choice(PATTERNS), random.getrandbits(64))) for _ in "ab"]
        expected = reference.invoke(function_type(module, "f"), "f", arguments)
        assert lowered.invoke("f", *arguments) == expected, (seed, arguments)


@pytest.mark.parametrize("block", range(4))
def test_loops_do_what_wasmtime_does(block: int) -> None:
    for seed in range(8 * block, 8 * (block + 1)):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1, 11))
def test_loops_do_what_wasmtime_does_at_length(block: int) -> None:
    for seed in range(1000 * block, 1000 * block + 60):
        check(seed)


def core_code(text: str) -> list[CoreInstruction]:
    """The instructions of the function f."""
    program = lower(parse_text(text))
    return [
        instruction
        for instruction, origin in zip(program.instructions, program.origins, strict=True)
        if origin.function == "f"
    ]


def test_a_number_is_taken_apart_once() -> None:
    code = core_code("""(module (memory 1) (func (export "f") (param f64 f64) (local f64)
      (loop
        (local.set 2 (f64.load (i32.const 8)))
        (i32.store (i32.const 16) (i32.trunc_sat_f64_s (local.get 2)))
        (i32.store (i32.const 32) (i32.trunc_sat_f64_s (local.get 2)))
        (br_if 0 (i32.load (i32.const 0))))))""")
    counts = [sum(found.operation == name for found in code) for name in ("shr_u", "and")]
    assert counts == [5, 3], "of one alone 3 and 2"


def test_a_local_of_many_values_is_not_copied() -> None:
    code = core_code("""(module (memory 1)
      (func (export "f") (param i32 i32) (result i32) (local i32 i32)
        (loop
          (local.set 3 (i32.add (local.get 2) (i32.const 4)))
          (local.set 2 (local.get 3))
          (br_if 0 (i32.lt_u (i32.load (local.get 2)) (local.get 0))))
        (local.set 2 (i32.mul (local.get 3) (local.get 1)))
        (i32.xor (local.get 2) (local.get 3))))""")
    assert not [found for found in code if found.operation == "copy" and found.b is not None]
