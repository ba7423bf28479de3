#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    printf("hello, world\n");
    double values[] = {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 3.141592653589793, -2.5e-7, 123456789.125};
    for (int i = 0; i < 9; i++) {
        printf("%g %.17g %f %e %.3f %a\n", values[i], values[i], values[i] < 1e20 ? values[i] : 0,
               values[i], sqrt(fabs(values[i])), values[i]);
    }
    printf("%d %u %lld %llx %c %s %%|%8.3f|%-8d|%08x\n", -5, 4000000000u, -9000000000LL,
           0xfedcba9876543210ULL, 'x', "text", 2.71828, 42, 0xbeef);
    printf("%g %g %g\n", strtod("2.2250738585072011e-308", NULL), atof("1e23"), INFINITY);
    fprintf(stderr, "to the other stream\n");
    return 0;
}
