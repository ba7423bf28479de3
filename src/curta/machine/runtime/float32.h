/* Floats in one word: what the parts on them share. */
#ifndef CURTA_RUNTIME_FLOAT32_H
#define CURTA_RUNTIME_FLOAT32_H

#include "words.h"

#define EXPONENT32 0x7f800000u
#define FRACTION32 0x007fffffu
#define QUIET32 0x00400000u
#define BIAS32 127

INLINE u32 exponent32(u32 x) {
    return (x >> 23) & 0xff;
}

INLINE u32 is_nan32(u32 x) {
    return (x & ~SIGN) > EXPONENT32;
}

INLINE u32 is_zero32(u32 x) {
    return (x << 1) == 0;
}

#endif
