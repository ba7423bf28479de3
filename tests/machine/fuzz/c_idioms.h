/* What libraries of idioms begin with: short names, and helpers that leave nothing undefined. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
typedef unsigned __int128 u128;
typedef __int128 i128;
typedef long double quad;
#define LOCAL static inline

LOCAL u32 rotl32(u32 x, unsigned n) { return x << (n & 31) | x >> (-n & 31); }
LOCAL u32 rotr32(u32 x, unsigned n) { return x >> (n & 31) | x << (-n & 31); }
LOCAL u64 rotl64(u64 x, unsigned n) { return x << (n & 63) | x >> (-n & 63); }
LOCAL u64 rotr64(u64 x, unsigned n) { return x >> (n & 63) | x << (-n & 63); }
LOCAL u64 high64(u64 a, u64 b) { return (u64)((u128)a * b >> 64); }
LOCAL int clz64(u64 x) { return x ? __builtin_clzll(x) : 64; }
LOCAL int ctz64(u64 x) { return x ? __builtin_ctzll(x) : 64; }
LOCAL int clz32(u32 x) { return x ? __builtin_clz(x) : 32; }

#define DIVISION(type)                                                     \
    LOCAL type type##_div(type a, type b) {                                \
        return b == 0 ? a : b == (type)-1 ? (type)-a : (type)(a / b);      \
    }                                                                      \
    LOCAL type type##_rem(type a, type b) {                                \
        return b == 0 ? a : b == (type)-1 ? (type)0 : (type)(a % b);       \
    }
DIVISION(i32) DIVISION(i64) DIVISION(i128)
#define UNSIGNED_DIVISION(type)                                            \
    LOCAL type type##_div(type a, type b) { return b ? a / b : a; }        \
    LOCAL type type##_rem(type a, type b) { return b ? a % b : b + 1; }
UNSIGNED_DIVISION(u32) UNSIGNED_DIVISION(u64) UNSIGNED_DIVISION(u128)

/* Of floats: every NaN is the same, and none becomes an integer. */
LOCAL u64 double_bits(double x) {
    u64 bits = 0x7ff8000000000000u;
    if (x == x) memcpy(&bits, &x, 8);
    return bits;
}
LOCAL u32 float_bits(float x) {
    u32 bits = 0x7fc00000u;
    if (x == x) memcpy(&bits, &x, 4);
    return bits;
}
LOCAL double to_double(u64 bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x == x ? x : 0.75;
}
LOCAL float to_float(u32 bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x == x ? x : -1.5f;
}
#define TO_INTEGER(from, type, low, high) \
    LOCAL type from##_to_##type(from x) { return x > low && x < high ? (type)x : (type)91; }
TO_INTEGER(double, i32, -2147483649.0, 2147483648.0)
TO_INTEGER(double, u32, -1.0, 4294967296.0)
TO_INTEGER(double, i64, -9223372036854775809.0, 9223372036854775808.0)
TO_INTEGER(double, u64, -1.0, 18446744073709551616.0)
TO_INTEGER(double, u128, -1.0, 3.4e38)
TO_INTEGER(float, i32, -2147483648.0f, 2147483648.0f)
TO_INTEGER(float, u32, -1.0f, 4294967296.0f)
TO_INTEGER(float, i64, -9223372036854775808.0f, 9223372036854775808.0f)
TO_INTEGER(float, u64, -1.0f, 18446744073709551616.0f)
TO_INTEGER(quad, i32, -2147483649.0L, 2147483648.0L)
TO_INTEGER(quad, u32, -1.0L, 4294967296.0L)
TO_INTEGER(quad, i64, -9223372036854775809.0L, 9223372036854775808.0L)
TO_INTEGER(quad, u64, -1.0L, 18446744073709551616.0L)
