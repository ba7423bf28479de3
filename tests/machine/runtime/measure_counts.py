"""Prints how many instructions the library executes per operation, on average.

    python tests/machine/runtime/measure_counts.py [PREFIX]

Operands: normal floats with exponents within 10 of each other's and random fractions and signs;
integers of random lengths and signs. The columns: all instructions but structure (block, loop,
end, else, nop), and those that are no mere moves (local.get/set/tee, constants).
"""

from __future__ import annotations

import sys

import numpy as np

from curta.machine.runtime.build import ARITHMETIC
from tests.machine.runtime.runtime_counting import counted
from tests.machine.runtime.runtime_harness import Harness, Words
from tests.machine.runtime.runtime_operands import near
from tests.machine.runtime.runtime_operations import OPERATIONS, Operation

SAMPLE = 4000
COUNTERS = ("instructions", "operations")


def measure(harness: Harness, operation: Operation, operands: list[Words]) -> list[float]:
    """Average instructions and operations of one call."""
    before = [harness.counter(name) for name in COUNTERS]
    traps = harness.run(operation, operands).traps
    if traps.any():
        return measure(harness, operation, [column[traps == 0] for column in operands])
    return [
        ((harness.counter(name) - start) & 0xFFFFFFFF) / len(operands[0])
        for name, start in zip(COUNTERS, before, strict=True)
    ]


def main() -> None:
    """Print the table."""
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    harness = Harness(counted(ARITHMETIC.path.read_bytes()), OPERATIONS)
    print(f"{'operation':24} {'instructions':>12} {'operations':>10}")
    for operation in OPERATIONS:
        if operation.name.startswith(prefix):
            operands = near(operation, SAMPLE, np.random.default_rng(1))
            instructions, operations = measure(harness, operation, operands)
            print(f"{operation.name:24} {instructions:12.1f} {operations:10.1f}")


if __name__ == "__main__":
    main()
