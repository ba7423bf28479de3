/* Conversions between integers and floats of both sizes. */
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

/* ---- integers to floats ---- */

INLINE u32 word_to_f32(u32 sign, u32 magnitude) {
    if (magnitude == 0) {
        return 0;
    }
    u32 zeros = leading_zeros(magnitude);
    u32 significand = shift_left(magnitude, zeros);
    /* One less in the exponent: the leading bit adds one. */
    u32 base = sign + ((EXPONENT_OF(BIAS32, 30) - zeros) << 23);
    return rounded32(base + (significand >> 8), significand << 24);
}

INLINE u32 wide_to_f32(u32 sign, u32 lo, u32 hi) {
    if (hi == 0) {
        return word_to_f32(sign, lo);
    }
    u32 zeros = leading_zeros(hi);
    wide shifted = wide_shift_left(lo, hi, zeros);
    u32 base = sign + ((EXPONENT_OF(BIAS32, 62) - zeros) << 23);
    return rounded32(base + (shifted.hi >> 8), (shifted.hi << 24) | (shifted.lo != 0));
}

INLINE wide word_to_f64(u32 sign, u32 magnitude) {
    if (magnitude == 0) {
        return make_wide(0, 0);
    }
    u32 zeros = leading_zeros(magnitude);
    u32 significand = shift_left(magnitude, zeros);
    u32 base = sign + ((EXPONENT_OF(BIAS64, 30) - zeros) << 20);
    return make_wide(significand << 21, base + (significand >> 11));
}

INLINE wide wide_to_f64(u32 sign, u32 lo, u32 hi) {
    if (hi == 0) {
        return word_to_f64(sign, lo);
    }
    u32 zeros = leading_zeros(hi);
    wide shifted = wide_shift_left(lo, hi, zeros);
    u32 base = sign + ((EXPONENT_OF(BIAS64, 62) - zeros) << 20);
    return rounded64((shifted.hi << 21) | (shifted.lo >> 11), base + (shifted.hi >> 11),
                     shifted.lo << 21);
}

EXPORT("f32.convert_i32_u") u32 f32_convert_i32_u(u32 x) {
    return word_to_f32(0, x);
}

EXPORT("f32.convert_i32_s") u32 f32_convert_i32_s(u32 x) {
    return (i32)x < 0 ? word_to_f32(SIGN, 0 - x) : word_to_f32(0, x);
}

EXPORT("f64.convert_i32_u") wide f64_convert_i32_u(u32 x) {
    return word_to_f64(0, x);
}

EXPORT("f64.convert_i32_s") wide f64_convert_i32_s(u32 x) {
    return (i32)x < 0 ? word_to_f64(SIGN, 0 - x) : word_to_f64(0, x);
}

EXPORT("f32.convert_i64_u") u32 f32_convert_i64_u(u32 lo, u32 hi) {
    return wide_to_f32(0, lo, hi);
}

EXPORT("f32.convert_i64_s") u32 f32_convert_i64_s(u32 lo, u32 hi) {
    wide magnitude = (i32)hi < 0 ? wide_negate(lo, hi) : make_wide(lo, hi);
    return wide_to_f32(hi & SIGN, magnitude.lo, magnitude.hi);
}

EXPORT("f64.convert_i64_u") wide f64_convert_i64_u(u32 lo, u32 hi) {
    return wide_to_f64(0, lo, hi);
}

EXPORT("f64.convert_i64_s") wide f64_convert_i64_s(u32 lo, u32 hi) {
    wide magnitude = (i32)hi < 0 ? wide_negate(lo, hi) : make_wide(lo, hi);
    return wide_to_f64(hi & SIGN, magnitude.lo, magnitude.hi);
}

/* ---- between the two float types ---- */

#define BIAS_DIFFERENCE (BIAS64 - BIAS32)

RARE u32 slow_demote(u32 lo, u32 hi) {
    u32 sign = hi & SIGN, exponent = exponent64(hi);
    u32 fraction = ((hi & FRACTION64) << 3) | (lo >> 29);
    if (is_nan64(lo, hi)) {
        return sign | EXPONENT32 | QUIET32 | fraction;
    }
    if (exponent == 0) {
        return sign;
    }
    return pack32(sign, (i32)exponent - BIAS_DIFFERENCE, first_word(lo, hi), lo << 11);
}

EXPORT("f32.demote_f64") u32 f32_demote_f64(u32 lo, u32 hi) {
    u32 magnitude = (hi & ~SIGN) - ((u32)BIAS_DIFFERENCE << 20);
    if (UNLIKELY(magnitude - HIDDEN64 >= 254u << 20)) {
        return slow_demote(lo, hi);
    }
    return rounded32((hi & SIGN) | (magnitude << 3) | (lo >> 29), lo << 3);
}

RARE wide slow_promote(u32 x) {
    u32 sign = x & SIGN, fraction = x & FRACTION32;
    if ((x & EXPONENT32) != 0) {
        u32 hi = sign | EXPONENT64 | (fraction >> 3) | (fraction ? QUIET64 : 0);
        return make_wide(fraction << 29, hi);
    }
    if (fraction == 0) {
        return make_wide(0, sign);
    }
    u32 zeros = leading_zeros(fraction);
    u32 significand = shift_left(fraction, zeros);
    u32 base = sign + (((u32)BIAS_DIFFERENCE + 8 - zeros) << 20);
    return make_wide(significand << 21, base + (significand >> 11));
}

EXPORT("f64.promote_f32") wide f64_promote_f32(u32 x) {
    u32 magnitude = x & ~SIGN;
    if (UNLIKELY(magnitude - HIDDEN32 >= EXPONENT32 - HIDDEN32)) {
        return slow_promote(x);
    }
    u32 hi = (x & SIGN) | ((magnitude >> 3) + ((u32)BIAS_DIFFERENCE << 20));
    return make_wide(x << 29, hi);
}

/* ---- the same bits ---- */

EXPORT("i32.reinterpret_f32") u32 i32_reinterpret_f32(u32 x) {
    return x;
}

EXPORT("f32.reinterpret_i32") u32 f32_reinterpret_i32(u32 x) {
    return x;
}

EXPORT("i64.reinterpret_f64") wide i64_reinterpret_f64(u32 lo, u32 hi) {
    return make_wide(lo, hi);
}

EXPORT("f64.reinterpret_i64") wide f64_reinterpret_i64(u32 lo, u32 hi) {
    return make_wide(lo, hi);
}
