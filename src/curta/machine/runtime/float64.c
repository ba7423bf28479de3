/* Doubles: minimum and maximum, rounding to integers.
 *
 * Of two positive doubles the larger has the larger bits, infinity included, and NaNs are above
 * infinity; of two negative ones the smaller has the larger bits. */
#include "float64.h"

/* ---- minimum, maximum ---- */

/* Whether a comes before b where -0 comes before +0; no NaNs. */
INLINE u32 before(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    if ((i32)(ahi & bhi) < 0) {
        return wide_less(blo, bhi, alo, ahi);
    }
    return ahi == bhi ? alo < blo : (i32)ahi < (i32)bhi;
}

/* With infinities and NaNs: of two NaNs the second, as x86-64 code has it. */
RARE wide slow_extreme(u32 alo, u32 ahi, u32 blo, u32 bhi, u32 largest) {
    if (is_nan64(blo, bhi)) {
        return make_wide(blo, bhi | QUIET64);
    }
    if (is_nan64(alo, ahi)) {
        return make_wide(alo, ahi | QUIET64);
    }
    return before(alo, ahi, blo, bhi) != largest ? make_wide(alo, ahi) : make_wide(blo, bhi);
}

INLINE u32 is_finite(u32 hi) {
    return (hi & EXPONENT64) != EXPONENT64;
}

EXPORT("f64.min") wide f64_min(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    if (LIKELY(is_finite(ahi)) && LIKELY(is_finite(bhi))) {
        return before(blo, bhi, alo, ahi) ? make_wide(blo, bhi) : make_wide(alo, ahi);
    }
    return slow_extreme(alo, ahi, blo, bhi, 0);
}

EXPORT("f64.max") wide f64_max(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    if (LIKELY(is_finite(ahi)) && LIKELY(is_finite(bhi))) {
        return before(alo, ahi, blo, bhi) ? make_wide(blo, bhi) : make_wide(alo, ahi);
    }
    return slow_extreme(alo, ahi, blo, bhi, 1);
}

/* ---- rounding to integers ---- */

#define FIRST_INTEGER 1075 /* from this exponent on there are no fractional bits */

/* No fractional bits: the number itself; a NaN becomes quiet. */
INLINE wide whole(u32 lo, u32 hi) {
    return is_nan64(lo, hi) ? make_wide(lo, hi | QUIET64) : make_wide(lo, hi);
}

/* Clear the lowest `count` bits, 1 <= count <= 52. */
INLINE wide clear_low_bits(u32 lo, u32 hi, u32 count) {
    if (count >= 32) {
        return make_wide(0, shift_left(shift_right(hi, count), count));
    }
    return make_wide(shift_left(shift_right(lo, count), count), hi);
}

/* Away from zero to the next integer, if there is a fraction and `outwards`. */
INLINE wide round_directed(u32 lo, u32 hi, u32 outwards) {
    u32 exponent = exponent64(hi);
    if (exponent < BIAS64) {
        u32 one = outwards && !is_zero64(lo, hi);
        return make_wide(0, (hi & SIGN) | (one ? (u32)BIAS64 << 20 : 0));
    }
    if (UNLIKELY(exponent >= FIRST_INTEGER)) {
        return whole(lo, hi);
    }
    u32 count = FIRST_INTEGER - exponent;
    if (outwards) {
        /* Add one unit less one last place, then truncate. */
        if (count >= 32) {
            hi = hi + shift_left(1, count) - (lo == 0);
        } else {
            u32 sum = lo + shift_left(1, count) - 1;
            hi += sum < lo;
            lo = sum;
        }
    }
    return clear_low_bits(lo, hi, count);
}

EXPORT("f64.trunc") wide f64_trunc(u32 lo, u32 hi) {
    return round_directed(lo, hi, 0);
}

EXPORT("f64.ceil") wide f64_ceil(u32 lo, u32 hi) {
    return (i32)hi < 0 ? round_directed(lo, hi, 0) : round_directed(lo, hi, 1);
}

EXPORT("f64.floor") wide f64_floor(u32 lo, u32 hi) {
    return (i32)hi < 0 ? round_directed(lo, hi, 1) : round_directed(lo, hi, 0);
}

EXPORT("f64.nearest") wide f64_nearest(u32 lo, u32 hi) {
    u32 exponent = exponent64(hi);
    if (exponent < BIAS64) {
        u32 above_half = exponent == BIAS64 - 1 && ((hi & FRACTION64) | lo) != 0;
        return make_wide(0, (hi & SIGN) | (above_half ? (u32)BIAS64 << 20 : 0));
    }
    if (UNLIKELY(exponent >= FIRST_INTEGER)) {
        return whole(lo, hi);
    }
    /* Add half a unit, less one last place if the integer is even, then truncate. The integer's
     * last bit at count 52 is the exponent's last bit, 1 as it should be. */
    u32 count = FIRST_INTEGER - exponent;
    if (count > 32) {
        u32 even = (~shift_right(hi, count)) & 1;
        hi = hi + shift_left(1, count - 1) - (even & (lo == 0));
        return make_wide(0, shift_left(shift_right(hi, count), count));
    }
    u32 even = count == 32 ? ~hi & 1 : ~shift_right(lo, count) & 1;
    u32 sum = lo + shift_left(1, count - 1) - even;
    hi += sum < lo;
    return clear_low_bits(sum, hi, count);
}
