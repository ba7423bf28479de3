/* fma() and what it is for: exact products, double-double arithmetic, compensated polynomials. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    double hi, lo;
} pair;

static pair two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair quick_sum(double a, double b) {
    double s = a + b;
    return (pair){s, b - (s - a)};
}

static pair two_product(double a, double b) {
    double p = a * b;
    return (pair){p, fma(a, b, -p)};
}

static pair split_product(double a, double b) { /* Dekker's, without fma */
    double c = 134217729.0 * a, ah = c - (c - a), al = a - ah;
    double d = 134217729.0 * b, bh = d - (d - b), bl = b - bh, p = a * b;
    return (pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static pair add(pair a, pair b) {
    pair s = two_sum(a.hi, b.hi);
    return quick_sum(s.hi, s.lo + a.lo + b.lo);
}

static pair mul(pair a, pair b) {
    pair p = two_product(a.hi, b.hi);
    return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static pair divide(pair a, pair b) {
    double q = a.hi / b.hi;
    pair r = mul(b, (pair){q, 0});
    r = add(a, (pair){-r.hi, -r.lo});
    return quick_sum(q, r.hi / b.hi);
}

static pair root(double x) {
    double guess = sqrt(x);
    pair square = two_product(guess, guess);
    return quick_sum(guess, ((x - square.hi) - square.lo) / (2 * guess));
}

static double compensated(const double *c, int degree, double x) {
    double value = c[degree], error = 0;
    for (int i = degree - 1; i >= 0; i--) {
        pair p = two_product(value, x), s = two_sum(p.hi, c[i]);
        value = s.hi;
        error = fma(error, x, p.lo + s.lo);
    }
    return value + error;
}

static uint64_t bits(double x) {
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}

static void show(const char *name, pair p) {
    printf("%-8s %.17g + %.9g\n", name, p.hi, p.lo);
}

int main(void) {
    volatile double tenth = 0.1, third = 1.0 / 3, large = 0x1.fffffffffffffp1023;
    show("0.1^2", two_product(tenth, tenth));
    show("dekker", split_product(tenth, tenth));
    show("1/3*3", two_product(third, 3));
    show("sqrt 2", root(2));
    pair e = {1, 0}, term = {1, 0};
    for (int n = 1; n < 18; n++) {
        term = divide(term, (pair){n, 0});
        e = add(e, term);
    }
    show("e", e);
    const double c[] = {-1, 5, -10, 10, -5, 1}; /* (x - 1)^5 */
    for (double x = 0.99; x < 1.02; x += 0.012) {
        double plain = c[5];
        for (int i = 4; i >= 0; i--) plain = plain * x + c[i];
        printf("%.3f plain %.6e compensated %.6e\n", x, plain, compensated(c, 5, x));
    }
    printf("%016llx\n", (unsigned long long)bits(fma(large, 2, -large)));
    printf("%016llx\n", (unsigned long long)bits(fma(0x1p-1022, 0x1p-52, 0x1p-1074)));
    printf("%016llx\n", (unsigned long long)bits(fma(1 + 0x1p-52, 1 - 0x1p-53, -1)));
    printf("%g %g %d\n", fma(0.0, -1.0, 0.0), fma(-0.0, 1.0, -0.0), isnan(fma(INFINITY, 0.0, 1.0)));
    printf("%.9g %08x\n", (double)fmaf(0.1f, 10.0f, -1.0f), (unsigned)(fmaf(3e38f, 2.0f, -3e38f) / 1e30f));
    return 0;
}
