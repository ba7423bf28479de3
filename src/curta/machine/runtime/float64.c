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

/* What y's significand is, shifted down by 1 <= `distance` <= 31: words and the fraction below. */
typedef struct {
    u32 lo, hi, rest;
} aligned;

INLINE aligned align64(u32 lo, u32 hi, u32 distance) {
    u32 high = (hi & FRACTION64) | HIDDEN64;
    return (aligned){funnel_shr(high, lo, distance), shift_right(high, distance),
                     shift_left(lo, apart(32 - distance))};
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

/* x + y where that is not in the binade of x, of exponent `exponent`, or where it is half of a
 * place above `lo` and `hi`. These are the words without the `rest` below them. */
RARE wide add_beyond(u32 lo, u32 hi, u32 rest, u32 exponent) {
    if (exponent64(hi) == exponent) {
        return rounded64(lo, hi, rest);
    }
    /* The fraction carried into the exponent field: it is one place too long. */
    if (UNLIKELY(exponent == 0x7fe)) {
        return make_wide(0, hi & ~FRACTION64);
    }
    u32 half_lo = funnel_shr(hi, lo, 1);
    u32 half_hi = (hi & ~FRACTION64) | ((hi & FRACTION64) >> 1);
    if ((lo & 1) == 0 || (rest | (half_lo & 1)) == 0) {
        return make_wide(half_lo, half_hi);
    }
    return plus_one_place(half_lo, half_hi);
}

/* The same for y's exponent 1 <= `distance` below x's, whose sign and exponent are `above`. Nearly
 * always the sum is x and a rounded y, and in the binade of x; then it is done. */
INLINE wide add_aligned(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 distance, u32 above) {
    aligned y = align64(ylo, yhi, distance);
    if ((i32)y.rest >= 0) {
        u32 more = at_once(carry(xlo, y.lo));
        wide sum = make_wide(xlo + y.lo, add3(xhi, y.hi, more));
        if (LIKELY(sum.hi >> 20 == above)) {
            return sum;
        }
        return add_beyond(sum.lo, sum.hi, y.rest, above & 0x7ff);
    }
    u32 lo = add3(xlo, 1, y.lo), hi = add3(xhi, y.hi, lo <= y.lo);
    if (LIKELY(y.rest != HALF) && LIKELY(hi >> 20 == above)) {
        return make_wide(lo, hi);
    }
    u32 borrow = at_once(lo == 0);
    return add_beyond(lo - 1, hi - borrow, y.rest, above & 0x7ff);
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

/* x - y where that is not in the binade of x, of exponent `exponent`, or where it is half of a
 * place above `lo` and `hi`. These are the words of x - y rounded down, `rest` the bits below. */
RARE wide subtract_beyond(u32 lo, u32 hi, u32 rest, u32 exponent) {
    if (exponent64(hi) == exponent) {
        return rounded64(lo, hi, rest);
    }
    /* The fraction borrowed from the exponent field: it is at least one place too short. */
    if (UNLIKELY((hi & (HIDDEN64 >> 1)) == 0)) {
        /* Only at distance 1, where the rest is one bit: exact after the shift. */
        u32 high = ((hi & FRACTION64) << 1) | (lo >> 31);
        return pack_exact_difference(hi & SIGN, exponent - 1, (lo << 1) | (rest >> 31), high);
    }
    hi = hi - HIDDEN64 + (hi & FRACTION64) + (lo >> 31);
    return rounded64((lo << 1) | (rest >> 31), hi, rest << 1);
}

/* The same for y's exponent 1 <= `distance` below x's, whose sign and exponent are `above`. The
 * usual case is as in add_aligned, but a rest below a power of two leads to the binade below. */
INLINE wide subtract_aligned(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 distance, u32 above) {
    aligned y = align64(ylo, yhi, distance);
    if ((i32)y.rest < 0) {
        u32 borrow = at_once(xlo <= y.lo);
        u32 lo = sub3(xlo, 1, y.lo), hi = sub3(xhi, y.hi, borrow);
        if (LIKELY(y.rest != HALF) && LIKELY(hi >> 20 == above)) {
            return make_wide(lo, hi);
        }
        return subtract_beyond(lo, hi, 0 - y.rest, above & 0x7ff);
    }
    u32 less = at_once(xlo < y.lo);
    wide near = make_wide(xlo - y.lo, sub3(xhi, y.hi, less));
    if (LIKELY(near.hi >> 20 == above)) {
        if (LIKELY(near.lo != 0)) {
            return near;
        }
        if (y.rest == 0 || (near.hi & FRACTION64) != 0) {
            return near;
        }
    }
    u32 below = y.rest != 0, borrow = at_once(near.lo < below);
    return subtract_beyond(near.lo - below, near.hi - borrow, 0 - y.rest, above & 0x7ff);
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

/* x + y (or x - y, if the signs differ) for y's exponent below x's. */
INLINE wide add_smaller(u32 xlo, u32 xhi, u32 ylo, u32 yhi, u32 distance, u32 above, u32 same) {
    return same ? add_aligned(xlo, xhi, ylo, yhi, distance, above)
                : subtract_aligned(xlo, xhi, ylo, yhi, distance, above);
}

/* Whether y is nothing beside x, whose exponent is that much higher: y is zero, or below half of
 * a place even in the binade below x. */
INLINE u32 is_nothing(u32 ylo, u32 yhi, u32 distance) {
    return distance >= 55 || ((yhi << 1) | ylo) == 0;
}

/* a + b with b's sign flipped by `flip` (0 or SIGN). */
INLINE wide add64(u32 alo, u32 ahi, u32 blo, u32 bhi, u32 flip) {
    u32 sa = ahi >> 20, sb = bhi >> 20; /* signs and exponents */
    u32 ea = sa & 0x7ff, eb = sb & 0x7ff;
    u32 same_sign = flip ? apart(sa ^ sb) >= 0x800 : apart(sa ^ sb) < 0x800;
    if (ea < eb) {
        u32 distance = apart(eb - ea);
        if (LIKELY(distance < 32) && LIKELY(is_normal(ea, 0x7ff - 31))) {
            return add_smaller(blo, bhi ^ flip, alo, ahi, distance, flip ? sb ^ 0x800 : sb,
                               same_sign);
        }
        if (eb != 0x7ff && is_nothing(alo, ahi, distance)) {
            return make_wide(blo, bhi ^ flip);
        }
        return slow_add(alo, ahi, blo, bhi, flip);
    }
    u32 distance = apart(ea - eb);
    if (LIKELY(distance < 32) && LIKELY(is_normal(eb, 0x7ff - 31))) {
        if (distance != 0) {
            return add_smaller(alo, ahi, blo, bhi, distance, sa, same_sign);
        }
        return same_sign ? add_level(alo, ahi, blo, bhi, ea)
                         : subtract_level(alo, ahi, blo, bhi, ea);
    }
    if (distance != 0 && ea != 0x7ff && is_nothing(blo, bhi, distance)) {
        return make_wide(alo, ahi);
    }
    return slow_add(alo, ahi, blo, bhi, flip);
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

/* Sign and exponent, and the significand: its first 32 bits, the other 21 at the top of a word. */
typedef struct {
    u32 sign_exponent, high, low;
} split64;

INLINE split64 split(u32 lo, u32 hi) {
    return (split64){hi >> 20, at_once(funnel_shl(hi, lo, 11) | SIGN), at_once(lo << 11)};
}

/* The upper half of the significands' product, and `rounding`. A half word is short of what
 * a0 b0 and the lower words of a1 b0 and a0 b1 would add, which is less than 3. */
INLINE wide upper_half(split64 a, split64 b, u32 high, u32 rounding) {
    u32 lo = a.high * b.high, cross = mul_high(a.high, b.low), other = mul_high(a.low, b.high);
    u32 sum = lo + cross;
    u32 rounded = add3(sum, rounding, other); /* other <= 2^32 - 2^11 - 1: carries once at most */
    return make_wide(rounded, add3(high, carry(lo, cross), rounded < sum));
}

/* Whether all exponents are those of normal numbers, the product's, too. */
INLINE u32 are_multiplied_fast(u32 sa, u32 sb) {
    u32 ea = sa & 0x7ff, eb = sb & 0x7ff;
    return is_normal(ea, 0x7ff) && is_normal(eb, 0x7ff) && apart(ea + eb) - (BIAS64 + 1) < 2045;
}

/* The product; all but the usual case, which must be sure, is left to slow_multiply.
 *
 * Half of a last place is added before it is cut off, and 3 for what may be missing. So the bits
 * that are cut off are 3 or less if the product was half a place (to even, then), or could be.
 * Signs and exponents are numbers of 12 bits here, which say fewer tokens than whole words; and
 * their sum has the product's, as only 12 bits of it are used. */
INLINE wide multiply(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    split64 a = split(alo, ahi), b = split(blo, bhi);
    if (UNLIKELY(!are_moderate(a.sign_exponent, b.sign_exponent)) &&
        !are_multiplied_fast(a.sign_exponent, b.sign_exponent)) {
        return slow_multiply(alo, ahi, blo, bhi);
    }
    u32 high = mul_high(a.high, b.high);
    if ((i32)high < 0) {
        wide half = upper_half(a, b, high, 0x403);
        if (UNLIKELY((half.lo & 0x7ff) <= 3)) {
            return slow_multiply(alo, ahi, blo, bhi);
        }
        u32 above = add3(a.sign_exponent, 1 - BIAS64, b.sign_exponent);
        return make_wide(funnel_shr(half.hi, half.lo, 11), behind(above, half.hi << 1));
    }
    wide half = upper_half(a, b, high, 0x203);
    /* It can be 2 or more only if it is just about 2. */
    if (UNLIKELY((half.lo & 0x3ff) <= 3) || UNLIKELY((i32)half.hi < 0)) {
        return slow_multiply(alo, ahi, blo, bhi);
    }
    u32 above = add3(a.sign_exponent, 0 - BIAS64, b.sign_exponent);
    return make_wide(funnel_shr(half.hi, half.lo, 10), behind(above, half.hi << 2));
}

EXPORT("f64.mul") wide f64_mul(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return multiply(alo, ahi, blo, bhi);
}

/* What the lowering calls where both operands are the same. */
EXPORT("f64.square") wide f64_square(u32 lo, u32 hi) {
    return multiply(lo, hi, lo, hi);
}
