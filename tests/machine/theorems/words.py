"""Words of 32 bits as terms of z3: every operation that a rule or a library function may use.

The provers run Python functions and WebAssembly on these terms in place of numbers. Products and
quotients come from methods that can be overridden: where bit vectors of full width are out of
reach, a prover can have others stand for them.
"""

from __future__ import annotations

import z3

Word = z3.BitVecRef
ZERO, ONE = z3.BitVecVal(0, 32), z3.BitVecVal(1, 32)


def word(value: int) -> Word:
    return z3.BitVecVal(value % (1 << 32), 32)


def truth(value: Word) -> z3.BoolRef:
    """Whether a word is not 0; the condition itself, if the word is that of a condition."""
    if z3.is_app_of(value, z3.Z3_OP_ITE):
        condition, then, otherwise = value.children()
        if z3.is_bv_value(then) and z3.is_bv_value(otherwise):
            if then.as_long() and not otherwise.as_long():
                return condition
            if otherwise.as_long() and not then.as_long():
                return negation(condition)
    return z3.simplify(value != 0)


def negation(condition: z3.BoolRef) -> z3.BoolRef:
    """The opposite, without two negations in a row."""
    return condition.arg(0) if z3.is_not(condition) else z3.simplify(z3.Not(condition))


def bit(condition: z3.BoolRef) -> Word:
    """1 where it holds, else 0."""
    if z3.is_true(condition):
        return ONE
    return ZERO if z3.is_false(condition) else z3.If(condition, ONE, ZERO)


def choose(condition: z3.BoolRef, then: Word, otherwise: Word) -> Word:
    """`then` where it holds."""
    if z3.is_true(condition) or then.eq(otherwise):
        return then
    return otherwise if z3.is_false(condition) else z3.If(condition, then, otherwise)


def wide(low: Word, high: Word) -> z3.BitVecRef:
    """Two words as one number of 64 bits."""
    return z3.Concat(high, low)


def low_word(number: z3.BitVecRef) -> Word:
    return z3.Extract(31, 0, number)


def high_word(number: z3.BitVecRef) -> Word:
    return z3.Extract(63, 32, number)


def leading_zeros(value: z3.BitVecRef) -> z3.BitVecRef:
    """How many bits stand above the highest 1; all of them if there is none."""
    size = value.size()
    count = z3.BitVecVal(size, size)
    for place in range(size):
        is_set = z3.Extract(place, place, value) == 1
        count = z3.If(is_set, z3.BitVecVal(size - 1 - place, size), count)
    return count


def trailing_zeros(value: z3.BitVecRef) -> z3.BitVecRef:
    size = value.size()
    count = z3.BitVecVal(size, size)
    for place in reversed(range(size)):
        is_set = z3.Extract(place, place, value) == 1
        count = z3.If(is_set, z3.BitVecVal(place, size), count)
    return count


def ones(value: z3.BitVecRef) -> z3.BitVecRef:
    """How many bits are 1."""
    size = value.size()
    bits = (z3.Extract(place, place, value) for place in range(size))
    return sum((z3.ZeroExt(size - 1, one) for one in bits), z3.BitVecVal(0, size))


class Exact:
    """What WebAssembly's i32 instructions and the machine's further ones give, in z3's own terms.

    This table is the intended meaning: `test_core_meanings` proves that instructions.VALUES agrees.
    """

    def mul(self, a: Word, b: Word) -> Word:
        return a * b

    def mul_high(self, a: Word, b: Word) -> Word:
        return high_word(z3.ZeroExt(32, a) * z3.ZeroExt(32, b))

    def div_u(self, a: Word, b: Word) -> Word:
        return z3.UDiv(a, b)

    def rem_u(self, a: Word, b: Word) -> Word:
        return z3.URem(a, b)

    def div_s(self, a: Word, b: Word) -> Word:
        return a / b

    def rem_s(self, a: Word, b: Word) -> Word:
        return z3.SRem(a, b)

    def value(self, name: str, a: Word, b: Word, c: Word = ZERO) -> Word:
        """The core instruction of this name (instructions.py)."""
        if name in ("mul", "mul_high", "div_u", "rem_u", "div_s", "rem_s"):
            return getattr(self, name)(a, b)
        if name in COMPARISONS:
            return bit(z3.simplify(COMPARISONS[name](a, b)))
        return PLAIN[name](a, b, c)


def turned(a: Word, by: Word) -> Word:
    """Rotated to the left."""
    return z3.RotateLeft(a, by)


COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt_u": z3.ULT,
    "lt_s": lambda a, b: a < b,
    "le_u": z3.ULE,
    "le_s": lambda a, b: a <= b,
    "gt_u": z3.UGT,
    "gt_s": lambda a, b: a > b,
    "ge_u": z3.UGE,
    "ge_s": lambda a, b: a >= b,
}
PLAIN = {
    "copy": lambda a, b, c: b,
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "and": lambda a, b, c: a & b,
    "or": lambda a, b, c: a | b,
    "xor": lambda a, b, c: a ^ b,
    "shl": lambda a, b, c: a << (b & 31),
    "shr_u": lambda a, b, c: z3.LShR(a, b & 31),
    "shr_s": lambda a, b, c: a >> (b & 31),
    "rotl": lambda a, b, c: z3.RotateLeft(a, b & 31),
    "rotr": lambda a, b, c: z3.RotateRight(a, b & 31),
    "clz": lambda a, b, c: leading_zeros(a),
    "ctz": lambda a, b, c: trailing_zeros(a),
    "popcnt": lambda a, b, c: ones(a),
    "select": lambda a, b, c: choose(truth(c), a, b),
    "extend8": lambda a, b, c: z3.SignExt(24, z3.Extract(7, 0, a)),
    "extend16": lambda a, b, c: z3.SignExt(16, z3.Extract(15, 0, a)),
    "carry": lambda a, b, c: z3.ZeroExt(
        31, z3.Extract(32, 32, z3.ZeroExt(1, a) + z3.ZeroExt(1, b))
    ),
    "add3": lambda a, b, c: a + b + c,
    "sub3": lambda a, b, c: a - b - c,
    "funnel_shl": lambda a, b, c: high_word(wide(c, a) << z3.ZeroExt(32, b & 31)),
    "funnel_shr": lambda a, b, c: low_word(z3.LShR(wide(c, a), z3.ZeroExt(32, b & 31))),
}
