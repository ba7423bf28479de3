"""Quotients, roots and integer products beside the processor's own; f32.sqrt for all floats.

What no decomposition proves in full (docs/proofs.md) is tested: the library's WebAssembly runs
under wasmtime beside native instructions, results compared bit for bit, NaNs too.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("wasmtime")
import wasmtime

pytest.importorskip("z3")
from float_operands import Words, draw, draw_quotients, draw_words
from runtime_harness import CAPACITY
from runtime_operations import OPERATIONS, Operation
from specifications import FORMATS
from test_runtime_arithmetic import X86_64, check, harness

TESTED = (
    *("f32.div", "f64.div", "f64.sqrt"),
    *(f"i64.{name}" for name in ("mul", "div_u", "div_s", "rem_u", "rem_s")),
)
SLOW_BATCHES = 60
"""Of CAPACITY operands each: 7.9 million of every operation."""


def drawn(operation: Operation, rng: np.random.Generator) -> list[Words]:
    if operation.operands[0] == "i64":
        if rng.integers(0, 2):
            columns = list(draw_quotients(CAPACITY, rng))
        else:
            columns = [draw_words(CAPACITY, rng) for _ in operation.operands]
        # A trap ends a loop of the harness: that 0 traps, the edges of the other tests show.
        columns[1][columns[1] == 0] = 1
        return columns
    return [draw(FORMATS[kind], CAPACITY, rng) for kind in operation.operands]


def named(name: str) -> Operation:
    return next(operation for operation in OPERATIONS if operation.name == name)


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTED)
def test_library_beside_the_processor(name: str) -> None:
    operation = named(name)
    rng = np.random.default_rng(20261122)
    for _ in range(SLOW_BATCHES):
        check(operation, drawn(operation, rng), traps_tried=2)


@pytest.mark.parametrize("name", TESTED)
def test_library_beside_the_processor_quick(name: str) -> None:
    operation = named(name)
    check(operation, drawn(operation, np.random.default_rng(1)), traps_tried=2)


EVERY_ROOT = """(module
  (import "library" "f32.sqrt" (func $root (param i32) (result i32)))
  (func (export "first_wrong") (param $x i32) (param $count i32) (result i32)
    (loop $again
      (if (i32.ne (call $root (local.get $x))
                  (i32.reinterpret_f32 (f32.sqrt (f32.reinterpret_i32 (local.get $x)))))
        (then (return (local.get $count))))
      (local.set $x (i32.add (local.get $x) (i32.const 1)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $again (local.get $count)))
    (i32.const 0)))"""
"""How many operands were left when one differed; 0 if none did."""


@pytest.mark.slow
@pytest.mark.skipif(not X86_64, reason="compares NaNs as x86-64 has them")
@pytest.mark.parametrize("part", range(4))
def test_root_of_every_float(part: int) -> None:
    """All 2^32 operands of f32.sqrt: a proof by exhaustion, as far as the processor's is right."""
    running = harness()
    linker = wasmtime.Linker(running.store.engine)
    linker.define_instance(running.store, "library", running.library)
    module = wasmtime.Module(running.store.engine, wasmtime.wat2wasm(EVERY_ROOT))
    first_wrong = linker.instantiate(running.store, module).exports(running.store)["first_wrong"]
    assert isinstance(first_wrong, wasmtime.Func)
    assert first_wrong(running.store, signed_word(part << 30), 1 << 30) == 0


def signed_word(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word
