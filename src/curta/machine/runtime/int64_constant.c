/* 64-bit division by constants of one word, about which the lowering knows more: `divisor` is
 * shifted by `shift` so that its top bit is set, and `inverse` is 2^64 - 1 divided by that, rounded
 * down, without its leading bit 2^32 (lower/numbers.py, which also deals with numbers of one word:
 * they do not come here often). Names end with # as those of core
 * instructions with a constant do. */
#include "words.h"

typedef struct {
    u32 quotient, rest;
} digit;

/* (hi:lo) / divisor for hi < divisor; the rest is shifted as the divisor is. Moeller, Granlund,
 * Improved division by invariant integers (2011), algorithm 4. */
INLINE digit divide_by_known(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    u32 top = funnel_shl(hi, lo, shift), below = shift_left(lo, shift);
    u32 product = inverse * top;
    u32 quotient = add3(mul_high(inverse, top), top, apart(carry(product, below) + 1));
    u32 rest = below - quotient * divisor;
    if (rest > product + below) {
        quotient -= 1;
        rest += divisor;
    }
    if (UNLIKELY(rest >= divisor)) {
        quotient += 1;
        rest -= divisor;
    }
    return (digit){quotient, rest};
}

INLINE wide quotient_by_known(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    u32 small = shift_right(divisor, shift);
    if (LIKELY(hi < small)) {
        return make_wide(divide_by_known(lo, hi, divisor, inverse, shift).quotient, 0);
    }
    u32 rest = hi % apart(small);
    return make_wide(divide_by_known(lo, rest, divisor, inverse, shift).quotient, hi / small);
}

INLINE u32 rest_by_known(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    u32 small = shift_right(divisor, shift);
    if (hi >= small) {
        hi %= small;
    }
    return shift_right(divide_by_known(lo, hi, divisor, inverse, shift).rest, shift);
}

EXPORT("i64.div_u#") wide i64_div_u_(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    return quotient_by_known(lo, hi, divisor, inverse, shift);
}

EXPORT("i64.rem_u#") wide i64_rem_u_(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    return make_wide(rest_by_known(lo, hi, divisor, inverse, shift), 0);
}

EXPORT("i64.div_s#") wide i64_div_s_(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    if (LIKELY((i32)hi >= 0)) {
        return quotient_by_known(lo, hi, divisor, inverse, shift);
    }
    wide positive = wide_negate(lo, hi);
    positive = quotient_by_known(positive.lo, positive.hi, divisor, inverse, shift);
    return wide_negate(positive.lo, positive.hi);
}

EXPORT("i64.rem_s#") wide i64_rem_s_(u32 lo, u32 hi, u32 divisor, u32 inverse, u32 shift) {
    if (LIKELY((i32)hi >= 0)) {
        return make_wide(rest_by_known(lo, hi, divisor, inverse, shift), 0);
    }
    wide positive = wide_negate(lo, hi);
    u32 rest = rest_by_known(positive.lo, positive.hi, divisor, inverse, shift);
    return wide_negate(rest, 0);
}
