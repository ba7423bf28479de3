"""What the library's functions are to give: WebAssembly's instructions on integers and floats.

Floats are those of z3's theory (IEEE 754), rounded to nearest even. Of NaNs, WebAssembly leaves
the bits open; the library gives those that x86-64 gives: the first operand that is one, made
quiet (of minimum and maximum the second), and where none is one the quiet NaN with its sign set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3

from curta.machine.float_words import BIAS
from tests.machine.theorems.words import ZERO, leading_zeros, ones, trailing_zeros, word

Bits = z3.BitVecRef
NEAREST, DOWN, UP, CUT = z3.RNE(), z3.RTN(), z3.RTP(), z3.RTZ()
DIVIDE_BY_ZERO, OVERFLOW, INVALID = word(1), word(2), word(3)
"""Arguments of the library's trap()."""


@dataclass(frozen=True)
class Format:
    """A format of floats, by the widths of its fields."""

    exponent: int
    fraction: int

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def sort(self) -> z3.FPSortRef:
        return z3.FPSort(self.exponent, self.fraction + 1)

    def number(self, bits: Bits) -> z3.FPRef:
        return z3.fpBVToFP(bits, self.sort)

    def bits(self, number: z3.FPRef) -> Bits:
        return z3.fpToIEEEBV(number)

    def is_nan(self, bits: Bits) -> z3.BoolRef:
        """All ones in the exponent, and a fraction."""
        return z3.And(self.has_top_exponent(bits), z3.Extract(self.fraction - 1, 0, bits) != 0)

    def has_top_exponent(self, bits: Bits) -> z3.BoolRef:
        return z3.Extract(self.width - 2, self.fraction, bits) == (1 << self.exponent) - 1

    def quiet(self, bits: Bits) -> Bits:
        return bits | (1 << self.fraction - 1)

    @property
    def invalid(self) -> Bits:
        """What x86-64 gives for an invalid operation."""
        fields = (1 << self.exponent + 2) - 1
        return z3.BitVecVal(fields << self.fraction - 1, self.width)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    def constant(self, value: float) -> z3.FPRef:
        return z3.FPVal(value, self.sort)


F32, F64 = Format(8, 23), Format(11, 52)
FORMATS = {"f32": F32, "f64": F64}


@dataclass(frozen=True)
class Meaning:
    """The result, where the trap's code is 0."""

    result: Bits
    trap: Bits = ZERO


# -- integers -------------------------------------------------------------------------------------


def rounded_shift(shift: Callable[[Bits, Bits], Bits]) -> Callable[[Bits, Bits], Bits]:
    return lambda a, b: shift(a, b & 63)


INTEGERS: dict[str, Callable[..., Bits | z3.BoolRef]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": rounded_shift(lambda a, b: a << b),
    "shr_u": rounded_shift(z3.LShR),
    "shr_s": rounded_shift(lambda a, b: a >> b),
    "rotl": rounded_shift(z3.RotateLeft),
    "rotr": rounded_shift(z3.RotateRight),
    "clz": leading_zeros,
    "ctz": trailing_zeros,
    "popcnt": ones,
    "eqz": lambda a: a == 0,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt_u": z3.ULT,
    "lt_s": lambda a, b: a < b,
    "gt_u": z3.UGT,
    "gt_s": lambda a, b: a > b,
    "le_u": z3.ULE,
    "le_s": lambda a, b: a <= b,
    "ge_u": z3.UGE,
    "ge_s": lambda a, b: a >= b,
    "extend8_s": lambda a: z3.SignExt(56, z3.Extract(7, 0, a)),
    "extend16_s": lambda a: z3.SignExt(48, z3.Extract(15, 0, a)),
    "extend32_s": lambda a: z3.SignExt(32, z3.Extract(31, 0, a)),
    "extend_i32_s": lambda a: z3.SignExt(32, a),
    "extend_i32_u": lambda a: z3.ZeroExt(32, a),
    "wrap_i64": lambda a: z3.Extract(31, 0, a),
}


# -- floats ---------------------------------------------------------------------------------------


def comparison(form: Format, name: str, a: Bits, b: Bits) -> z3.BoolRef:
    x, y = form.number(a), form.number(b)
    if name == "ne":
        return z3.Not(z3.fpEQ(x, y))
    tests = {"eq": z3.fpEQ, "lt": z3.fpLT, "gt": z3.fpGT, "le": z3.fpLEQ, "ge": z3.fpGEQ}
    return tests[name](x, y)


def arithmetic(form: Format, name: str, a: Bits, b: Bits) -> Bits:
    """Rounded to nearest, with the NaNs of x86-64."""
    make = {"add": z3.fpAdd, "sub": z3.fpSub, "mul": z3.fpMul, "div": z3.fpDiv}[name]
    result = make(NEAREST, form.number(a), form.number(b))
    exact = z3.If(z3.fpIsNaN(result), form.invalid, form.bits(result))
    of_b = z3.If(form.is_nan(b), form.quiet(b), exact)
    return z3.If(form.is_nan(a), form.quiet(a), of_b)


def root(form: Format, name: str, a: Bits) -> Bits:
    result = z3.fpSqrt(NEAREST, form.number(a))
    exact = z3.If(z3.fpIsNaN(result), form.invalid, form.bits(result))
    return z3.If(form.is_nan(a), form.quiet(a), exact)


def extreme(form: Format, name: str, a: Bits, b: Bits) -> Bits:
    """WebAssembly's: -0 is below +0."""
    x, y = form.number(a), form.number(b)
    smaller = z3.Or(z3.fpLT(x, y), z3.And(z3.fpEQ(x, y), z3.fpIsNegative(x)))
    first = smaller if name == "min" else z3.Not(smaller)
    equal_zeros = z3.And(z3.fpEQ(x, y), z3.fpIsZero(x))
    zero = (a | b) if name == "min" else (a & b)
    number = z3.If(equal_zeros, zero, z3.If(first, a, b))
    of_a = z3.If(form.is_nan(a), form.quiet(a), number)
    return z3.If(form.is_nan(b), form.quiet(b), of_a)


def integral(form: Format, name: str, a: Bits) -> Bits:
    mode = {"ceil": UP, "floor": DOWN, "trunc": CUT, "nearest": NEAREST}[name]
    result = form.bits(z3.fpRoundToIntegral(mode, form.number(a)))
    return z3.If(form.is_nan(a), form.quiet(a), result)


def signs(form: Format, name: str, a: Bits, b: Bits | None = None) -> Bits:
    """Of the bits alone, NaNs too."""
    top = 1 << form.width - 1
    if name == "neg":
        return a ^ top
    rest = a & (top - 1)
    return rest if name == "abs" else rest | (b & top)


def truncated(form: Format, a: Bits, width: int, signed: bool, saturate: bool) -> Meaning:
    """To an integer; outside its range a trap, or the nearest that there is."""
    number = form.number(a)
    lowest, above = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if signed else (0.0, 2.0**width)
    whole = z3.fpRoundToIntegral(CUT, number)
    low = z3.fpLT(whole, form.constant(lowest))
    high = z3.fpGEQ(whole, form.constant(above))
    convert = z3.fpToSBV if signed else z3.fpToUBV
    value = convert(CUT, number, z3.BitVecSort(width))
    if not saturate:
        code = z3.If(form.is_nan(a), INVALID, z3.If(z3.Or(low, high), OVERFLOW, ZERO))
        return Meaning(value, code)
    ends = [z3.BitVecVal(int(lowest), width), z3.BitVecVal(int(above) - 1, width)]
    value = z3.If(low, ends[0], z3.If(high, ends[1], value))
    return Meaning(z3.If(form.is_nan(a), z3.BitVecVal(0, width), value))


def converted(form: Format, a: Bits, signed: bool) -> Bits:
    """The float nearest to an integer."""
    make = z3.fpSignedToFP if signed else z3.fpUnsignedToFP
    return form.bits(make(NEAREST, a, form.sort))


def demoted(a: Bits) -> Bits:
    """A NaN keeps its sign and the upper bits of its payload, and becomes quiet."""
    kept = z3.Concat(z3.Extract(63, 63, a), z3.BitVecVal(255, 8), z3.Extract(51, 29, a))
    number = z3.fpFPToFP(NEAREST, F64.number(a), F32.sort)
    return z3.If(F64.is_nan(a), F32.quiet(kept), F32.bits(number))


def promoted(a: Bits) -> Bits:
    top, zeros = z3.BitVecVal(2047, 11), z3.BitVecVal(0, 29)
    kept = z3.Concat(z3.Extract(31, 31, a), top, z3.Extract(22, 0, a), zeros)
    number = z3.fpFPToFP(NEAREST, F32.number(a), F64.sort)
    return z3.If(F32.is_nan(a), F64.quiet(kept), F64.bits(number))


def meaning(name: str, *operands: Bits) -> Meaning:
    """What the instruction of this name gives; operands are 32 or 64 bits wide, as its types."""
    kind, short = name.split(".")
    if short.startswith("reinterpret"):
        return Meaning(operands[0])
    if short in ("demote_f64", "promote_f32"):
        return Meaning(demoted(operands[0]) if kind == "f32" else promoted(operands[0]))
    if short.startswith("convert"):
        return Meaning(converted(FORMATS[kind], operands[0], short.endswith("_s")))
    if short.startswith("trunc_"):
        form = FORMATS["f32" if "f32" in short else "f64"]
        width = int(kind[1:])
        signed = short.endswith("_s")
        return truncated(form, operands[0], width, signed, "sat" in short)
    if kind[0] == "i":
        found = INTEGERS[short](*operands)
        return Meaning(as_word(found))
    form = FORMATS[kind]
    if short in ("eq", "ne", "lt", "gt", "le", "ge"):
        return Meaning(as_word(comparison(form, short, *operands)))
    for names, make in (
        (("add", "sub", "mul", "div"), arithmetic),
        (("sqrt",), root),
        (("min", "max"), extreme),
        (("ceil", "floor", "trunc", "nearest"), integral),
        (("neg", "abs", "copysign"), signs),
    ):
        if short in names:
            return Meaning(make(form, short, *operands))
    raise KeyError(name)


def float_word(name: str, a: Bits, b: Bits, c: Bits, e: Bits = ZERO) -> Bits:
    """What a core instruction on floats gives; `pack`, of whole numbers only."""
    kind, short, *half = name.split("_")
    x, y = (z3.Concat(a, c), z3.Concat(b, e)) if kind == "f64" else (a, b)
    if short == "pack":
        assert z3.simplify(b).as_long() == BIAS
        size = converted(FORMATS[kind], z3.Concat(a, c), signed=False)
        sign = z3.Extract(31, 31, e)
        result = z3.Concat(sign, z3.Extract(FORMATS[kind].width - 2, 0, size))
    elif short in ("demote", "promote"):
        result = demoted(z3.Concat(a, c)) if short == "demote" else promoted(a)
    else:
        result = meaning(f"{kind}.{short}", *(x, y)[: 1 if short == "sqrt" else 2]).result
    if result.size() == 32:
        return result
    return z3.Extract(63, 32, result) if half == ["high"] else z3.Extract(31, 0, result)


def as_word(found: Bits | z3.BoolRef) -> Bits:
    return z3.If(found, word(1), ZERO) if z3.is_bool(found) else found
