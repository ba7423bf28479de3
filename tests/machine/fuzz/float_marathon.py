"""Arithmetic on floats by the weights beside wasmtime's, by the hundred million:

    python tests/machine/fuzz/float_marathon.py f64.add 100000000

A round is a table of operands beside another one, all pairs of them, in one conversation. The
second ones wait in locals, UNROLLED at a time, so that a pair is the operation's two words and
their two sums: four core instructions. After each row the sums are turned by a few bits, so that
what is wrong in one row is not made up for in another. Results are compared by these sums; where
they differ, by row.

Operands of a round are neighbours: exponents about one place, which is anywhere, or (of products
and quotients) about the places whose product is about 1 or at an end of the range; zeros,
infinities, NaNs and subnormal numbers lie among them. A root is that of a pair's exclusive or: the
second table has fractions and the lowest bit of an exponent. That the kinds of fraction are those
that make ties and carries, test_float_graph measures.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import wasmtime

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from curta import Machine
from curta.machine.instance import Instance
from curta.machine.wasm.floats import F32, F64, Format
from tests.support.float_draws import Random, Words, fractions, made, specials, top

ROWS, COLUMNS, UNROLLED = 1024, 512, 32
SPECIAL = 16
"""One operand in so many is a zero, an infinity, a NaN, or at the edge."""
REPORT_SECONDS = 30.0
TYPES = {"f32": F32, "f64": F64}
OPERATIONS = ("add", "sub", "mul", "div", "sqrt")


def module_text(kind: str, operation: str, first: Words, second: Words) -> str:
    """`checksum` of the rows from one number on up to another."""
    size, bits = TYPES[kind].bits // 8, kind.replace("f", "i")
    locals_ = " ".join(f"(local $y{n} {kind})" for n in range(UNROLLED))
    loads = "\n".join(
        f"(local.set $y{n} ({kind}.load offset={ROWS * size + n * size} (local.get $column)))"
        for n in range(UNROLLED)
    )
    steps = "\n".join(step(kind, bits, operation, n) for n in range(UNROLLED))
    data = "".join(
        f"\\{byte:02x}" for table in (first, second) for byte in table_bytes(table, size)
    )
    return f"""(module (memory 1) (data (i32.const 0) "{data}")
  (func (export "checksum") (param $first i32) (param $last i32) (result i32 i32)
    (local $column i32) (local $row i32) (local $low i32) (local $high i32)
    (local $x {kind}) (local $result {bits}) {locals_}
    (loop $columns
      {loads}
      (local.set $row (local.get $first))
      (loop $rows
        (local.set $x ({kind}.load (local.get $row)))
        {steps}
        (local.set $low (i32.rotl (local.get $low) (i32.const 7)))
        (local.set $high (i32.rotl (local.get $high) (i32.const 11)))
        (local.set $row (i32.add (local.get $row) (i32.const {size})))
        (br_if $rows (i32.lt_u (local.get $row) (local.get $last))))
      (local.set $column (i32.add (local.get $column) (i32.const {size * UNROLLED})))
      (br_if $columns (i32.lt_u (local.get $column) (i32.const {size * COLUMNS}))))
    (local.get $low) (local.get $high)))"""


def step(kind: str, bits: str, operation: str, column: int) -> str:
    """One pair's words are added to the sums; which of the two comes first alternates."""
    operands = ["(local.get $x)", f"(local.get $y{column})"][:: 1 if column % 2 else -1]
    if operation.endswith("sqrt"):
        both = " ".join(f"({bits}.reinterpret_{kind} {operand})" for operand in operands)
        operands = [f"({kind}.reinterpret_{bits} ({bits}.xor {both}))"]
    result = f"({bits}.reinterpret_{kind} ({operation} {' '.join(operands)}))"
    if kind == "f32":
        name = "low" if column % 4 < 2 else "high"
        return f"(local.set ${name} (i32.add (local.get ${name}) {result}))"
    return f"""(local.set $result {result})
        (local.set $low (i32.add (local.get $low) (i32.wrap_i64 (local.get $result))))
        (local.set $high (i32.add (local.get $high)
          (i32.wrap_i64 (i64.shr_u (local.get $result) (i64.const 32)))))"""


def table_bytes(table: Words, size: int) -> bytes:
    return table.astype("<u8" if size == 8 else "<u4").tobytes()


def tables(form: Format, operation: str, rng: Random) -> tuple[Words, Words]:
    """The operands of a round."""
    middle = int(rng.choice([rng.integers(0, top(form)), 1, top(form) - 1]))
    other, bias = middle, top(form) // 2
    if operation in ("mul", "div"):
        ends = [bias, -form.precision // 2, top(form) - 1]
        other = int(rng.choice(ends)) + bias - middle
    if operation == "div":
        other = 2 * bias - other
    if operation == "sqrt":
        first = table(form, middle, ROWS, rng) & np.uint64(form.sign - 1)
        return first, fractions(form.precision, COLUMNS, rng)
    return tuple(table(form, at, count, rng) for at, count in ((middle, ROWS), (other, COLUMNS)))  # type: ignore[return-value]


def table(form: Format, middle: int, count: int, rng: Random) -> Words:
    reach = form.precision // 2 + 3
    field = middle + rng.integers(-reach, reach + 1, count)
    drawn = made(form, field, fractions(form.precision - 1, count, rng), rng)
    is_special = rng.integers(0, SPECIAL, count) == 0
    found: Words = np.where(is_special, rng.choice(specials(form), count), drawn)
    return found


class Native:
    """wasmtime, which does with floats what the processor does."""

    def __init__(self, binary: bytes) -> None:
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        instance = wasmtime.Instance(self.store, wasmtime.Module(engine, binary), [])
        function = instance.exports(self.store)["checksum"]
        assert isinstance(function, wasmtime.Func)
        self.function = function

    def checksum(self, first: int, last: int) -> list[int]:
        return [word % 2**32 for word in self.function(self.store, first, last)]


def different_rows(native: Native, instance: Instance, size: int) -> list[int]:
    """Which rows' sums differ."""
    return [
        row
        for row in range(ROWS)
        if native.checksum(row * size, row * size + size)
        != instance.invoke_bits("checksum", [row * size, row * size + size])
    ]


def run_round(machine: Machine, name: str, seed: tuple[int, int]) -> str | None:
    """None, or what differs."""
    kind, operation = name.split(".")
    form, size = TYPES[kind], TYPES[kind].bits // 8
    first, second = tables(form, operation, np.random.default_rng(seed))
    binary = bytes(wasmtime.wat2wasm(module_text(kind, name, first, second)))
    native, instance = Native(binary), machine.instantiate(binary)
    if native.checksum(0, ROWS * size) == instance.invoke_bits("checksum", [0, ROWS * size]):
        return None
    rows = different_rows(native, instance, size)
    return f"{name}, seed {seed}: rows {[hex(int(first[row])) for row in rows]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [f"{kind}.{name}" for kind in TYPES for name in OPERATIONS]
    parser.add_argument("operation", choices=names)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    machine, done, wrong, said = Machine(), 0, 0, time.monotonic()
    for number in range(-(-given.pairs // (ROWS * COLUMNS))):
        difference = run_round(machine, given.operation, (given.seed, number))
        done += ROWS * COLUMNS
        if difference is not None:
            wrong += 1
            print(difference, flush=True)
        if time.monotonic() - said > REPORT_SECONDS:
            said = time.monotonic()
            print(f"{given.operation}: {done:,} pairs, {wrong} rounds differ", flush=True)
    print(f"{given.operation}: {done:,} pairs, {wrong} rounds differ", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
