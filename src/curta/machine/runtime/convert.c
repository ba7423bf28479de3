/* Conversions of floats of both sizes to integers. */
#include "float32.h"
#include "float64.h"

/* What a conversion to an integer does outside its range. */
enum outside { TRAP, SATURATE };

/* ---- floats to 32-bit integers ---- */

#define EXPONENT_OF(bias, power) ((u32)((bias) + (power)))

INLINE u32 outside_i32(u32 nan, u32 negative, u32 lowest, u32 highest, enum outside mode) {
    if (mode == TRAP) {
        trap(nan ? TRAP_INVALID_CONVERSION_TO_INTEGER : TRAP_INTEGER_OVERFLOW);
    }
    return nan ? 0 : negative ? lowest : highest;
}

/* `word` is the significand's top 32 bits, so that the number is word / 2^31 * 2^power. */
INLINE u32 signed_word(u32 word, u32 shift, u32 sign) {
    u32 magnitude = shift_right(word, shift);
    return (i32)sign < 0 ? 0 - magnitude : magnitude;
}

INLINE u32 truncate_f32_s(u32 x, enum outside mode) {
    u32 exponent = exponent32(x);
    if (exponent < EXPONENT_OF(BIAS32, 0)) {
        return 0;
    }
    if (UNLIKELY(exponent >= EXPONENT_OF(BIAS32, 31))) {
        if (x == (SIGN | EXPONENT_OF(BIAS32, 31) << 23)) {
            return SIGN;
        }
        return outside_i32(is_nan32(x), x >> 31, SIGN, ~SIGN, mode);
    }
    return signed_word((x << 8) | SIGN, EXPONENT_OF(BIAS32, 31) - exponent, x);
}

INLINE u32 truncate_f32_u(u32 x, enum outside mode) {
    if (UNLIKELY(x >= EXPONENT_OF(BIAS32, 32) << 23)) {
        if (exponent32(x) < EXPONENT_OF(BIAS32, 0)) {
            return 0;
        }
        return outside_i32(is_nan32(x), x >> 31, 0, 0xffffffff, mode);
    }
    if (x < EXPONENT_OF(BIAS32, 0) << 23) {
        return 0;
    }
    return shift_right((x << 8) | SIGN, EXPONENT_OF(BIAS32, 31) - (x >> 23));
}

INLINE u32 first_word(u32 lo, u32 hi) {
    return (hi << 11) | (lo >> 21) | SIGN;
}

INLINE u32 truncate_f64_s(u32 lo, u32 hi, enum outside mode) {
    u32 exponent = exponent64(hi);
    if (exponent < EXPONENT_OF(BIAS64, 0)) {
        return 0;
    }
    if (UNLIKELY(exponent >= EXPONENT_OF(BIAS64, 31))) {
        u32 lowest = SIGN | EXPONENT_OF(BIAS64, 31) << 20; /* down to -2^31, less a fraction */
        if (hi == lowest && lo < 1u << 21) {
            return SIGN;
        }
        return outside_i32(is_nan64(lo, hi), hi >> 31, SIGN, ~SIGN, mode);
    }
    return signed_word(first_word(lo, hi), EXPONENT_OF(BIAS64, 31) - exponent, hi);
}

INLINE u32 truncate_f64_u(u32 lo, u32 hi, enum outside mode) {
    if (UNLIKELY(hi >= EXPONENT_OF(BIAS64, 32) << 20)) {
        if (exponent64(hi) < EXPONENT_OF(BIAS64, 0)) {
            return 0;
        }
        return outside_i32(is_nan64(lo, hi), hi >> 31, 0, 0xffffffff, mode);
    }
    if (hi < EXPONENT_OF(BIAS64, 0) << 20) {
        return 0;
    }
    return shift_right(first_word(lo, hi), EXPONENT_OF(BIAS64, 31) - (hi >> 20));
}

/* ---- floats to 64-bit integers ---- */

INLINE wide outside_i64(u32 nan, u32 negative, wide lowest, wide highest, enum outside mode) {
    if (mode == TRAP) {
        trap(nan ? TRAP_INVALID_CONVERSION_TO_INTEGER : TRAP_INTEGER_OVERFLOW);
    }
    return nan ? make_wide(0, 0) : negative ? lowest : highest;
}

INLINE wide outside_i64_s(u32 nan, u32 negative, enum outside mode) {
    return outside_i64(nan, negative, make_wide(0, SIGN), make_wide(~0u, ~SIGN), mode);
}

INLINE wide outside_i64_u(u32 nan, u32 negative, enum outside mode) {
    return outside_i64(nan, negative, make_wide(0, 0), make_wide(~0u, ~0u), mode);
}

INLINE wide with_sign(wide magnitude, u32 sign) {
    return (i32)sign < 0 ? wide_negate(magnitude.lo, magnitude.hi) : magnitude;
}

/* word * 2^(shift - 31) for 0 <= power < 64. */
INLINE wide place_word(u32 word, u32 power) {
    if (power <= 31) {
        return make_wide(shift_right(word, 31 - power), 0);
    }
    u32 left = power - 31; /* 1 to 32 */
    return make_wide(left == 32 ? 0 : shift_left(word, left), shift_right(word, 32 - left));
}

INLINE wide truncate_wide_f32_s(u32 x, enum outside mode) {
    u32 exponent = exponent32(x);
    if (exponent < EXPONENT_OF(BIAS32, 0)) {
        return make_wide(0, 0);
    }
    if (UNLIKELY(exponent >= EXPONENT_OF(BIAS32, 63))) {
        if (x == (SIGN | EXPONENT_OF(BIAS32, 63) << 23)) {
            return make_wide(0, SIGN);
        }
        return outside_i64_s(is_nan32(x), x >> 31, mode);
    }
    return with_sign(place_word((x << 8) | SIGN, exponent - BIAS32), x);
}

INLINE wide truncate_wide_f32_u(u32 x, enum outside mode) {
    if (UNLIKELY(x >= EXPONENT_OF(BIAS32, 64) << 23)) {
        if (exponent32(x) < EXPONENT_OF(BIAS32, 0)) {
            return make_wide(0, 0);
        }
        return outside_i64_u(is_nan32(x), x >> 31, mode);
    }
    if (x < EXPONENT_OF(BIAS32, 0) << 23) {
        return make_wide(0, 0);
    }
    return place_word((x << 8) | SIGN, (x >> 23) - BIAS32);
}

INLINE wide place_words(u32 lo, u32 hi, u32 power) {
    u32 word = first_word(lo, hi);
    if (power <= 31) {
        return make_wide(shift_right(word, 31 - power), 0);
    }
    return wide_shift_right(lo << 11, word, 63 - power);
}

INLINE wide truncate_wide_f64_s(u32 lo, u32 hi, enum outside mode) {
    u32 exponent = exponent64(hi);
    if (exponent < EXPONENT_OF(BIAS64, 0)) {
        return make_wide(0, 0);
    }
    if (UNLIKELY(exponent >= EXPONENT_OF(BIAS64, 63))) {
        if (hi == (SIGN | EXPONENT_OF(BIAS64, 63) << 20) && lo == 0) {
            return make_wide(0, SIGN);
        }
        return outside_i64_s(is_nan64(lo, hi), hi >> 31, mode);
    }
    return with_sign(place_words(lo, hi, exponent - BIAS64), hi);
}

INLINE wide truncate_wide_f64_u(u32 lo, u32 hi, enum outside mode) {
    if (UNLIKELY(hi >= EXPONENT_OF(BIAS64, 64) << 20)) {
        if (exponent64(hi) < EXPONENT_OF(BIAS64, 0)) {
            return make_wide(0, 0);
        }
        return outside_i64_u(is_nan64(lo, hi), hi >> 31, mode);
    }
    if (hi < EXPONENT_OF(BIAS64, 0) << 20) {
        return make_wide(0, 0);
    }
    return place_words(lo, hi, (hi >> 20) - BIAS64);
}

#define TRUNCATIONS_OF_F32(type, result, sign, function)                                     \
    EXPORT(type ".trunc_f32_" #sign) result function##_or_trap(u32 x) {                      \
        return function(x, TRAP);                                                            \
    }                                                                                        \
    EXPORT(type ".trunc_sat_f32_" #sign) result function##_saturated(u32 x) {                \
        return function(x, SATURATE);                                                        \
    }

#define TRUNCATIONS_OF_F64(type, result, sign, function)                                     \
    EXPORT(type ".trunc_f64_" #sign) result function##_or_trap(u32 lo, u32 hi) {             \
        return function(lo, hi, TRAP);                                                       \
    }                                                                                        \
    EXPORT(type ".trunc_sat_f64_" #sign) result function##_saturated(u32 lo, u32 hi) {       \
        return function(lo, hi, SATURATE);                                                   \
    }

TRUNCATIONS_OF_F32("i32", u32, s, truncate_f32_s)
TRUNCATIONS_OF_F32("i32", u32, u, truncate_f32_u)
TRUNCATIONS_OF_F64("i32", u32, s, truncate_f64_s)
TRUNCATIONS_OF_F64("i32", u32, u, truncate_f64_u)
TRUNCATIONS_OF_F32("i64", wide, s, truncate_wide_f32_s)
TRUNCATIONS_OF_F32("i64", wide, u, truncate_wide_f32_u)
TRUNCATIONS_OF_F64("i64", wide, s, truncate_wide_f64_s)
TRUNCATIONS_OF_F64("i64", wide, u, truncate_wide_f64_u)
