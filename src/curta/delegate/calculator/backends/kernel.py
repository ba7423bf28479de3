"""The batch kernel: many expressions in one call of compiled code, in float64.

**Precision.** Numbers are rounded to float64. `+ - * /`, sqrt, factorial and what is said of whole
numbers below 2^53 are rounded correctly; every other operation is within 4 units in the last place
of its value at the operands it has, comb and perm within 2 for each factor. These errors pass on:
the result lies where intervals of that width around all operands allow. Where such an interval
holds a point at which the operation jumps (two numbers compared that differ by no more than their
errors, floor of nearly a whole number, a divisor that may be 0), the result can be on either side,
and so can be whether there is one. A product, quotient or power that float64 has only 0 for, though
no operand is 0, is out of range like one that is infinite.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files

import numpy as np

from curta.delegate.calculator.backends.packed import FACTORIALS, STACK, VANISHING, Packed
from curta.delegate.calculator.operations import TABLE
from curta.engine.toolchain import build_library, load_library


def evaluate(packed: Packed) -> tuple[np.ndarray, np.ndarray]:
    """The value of each program, and its `Status`."""
    values = np.zeros(packed.count, np.float64)
    statuses = np.zeros(packed.count, np.uint8)
    arrays = (
        packed.first_step,
        packed.first_number,
        packed.codes,
        packed.operands,
        packed.numbers,
        values,
        statuses,
    )
    library().evaluate(packed.count, *(array.ctypes.data for array in arrays))
    return values, statuses


@cache
def library() -> ctypes.CDLL:
    """The compiled kernel; raises CompilerNotFoundError where there is no compiler."""
    names = "\n".join(
        f"#define OP_{operation.name.upper()} {code}"
        for code, operation in enumerate(TABLE, start=1)
    )
    body = (files("curta.delegate.calculator.backends") / "kernel.c").read_text(encoding="utf-8")
    products = ", ".join(repr(value) for value in FACTORIALS)
    source = (
        f"{names}\n#define STACK {STACK}\n#define MOST_FACTORIAL {len(FACTORIALS) - 1}\n"
        f"static const char VANISHING[] = {{{', '.join(map(str, VANISHING))}}};\n"
        f"static const double FACTORIALS[] = {{{products}}};\n{body}"
    )
    loaded = load_library(build_library(source, name="calculator", flags=("-lm",)))
    loaded.evaluate.restype = None
    loaded.evaluate.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 7]
    return loaded
