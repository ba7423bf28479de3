/* Floats: division and square root. The methods are those of the doubles (float64_divide.c). */
#include "float32.h"

typedef struct {
    u32 significand; /* bit 31 set */
    i32 exponent;
} unpacked;

/* A nonzero finite float. */
INLINE unpacked unpack_normalized(u32 x) {
    u32 exponent = exponent32(x);
    if (exponent != 0) {
        return (unpacked){(x << 8) | SIGN, (i32)exponent};
    }
    u32 fraction = x & FRACTION32;
    u32 shift = leading_zeros(fraction);
    return (unpacked){shift_left(fraction, shift), (i32)(9 - shift)};
}

/* ---- division ---- */

/* Any operands; the significands divided bit by bit. */
RARE u32 slow_divide(u32 a, u32 b) {
    u32 sign = (a ^ b) & SIGN;
    if (is_nan32(a)) {
        return a | QUIET32;
    }
    if (is_nan32(b)) {
        return b | QUIET32;
    }
    u32 b_infinite = (b & EXPONENT32) == EXPONENT32;
    if ((a & EXPONENT32) == EXPONENT32) {
        return b_infinite ? DEFAULT_NAN32 : sign | EXPONENT32;
    }
    if (is_zero32(a) || b_infinite) {
        return is_zero32(b) ? DEFAULT_NAN32 : sign;
    }
    if (is_zero32(b)) {
        return sign | EXPONENT32;
    }
    unpacked x = unpack_normalized(a), y = unpack_normalized(b);
    u32 rest = x.significand >> 1, divisor = y.significand >> 1; /* the last bits are 0 */
    i32 exponent = x.exponent - y.exponent + BIAS32;
    if (rest < divisor) {
        rest <<= 1;
        exponent -= 1;
    }
    u32 quotient = 0;
    for (u32 bit = 0; bit < 32; bit++) {
        quotient <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
        rest <<= 1;
    }
    return pack32(sign, exponent, quotient, rest);
}

/* Round a quotient's significand, whose bits below the last place may be too small by less than
 * 12 units. Never is a quotient halfway between two floats: the midpoint times the divisor has
 * too many bits. `dividend` is shifted as that product is. */
INLINE u32 round_quotient(u32 significand, u32 base, u32 rest, u32 half, u32 dividend, u32 b) {
    if (rest >= half) {
        return add3(base, significand, 1);
    }
    if (UNLIKELY(rest >= half - 12)) {
        u32 middle = (significand << 1) | 1;
        u32 product = middle * ((b & FRACTION32) | HIDDEN32);
        return base + significand + ((i32)(dividend - product) > 0);
    }
    return base + significand;
}

/* 2^31 A/B is short by less than (4 A + 1)/B + A + 1 (see reciprocal): under 12. */
EXPORT("f32.div") u32 f32_div(u32 a, u32 b) {
    u32 sa = a >> 23, sb = b >> 23;
    u32 ea = sa & 0xff, eb = sb & 0xff;
    u32 exponent = apart(ea + (BIAS32 - 2)) - eb; /* two less than that of A/B */
    if (UNLIKELY(!is_normal(ea, 0xff)) || UNLIKELY(!is_normal(eb, 0xff)) ||
        UNLIKELY(exponent >= 253)) {
        return slow_divide(a, b);
    }
    u32 base = apart(((sa ^ sb) & 0x100) + exponent) << 23;
    u32 quotient = mul_high((a << 8) | SIGN, reciprocal((b << 8) | SIGN));
    if ((i32)quotient < 0) {
        return round_quotient(quotient >> 8, base + HIDDEN32, quotient & 0xff, 128, a << 24, b);
    }
    return round_quotient(quotient >> 7, base, quotient & 0x7f, 64, a << 25, b);
}

/* ---- square root ---- */

/* The root of m = `square` / 2^30, 1 <= m < 4: two Heron steps as for doubles. `root` is too
 * large by less than 8 units of 2^-31, of which 256 make a last place. */
INLINE u32 root32(u32 square, u32 line, u32 base) {
    u32 heron = ((line + square / line) >> 1) + 1;
    u32 excess = (heron * heron - square) << 13;
    u32 root = (heron << 16) - mul_high(excess, (0xffffffffu / heron) << 2);
    u32 result = base + (root >> 8);
    u32 rest = root & 0xff;
    if (rest < 128) {
        return result;
    }
    if (UNLIKELY(rest < 136)) {
        u32 middle = ((root >> 8) << 1) | 1;
        return result + ((i32)((square << 18) - middle * middle) > 0);
    }
    return result + 1;
}

INLINE u32 root_of_parts(u32 significand, u32 exponent) {
    u32 base = ((exponent + BIAS32) >> 1 << 23) - HIDDEN32;
    if (exponent & 1) {
        u32 half = significand >> 1;
        return root32(half, mul_high(half, 54697) + 19338, base);
    }
    return root32(significand, mul_high(significand, 38677) + 27349, base);
}

RARE u32 slow_root(u32 x) {
    if (is_nan32(x)) {
        return x | QUIET32;
    }
    if (is_zero32(x) || x == EXPONENT32) {
        return x;
    }
    if ((i32)x < 0) {
        return DEFAULT_NAN32;
    }
    unpacked parts = unpack_normalized(x);
    return root_of_parts(parts.significand, (u32)parts.exponent);
}

EXPORT("f32.sqrt") u32 f32_sqrt(u32 x) {
    if (UNLIKELY(x - HIDDEN32 >= EXPONENT32 - HIDDEN32)) {
        return slow_root(x);
    }
    return root_of_parts((x << 8) | SIGN, x >> 23);
}
