/* Calculus in doubles: Simpson, Gauss, Romberg, Newton, secants, bisection, golden section, splines. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef double (*function)(double);

static double bell(double x) { return 1 / (1 + x * x); }
static double cubic(double x) { return x * x * x - 2 * x - 5; }
static double wave(double x) { return sin(x) / (1 + x); }
static double valley(double x) { return (x - 2) * (x - 2) * (x + 0.5) + 1; }

static double simpson(function f, double a, double b, int n) {
    double h = (b - a) / n, sum = f(a) + f(b);
    for (int i = 1; i < n; i++) sum += f(a + i * h) * (i % 2 ? 4 : 2);
    return sum * h / 3;
}

static double refined(function f, double a, double b, double whole, double tolerance, int *calls) {
    double m = (a + b) / 2, left = simpson(f, a, m, 2), right = simpson(f, m, b, 2);
    double error = left + right - whole;
    ++*calls;
    if (fabs(error) < 15 * tolerance) return left + right + error / 15;
    return refined(f, a, m, left, tolerance / 2, calls) + refined(f, m, b, right, tolerance / 2, calls);
}

static double gauss(function f, double a, double b) {
    static const double nodes[3] = {0.2386191860831969, 0.6612093864662645, 0.9324695142031521};
    static const double weights[3] = {0.4679139345726910, 0.3607615730481386, 0.1713244923791704};
    double middle = (a + b) / 2, half = (b - a) / 2, sum = 0;
    for (int i = 0; i < 3; i++)
        sum += weights[i] * (f(middle + half * nodes[i]) + f(middle - half * nodes[i]));
    return sum * half;
}

static double romberg(function f, double a, double b, int levels) {
    double r[8] = {(f(a) + f(b)) * (b - a) / 2};
    for (int k = 1; k < levels; k++) {
        double h = (b - a) / (1 << k), sum = 0, previous = r[0], power = 4;
        for (int i = 1; i < 1 << k; i += 2) sum += f(a + i * h);
        r[0] = r[0] / 2 + sum * h;
        for (int j = 1; j <= k; j++, power *= 4) {
            double kept = r[j];
            r[j] = r[j - 1] + (r[j - 1] - previous) / (power - 1);
            previous = kept;
        }
    }
    return r[levels - 1];
}

static double newton(function f, double x, int *steps) {
    for (*steps = 0; *steps < 30; ++*steps) {
        double h = 1e-6, slope = (f(x + h) - f(x - h)) / (2 * h), next = x - f(x) / slope;
        if (fabs(next - x) < 1e-12 * fabs(x)) return next;
        x = next;
    }
    return x;
}

static double bisect(function f, double low, double high) {
    for (int i = 0; i < 40; i++) {
        double middle = low + (high - low) / 2;
        if ((f(middle) > 0) == (f(high) > 0))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static double golden(function f, double a, double b) {
    const double ratio = 0.6180339887498949;
    double x = b - ratio * (b - a), y = a + ratio * (b - a), fx = f(x), fy = f(y);
    while (b - a > 1e-4) {
        if (fx < fy)
            b = y, y = x, fy = fx, x = b - ratio * (b - a), fx = f(x);
        else
            a = x, x = y, fx = fy, y = a + ratio * (b - a), fy = f(y);
    }
    return (a + b) / 2;
}

static double spline(const double *x, const double *y, int n, double at) { /* natural, cubic */
    double c[8] = {0}, d[8] = {0}, second[8] = {0};
    for (int i = 1; i < n - 1; i++) {
        double h = x[i] - x[i - 1], g = x[i + 1] - x[i], p = 2 * (h + g) - h * c[i - 1];
        c[i] = g / p;
        d[i] = (6 * ((y[i + 1] - y[i]) / g - (y[i] - y[i - 1]) / h) - h * d[i - 1]) / p;
    }
    for (int i = n - 2; i > 0; i--) second[i] = d[i] - c[i] * second[i + 1];
    int k = 0;
    while (k < n - 2 && at > x[k + 1]) k++;
    double h = x[k + 1] - x[k], a = (x[k + 1] - at) / h, b = (at - x[k]) / h;
    return a * y[k] + b * y[k + 1] + ((a * a * a - a) * second[k] + (b * b * b - b) * second[k + 1]) * h * h / 6;
}

int main(void) {
    int calls = 0, steps;
    printf("simpson  %.12f\n", 4 * simpson(bell, 0, 1, 16));
    printf("refined  %.12f", 4 * refined(bell, 0, 1, simpson(bell, 0, 1, 2), 1e-8, &calls));
    printf(" %d calls\n", calls);
    printf("gauss    %.12f\n", 4 * gauss(bell, 0, 1));
    printf("romberg  %.12f\n", 4 * romberg(bell, 0, 1, 5));
    printf("wave     %.9f\n", gauss(wave, 0, 2));
    printf("newton   %.12f", newton(cubic, 2, &steps));
    printf(" %d steps\n", steps);
    printf("bisect   %.9f\n", bisect(cubic, 2, 3));
    printf("golden   %.3f\n", golden(valley, 0.5, 3));
    const double x[5] = {0, 1, 2, 3, 4}, y[5] = {0, 1, 0, -1, 0.5};
    for (double at = 0.25; at < 4; at += 0.75) printf("spline   %.2f %.9f\n", at, spline(x, y, 5, at));
    double tiny = DBL_MIN, bits = 1;
    for (int i = 0; i < 3; i++) tiny /= 8;
    while (1 + bits / 2 != 1) bits /= 2;
    uint64_t pattern;
    memcpy(&pattern, &tiny, 8);
    printf("%.6e %016llx %a %d\n", tiny, (unsigned long long)pattern, bits, fpclassify(tiny) == FP_SUBNORMAL);
    printf("%g %g %d %g\n", 1 / -0.0, floor(-0.5), isnan(0.0 / (tiny - tiny)), nextafter(1, 2) - 1);
    return 0;
}
