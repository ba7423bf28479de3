/* Floats: arithmetic. The methods are those of the doubles (float64.c, float64_divide.c). */
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

/* ---- addition ---- */

/* The difference (nonzero) in units of the last place at `exponent`, exact. */
INLINE u32 pack_exact_difference(u32 sign, u32 exponent, u32 difference) {
    u32 shift = leading_zeros(difference) - 8;
    if (UNLIKELY(shift >= exponent)) {
        return sign | shift_left(difference, exponent - 1);
    }
    return sign + ((exponent - shift - 1) << 23) + shift_left(difference, shift);
}

/* x + y for normal numbers of one sign and one exponent: the leading bits make two. */
INLINE u32 add_level(u32 x, u32 y, u32 exponent) {
    if (UNLIKELY(exponent == 0xfe)) {
        return (x & SIGN) | EXPONENT32;
    }
    u32 sum = (x & FRACTION32) + (y & FRACTION32);
    u32 result = (x & ~FRACTION32) + HIDDEN32 + (sum >> 1);
    return result + (sum & result & 1);
}

/* x + y for normal numbers of one sign, y's exponent 1 <= `distance` below x's. */
INLINE u32 add_aligned(u32 x, u32 y, u32 distance, u32 exponent) {
    if (UNLIKELY(distance >= 26)) {
        return x;
    }
    u32 significand = (y & FRACTION32) | HIDDEN32;
    u32 rest = shift_left(significand, 0 - distance);
    u32 sum = x + shift_right(significand, distance);
    if ((sum ^ x) < HIDDEN32) {
        return rounded32(sum, rest);
    }
    /* The fraction carried into the exponent field: it is one place too long. */
    if (UNLIKELY(exponent == 0xfe)) {
        return (x & SIGN) | EXPONENT32;
    }
    u32 result = (sum & ~FRACTION32) | ((sum & FRACTION32) >> 1);
    if ((sum & 1) == 0 || (rest | (result & 1)) == 0) {
        return result;
    }
    return result + 1;
}

/* x - y for normal magnitudes at one exponent; `x` has its sign. Exact. */
INLINE u32 subtract_level(u32 x, u32 y, u32 exponent) {
    u32 difference = (x & FRACTION32) - (y & FRACTION32);
    if ((i32)difference < 0) {
        return pack_exact_difference(~x & SIGN, exponent, 0 - difference);
    }
    if (UNLIKELY(difference == 0)) {
        return 0;
    }
    return pack_exact_difference(x & SIGN, exponent, difference);
}

/* x - y for normal magnitudes, y's exponent 1 <= `distance` below x's. */
INLINE u32 subtract_aligned(u32 x, u32 y, u32 distance, u32 exponent) {
    if (UNLIKELY(distance >= 26)) {
        return x;
    }
    u32 significand = (y & FRACTION32) | HIDDEN32;
    u32 rest = 0 - shift_left(significand, 0 - distance);
    u32 difference = x - shift_right(significand, distance) - (rest != 0);
    if ((difference ^ x) < HIDDEN32) {
        return rounded32(difference, rest);
    }
    /* The fraction borrowed from the exponent field: it is at least one place too short. */
    if (UNLIKELY((difference & (HIDDEN32 >> 1)) == 0)) {
        /* Only at distance 1, where the rest is one bit: exact after the shift. */
        u32 exact = ((difference & FRACTION32) << 1) | (rest >> 31);
        return pack_exact_difference(x & SIGN, exponent - 1, exact);
    }
    difference = difference - HIDDEN32 + (difference & FRACTION32) + (rest >> 31);
    return rounded32(difference, rest << 1);
}

/* An infinity or a NaN among the operands; b before its sign is flipped. */
RARE u32 add_not_finite(u32 a, u32 b, u32 flip) {
    if (is_nan32(a)) {
        return a | QUIET32;
    }
    if (is_nan32(b)) {
        return b | QUIET32;
    }
    b ^= flip;
    if ((a & EXPONENT32) != EXPONENT32) {
        return b;
    }
    u32 both = (b & EXPONENT32) == EXPONENT32;
    return both && a != b ? DEFAULT_NAN32 : a;
}

/* Any operands; zeros, the most frequent, first. */
RARE u32 slow_add(u32 a, u32 b, u32 flip) {
    if (UNLIKELY((a & EXPONENT32) == EXPONENT32) || UNLIKELY((b & EXPONENT32) == EXPONENT32)) {
        return add_not_finite(a, b, flip);
    }
    b ^= flip;
    if (LIKELY(is_zero32(a))) {
        return is_zero32(b) ? a & b : b;
    }
    if (LIKELY(is_zero32(b))) {
        return a;
    }
    if ((a & ~SIGN) < (b & ~SIGN)) {
        u32 swap = a;
        a = b;
        b = swap;
    }
    u32 ea = exponent32(a), eb = exponent32(b);
    /* Seven places for rounding, one for the carry. */
    u32 sa = ((a & FRACTION32) | (ea ? HIDDEN32 : 0)) << 7;
    u32 sb = ((b & FRACTION32) | (eb ? HIDDEN32 : 0)) << 7;
    ea += ea == 0;
    eb += eb == 0;
    u32 distance = ea - eb;
    if (distance >= 32) {
        sb = 1;
    } else {
        sb = shift_right(sb, distance) | (bits_below(sb, distance) != 0);
    }
    u32 sum = (i32)(a ^ b) < 0 ? sa - sb : sa + sb;
    if (sum == 0) {
        return 0;
    }
    u32 shift = leading_zeros(sum);
    return pack32(a & SIGN, (i32)(ea + 1 - shift), shift_left(sum, shift), 0);
}

/* a + b with b's sign flipped by `flip` (0 or SIGN). */
INLINE u32 add32(u32 a, u32 b, u32 flip) {
    u32 sa = a >> 23, sb = b >> 23; /* signs and exponents */
    u32 ea = sa & 0xff, eb = sb & 0xff;
    u32 same_sign = flip ? apart(sa ^ sb) >= 0x100 : apart(sa ^ sb) < 0x100;
    if (ea < eb) {
        if (UNLIKELY(ea == 0) || UNLIKELY(eb == 0xff)) {
            return slow_add(a, b, flip);
        }
        u32 distance = apart(eb - ea);
        return same_sign ? add_aligned(b ^ flip, a, distance, eb)
                         : subtract_aligned(b ^ flip, a, distance, eb);
    }
    if (UNLIKELY(eb == 0) || UNLIKELY(ea == 0xff)) {
        return slow_add(a, b, flip);
    }
    u32 distance = apart(ea - eb);
    if (same_sign) {
        return distance ? add_aligned(a, b, distance, ea) : add_level(a, b, ea);
    }
    return distance ? subtract_aligned(a, b, distance, ea) : subtract_level(a, b, ea);
}

EXPORT("f32.add") u32 f32_add(u32 a, u32 b) {
    return add32(a, b, 0);
}

EXPORT("f32.sub") u32 f32_sub(u32 a, u32 b) {
    return add32(a, b, SIGN);
}

/* ---- multiplication ---- */

RARE u32 slow_multiply(u32 a, u32 b) {
    u32 sign = (a ^ b) & SIGN;
    u32 zero = is_zero32(a) | is_zero32(b);
    if (UNLIKELY((a & EXPONENT32) == EXPONENT32) || UNLIKELY((b & EXPONENT32) == EXPONENT32)) {
        if (is_nan32(a)) {
            return a | QUIET32;
        }
        if (is_nan32(b)) {
            return b | QUIET32;
        }
        return zero ? DEFAULT_NAN32 : sign | EXPONENT32;
    }
    if (LIKELY(zero)) {
        return sign;
    }
    unpacked x = unpack_normalized(a), y = unpack_normalized(b);
    u32 high = mul_high(x.significand, y.significand), low = x.significand * y.significand;
    i32 exponent = x.exponent + y.exponent - BIAS32 + 1;
    if ((i32)high >= 0) {
        high = (high << 1) | (low >> 31);
        low <<= 1;
        exponent -= 1;
    }
    return pack32(sign, exponent, high, low);
}

/* Whether exponents are those of normal numbers, the product's, too. */
INLINE u32 are_multiplied_fast(u32 sa, u32 sb) {
    u32 ea = sa & 0xff, eb = sb & 0xff;
    return is_normal(ea, 0xff) && is_normal(eb, 0xff) && apart(ea + eb) - (BIAS32 + 1) < 253;
}

/* Signs and exponents are numbers of 9 bits here, whose sum is that of the product: only its 9
 * lowest bits are used. Exponents within 96 and 159 need no further check. */
EXPORT("f32.mul") u32 f32_mul(u32 a, u32 b) {
    u32 sa = a >> 23, sb = b >> 23;
    if (UNLIKELY((apart(sa + 96) & apart(sb + 96) & 0xc0) != 0xc0) &&
        !are_multiplied_fast(sa, sb)) {
        return slow_multiply(a, b);
    }
    u32 x = (a << 8) | SIGN, y = (b & FRACTION32) | HIDDEN32;
    u32 high = mul_high(x, y), low = x * y;
    if (high >= HIDDEN32) {
        u32 base = add3(sa, 0u - BIAS32, sb) << 23; /* the leading bit adds one */
        return LIKELY(low != HALF) ? add3(base, high, low >> 31) : rounded32(base + high, low);
    }
    u32 base = add3(sa, 0u - BIAS32 - 1, sb) << 23, rest = low << 1;
    high = funnel_shl(high, low, 1);
    return LIKELY(rest != HALF) ? add3(base, high, rest >> 31) : rounded32(base + high, rest);
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
