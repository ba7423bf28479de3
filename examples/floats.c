/* Floating-point numbers: how they print, and what math.h makes of them.
 *
 *   curta run examples/floats.c
 *   curta run examples/floats.c 0.1 1e100 -inf
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void show(double x) {
    printf("%-12g %.3f %.17g %e %a\n", x, x, x, x, x);
}

static void functions(void) {
    static const double numbers[] = {0.5, 1, 2, 10};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double x = numbers[i];
        printf("x=%g sqrt=%.15g exp=%.15g log=%.15g sin=%.15g cos=%.15g pow(x,x)=%.15g\n", x,
               sqrt(x), exp(x), log(x), sin(x), cos(x), pow(x, x));
    }
    printf("floor(-1.5)=%g ceil(-1.5)=%g trunc(-1.5)=%g rint(2.5)=%g fmod(7,-3)=%g hypot(3,4)=%g\n",
           floor(-1.5), ceil(-1.5), trunc(-1.5), rint(2.5), fmod(7, -3), hypot(3, 4));
}

static void limits(void) {
    volatile double zero = 0, large = DBL_MAX;
    volatile float third = 1.0f / 3.0f;
    show(DBL_MAX);
    show(DBL_MIN / 4503599627370496.0); /* the smallest of all */
    show(1 / zero);
    show(-1 / (large * large));
    printf("nan is %s itself; 0.1 + 0.2 %s 0.3; a third as float is %.9g\n",
           zero / zero == zero / zero ? "equal to" : "not equal to",
           0.1 + 0.2 == 0.3 ? "equals" : "is not", third);
}

static void series(void) {
    double pi = 0;
    float sum = 0;
    for (int i = 0; i < 1000; i++) {
        pi += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
        sum += 0.001f;
    }
    printf("pi is about %.12f, and a thousand thousandths are %.9f\n", pi, sum);
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        show(strtod(words[i], NULL));
    }
    if (count == 1) {
        show(0.1);
        show(-1234567.875);
        show(6.02214076e23);
        functions();
        limits();
        series();
    }
    return 0;
}
