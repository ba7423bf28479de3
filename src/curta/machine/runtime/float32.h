/* Floats in one word: shared by arithmetic and conversions. */
#ifndef CURTA_RUNTIME_FLOAT32_H
#define CURTA_RUNTIME_FLOAT32_H

#include "words.h"

#define EXPONENT32 0x7f800000u
#define HIDDEN32 0x00800000u
#define FRACTION32 0x007fffffu
#define QUIET32 0x00400000u
#define BIAS32 127
#define DEFAULT_NAN32 0xffc00000u /* what x86-64 gives for an invalid operation */

INLINE u32 exponent32(u32 x) {
    return (x >> 23) & 0xff;
}

INLINE u32 is_nan32(u32 x) {
    return (x & ~SIGN) > EXPONENT32;
}

INLINE u32 is_zero32(u32 x) {
    return (x << 1) == 0;
}

/* A packed float, and the bits below its last place as a fraction of 2^32: to nearest even.
 * A carry out of the fraction raises the exponent, up to infinity, as it should. */
INLINE u32 rounded32(u32 x, u32 rest) {
    if ((i32)rest >= 0) {
        return x;
    }
    if (UNLIKELY(rest == HALF) && (x & 1) == 0) {
        return x;
    }
    return x + 1;
}

/* The float nearest to (-1)^sign * significand / 2^31 * 2^(exponent - 127), its bit 31 set;
 * `sticky` says that there are more bits below. Subnormal and infinite results too. */
INLINE u32 pack32(u32 sign, i32 exponent, u32 significand, u32 sticky) {
    if (exponent >= 0xff) {
        return sign | EXPONENT32;
    }
    if (exponent <= 0) {
        u32 shift = (u32)(1 - exponent);
        if (shift >= 32) {
            return sign;
        }
        sticky |= bits_below(significand, shift);
        significand = shift_right(significand, shift);
        exponent = 1;
    }
    u32 packed = sign + ((u32)(exponent - 1) << 23) + (significand >> 8);
    return rounded32(packed, (significand << 24) | (sticky != 0));
}

#endif
