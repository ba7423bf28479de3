/* Exact fractions of 64 bits: harmonic numbers, continued fractions, Bernoulli, Egyptian sums. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t num, den;
} fraction;

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t t = a % b;
        a = b, b = t;
    }
    return a < 0 ? -a : a;
}

static fraction make(int64_t num, int64_t den) {
    int64_t g = gcd(num, den);
    if (den < 0) g = -g;
    return (fraction){num / g, den / g};
}

static fraction add(fraction a, fraction b) {
    int64_t g = gcd(a.den, b.den);
    return make(a.num * (b.den / g) + b.num * (a.den / g), a.den / g * b.den);
}

static fraction mul(fraction a, fraction b) {
    int64_t g = gcd(a.num, b.den), h = gcd(b.num, a.den);
    return make(a.num / g * (b.num / h), a.den / h * (b.den / g));
}

static fraction negated(fraction a) { return (fraction){-a.num, a.den}; }

static int less(fraction a, fraction b) {
    return (__int128)a.num * b.den < (__int128)b.num * a.den;
}

static const char *text(fraction a) {
    static char buffers[4][48];
    static int next;
    char *buffer = buffers[next++ % 4];
    if (a.den == 1)
        snprintf(buffer, 48, "%" PRId64, a.num);
    else
        snprintf(buffer, 48, "%" PRId64 "/%" PRId64, a.num, a.den);
    return buffer;
}

static void continued(fraction a) {
    printf("%s = [", text(a));
    for (int first = 1; a.den != 0; first = 0) {
        int64_t whole = a.num / a.den - (a.num % a.den < 0);
        printf(first ? "%" PRId64 : ", %" PRId64, whole);
        a = (fraction){a.den, a.num - whole * a.den};
    }
    printf("]\n");
}

static void egyptian(fraction a) {
    printf("%s =", text(a));
    for (int n = 0; a.num > 0 && n < 8; n++) {
        int64_t d = (a.den + a.num - 1) / a.num;
        printf("%s 1/%" PRId64, n ? " +" : "", d);
        a = add(a, (fraction){-1, d});
    }
    printf("\n");
}

static fraction nearest(double x, int64_t most) { /* along the Stern-Brocot tree */
    fraction low = {0, 1}, high = {1, 0};
    for (;;) {
        fraction middle = {low.num + high.num, low.den + high.den};
        if (middle.den > most) return x * 2 < (double)low.num / (double)low.den + (double)high.num / (double)high.den ? low : high;
        if ((double)middle.num < x * (double)middle.den)
            low = middle;
        else
            high = middle;
    }
}

int main(void) {
    fraction sum = {0, 1};
    for (int64_t n = 1; n <= 30; n++) {
        sum = add(sum, (fraction){1, n});
        if (n % 10 == 0) printf("H(%" PRId64 ") = %s\n", n, text(sum));
    }
    fraction bernoulli[13];
    for (int m = 0; m <= 12; m++) { /* Akiyama and Tanigawa */
        fraction row[13];
        for (int j = 0; j <= m; j++) row[j] = (fraction){1, j + 1};
        for (int i = 1; i <= m; i++)
            for (int j = 0; j <= m - i; j++)
                row[j] = mul((fraction){j + 1, 1}, add(row[j], negated(row[j + 1])));
        bernoulli[m] = row[0];
        if (m % 2 == 0) printf("B(%d) = %s\n", m, text(bernoulli[m]));
    }
    continued(make(-415, 93));
    continued(make(5419351, 1725033));
    egyptian(make(5, 121));
    egyptian(make(17, 23));
    printf("%s %s\n", text(nearest(3.14159265358979, 1000)), text(nearest(0.70710678118654, 500)));
    printf("%d %d\n", less(make(INT64_MAX - 1, INT64_MAX), (fraction){1, 1}),
           less((fraction){INT64_MAX, INT64_MAX - 1}, make(INT64_MAX - 1, INT64_MAX - 2)));
    return 0;
}
