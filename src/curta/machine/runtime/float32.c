/* Floats: minimum and maximum, rounding to integers (see float64.c). */
#include "float32.h"

/* ---- minimum, maximum ---- */

/* Whether a comes before b where -0 comes before +0; no NaNs. */
INLINE u32 before(u32 a, u32 b) {
    return (i32)(a & b) < 0 ? b < a : (i32)a < (i32)b;
}

/* With infinities and NaNs: of two NaNs the second, as x86-64 code has it. */
RARE u32 slow_extreme(u32 a, u32 b, u32 largest) {
    if (is_nan32(b)) {
        return b | QUIET32;
    }
    if (is_nan32(a)) {
        return a | QUIET32;
    }
    return before(a, b) != largest ? a : b;
}

INLINE u32 is_finite(u32 x) {
    return (x & EXPONENT32) != EXPONENT32;
}

EXPORT("f32.min") u32 f32_min(u32 a, u32 b) {
    if (LIKELY(is_finite(a)) && LIKELY(is_finite(b))) {
        return before(b, a) ? b : a;
    }
    return slow_extreme(a, b, 0);
}

EXPORT("f32.max") u32 f32_max(u32 a, u32 b) {
    if (LIKELY(is_finite(a)) && LIKELY(is_finite(b))) {
        return before(a, b) ? b : a;
    }
    return slow_extreme(a, b, 1);
}

/* ---- rounding to integers ---- */

#define FIRST_INTEGER 150 /* from this exponent on there are no fractional bits */

INLINE u32 whole(u32 x) {
    return is_nan32(x) ? x | QUIET32 : x;
}

/* Away from zero to the next integer, if there is a fraction and `outwards`. */
INLINE u32 round_directed(u32 x, u32 outwards) {
    u32 exponent = exponent32(x);
    if (exponent < BIAS32) {
        u32 one = outwards && !is_zero32(x);
        return (x & SIGN) | (one ? (u32)BIAS32 << 23 : 0);
    }
    if (UNLIKELY(exponent >= FIRST_INTEGER)) {
        return whole(x);
    }
    u32 count = FIRST_INTEGER - exponent;
    if (outwards) {
        x += shift_left(1, count) - 1; /* one unit less one last place, then truncate */
    }
    return shift_left(shift_right(x, count), count);
}

EXPORT("f32.trunc") u32 f32_trunc(u32 x) {
    return round_directed(x, 0);
}

EXPORT("f32.ceil") u32 f32_ceil(u32 x) {
    return (i32)x < 0 ? round_directed(x, 0) : round_directed(x, 1);
}

EXPORT("f32.floor") u32 f32_floor(u32 x) {
    return (i32)x < 0 ? round_directed(x, 1) : round_directed(x, 0);
}

EXPORT("f32.nearest") u32 f32_nearest(u32 x) {
    u32 exponent = exponent32(x);
    if (exponent < BIAS32) {
        u32 above_half = exponent == BIAS32 - 1 && (x & FRACTION32) != 0;
        return (x & SIGN) | (above_half ? (u32)BIAS32 << 23 : 0);
    }
    if (UNLIKELY(exponent >= FIRST_INTEGER)) {
        return whole(x);
    }
    /* Add half a unit, less one last place if the integer is even, then truncate. The last bit
     * of 1 is the exponent's last bit, 1 as it should be. */
    u32 count = FIRST_INTEGER - exponent;
    x += shift_left(1, count - 1) - (~shift_right(x, count) & 1);
    return shift_left(shift_right(x, count), count);
}
