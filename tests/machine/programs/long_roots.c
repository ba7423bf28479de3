/* Roots of polynomials in long double: Newton, Durand and Kerner, quadratics, nth roots. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef long double real;
typedef struct {
    real re, im;
} point;

static real horner(const real *c, int degree, real x, real *slope) {
    real value = c[degree];
    *slope = 0;
    for (int i = degree - 1; i >= 0; i--) {
        *slope = *slope * x + value;
        value = value * x + c[i];
    }
    return value;
}

static real newton(const real *c, int degree, real x, int *steps) {
    for (*steps = 0; *steps < 40; ++*steps) {
        real slope, value = horner(c, degree, x, &slope), next = x - value / slope;
        if (fabsl(next - x) <= 4 * LDBL_EPSILON * fabsl(next)) return next;
        x = next;
    }
    return x;
}

static int quadratic(real a, real b, real c, real *low, real *high) {
    real d = b * b - 4 * a * c;
    if (d < 0) return 0;
    real q = -(b + copysignl(sqrtl(d), b)) / 2;
    *low = q / a;
    *high = c / q;
    return d > 0 ? 2 : 1;
}

static point mul(point a, point b) { return (point){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static point sub(point a, point b) { return (point){a.re - b.re, a.im - b.im}; }
static point divide(point a, point b) {
    real n = b.re * b.re + b.im * b.im;
    return (point){(a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n};
}

static void durand_kerner(const real *c, int degree, point *roots, int turns) {
    point start = {0.4L, 0.9L};
    roots[0] = (point){1, 0};
    for (int i = 1; i < degree; i++) roots[i] = mul(roots[i - 1], start);
    while (turns-- > 0)
        for (int i = 0; i < degree; i++) {
            point value = {c[degree], 0}, product = {c[degree], 0};
            for (int k = degree - 1; k >= 0; k--) {
                value = mul(value, roots[i]);
                value.re += c[k];
            }
            for (int k = 0; k < degree; k++)
                if (k != i) product = mul(product, sub(roots[i], roots[k]));
            roots[i] = sub(roots[i], divide(value, product));
        }
}

static real nth_root(real x, int n) {
    real guess = 1 + (x - 1) / n;
    for (int turn = 0; turn < 12; turn++) {
        real power = 1;
        for (int i = 1; i < n; i++) power *= guess;
        guess += (x / power - guess) / n;
    }
    return guess;
}

static int by_place(const void *a, const void *b) {
    const point *x = a, *y = b;
    if (fabsl(x->re - y->re) > 1e-9L) return x->re < y->re ? -1 : 1;
    return x->im < y->im ? -1 : 1;
}

int main(void) {
    const real cubic[] = {-5, -2, 0, 1}, quartic[] = {24, -50, 35, -10, 1}, three[] = {-1, 0, 0, 1};
    int steps;
    real root = newton(cubic, 3, 2, &steps);
    printf("%.30Lf after %d steps\n", root, steps);
    printf("%.24Lg\n", newton(quartic, 4, 4.4L, &steps));
    real low, high;
    printf("%d ", quadratic(1, -1e10L, 1, &low, &high));
    printf("%.20Le %.20Le\n", low, high);
    printf("%d\n", quadratic(1, 1, 1, &low, &high));
    point roots[3];
    durand_kerner(three, 3, roots, 8);
    qsort(roots, 3, sizeof *roots, by_place);
    for (int i = 0; i < 3; i++) printf("%.9Lf %.9Lf\n", roots[i].re + 0.0L, roots[i].im + 0.0L);
    printf("%.25Lf\n%.25Lf\n", nth_root(2, 2), nth_root(10, 3));
    printf("%d %d\n", LDBL_MANT_DIG, (int)sizeof(real));
    printf("%a %La\n", 0.1, 0.5L);
    return 0;
}
