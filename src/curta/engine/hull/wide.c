/* Exact sums of products of finite doubles of any size, in fixed point.
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

typedef struct {
    int64_t digits[WIDE_DIGITS];
} wide_sum;

/* The whole number m < 2^53 with |number| = m 2^exponent. */
static uint64_t whole_part(double number, int *exponent) {
    double fraction = frexp(fabs(number), exponent);
    *exponent -= 53;
    return (uint64_t)ldexp(fraction, 53);
}

static void add_product(wide_sum *sum, double a, double b) {
    if (a == 0.0 || b == 0.0) return;
    int a_exponent, b_exponent;
    unsigned __int128 product = whole_part(a, &a_exponent);
    product *= whole_part(b, &b_exponent);
    int place = a_exponent + b_exponent - WIDE_LOWEST, digit = place / 32, bit = place % 32;
    int64_t sign = (a < 0.0) == (b < 0.0) ? 1 : -1;
    sum->digits[digit] += sign * (int64_t)((uint64_t)(product << bit) & UINT32_MAX);
    for (product >>= 32 - bit; product != 0; product >>= 32)
        sum->digits[++digit] += sign * (int64_t)((uint64_t)product & UINT32_MAX);
}

/* Carry: afterwards all digits but the highest are between 0 and 2^32 - 1. */
static void carry_digits(wide_sum *sum) {
    for (int i = 0; i + 1 < WIDE_DIGITS; i++) {
        int64_t low = sum->digits[i] & UINT32_MAX;
        sum->digits[i + 1] += (sum->digits[i] - low) / ((int64_t)1 << 32);
        sum->digits[i] = low;
    }
}

/* `factors` holds two numbers for each product. */
static void add_products(wide_sum *sum, int count, const double *factors) {
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < count; i++) add_product(sum, factors[2 * i], factors[2 * i + 1]);
    carry_digits(sum);
}

static int sign_of_wide_products(int count, const double *factors) {
    wide_sum sum;
    add_products(&sum, count, factors);
    if (sum.digits[WIDE_DIGITS - 1] < 0) return -1;
    for (int i = 0; i < WIDE_DIGITS; i++)
        if (sum.digits[i] != 0) return 1;
    return 0;
}

/* The sum, within 2^-50 of its size; -infinity or infinity if it is too large. */
static double wide_products(int count, const double *factors) {
    wide_sum sum;
    add_products(&sum, count, factors);
    double sign = 1.0;
    if (sum.digits[WIDE_DIGITS - 1] < 0) {
        sign = -1.0;
        for (int i = 0; i < WIDE_DIGITS; i++) sum.digits[i] = -sum.digits[i];
        carry_digits(&sum);
    }
    double total = 0.0;
    for (int i = 0; i < WIDE_DIGITS; i++)
        total += ldexp((double)sum.digits[i], 32 * i + WIDE_LOWEST);
    return sign * total;
}
