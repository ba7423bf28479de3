/* What every part of the runtime library shares.
 *
 * The machine's only numbers are 32-bit words. A 64-bit value is two of them, low word first:
 * two parameters on the way in, a `wide` on the way out (two results, by the multi-value ABI).
 * Each function is exported under the name of the WebAssembly instruction that it stands for.
 *
 * Cost is the number of executed instructions, never the size of the code. So the usual case
 * comes first in every function and stays free of selects that only rare cases need; rare cases
 * leave through a call to a slow, plain function. Shift counts are taken modulo 32, as
 * i32.shl and its like do: `(x << (n & 31))` compiles to one instruction.
 *
 * The code must compile to i32 instructions without memory: no address of a local may escape,
 * and no constant table may appear (build.py turns the compiler's own tables off). */
#ifndef CURTA_RUNTIME_WORDS_H
#define CURTA_RUNTIME_WORDS_H

typedef unsigned int u32;
typedef int i32;

typedef struct {
    u32 lo, hi;
} wide;

/* Arguments of trap(). */
enum trap_code {
    TRAP_INTEGER_DIVIDE_BY_ZERO = 1,
    TRAP_INTEGER_OVERFLOW = 2,
    TRAP_INVALID_CONVERSION_TO_INTEGER = 3,
    TRAP_OUT_OF_BOUNDS_MEMORY_ACCESS = 4,
    TRAP_OUT_OF_BOUNDS_TABLE_ACCESS = 5,
};

/* Where the table lies in the private memory (layout.py). */
#define TABLE 0x40000000u

#define SIGN 0x80000000u

#define NATIVE(name) __attribute__((import_module("curta"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name), noinline))
#define INLINE static inline __attribute__((always_inline))
#define RARE static __attribute__((noinline, cold))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The high word of the 64-bit product of two unsigned words. */
NATIVE("mul_high") __attribute__((const)) u32 mul_high(u32 a, u32 b);
/* The high word of (high:low) << (amount mod 32), and the low word of (high:low) >> the same. */
NATIVE("funnel_shl") __attribute__((const)) u32 funnel_shl(u32 high, u32 low, u32 amount);
NATIVE("funnel_shr") __attribute__((const)) u32 funnel_shr(u32 high, u32 low, u32 amount);
/* a + b + c and a - b - c, and the carry of a + b. */
NATIVE("add3") __attribute__((const)) u32 add3(u32 a, u32 b, u32 c);
NATIVE("sub3") __attribute__((const)) u32 sub3(u32 a, u32 b, u32 c);
NATIVE("carry") __attribute__((const)) u32 carry(u32 a, u32 b);
NATIVE("trap") _Noreturn void trap(u32 code);

INLINE wide make_wide(u32 lo, u32 hi) {
    return (wide){lo, hi};
}

/* The same number, of which the compiler then knows nothing. Keeps it from turning `a % b` beside
 * `a / b` into a multiplication and a subtraction, and a known difference back into a compare. */
INLINE u32 apart(u32 x) {
    __asm__("" : "+r"(x));
    return x;
}

INLINE u32 shift_left(u32 x, u32 count) {
    return x << (count & 31);
}

INLINE u32 shift_right(u32 x, u32 count) {
    return x >> (count & 31);
}

/* The bits that fall out of `x >> count` (0 <= count < 32), as the top of a word; 0 for 0. */
INLINE u32 bits_below(u32 x, u32 count) {
    return (x << 1) << (~count & 31);
}

/* The bits that fall out of `x << count` (0 <= count < 32), as the bottom of a word. */
INLINE u32 bits_above(u32 x, u32 count) {
    return (x >> 1) >> (~count & 31);
}

INLINE u32 leading_zeros(u32 x) {
    return x == 0 ? 32 : (u32)__builtin_clz(x);
}

INLINE u32 trailing_zeros(u32 x) {
    return x == 0 ? 32 : (u32)__builtin_ctz(x);
}

/* hi:lo shifted left, 0 <= count < 32. */
INLINE wide wide_shift_left(u32 lo, u32 hi, u32 count) {
    return make_wide(shift_left(lo, count), funnel_shl(hi, lo, count));
}

/* hi:lo shifted right, 0 <= count < 32. */
INLINE wide wide_shift_right(u32 lo, u32 hi, u32 count) {
    return make_wide(funnel_shr(hi, lo, count), shift_right(hi, count));
}

INLINE wide wide_add(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo + blo, add3(ahi, bhi, carry(alo, blo)));
}

INLINE wide wide_subtract(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return make_wide(alo - blo, sub3(ahi, bhi, alo < blo));
}

INLINE wide wide_negate(u32 lo, u32 hi) {
    return make_wide(0 - lo, 0 - hi - (lo != 0));
}

INLINE u32 wide_less(u32 alo, u32 ahi, u32 blo, u32 bhi) {
    return ahi == bhi ? alo < blo : ahi < bhi;
}

/* At most 2^32 / B, and short of it by less than 8 / B + 2, where B (1 to 2) is a significand
 * and `word` are its first 32 bits. The estimate is off by -2^-16 to 2^-15 of itself, which the
 * Newton step squares to 2^-30 at most. Its factor is 2 to 1 units of 2^-31 too small, 1 more
 * than truncation alone, to make up for the bits of B that `word` lacks. */
INLINE u32 reciprocal(u32 word) {
    u32 estimate = (0xffffffffu / (word >> 16)) << 15;
    return mul_high(estimate, 0xfffffffeu - mul_high(word, estimate)) << 1;
}

#endif
