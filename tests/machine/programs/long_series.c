/* Sums in long double: Kahan's beside the plain ones, series for e, pi and logarithms, conversions. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double plain(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double kahan(const double *x, int n) {
    double sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double y = x[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

static double neumaier(const double *x, int n) {
    double sum = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        double t = sum + x[i];
        lost += fabs(sum) >= fabs(x[i]) ? (sum - t) + x[i] : (x[i] - t) + sum;
        sum = t;
    }
    return sum + lost;
}

static long double wide_sum(const double *x, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

static double pairwise(const double *x, int n) {
    if (n <= 2) return n == 2 ? x[0] + x[1] : n == 1 ? x[0] : 0;
    return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

static long double exponential(long double x) {
    long double term = 1, sum = 1;
    for (int n = 1; n < 40 && term > 1e-35L * sum; n++) sum += term *= x / n;
    return sum;
}

static long double logarithm(long double x) { /* 2 artanh((x - 1) / (x + 1)) */
    long double z = (x - 1) / (x + 1), power = z, sum = 0;
    for (int n = 1; n < 60; n += 2, power *= z * z) sum += power / n;
    return 2 * sum;
}

static long double arc_tangent(int inverse) {
    long double power = 1.0L / inverse, sum = 0;
    for (int n = 1; n < 40; n += 2, power /= (long double)inverse * inverse) sum += n % 4 == 1 ? power / n : -power / n;
    return sum;
}

static long double most(int count, ...) {
    va_list list;
    va_start(list, count);
    long double best = va_arg(list, long double);
    while (--count > 0) {
        long double x = va_arg(list, long double);
        if (x > best) best = x;
    }
    va_end(list);
    return best;
}

int main(void) {
    double x[60];
    for (int i = 0; i < 60; i++) x[i] = i % 3 == 0 ? 1e16 : i % 3 == 1 ? 1.0 / (i + 1) : -1e16;
    printf("plain %.17g pairwise %.17g\n", plain(x, 60), pairwise(x, 60));
    printf("kahan %.17g neumaier %.17g\n", kahan(x, 60), neumaier(x, 60));
    printf("wide  %.25Lg\n", wide_sum(x, 60));
    printf("e  %.33Lf\n", exponential(1));
    printf("pi %.33Lf\n", 16 * arc_tangent(5) - 4 * arc_tangent(239));
    printf("ln 2 %.25Lf\n", logarithm(2));
    printf("e^-2 %.20Lf\n", 1 / exponential(2));
    printf("%.20Lf %.10Le\n", strtold("0.1", NULL), strtold("-123456789012345678901234567890e10", NULL));
    long double big = 9007199254740993.0L;
    printf("%" PRId64 " %.1f %.1Lf\n", (int64_t)big, (double)big, big);
    printf("%" PRIu64 " %d\n", (uint64_t)(big * 1024), (int)-2.75L);
    printf("%.20Lg %.20Lg\n", (long double)UINT64_MAX, (long double)(float)0.1);
    printf("%Lg\n", most(4, 1.5L, -2.0L, 1e300L * 1e10L, 7.0L));
    printf("%.10Lf %.10Lf %.3Lf\n", floorl(-2.5L), fmodl(10, 3.25L), ldexpl(0.75L, 3));
    printf("%d %d %d\n", big > 9007199254740992.0L, big == 9007199254740993.0L, (double)big == big);
    return 0;
}
