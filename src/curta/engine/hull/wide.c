/* The sign of a sum of products of finite doubles of any size, in fixed point.
 *
 * A product of two doubles is a whole number below 2^106 times 2^e with -2252 <= e <= 1942. The sum
 * is kept as WIDE_DIGITS digits, worth 2^(32 i - 2272) each, of 64 bits with sign: carries wait until
 * the end, and millions of terms could be added before one overflows.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define WIDE_DIGITS 138
#define WIDE_LOWEST (-2272)

/* The whole number m < 2^53 with |number| = m 2^exponent. */
static uint64_t whole_part(double number, int *exponent) {
    double fraction = frexp(fabs(number), exponent);
    *exponent -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

static void add_product(int64_t *digits, double a, double b) {
    if (a == 0.0 || b == 0.0) return;
    int a_exponent, b_exponent;
    unsigned __int128 product = whole_part(a, &a_exponent);
    product *= whole_part(b, &b_exponent);
    int place = a_exponent + b_exponent - WIDE_LOWEST, digit = place / 32, bit = place % 32;
    int64_t sign = (a < 0.0) == (b < 0.0) ? 1 : -1;
    digits[digit] += sign * (int64_t)((uint64_t)(product << bit) & UINT32_MAX);
    for (product >>= 32 - bit; product != 0; product >>= 32)
        digits[++digit] += sign * (int64_t)((uint64_t)product & UINT32_MAX);
}

/* `factors` holds two numbers for each product. */
static int sign_of_products(int count, const double *factors) {
    int64_t digits[WIDE_DIGITS] = {0}, carry = 0, some = 0;
    for (int i = 0; i < count; i++) add_product(digits, factors[2 * i], factors[2 * i + 1]);
    for (int i = 0; i < WIDE_DIGITS; i++) {
        int64_t low = (digits[i] + carry) & UINT32_MAX;
        carry = (digits[i] + carry - low) / ((int64_t)1 << 32);
        some |= low;
    }
    return carry < 0 ? -1 : some != 0;
}
