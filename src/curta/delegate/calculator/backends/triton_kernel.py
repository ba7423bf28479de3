"""The batch kernel on a GPU: many programs in one launch, in float64.

Each lane runs a program of its own. A block goes through the steps of its longest one; operations
that none of its lanes is at are left out. Stacks lie in global memory, one row for each height.

**Precision.** As that of the native kernel (kernel.py), but for powers: those with whole exponents
n up to 1,024 are within 2|n| units in the last place (or 1e-300), others within 4 + 4|b ln a|.
"""

# mypy: ignore-errors
# What Triton compiles has no types of Python.

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from curta.delegate.calculator.backends import triton_functions as functions
from curta.delegate.calculator.backends.packed import CODES, FACTORIALS, Packed
from curta.errors import CalculatorError

BLOCK = 128

(
    ADD, SUBTRACT, MULTIPLY, DIVIDE, FLOOR_DIVIDE, MODULO, POWER, NEGATE, PERCENT, LESS, AT_MOST,
    GREATER, AT_LEAST, EQUAL, UNEQUAL, SQRT, CBRT, EXP, LN, LOG, LOG2, LOG10, SIN, COS, TAN, ASIN,
    ACOS, ATAN, DEGREES, RADIANS, ABS, SIGN, FLOOR, CEIL, TRUNC, ROUND, FACTORIAL, COMB, PERM, GCD,
    LCM, MIN, MAX, SUM, MEAN,
) = (tl.constexpr(code) for code in CODES.values())  # fmt: skip


def evaluate(packed: Packed, device: Any) -> tuple[np.ndarray, np.ndarray]:
    """The value of each program, and its `Status`."""
    device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise CalculatorError("device cuda: PyTorch finds no GPU; take device cpu")
    if not packed.count:
        return np.zeros(0), np.zeros(0, np.uint8)
    given = [
        torch.from_numpy(array.copy()).to(device)
        for array in (
            packed.first_step,
            packed.first_number,
            packed.codes,
            packed.operands,
            np.append(packed.numbers, 0.0),
            np.array(FACTORIALS),
        )
    ]
    rows = max(1, int(np.diff(packed.first_number).max()))
    stack = torch.zeros((rows, packed.count), dtype=torch.float64, device=device)
    values = torch.zeros(packed.count, dtype=torch.float64, device=device)
    statuses = torch.zeros(packed.count, dtype=torch.uint8, device=device)
    grid = (triton.cdiv(packed.count, BLOCK),)
    run[grid](*given, stack, values, statuses, packed.count, BLOCK=BLOCK, enable_fp_fusion=False)
    return values.cpu().numpy(), statuses.cpu().numpy()


@triton.jit
def run(
    first_step,
    first_number,
    codes,
    operands,
    numbers,
    factorials,
    stack,
    values,
    statuses,
    count,
    BLOCK: tl.constexpr,  # noqa: N803 (what Triton's users expect)
):
    lane = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    here = lane < count
    first = tl.load(first_step + lane, mask=here, other=0)
    steps = tl.load(first_step + lane + 1, mask=here, other=0) - first
    number_at = tl.load(first_number + lane, mask=here, other=0)
    height = lane * 0
    status = tl.zeros([BLOCK], tl.int32)
    longest = tl.max(steps, 0)
    at = longest * 0
    while at < longest:
        active = (at < steps) & (status == 0)
        code = tl.load(codes + first + at, mask=active, other=0).to(tl.int32)
        taken = tl.load(operands + first + at, mask=active, other=0).to(tl.int64)
        pushed = active & (code == 0)
        number = tl.load(numbers + number_at, mask=pushed, other=0.0)
        number_at += pushed.to(tl.int64)
        place = height - taken
        a = tl.load(stack + place * count + lane, mask=active & (code != 0), other=1.0)
        present = tl.reduce(tl.full([BLOCK], 1, tl.int64) << code.to(tl.int64), 0, either)
        value, missing = of_one(code, present, a, factorials)
        value = tl.where(taken == 1, value, a)
        missing = missing & (taken == 1)
        from_zero = a == 0
        operand = longest * 0 + 1
        most = tl.max(taken, 0)
        while operand < most:
            also = operand < taken
            b = tl.load(stack + (place + operand) * count + lane, mask=also, other=1.0)
            both, without = of_two(code, present, value, b)
            value = tl.where(also, both, value)
            missing = missing | (also & without)
            from_zero = from_zero | (also & (b == 0))
            operand += 1
        value = tl.where(code == MEAN, value / taken, value)
        value = tl.where(pushed, number, value)
        fine = functions.is_finite(value) & ~(vanishes_never(code) & (value == 0) & ~from_zero)
        status = tl.where(active & ~fine, 2, status)
        status = tl.where(active & missing, 1, status)
        tl.store(stack + place * count + lane, value, mask=active)
        tl.debug_barrier()
        height = tl.where(active, place + 1, height)
        at += 1
    result = tl.load(stack + lane, mask=here, other=0.0)
    tl.store(values + lane, tl.where(status == 0, result, 0.0), mask=here)
    tl.store(statuses + lane, status.to(tl.uint8), mask=here)


@triton.jit
def vanishes_never(code):
    """Whether the result is 0 only if an operand is (NEVER_VANISHING in operations.py)."""
    of_two_operands = (code == MULTIPLY) | (code == DIVIDE) | (code == POWER)
    return (
        of_two_operands | (code == PERCENT) | (code == EXP) | (code == DEGREES) | (code == RADIANS)
    )


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def among(present, code):
    """Whether a lane of the block is at this operation."""
    return (present >> code) & 1 != 0


@triton.jit
def of_one(code, present, a, factorials):
    """One operand; the second result says where there is none."""
    value = a
    value = tl.where(code == NEGATE, -a, value)
    value = tl.where(code == PERCENT, a / 100, value)
    value = tl.where((code == ABS) | (code == GCD) | (code == LCM), tl.abs(a), value)
    value = tl.where(code == SIGN, (a > 0).to(tl.float64) - (a < 0).to(tl.float64), value)
    value = tl.where(code == FLOOR, tl.floor(a), value)
    value = tl.where(code == CEIL, tl.ceil(a), value)
    value = tl.where(code == TRUNC, functions.truncated(a), value)
    value = tl.where(code == ROUND, functions.nearest(a), value)
    value = tl.where(code == DEGREES, a * 57.29577951308232, value)
    value = tl.where(code == RADIANS, a * 0.017453292519943295, value)
    value = tl.where(code == SQRT, tl.sqrt(tl.where(a < 0, 0.0, a)), value)
    if among(present, FACTORIAL):
        listed = tl.where((a >= 0) & (a <= 170), a, 0.0).to(tl.int64)
        found = tl.load(factorials + listed)
        value = tl.where(code == FACTORIAL, tl.where(a > 170, float("inf"), found), value)
    value = logarithms(code, present, a, value)
    value = trigonometry(code, present, a, value)
    logarithmic = (code == LN) | (code == LOG) | (code == LOG2) | (code == LOG10)
    whole = (code == GCD) | (code == LCM) | (code == FACTORIAL)
    missing = (logarithmic & (a <= 0)) | (whole & ~functions.is_whole(a))
    missing = missing | (((code == SQRT) | (code == FACTORIAL)) & (a < 0))
    return value, missing | (((code == ASIN) | (code == ACOS)) & (tl.abs(a) > 1))


@triton.jit
def logarithms(code, present, a, value):
    """Exponentials and logarithms of one operand."""
    if among(present, EXP):
        value = tl.where(code == EXP, tl.exp(a), value)
    positive = tl.where(a > 0, a, 1.0)
    if among(present, LN) | among(present, LOG) | among(present, LOG10):
        natural = tl.log(positive)
        value = tl.where((code == LN) | (code == LOG), natural, value)
        value = tl.where(code == LOG10, natural / 2.302585092994046, value)
    if among(present, LOG2):
        value = tl.where(code == LOG2, tl.log2(positive), value)
    if among(present, CBRT):
        value = tl.where(code == CBRT, functions.cube_root(a), value)
    return value


@triton.jit
def trigonometry(code, present, a, value):
    """Angles, and what they come from."""
    if among(present, SIN) | among(present, COS) | among(present, TAN):
        sine = tl.sin(a)
        cosine = tl.cos(a)
        value = tl.where(code == SIN, sine, value)
        value = tl.where(code == COS, cosine, value)
        value = tl.where(code == TAN, sine / cosine, value)
    within = tl.where(tl.abs(a) <= 1, a, 0.0)
    if among(present, ASIN):
        value = tl.where(code == ASIN, functions.arc_sine(within), value)
    if among(present, ACOS):
        value = tl.where(code == ACOS, functions.arc_cosine(within), value)
    if among(present, ATAN):
        value = tl.where(code == ATAN, functions.arc_tangent(a), value)
    return value


@triton.jit
def of_two(code, present, a, b):
    """Two operands, or one more of several; the second result says where there is none."""
    value = a
    value = tl.where((code == ADD) | (code == SUM) | (code == MEAN), a + b, value)
    value = tl.where(code == SUBTRACT, a - b, value)
    value = tl.where(code == MULTIPLY, a * b, value)
    quotient = a / tl.where(b == 0, 1.0, b)
    value = tl.where(code == DIVIDE, quotient, value)
    value = tl.where(code == FLOOR_DIVIDE, tl.floor(quotient), value)
    value = tl.where(code == MIN, tl.minimum(a, b), value)
    value = tl.where(code == MAX, tl.maximum(a, b), value)
    value = tl.where(code == LESS, (a < b).to(tl.float64), value)
    value = tl.where(code == AT_MOST, (a <= b).to(tl.float64), value)
    value = tl.where(code == GREATER, (a > b).to(tl.float64), value)
    value = tl.where(code == AT_LEAST, (a >= b).to(tl.float64), value)
    value = tl.where(code == EQUAL, (a == b).to(tl.float64), value)
    value = tl.where(code == UNEQUAL, (a != b).to(tl.float64), value)
    value = loops(code, present, a, b, value)
    divides = (code == DIVIDE) | (code == FLOOR_DIVIDE) | (code == MODULO)
    missing = divides & (b == 0)
    no_power = ((a == 0) & (b < 0)) | ((a < 0) & ~functions.is_whole(b))
    missing = missing | ((code == POWER) & no_power)
    missing = missing | ((code == LOG) & ((a <= 0) | (b <= 0) | (b == 1)))
    missing = missing | ((code == ROUND) & ~functions.is_whole(b))
    whole = functions.is_whole(a) & functions.is_whole(b)
    missing = missing | (((code == GCD) | (code == LCM)) & ~whole)
    natural = whole & (a >= 0) & (b >= 0)
    return value, missing | (((code == COMB) | (code == PERM)) & ~natural)


@triton.jit
def loops(code, present, a, b, value):
    """What takes a loop: only lanes that are at the operation count in it."""
    if among(present, POWER):
        x = tl.where(code == POWER, a, 1.0)
        value = tl.where(code == POWER, functions.power(x, tl.where(code == POWER, b, 1.0)), value)
    if among(present, MODULO):
        x = tl.where(code == MODULO, a, 0.0)
        value = tl.where(code == MODULO, functions.modulo(x, tl.where(b == 0, 1.0, b)), value)
    if among(present, LOG):
        above = tl.log(tl.where(a > 0, a, 1.0))
        below = tl.log(tl.where((b > 0) & (b != 1), b, 2.0))
        value = tl.where(code == LOG, above / below, value)
    if among(present, ROUND):
        places = tl.where((code == ROUND) & functions.is_whole(b), b, 0.0)
        value = tl.where(code == ROUND, functions.rounded(a, places), value)
    whole = functions.is_whole(a) & functions.is_whole(b)
    if among(present, GCD) | among(present, LCM):
        these = whole & ((code == GCD) | (code == LCM))
        x = tl.where(these, a, 1.0)
        y = tl.where(these, b, 1.0)
        value = tl.where(code == GCD, functions.divisor(x, y), value)
        value = tl.where(code == LCM, functions.multiple(x, y), value)
    natural = whole & (a >= 0) & (b >= 0)
    if among(present, COMB):
        these = natural & (code == COMB)
        ways = functions.chosen(tl.where(these, a, 1.0), tl.where(these, b, 0.0))
        value = tl.where(code == COMB, ways, value)
    if among(present, PERM):
        these = natural & (code == PERM)
        ways = functions.arranged(tl.where(these, a, 1.0), tl.where(these, b, 0.0))
        value = tl.where(code == PERM, ways, value)
    return value
