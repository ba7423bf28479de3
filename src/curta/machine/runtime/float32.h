/* Floats in one word: shared by division, roots and conversions. */
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

/* The float nearest to (-1)^sign * significand / 2^31 * 2^(exponent - 127); `sticky` says that
 * there are more bits below. Subnormal and infinite results too. */
INLINE u32 pack32(u32 sign, i32 exponent, u32 significand, u32 sticky) {
    u32 power = (u32)exponent + 1075 - 63 - BIAS32;
    return f32_pack(significand, power, sticky != 0, sign);
}

#endif
