/* Doubles: addition, subtraction, multiplication.
 *
 * Fast paths take two normal operands to a normal result and work on the packed words where
 * they can: adding an aligned significand to a packed double carries into its exponent field,
 * and so does rounding. All else goes to the slow functions, which unpack. */
#include "float64.h"

wide pack64(u32 sign, i32 exponent, u32 lo, u32 hi, u32 sticky) {
    if (exponent >= 0x7ff) {
        return make_wide(0, sign | EXPONENT64);
    }
    lo |= sticky != 0;
    if (exponent <= 0) {
        wide shifted = shift_right_jam(lo, hi, (u32)(1 - exponent));
        lo = shifted.lo;
        hi = shifted.hi;
        exponent = 1;
    }
    /* The leading bit adds one to the exponent field, if it is there. */
    wide fraction = make_wide((lo >> 11) | (hi << 21), hi >> 11);
    return rounded64(fraction.lo, fraction.hi + sign + ((u32)(exponent - 1) << 20), lo << 21);
}

/* ---- addition ---- */

/* The difference hi:lo (nonzero, below 2^53) in units of the last place at `exponent`, exact. */
INLINE wide pack_exact_difference(u32 sign, u32 exponent, u32 lo, u32 hi) {
    u32 shift;
    wide shifted;
    if (LIKELY(hi != 0)) {
        shift = leading_zeros(hi) - 11;
        shifted = wide_shift_left(lo, hi, shift);
    } else {
        shift = leading_zeros(lo) + 21;
        u32 left = shift_left(lo, shift - 21);
        shifted = make_wide(left << 21, left >> 11);
    }
    if (UNLIKELY(shift >= exponent)) {
        return pack64(sign, (i32)(exponent - shift), shifted.lo << 11,
                      (shifted.hi << 11) | (shifted.lo >> 21), 0);
    }
    return make_wide(shifted.lo, sign + ((exponent - shift - 1) << 20) + shifted.hi);
}

/* What y's significand is, shifted down by `distance` >= 1: words and the fraction below. */
typedef struct {
    u32 lo, hi, rest;
} aligned;

INLINE aligned align64(u32 lo, u32 hi, u32 distance) {
    u32 high = (hi & FRACTION64) | HIDDEN64;
    if (LIKELY(distance < 32)) {
        return (aligned){funnel_shr(high, lo, distance), shift_right(high, distance),
                         shift_left(lo, apart(32 - distance))};
    }
    if (UNLIKELY(distance >= 55)) {
        return (aligned){0, 0, 1}; /* less than half of a place, even in the binade below */
    }
    u32 rest = shift_right(lo, distance) | bits_below(high, distance);
    return (aligned){shift_right(high, distance), 0, rest | (bits_below(lo, distance) != 0)};
}

/* x + y for normal numbers of one sign and one exponent: the leading bits make two. */
INLINE wide add_level(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 exponent) {
    if (UNLIKELY(exponent == 0x7fe)) {
        return make_wide(0, (xhi & SIGN) | EXPONENT64);
    }
    wide sum = wide_add(xlo, xhi & FRACTION64, ylo, yhi & FRACTION64);
    u32 lo = funnel_shr(sum.hi, sum.lo, 1);
    u32 hi = add3(xhi & ~FRACTION64, HIDDEN64, sum.hi >> 1);
    if ((sum.lo & lo & 1) == 0) {
        return make_wide(lo, hi);
    }
    return plus_one_place(lo, hi);
}

/* x + y for normal numbers of one sign, y's exponent 1 <= `distance` below x's. */
INLINE wide add_aligned(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 distance, u32 exponent) {
    aligned y = align64(ylo, yhi, distance);
    wide sum = wide_add(xlo, xhi, y.lo, y.hi);
    if ((sum.hi ^ xhi) < HIDDEN64) {
        return rounded64(sum.lo, sum.hi, y.rest);
    }
    /* The fraction carried into the exponent field: it is one place too long. */
    if (UNLIKELY(exponent == 0x7fe)) {
        return make_wide(0, (xhi & SIGN) | EXPONENT64);
    }
    u32 lo = funnel_shr(sum.hi, sum.lo, 1);
    u32 hi = (sum.hi & ~FRACTION64) | ((sum.hi & FRACTION64) >> 1);
    if ((sum.lo & 1) == 0 || (y.rest | (lo & 1)) == 0) {
        return make_wide(lo, hi);
    }
    return plus_one_place(lo, hi);
}

/* x - y for normal magnitudes at one exponent; `xhi` has the sign of x. Exact. */
INLINE wide subtract_level(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 exponent) {
    u32 lo = xlo - ylo;
    u32 hi = sub3(xhi & FRACTION64, yhi & FRACTION64, xlo < ylo);
    u32 sign = xhi & SIGN;
    if ((i32)hi < 0) {
        hi = ~hi + (lo == 0);
        lo = 0 - lo;
        sign ^= SIGN;
    }
    if (UNLIKELY((lo | hi) == 0)) {
        return make_wide(0, 0);
    }
    return pack_exact_difference(sign, exponent, lo, hi);
}

/* x - y for normal magnitudes, y's exponent 1 <= `distance` below x's. */
INLINE wide subtract_aligned(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 distance, u32 exponent) {
    aligned y = align64(ylo, yhi, distance);
    wide difference = wide_subtract(xlo, xhi, y.lo, y.hi);
    u32 lo = difference.lo, hi = difference.hi, rest = 0 - y.rest;
    if (rest != 0) {
        hi -= lo == 0;
        lo -= 1;
    }
    if ((hi ^ xhi) < HIDDEN64) {
        return rounded64(lo, hi, rest);
    }
    /* The fraction borrowed from the exponent field: it is at least one place too short. */
    if (UNLIKELY((hi & (HIDDEN64 >> 1)) == 0)) {
        /* Only at distance 1, where the rest is one bit: exact after the shift. */
        u32 high = ((hi & FRACTION64) << 1) | (lo >> 31);
        return pack_exact_difference(xhi & SIGN, exponent - 1, (lo << 1) | (rest >> 31), high);
    }
    hi = hi - HIDDEN64 + (hi & FRACTION64) + (lo >> 31);
    return rounded64((lo << 1) | (rest >> 31), hi, rest << 1);
}

/* An infinity or a NaN among the operands; b before its sign is flipped. */
RARE wide add_not_finite(u32 alo, u32 ahi, u32 blo, u32 bhi, u32 flip) {
    if (is_nan64(alo, ahi)) {
        return make_wide(alo, ahi | QUIET64);
    }
    if (is_nan64(blo, bhi)) {
        return make_wide(blo, bhi | QUIET64);
    }
    bhi ^= flip;
    if ((ahi & EXPONENT64) != EXPONENT64) {
        return make_wide(blo, bhi);
    }
    u32 both = (bhi & EXPONENT64) == EXPONENT64;
    return both && ahi != bhi ? default_nan64() : make_wide(alo, ahi);
}

/* Any operands; zeros, the most frequent, first. */
RARE wide slow_add(u32 alo, u32 ahi, u32 blo, u32 bhi, u32 flip) {
    if (UNLIKELY((ahi & EXPONENT64) == EXPONENT64) || UNLIKELY((bhi & EXPONENT64) == EXPONENT64)) {
        return add_not_finite(alo, ahi, blo, bhi, flip);
    }
    bhi ^= flip;
    if (LIKELY(is_zero64(alo, ahi))) {
        return is_zero64(blo, bhi) ? make_wide(0, ahi & bhi) : make_wide(blo, bhi);
    }
    if (LIKELY(is_zero64(blo, bhi))) {
        return make_wide(alo, ahi);
    }
    if (wide_less(alo, ahi & ~SIGN, blo, bhi & ~SIGN)) {
        u32 lo = alo, hi = ahi;
        alo = blo, ahi = bhi;
        blo = lo, bhi = hi;
    }
    u32 ea = exponent64(ahi), eb = exponent64(bhi);
    u32 ha = (ahi & FRACTION64) | (ea ? HIDDEN64 : 0), hb = (bhi & FRACTION64) | (eb ? HIDDEN64 : 0);
    ea += ea == 0;
    eb += eb == 0;
    /* Ten places for rounding, one for the carry. */
    wide a = wide_shift_left(alo, ha, 10), b = wide_shift_left(blo, hb, 10);
    b = shift_right_jam(b.lo, b.hi, ea - eb);
    wide sum = (i32)(ahi ^ bhi) < 0 ? wide_subtract(a.lo, a.hi, b.lo, b.hi)
                                    : wide_add(a.lo, a.hi, b.lo, b.hi);
    if ((sum.lo | sum.hi) == 0) {
        return sum;
    }
    u32 shift = sum.hi ? leading_zeros(sum.hi) : 32 + leading_zeros(sum.lo);
    if (shift >= 32) {
        sum = make_wide(0, sum.lo);
    }
    sum = wide_shift_left(sum.lo, sum.hi, shift & 31);
    return pack64(ahi & SIGN, (i32)(ea + 1 - shift), sum.lo, sum.hi, 0);
}

/* a + b with b's sign flipped by `flip` (0 or SIGN). */
INLINE wide add64(u32 alo, u32 ahi, u32 blo, u32 bhi, u32 flip) {
    u32 sa = ahi >> 20, sb = bhi >> 20; /* signs and exponents */
    u32 ea = sa & 0x7ff, eb = sb & 0x7ff;
    u32 same_sign = flip ? apart(sa ^ sb) >= 0x800 : apart(sa ^ sb) < 0x800;
    if (ea < eb) {
        if (UNLIKELY(ea == 0) || UNLIKELY(eb == 0x7ff)) {
            return slow_add(alo, ahi, blo, bhi, flip);
        }
        u32 distance = apart(eb - ea);
        return same_sign ? add_aligned(blo, bhi ^ flip, alo, ahi, distance, eb)
                         : subtract_aligned(blo, bhi ^ flip, alo, ahi, distance, eb);
    }
    if (UNLIKELY(eb == 0) || UNLIKELY(ea == 0x7ff)) {
        return slow_add(alo, ahi, blo, bhi, flip);
    }
    u32 distance = apart(ea - eb);
    if (same_sign) {
        return distance ? add_aligned(alo, ahi, blo, bhi, distance, ea)
                        : add_level(alo, ahi, blo, bhi, ea);
    }
    return distance ? subtract_aligned(alo, ahi, blo, bhi, distance, ea)
                    : subtract_level(alo, ahi, blo, bhi, ea);
}

EXPORT("f64.add") wide f64_add(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return add64(alo, ahi, blo, bhi, 0);
}

EXPORT("f64.sub") wide f64_sub(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return add64(alo, ahi, blo, bhi, SIGN);
}

/* ---- multiplication ---- */

/* The product of any operands, the slow way: all 128 bits. */
RARE wide slow_multiply(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 sign = (ahi ^ bhi) & SIGN;
    u32 zero = is_zero64(alo, ahi) | is_zero64(blo, bhi);
    if (UNLIKELY((ahi & EXPONENT64) == EXPONENT64) || UNLIKELY((bhi & EXPONENT64) == EXPONENT64)) {
        if (is_nan64(alo, ahi)) {
            return make_wide(alo, ahi | QUIET64);
        }
        if (is_nan64(blo, bhi)) {
            return make_wide(blo, bhi | QUIET64);
        }
        return zero ? default_nan64() : make_wide(0, sign | EXPONENT64);
    }
    if (LIKELY(zero)) {
        return make_wide(0, sign);
    }
    unpacked a = unpack_normalized(alo, ahi), b = unpack_normalized(blo, bhi);
    wide low = make_wide(a.lo * b.lo, mul_high(a.lo, b.lo));
    wide cross = make_wide(a.lo * b.hi, mul_high(a.lo, b.hi));
    wide other = make_wide(a.hi * b.lo, mul_high(a.hi, b.lo));
    /* Below 2^64 - 2^33 + 1 each, so a high word has room for one carry. */
    cross = wide_add(cross.lo, cross.hi, low.hi, 0);
    other = wide_add(other.lo, other.hi, cross.lo, 0);
    u32 lo = a.hi * b.hi, hi = mul_high(a.hi, b.hi);
    wide top = wide_add(lo, hi, cross.hi, 0);
    top = wide_add(top.lo, top.hi, other.hi, 0);
    u32 below = other.lo;
    i32 exponent = a.exponent + b.exponent - BIAS64 + 1;
    if ((i32)top.hi >= 0) {
        top = make_wide((top.lo << 1) | (below >> 31), (top.hi << 1) | (top.lo >> 31));
        below <<= 1;
        exponent -= 1;
    }
    return pack64(sign, exponent, top.lo, top.hi, below | low.lo);
}

/* The product of the significands' first words, and what the lower words add to it. */
INLINE wide multiply_significands(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 a1 = funnel_shl(ahi, alo, 11) | SIGN, a0 = alo << 11;
    u32 b1 = funnel_shl(bhi, blo, 11) | SIGN, b0 = blo << 11;
    u32 lo = a1 * b1, cross = mul_high(a1, b0), other = mul_high(a0, b1);
    u32 sum = lo + cross;
    return make_wide(sum + other, add3(mul_high(a1, b1), carry(lo, cross), carry(sum, other)));
}

/* Two normal operands. With a = a1 + a0/2^32, a1 the significand's top 32 bits, the product is
 * a1 b1 + (a1 b0 + a0 b1)/2^32 + a0 b0/2^64; two words of it suffice. What is left out lowers
 * them by less than 3 of the second word's units, of which a last place has 2^10 or 2^11:
 * only if the rest is just below half of a place does it matter, and the slow way decides.
 * Signs and exponents are numbers of 12 bits here, which say fewer tokens than whole words. */
EXPORT("f64.mul") wide f64_mul(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 sa = ahi >> 20, sb = bhi >> 20;
    u32 ea = sa & 0x7ff, eb = sb & 0x7ff;
    /* Two less than the smallest result's exponent: the leading bit will add one. */
    u32 exponent = apart(ea + eb) - (BIAS64 + 1);
    if (UNLIKELY(!is_normal(ea, 0x7ff)) || UNLIKELY(!is_normal(eb, 0x7ff)) ||
        UNLIKELY(exponent >= 2045)) {
        return slow_multiply(alo, ahi, blo, bhi);
    }
    wide product = multiply_significands(alo, ahi, blo, bhi);
    u32 above = apart(((sa ^ sb) & 0x800) + exponent);
    if ((i32)product.hi < 0) {
        above = apart(above + 1) << 20;
        u32 rest = product.lo & 0x7ff;
        if (rest < 0x3fd) {
            return make_wide(funnel_shr(product.hi, product.lo, 11), above + (product.hi >> 11));
        }
        if (LIKELY(rest > 0x400)) {
            return plus_one_place_of_sum(funnel_shr(product.hi, product.lo, 11), above,
                                         product.hi >> 11);
        }
    } else {
        above <<= 20;
        u32 rest = product.lo & 0x3ff;
        if (rest < 0x1fd) {
            return make_wide(funnel_shr(product.hi, product.lo, 10), above + (product.hi >> 10));
        }
        if (LIKELY(rest > 0x200)) {
            return plus_one_place_of_sum(funnel_shr(product.hi, product.lo, 10), above,
                                         product.hi >> 10);
        }
    }
    return slow_multiply(alo, ahi, blo, bhi);
}
