/* The 64-bit integer instructions. */
#include "words.h"

typedef struct {
    wide quotient, remainder;
} division;

EXPORT("i64.add") wide i64_add(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return wide_add(alo, ahi, blo, bhi);
}

EXPORT("i64.sub") wide i64_sub(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return wide_subtract(alo, ahi, blo, bhi);
}

EXPORT("i64.mul") wide i64_mul(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo * blo, mul_high(alo, blo) + alo * bhi + ahi * blo);
}

/* (hi:lo) / divisor for hi < divisor < 2^27, not too small. The reciprocal X of the shifted
 * divisor v = 2^31 B is short by less than 8/B + 2 units of 2^-32, so the product with the
 * dividend's top word is short by 2 v/2^32 (8/B + 2) = 8 + 2 B, and by 2 + 2 more for what is cut
 * off: what is left is below 17 divisors, one word, and native division finishes. */
INLINE u32 divide_by_small_word(u32 lo, u32 hi, u32 divisor, u32 *remainder) {
    u32 shift = leading_zeros(divisor);
    u32 top = shift_left(hi, shift) | shift_right(lo, 0 - shift); /* shift >= 5 */
    u32 quotient = mul_high(top, reciprocal(shift_left(divisor, shift))) << 1;
    u32 rest = lo - quotient * divisor;
    *remainder = rest % apart(divisor);
    return quotient + rest / divisor;
}

/* (hi:lo) / divisor for hi < divisor, divisor >= 2^16. Two digits of 16 bits: each is first
 * taken from the divisor's top 16 bits (with the top bit set, so at most 2 too large), and put
 * right by comparing what the divisor's low 16 bits take away. */
INLINE u32 divide_by_word(u32 lo, u32 hi, u32 divisor, u32 *remainder) {
    u32 shift = leading_zeros(divisor);
    u32 v = shift_left(divisor, shift);
    u32 top = v >> 16, bottom = v & 0xffff;
    wide u = wide_shift_left(lo, hi, shift);
    u32 q1 = u.hi / top;
    u32 product = q1 * bottom;
    u32 rest = u.hi % apart(top);
    if (((rest << 16) | (u.lo >> 16)) < product) { /* rest < top < 2^16 */
        q1 -= 1;
        rest += top;
        product -= bottom;
        if (rest < 0x10000 && ((rest << 16) | (u.lo >> 16)) < product) {
            q1 -= 1;
            rest += top;
            product -= bottom;
        }
    }
    u32 middle = (rest << 16) + (u.lo >> 16) - product; /* below v: exact modulo 2^32 */
    u32 q0 = middle / top;
    product = q0 * bottom;
    rest = middle % apart(top);
    if (((rest << 16) | (u.lo & 0xffff)) < product) {
        q0 -= 1;
        rest += top;
        product -= bottom;
        if (rest < 0x10000 && ((rest << 16) | (u.lo & 0xffff)) < product) {
            q0 -= 1;
            rest += top;
            product -= bottom;
        }
    }
    *remainder = shift_right((rest << 16) + (u.lo & 0xffff) - product, shift);
    return (q1 << 16) + q0;
}

/* A divisor of one word (a divisor of 0 traps in the first i32.div_u). */
INLINE division divide_wide_by_word(u32 alo, u32 ahi, u32 b) {
    u32 high_quotient = ahi / b;
    u32 rest = ahi % apart(b);
    u32 low_quotient, remainder;
    if (LIKELY(b < 0x10000)) {
        u32 upper = (rest << 16) | (alo >> 16);
        u32 lower = ((upper % apart(b)) << 16) | (alo & 0xffff);
        low_quotient = ((upper / b) << 16) + lower / b;
        remainder = lower % apart(b);
    } else if (b < 1u << 27) {
        low_quotient = divide_by_small_word(alo, rest, b, &remainder);
    } else {
        low_quotient = divide_by_word(alo, rest, b, &remainder);
    }
    return (division){{low_quotient, high_quotient}, {remainder, 0}};
}

/* A divisor of two words, at most the dividend: the quotient is below 2^32.
 * From 2^48 on, ahi / bhi is at most 1 too large: the quotient is below 2^16, so what the
 * divisor's low word takes away is below 2^48. Below 2^48, divide half the dividend by the
 * divisor's top 32 bits (Warren, Hacker's Delight, 9-5): at most 1 too large after the shift,
 * never too small by more than 1 after taking 1 away. */
INLINE division divide_wide_by_wide(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    u32 quotient;
    if (LIKELY(bhi >= 0x10000)) {
        quotient = ahi / bhi;
        u32 rest = ahi % apart(bhi);
        wide product = make_wide(quotient * blo, mul_high(quotient, blo));
        u32 too_large = wide_less(alo, rest, product.lo, product.hi);
        wide remainder = wide_subtract(alo, rest, product.lo, product.hi);
        if (too_large) {
            quotient -= 1;
            remainder = wide_add(remainder.lo, remainder.hi, blo, bhi);
        }
        return (division){{quotient, 0}, remainder};
    }
    u32 shift = leading_zeros(bhi), ignored;
    wide top = wide_shift_left(blo, bhi, shift);
    quotient = divide_by_word((ahi << 31) | (alo >> 1), ahi >> 1, top.hi, &ignored);
    quotient = shift_right(quotient, 31 - shift);
    quotient -= quotient != 0;
    u32 high_product = mul_high(quotient, blo) + quotient * bhi;
    wide remainder = wide_subtract(alo, ahi, quotient * blo, high_product);
    if (!wide_less(remainder.lo, remainder.hi, blo, bhi)) {
        quotient += 1;
        remainder = wide_subtract(remainder.lo, remainder.hi, blo, bhi);
    }
    return (division){{quotient, 0}, remainder};
}

INLINE division divide(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    if (bhi == 0) {
        return divide_wide_by_word(alo, ahi, blo);
    }
    if (wide_less(alo, ahi, blo, bhi)) {
        return (division){{0, 0}, {alo, ahi}};
    }
    return divide_wide_by_wide(alo, ahi, blo, bhi);
}

/* The same with the case of two small numbers first; its quotient. */
INLINE wide divide_magnitudes(wide a, wide b) {
    if (LIKELY((a.hi | b.hi) == 0)) {
        return make_wide(a.lo / b.lo, 0);
    }
    return divide(a.lo, a.hi, b.lo, b.hi).quotient;
}

INLINE wide remainder_of_magnitudes(wide a, wide b) {
    if (LIKELY((a.hi | b.hi) == 0)) {
        return make_wide(a.lo % b.lo, 0);
    }
    return divide(a.lo, a.hi, b.lo, b.hi).remainder;
}

EXPORT("i64.div_u") wide i64_div_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return divide_magnitudes(make_wide(alo, ahi), make_wide(blo, bhi));
}

EXPORT("i64.rem_u") wide i64_rem_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return remainder_of_magnitudes(make_wide(alo, ahi), make_wide(blo, bhi));
}

EXPORT("i64.div_s") wide i64_div_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    wide a = {alo, ahi}, b = {blo, bhi};
    if (LIKELY((i32)(ahi | bhi) >= 0)) {
        return divide_magnitudes(a, b);
    }
    if ((i32)bhi < 0) {
        if ((blo & bhi) == 0xffffffff && alo == 0 && ahi == SIGN) {
            trap(TRAP_INTEGER_OVERFLOW);
        }
        b = wide_negate(blo, bhi);
    }
    if ((i32)ahi < 0) {
        a = wide_negate(alo, ahi);
    }
    wide quotient = divide_magnitudes(a, b);
    return (i32)(ahi ^ bhi) < 0 ? wide_negate(quotient.lo, quotient.hi) : quotient;
}

EXPORT("i64.rem_s") wide i64_rem_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    wide a = {alo, ahi}, b = {blo, bhi};
    if (LIKELY((i32)(ahi | bhi) >= 0)) {
        return remainder_of_magnitudes(a, b);
    }
    if ((i32)bhi < 0) {
        b = wide_negate(blo, bhi);
    }
    if ((i32)ahi >= 0) {
        return remainder_of_magnitudes(a, b);
    }
    a = wide_negate(alo, ahi);
    wide remainder = remainder_of_magnitudes(a, b);
    return wide_negate(remainder.lo, remainder.hi);
}

EXPORT("i64.and") wide i64_and(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo & blo, ahi & bhi);
}

EXPORT("i64.or") wide i64_or(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo | blo, ahi | bhi);
}

EXPORT("i64.xor") wide i64_xor(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo ^ blo, ahi ^ bhi);
}

EXPORT("i64.shl") wide i64_shl(u32 alo, u32 ahi, u32 count, u32 ignored) {
    (void)ignored;
    if (count & 32) {
        return make_wide(0, shift_left(alo, count));
    }
    return wide_shift_left(alo, ahi, count);
}

EXPORT("i64.shr_u") wide i64_shr_u(u32 alo, u32 ahi, u32 count, u32 ignored) {
    (void)ignored;
    if (count & 32) {
        return make_wide(shift_right(ahi, count), 0);
    }
    return wide_shift_right(alo, ahi, count);
}

EXPORT("i64.shr_s") wide i64_shr_s(u32 alo, u32 ahi, u32 count, u32 ignored) {
    (void)ignored;
    u32 high = (u32)((i32)ahi >> (count & 31));
    if (count & 32) {
        return make_wide(high, (u32)((i32)ahi >> 31));
    }
    return make_wide(shift_right(alo, count) | bits_below(ahi, count), high);
}

INLINE wide rotate_left(u32 lo, u32 hi, u32 count) {
    return make_wide(shift_left(lo, count) | bits_above(hi, count),
                     shift_left(hi, count) | bits_above(lo, count));
}

EXPORT("i64.rotl") wide i64_rotl(u32 alo, u32 ahi, u32 count, u32 ignored) {
    (void)ignored;
    return count & 32 ? rotate_left(ahi, alo, count) : rotate_left(alo, ahi, count);
}

INLINE wide rotate_right(u32 lo, u32 hi, u32 count) {
    return make_wide(shift_right(lo, count) | bits_below(hi, count),
                     shift_right(hi, count) | bits_below(lo, count));
}

EXPORT("i64.rotr") wide i64_rotr(u32 alo, u32 ahi, u32 count, u32 ignored) {
    (void)ignored;
    return count & 32 ? rotate_right(ahi, alo, count) : rotate_right(alo, ahi, count);
}

EXPORT("i64.clz") wide i64_clz(u32 lo, u32 hi) {
    return make_wide(hi ? leading_zeros(hi) : 32 + leading_zeros(lo), 0);
}

EXPORT("i64.ctz") wide i64_ctz(u32 lo, u32 hi) {
    return make_wide(lo ? trailing_zeros(lo) : 32 + trailing_zeros(hi), 0);
}

EXPORT("i64.popcnt") wide i64_popcnt(u32 lo, u32 hi) {
    return make_wide((u32)(__builtin_popcount(lo) + __builtin_popcount(hi)), 0);
}

EXPORT("i64.eqz") u32 i64_eqz(u32 lo, u32 hi) {
    return (lo | hi) == 0;
}

EXPORT("i64.eq") u32 i64_eq(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return (u32)(alo == blo) & (u32)(ahi == bhi);
}

EXPORT("i64.ne") u32 i64_ne(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return (u32)(alo != blo) | (u32)(ahi != bhi);
}

INLINE u32 signed_less(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo < blo : (i32)ahi < (i32)bhi;
}

EXPORT("i64.lt_s") u32 i64_lt_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return signed_less(alo, ahi, blo, bhi);
}

EXPORT("i64.lt_u") u32 i64_lt_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return wide_less(alo, ahi, blo, bhi);
}

EXPORT("i64.gt_s") u32 i64_gt_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return signed_less(blo, bhi, alo, ahi);
}

EXPORT("i64.gt_u") u32 i64_gt_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return wide_less(blo, bhi, alo, ahi);
}

EXPORT("i64.le_s") u32 i64_le_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo <= blo : (i32)ahi < (i32)bhi;
}

EXPORT("i64.le_u") u32 i64_le_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo <= blo : ahi < bhi;
}

EXPORT("i64.ge_s") u32 i64_ge_s(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo >= blo : (i32)ahi > (i32)bhi;
}

EXPORT("i64.ge_u") u32 i64_ge_u(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo >= blo : ahi > bhi;
}

INLINE wide sign_extended(i32 value) {
    return make_wide((u32)value, (u32)(value >> 31));
}

EXPORT("i64.extend8_s") wide i64_extend8_s(u32 lo, u32 hi) {
    (void)hi;
    return sign_extended((signed char)lo);
}

EXPORT("i64.extend16_s") wide i64_extend16_s(u32 lo, u32 hi) {
    (void)hi;
    return sign_extended((short)lo);
}

EXPORT("i64.extend32_s") wide i64_extend32_s(u32 lo, u32 hi) {
    (void)hi;
    return sign_extended((i32)lo);
}

EXPORT("i64.extend_i32_s") wide i64_extend_i32_s(u32 value) {
    return sign_extended((i32)value);
}

EXPORT("i64.extend_i32_u") wide i64_extend_i32_u(u32 value) {
    return make_wide(value, 0);
}

EXPORT("i32.wrap_i64") u32 i32_wrap_i64(u32 lo, u32 hi) {
    (void)hi;
    return lo;
}
