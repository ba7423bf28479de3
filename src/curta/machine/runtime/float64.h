/* Doubles as pairs of words: shared by division, roots and conversions. */
#ifndef CURTA_RUNTIME_FLOAT64_H
#define CURTA_RUNTIME_FLOAT64_H

#include "words.h"

#define EXPONENT64 0x7ff00000u /* in the high word */
#define HIDDEN64 0x00100000u
#define FRACTION64 0x000fffffu
#define QUIET64 0x00080000u
#define BIAS64 1023

INLINE u32 exponent64(u32 hi) {
    return (hi >> 20) & 0x7ff;
}

INLINE u32 is_nan64(u32 lo, u32 hi) {
    u32 magnitude = hi & ~SIGN;
    return magnitude > EXPONENT64 || (magnitude == EXPONENT64 && lo != 0);
}

INLINE u32 is_zero64(u32 lo, u32 hi) {
    return ((hi << 1) | lo) == 0;
}

/* What x86-64 gives for an invalid operation: the quiet NaN with the sign set. */
INLINE wide default_nan64(void) {
    return make_wide(0, SIGN | EXPONENT64 | QUIET64);
}

INLINE wide plus_one_place(u32 lo, u32 hi) {
    lo += 1;
    return make_wide(lo, hi + (lo == 0));
}

/* A word of 32 fraction bits, the upper 20 of them behind the lower 12 bits of a number. */
INLINE u32 behind(u32 sign_exponent, u32 fraction) {
    return funnel_shr(sign_exponent, fraction, 12);
}

/* Whether exponents are within 768 and 1279: then those of product and quotient are in range. */
INLINE u32 are_moderate(u32 sa, u32 sb) {
    return (apart(sa + 768) & apart(sb + 768) & 0x600) == 0x600;
}

/* The double nearest to (-1)^sign * hi:lo / 2^63 * 2^(exponent - 1023); `sticky` says that there
 * are more bits below. Subnormal and infinite results too. */
INLINE wide pack64(u32 sign, i32 exponent, u32 lo, u32 hi, u32 sticky) {
    u32 last = lo | (sticky != 0), power = (u32)exponent + 1075 - 63 - BIAS64;
    return make_wide(f64_pack_low(hi, power, last, sign), f64_pack_high(hi, power, last, sign));
}

typedef struct {
    u32 lo, hi;
    i32 exponent;
} unpacked;

/* A nonzero finite double's significand with bit 63 set, and its exponent. */
INLINE unpacked unpack_normalized(u32 lo, u32 hi) {
    u32 exponent = exponent64(hi);
    u32 high = hi & FRACTION64;
    if (exponent != 0) {
        return (unpacked){lo << 11, ((high | HIDDEN64) << 11) | (lo >> 21), (i32)exponent};
    }
    if (high == 0) {
        u32 shift = leading_zeros(lo);
        return (unpacked){0, shift_left(lo, shift), (i32)(1 - 21 - shift)};
    }
    u32 shift = leading_zeros(high);
    wide shifted = wide_shift_left(lo, high, shift);
    return (unpacked){shifted.lo, shifted.hi, (i32)(1 + 11 - shift)};
}

#endif
