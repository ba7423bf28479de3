"""Runs the library beside wasmtime's own instructions, on arrays of operands.

A generated driver module has two loops for each operation: one calls the library, one
executes the native instruction. Both read operands from memory, in slots of eight bytes, and
write results there. The library's `trap` throws an exception with its code, which the loop
catches and files beside the result; native traps end the loop, so the native loop skips what
the library trapped on, and those operands are tried natively one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import wasmtime

from tests.machine.runtime.runtime_operations import Operation

Words = npt.NDArray[np.uint64]

CAPACITY = 1 << 17
_SLOTS = CAPACITY * 8
FIRST, SECOND, LIBRARY, NATIVE, TRAPS = (i * _SLOTS for i in range(5))

TRAP_CODES = {
    wasmtime.TrapCode.INTEGER_DIVISION_BY_ZERO: 1,
    wasmtime.TrapCode.INTEGER_OVERFLOW: 2,
    wasmtime.TrapCode.BAD_CONVERSION_TO_INTEGER: 3,
}


def trap_code(error: wasmtime.Trap) -> int:
    """The library's code for a native trap."""
    if error.trap_code is None:
        raise error
    return TRAP_CODES[error.trap_code]


HOST = """(module
  (tag $trap (export "tag") (param i32))
  (memory (export "memory") 80)
  (func (export "mul_high") (param i32 i32) (result i32)
    (i32.wrap_i64 (i64.shr_u
      (i64.mul (i64.extend_i32_u (local.get 0)) (i64.extend_i32_u (local.get 1)))
      (i64.const 32))))
  (func (export "add3") (param i32 i32 i32) (result i32)
    (i32.add (i32.add (local.get 0) (local.get 1)) (local.get 2)))
  (func (export "sub3") (param i32 i32 i32) (result i32)
    (i32.sub (i32.sub (local.get 0) (local.get 1)) (local.get 2)))
  (func (export "carry") (param i32 i32) (result i32)
    (i32.lt_u (i32.add (local.get 0) (local.get 1)) (local.get 0)))
  (func $pair (param i32 i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32))
      (i64.extend_i32_u (local.get 1))))
  (func (export "funnel_shl") (param i32 i32 i32) (result i32)
    (i32.wrap_i64 (i64.shr_u (i64.shl (call $pair (local.get 0) (local.get 1))
      (i64.extend_i32_u (i32.and (local.get 2) (i32.const 31)))) (i64.const 32))))
  (func (export "funnel_shr") (param i32 i32 i32) (result i32)
    (i32.wrap_i64 (i64.shr_u (call $pair (local.get 0) (local.get 1))
      (i64.extend_i32_u (i32.and (local.get 2) (i32.const 31))))))
  (func (export "trap") (param i32) (throw $trap (local.get 0))))"""
"""The natives of the library, exactly."""

_SLOT = "(i32.add (i32.shl (local.get $i) (i32.const 3)) (i32.const {base}))"


def _words(kind: str) -> int:
    return 2 if kind in ("i64", "f64") else 1


def _load(kind: str, base: int) -> str:
    return f"({kind}.load {_SLOT.format(base=base)})"


def _library_loop(operation: Operation) -> str:
    arguments = []
    for base, kind in zip((FIRST, SECOND), operation.operands, strict=False):
        arguments += [_load("i32", base + 4 * word) for word in range(_words(kind))]
    words = _words(operation.result)
    stores = "".join(f"(local.set $w{word})" for word in reversed(range(words))) + "".join(
        f"(i32.store {_SLOT.format(base=LIBRARY + 4 * word)} (local.get $w{word}))"
        for word in range(words)
    )
    return f"""
  (func (export "library:{operation.name}") (param $i i32) (param $end i32)
    (local $w0 i32) (local $w1 i32) (local $code i32)
    (loop $again
      (block $done
        (block $caught (result i32)
          (try_table (catch $trap $caught)
            {" ".join(arguments)} (call ${operation.name}) {stores})
          (br $done))
        (local.set $code)
        (i32.store {_SLOT.format(base=TRAPS)} (local.get $code)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (local.get $end)))))"""


def _native_loop(operation: Operation) -> str:
    bases = (FIRST, SECOND)
    operands = [_load(kind, base) for base, kind in zip(bases, operation.operands, strict=False)]
    return f"""
  (func (export "native:{operation.name}") (param $i i32) (param $end i32)
    (loop $again
      (if (i32.eqz {_load("i32", TRAPS)}) (then
        ({operation.result}.store {_SLOT.format(base=NATIVE)}
          {operation.expression(operands)})))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (local.get $end)))))"""


def _import(operation: Operation) -> str:
    parameters = " i32" * sum(_words(kind) for kind in operation.operands)
    results = " i32" * _words(operation.result)
    signature = f"(param{parameters}) (result{results})"
    return f'(import "library" "{operation.name}" (func ${operation.name} {signature}))'


def driver_text(operations: Sequence[Operation]) -> str:
    """The driver module, as text."""
    parts = ['(import "curta" "memory" (memory 80))']
    parts += ['(import "curta" "tag" (tag $trap (param i32)))']
    parts += [_import(operation) for operation in operations]
    for operation in operations:
        parts += [_library_loop(operation), _native_loop(operation)]
    return "(module\n" + "\n".join(parts) + ")"


@dataclass(frozen=True)
class Outcome:
    """Results of one operation on an array of operands; trap codes are 0 where none."""

    library: Words
    native: Words
    traps: Words


class Harness:
    """The library and the driver, instantiated once."""

    def __init__(self, library: bytes, operations: Sequence[Operation]) -> None:
        config = wasmtime.Config()
        config.wasm_exceptions = True
        engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(engine)
        linker = wasmtime.Linker(engine)

        def instantiate(name: str, data: bytes) -> wasmtime.Instance:
            instance = linker.instantiate(self.store, wasmtime.Module(engine, data))
            linker.define_instance(self.store, name, instance)
            return instance

        self.host = instantiate("curta", bytes(wasmtime.wat2wasm(HOST)))
        linker.define(self.store, "env", "memory", self.host.exports(self.store)["memory"])
        self.library = instantiate("library", library)
        driver = bytes(wasmtime.wat2wasm(driver_text(operations)))
        self.driver = instantiate("driver", driver)
        memory = self.host.exports(self.store)["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self.memory = memory

    def _write(self, base: int, words: Words) -> None:
        self.memory.write(self.store, np.ascontiguousarray(words, "<u8").tobytes(), base)

    def _read(self, base: int, count: int) -> Words:
        data = self.memory.read(self.store, base, base + 8 * count)
        return np.frombuffer(bytes(data), "<u8").copy()

    def call(self, side: str, operation: Operation, start: int, end: int) -> None:
        """Run one of the driver's loops over the slots from `start` to `end`."""
        function = self.driver.exports(self.store)[f"{side}:{operation.name}"]
        assert isinstance(function, wasmtime.Func)
        function(self.store, start, end)

    def counter(self, name: str) -> int:
        """One of the totals that runtime_counting adds to a library."""
        total = self.library.exports(self.store)[f"counter.{name}"]
        assert isinstance(total, wasmtime.Global)
        return int(total.value(self.store))

    def _run_library(self, operation: Operation, count: int) -> None:
        start = 0
        while start < count:
            try:
                self.call("library", operation, start, count)
                return
            except wasmtime.Trap as error:
                # A native trap: find the slot it stopped at, file the code there, go on.
                code = trap_code(error)
                start = self._first_untouched(start, count)
                self.memory.write(self.store, code.to_bytes(8, "little"), TRAPS + 8 * start)
                start += 1

    def _first_untouched(self, start: int, count: int) -> int:
        results, traps = self._read(LIBRARY, count), self._read(TRAPS, count)
        untouched = (results == UNTOUCHED) & (traps == 0)
        return start + int(np.argmax(untouched[start:]))

    def run(self, operation: Operation, operands: Sequence[Words]) -> Outcome:
        """Both sides on operands given as 64-bit words (32-bit ones in the low half)."""
        count = len(operands[0])
        for base, words in zip((FIRST, SECOND), operands, strict=False):
            self._write(base, words)
        empty = np.zeros(count, np.uint64)
        for base in (LIBRARY, NATIVE):
            self._write(base, empty + UNTOUCHED if _words(operation.result) == 2 else empty)
        self._write(TRAPS, empty)
        self._run_library(operation, count)
        self.call("native", operation, 0, count)
        return Outcome(
            self._read(LIBRARY, count), self._read(NATIVE, count), self._read(TRAPS, count)
        )

    def native_trap(self, operation: Operation, slot: int) -> int:
        """The code of the trap that the native instruction gives in a slot; 0 if it gives none."""
        self.memory.write(self.store, bytes(8), TRAPS + 8 * slot)
        try:
            self.call("native", operation, slot, slot + 1)
        except wasmtime.Trap as error:
            return trap_code(error)
        return 0


UNTOUCHED = np.uint64(0x5A5A_A5A5_0F0F_F0F0)
