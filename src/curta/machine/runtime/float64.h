/* Doubles as pairs of words: what the parts on doubles share. */
#ifndef CURTA_RUNTIME_FLOAT64_H
#define CURTA_RUNTIME_FLOAT64_H

#include "words.h"

#define EXPONENT64 0x7ff00000u /* in the high word */
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

#endif
