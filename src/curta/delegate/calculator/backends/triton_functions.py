"""Functions of float64 in Triton that it has not itself; the same on a GPU and in its interpreter.

What Triton has of its own (exp, log, sin, cos, sqrt) is good to a unit or two in the last place on
both. The rest is built of these. Products are not fused into sums (the launch says so).
"""

# mypy: ignore-errors
# What Triton compiles has no types of Python.

from __future__ import annotations

import triton
import triton.language as tl

MOST_CHOSEN = tl.constexpr(600)
"""There are more than 2^1024 ways to choose 600 of 1,200."""

MOST_ARRANGED = tl.constexpr(171)
"""171! is beyond float64."""


@triton.jit
def is_whole(a):
    return a == tl.floor(a)


@triton.jit
def is_finite(a):
    return tl.abs(a) <= 1.7976931348623157e308


@triton.jit
def nearest(a):
    """The nearest whole number, halves to the even one: adding 2^52 leaves no room for more."""
    size = tl.abs(a)
    rounded = (size + 4503599627370496.0) - 4503599627370496.0
    rounded = tl.where(size < 4503599627370496.0, rounded, size)
    return tl.where(a < 0, -rounded, rounded)


@triton.jit
def truncated(a):
    return tl.where(a < 0, tl.ceil(a), tl.floor(a))


@triton.jit
def exponent_of(a):
    """The exponent of a positive number as float64 writes it, of subnormal ones too."""
    tiny = a < 1e-300
    bits = tl.where(tiny, a * 18014398509481984.0, a).to(tl.int64, bitcast=True)
    return (bits >> 52) - tl.where(tiny, 54, 0)


@triton.jit
def power_of_two(exponent):
    return ((exponent + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def remainder(a, b):
    """What is left of a after whole multiples of b, both at least 0; exact, a bit at a time."""
    left = tl.where((b > 0) & is_finite(a), a, 0.0)
    b = tl.where(b > 0, b, 1.0)
    while tl.max((left >= b).to(tl.int32), 0) > 0:
        shift = tl.where(left >= b, exponent_of(left) - exponent_of(b), 0)
        part = b * power_of_two(shift >> 1) * power_of_two(shift - (shift >> 1))
        part = tl.where(part > left, part * 0.5, part)
        left = tl.where(left >= b, left - part, left)
    return left


@triton.jit
def modulo(a, b):
    """The remainder with the sign of b."""
    rest = remainder(tl.abs(a), tl.abs(b))
    rest = tl.where(a < 0, -rest, rest)
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@triton.jit
def divisor(a, b):
    """Greatest common divisor."""
    a = tl.abs(a)
    b = tl.abs(b)
    while tl.max((b > 0).to(tl.int32), 0) > 0:
        rest = remainder(a, b)
        a = tl.where(b > 0, b, a)
        b = tl.where(b > 0, rest, b)
    return a


@triton.jit
def multiple(a, b):
    """Least common multiple."""
    common = divisor(a, b)
    return tl.where(common == 0, 0.0, tl.abs(a / tl.where(common == 0, 1.0, common) * b))


@triton.jit
def whole_power(base, exponent):
    """By squaring, for exponents from 0 to 1,024."""
    result = base * 0 + 1
    left = exponent
    while tl.max(left, 0) > 0:
        half = tl.floor(left * 0.5)
        result = tl.where(left != 2 * half, result * base, result)
        base = tl.where(half > 0, base * base, base)
        left = half
    return result


@triton.jit
def power(a, b):
    """Products for small whole exponents, exponentials otherwise."""
    size = tl.abs(b)
    counted = is_whole(b) & (size <= 1024)
    product = whole_power(tl.where(counted, a, 1.0), tl.where(counted, size, 0.0))
    product = tl.where(b < 0, 1 / tl.where(product == 0, 1.0, product), product)
    grown = tl.exp(b * tl.log(tl.where(a == 0, 1.0, tl.abs(a))))
    odd = is_whole(b) & (size < 9007199254740992.0) & (b != 2 * tl.floor(b * 0.5))
    grown = tl.where((a < 0) & odd, -grown, grown)
    grown = tl.where(a == 0, 0.0, grown)
    return tl.where(counted, product, grown)


@triton.jit
def cube_root(a):
    """Nearly by logarithms, then by two steps of Newton's method."""
    size = tl.where(a == 0, 1.0, tl.abs(a))
    root = tl.exp(tl.log(size) / 3)
    root = root - (root - size / (root * root)) / 3
    root = root - (root - size / (root * root)) / 3
    return tl.where(a == 0, 0.0, tl.where(a < 0, -root, root))


@triton.jit
def arc_tangent(a):
    """From a rough guess, by the tangent of what is missing: tan(y - x) of both tangents."""
    size = tl.abs(a)
    inverse = size > 1
    x = tl.where(inverse, 1 / tl.where(inverse, size, 1.0), size)
    y = x * (0.785398163397448 + 0.273 * (1 - x))
    sine = tl.sin(y)
    cosine = tl.cos(y)
    off = (sine - x * cosine) / (cosine + x * sine)
    y = y - (off - off * off * off / 3)
    sine = tl.sin(y)
    cosine = tl.cos(y)
    y = y - (sine - x * cosine) / (cosine + x * sine)
    y = tl.where(inverse, 1.5707963267948966 - y, y)
    return tl.where(a < 0, -y, y)


@triton.jit
def arc_sine(a):
    rest = tl.sqrt((1 - a) * (1 + a))
    angle = arc_tangent(a / tl.where(rest == 0, 1.0, rest))
    right = rest * 0 + 1.5707963267948966  # alone, it would have 32 bits
    return tl.where(rest == 0, tl.where(a < 0, -right, right), angle)


@triton.jit
def arc_cosine(a):
    above = 1 + a
    angle = 2 * arc_tangent(tl.sqrt((1 - a) / tl.where(above == 0, 1.0, above)))
    return tl.where(above == 0, 3.141592653589793, angle)


@triton.jit
def rounded(a, places):
    """To so many decimals."""
    unit = power(places * 0 + 10.0, places)
    scaled = a * unit
    usable = is_finite(scaled) & (unit > 0)
    return tl.where(usable, nearest(scaled) / tl.where(unit > 0, unit, 1.0), a)


@triton.jit
def chosen(n, k):
    """Ways to choose k of n, a factor at a time."""
    k = tl.minimum(k, n - k)
    factors = tl.where(k > MOST_CHOSEN, 0.0, k)
    result = n * 0 + 1
    i = 1
    most = tl.max(factors, 0)
    while i <= most:
        result = tl.where(i <= factors, result * (n - factors + i) / i, result)
        i += 1
    result = tl.where(k > MOST_CHOSEN, float("inf"), nearest(result))
    return tl.where(k < 0, 0.0, result)


@triton.jit
def arranged(n, k):
    """Ways to choose k of n in order."""
    factors = tl.where(k > n, 0.0, tl.minimum(k, MOST_ARRANGED))
    result = n * 0 + 1
    i = 0
    most = tl.max(factors, 0)
    while i < most:
        result = tl.where(i < factors, result * (n - i), result)
        i += 1
    result = tl.where(k >= MOST_ARRANGED, float("inf"), result)
    return tl.where(k > n, 0.0, result)
