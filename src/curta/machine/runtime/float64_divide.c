/* Doubles: division and square root.
 *
 * Both make a reciprocal of about 30 bits from one i32.div_u and a Newton step, take the upper
 * half of the result with it, and the lower half from the exact remainder. What is known of the
 * error leaves the rounding open only when the bits below the last place lie within a few units
 * of half; then an exact comparison with the midpoint decides. */
#include "float64.h"

/* ---- division ---- */

/* Any operands, one quotient bit at a time. */
RARE wide slow_divide(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 sign = (ahi ^ bhi) & SIGN;
    if (is_nan64(alo, ahi)) {
        return make_wide(alo, ahi | QUIET64);
    }
    if (is_nan64(blo, bhi)) {
        return make_wide(blo, bhi | QUIET64);
    }
    u32 b_infinite = (bhi & EXPONENT64) == EXPONENT64;
    if ((ahi & EXPONENT64) == EXPONENT64) {
        return b_infinite ? default_nan64() : make_wide(0, sign | EXPONENT64);
    }
    if (is_zero64(alo, ahi) || b_infinite) {
        return is_zero64(blo, bhi) ? default_nan64() : make_wide(0, sign);
    }
    if (is_zero64(blo, bhi)) {
        return make_wide(0, sign | EXPONENT64);
    }
    unpacked a = unpack_normalized(alo, ahi), b = unpack_normalized(blo, bhi);
    i32 exponent = a.exponent - b.exponent + BIAS64;
    if (a.lo == b.lo && a.hi == b.hi) {
        return pack64(sign, exponent, 0, SIGN, 0);
    }
    wide rest = wide_shift_right(a.lo, a.hi, 1), divisor = wide_shift_right(b.lo, b.hi, 1);
    if (wide_less(rest.lo, rest.hi, divisor.lo, divisor.hi)) {
        rest = wide_shift_left(rest.lo, rest.hi, 1);
        exponent -= 1;
    }
    wide quotient = {0, 0};
    for (u32 bit = 0; bit < 64; bit++) {
        quotient = wide_shift_left(quotient.lo, quotient.hi, 1);
        if (!wide_less(rest.lo, rest.hi, divisor.lo, divisor.hi)) {
            rest = wide_subtract(rest.lo, rest.hi, divisor.lo, divisor.hi);
            quotient.lo |= 1;
        }
        rest = wide_shift_left(rest.lo, rest.hi, 1);
    }
    return pack64(sign, exponent, quotient.lo, quotient.hi, rest.lo | rest.hi);
}

/* Round a quotient's significand hi:lo. Its `rest`, of which `half` is half a last place, may be
 * up to 9 units too small or 1 too large. `dividend` is the second word from
 * below of the dividend's significand, shifted as the midpoint times the divisor is. */
INLINE wide round_quotient(u32 lo, u32 hi, u32 base, u32 rest, u32 half, u32 dividend, u32 blo,
                           u32 bhi) {
    if (rest < half - 9) {
        return make_wide(lo, hi + base);
    }
    if (UNLIKELY(rest <= half + 1)) {
        u32 middle_lo = (lo << 1) | 1, middle_hi = (hi << 1) | (lo >> 31);
        u32 product = mul_high(middle_lo, blo) + middle_hi * blo +
                      middle_lo * ((bhi & FRACTION64) | HIDDEN64);
        if ((i32)(dividend - product - (middle_lo * blo != 0)) < 0) {
            return make_wide(lo, hi + base);
        }
    }
    return plus_one_place(lo, hi + base);
}

/* The same from both words of a quotient, in units of which 2^bits make a last place. */
INLINE wide round_halves(u32 q1, u32 q2, u32 above, u32 bits, u32 alo, u32 blo, u32 bhi) {
    u32 low = q2 >> bits, high = q1 << (28 - bits), half = 1u << (bits - 1);
    u32 base = (above << 20) - HIDDEN64;
    return round_quotient(low + high, (q1 >> (4 + bits)) + carry(low, high), base,
                          q2 & (2 * half - 1), half, alo << (28 - bits), blo, bhi);
}

/* Whether the quotient's exponent is that of a normal number, as those of both operands are. */
INLINE u32 are_divided_fast(u32 sa, u32 sb) {
    u32 ea = sa & 0x7ff, eb = sb & 0x7ff;
    return is_normal(ea, 0x7ff) && is_normal(eb, 0x7ff) && apart(ea + (BIAS64 - 2)) - eb < 2045;
}

/* With A and B the significands (1 to 2) and X at most 2^32 / B:
 *   q1 = floor(A 2^31 X / 2^32), short of 2^31 A/B by less than (4 A + 1)/B + A + 1;
 *   R = 2^91 A - q1 2^60 B, below 15 * 2^60 < 2^64, of which the upper word is enough;
 *   q2 = floor(R / 2^32 * X / 2^32);   A/B = (q1 2^28 + q2) / 2^59, 9 units short at most.
 * Half a last place and these 9 are added before it is cut off; what is cut off is up to 10 if
 * the rest may have been below half, at most 9 too small or 1 too large as it is. */
EXPORT("f64.div") wide f64_div(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 sa = ahi >> 20, sb = bhi >> 20;
    if (UNLIKELY(!are_moderate(sa, sb)) && !are_divided_fast(sa, sb)) {
        return slow_divide(alo, ahi, blo, bhi);
    }
    u32 a = funnel_shl(ahi, alo, 11) | SIGN;
    u32 b = funnel_shl(bhi, blo, 11) | SIGN;
    u32 x = reciprocal(b);
    u32 q1 = mul_high(a, x);
    u32 remainder = sub3(alo << 7, q1 * (b >> 3), mul_high(q1, blo << 8));
    u32 q2 = mul_high(remainder, x);
    if ((i32)q1 < 0) {
        u32 above = sub3(sa, 0u - BIAS64, sb), rounded = q2 + (64 + 9);
        if (UNLIKELY((rounded & 0x7f) <= 10)) {
            return round_halves(q1, q2, above, 7, alo, blo, bhi);
        }
        u32 hi = q1 + (rounded >> 28);
        return make_wide(funnel_shr(hi, rounded << 4, 11), behind(above, hi << 1));
    }
    u32 above = sub3(sa, 1u - BIAS64, sb), rounded = q2 + (32 + 9), hi = q1 + (rounded >> 28);
    if (UNLIKELY((i32)hi < 0)) {
        return slow_divide(alo, ahi, blo, bhi); /* the quotient is 1 or just above */
    }
    if (UNLIKELY((rounded & 0x3f) <= 10)) {
        return round_halves(q1, q2, above, 6, alo, blo, bhi);
    }
    return make_wide(funnel_shr(hi, rounded << 4, 10), behind(above, hi << 2));
}

/* ---- square root ---- */

/* The root of m = hi:lo / 2^62, 1 <= m < 4, for a result whose exponent field is `above`. `line`
 * is 2^15 times a linear estimate of the root, 0.75% off at most.
 *
 * Heron's step from it, rounded up, is too large by less than 2.9 (units of 2^-15).
 * A second one, with a 16-bit reciprocal for the division, is too large by less than 8 (units
 * of 2^-31): `root` is too small by at most 8.
 * With D = m - root^2 exact, root + D / (2 root) is in units of 2^-57 too large by at most 1
 * (D^2 / 8) and too small by less than 4 (reciprocal and truncations): 32 make a last place.
 * Half of one and these 4 are added before it is cut off; then 5 or less are left if it may have
 * been less than half. */
INLINE wide root64(u32 lo, u32 hi, u32 line, u32 above) {
    u32 heron = ((line + hi / line) >> 1) + 1;
    u32 excess = ((heron * heron - hi) << 13) - (lo >> 19);
    u32 root = sub3(heron << 16, 8, mul_high(excess, (0xffffffffu / heron) << 2));
    u32 estimate = (0xffffffffu / ((root >> 16) + 1)) << 15;
    u32 half_inverse = mul_high(estimate, ~mul_high(root, estimate));
    wide rest = wide_subtract(lo, hi, root * root, mul_high(root, root));
    u32 rounded = mul_high(funnel_shl(rest.hi, rest.lo, 27), half_inverse) + (16 + 4);
    if (UNLIKELY((rounded & 31) <= 5)) {
        u32 down = rounded - 32, hi_down = root + (down >> 26);
        u32 lo_down = funnel_shr(hi_down, down << 6, 11);
        u32 middle_lo = (lo_down << 1) | 1, middle_hi = funnel_shl(hi_down >> 11, lo_down, 1);
        u32 square = mul_high(middle_lo, middle_lo) + 2 * middle_lo * middle_hi;
        if ((i32)((lo << 12) - square - 1) < 0) { /* an odd square's low word takes 1 */
            return make_wide(lo_down, behind(above, hi_down << 1));
        }
    }
    u32 result_hi = root + (rounded >> 26);
    return make_wide(funnel_shr(result_hi, rounded << 6, 11), behind(above, result_hi << 1));
}

/* The significand with bit 63 set, and the biased exponent. An odd one is that of a number
 * between 1 and 2 times an even power of two. The lines are the best for 1 to 2 and 2 to 4. */
INLINE wide root_of_parts(u32 lo, u32 hi, i32 exponent) {
    u32 above = (u32)((exponent + BIAS64) >> 1);
    if (exponent & 1) {
        u32 half_hi = hi >> 1, half_lo = (lo >> 1) | (hi << 31);
        return root64(half_lo, half_hi, mul_high(half_hi, 54697) + 19338, above);
    }
    return root64(lo, hi, mul_high(hi, 38677) + 27349, above);
}

RARE wide slow_root(u32 lo, u32 hi) {
    if (is_nan64(lo, hi)) {
        return make_wide(lo, hi | QUIET64);
    }
    if (is_zero64(lo, hi)) {
        return make_wide(lo, hi);
    }
    if ((i32)hi < 0) {
        return default_nan64();
    }
    if (hi >= EXPONENT64) {
        return make_wide(lo, hi);
    }
    unpacked x = unpack_normalized(lo, hi);
    return root_of_parts(x.lo, x.hi, x.exponent);
}

EXPORT("f64.sqrt") wide f64_sqrt(u32 lo, u32 hi) {
    if (UNLIKELY(hi - HIDDEN64 >= EXPONENT64 - HIDDEN64)) {
        return slow_root(lo, hi);
    }
    u32 exponent = apart(hi >> 20), above = (exponent + BIAS64) >> 1;
    u32 fraction = funnel_shl(hi, lo, 11) | SIGN;
    if (exponent & 1) {
        u32 half = fraction >> 1;
        return root64(lo << 10, half, mul_high(half, 54697) + 19338, above);
    }
    return root64(lo << 11, fraction, mul_high(fraction, 38677) + 27349, above);
}
