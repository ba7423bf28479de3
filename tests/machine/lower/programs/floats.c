/* Doubles: planets on their way, and a set. */
#include <math.h>
#include <stdio.h>

static double x[3] = {0, 5.2, -3.1}, v[3] = {0.1, -0.4, 0.7}, m[3] = {10, 1, 0.5};

int main(void) {
    for (int t = 0; t < 40; t++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                if (i == j) continue;
                double d = x[j] - x[i], r = sqrt(d * d + 0.01);
                v[i] += 0.01 * m[j] * d / (r * r * r);
            }
        for (int i = 0; i < 3; i++) x[i] += 0.01 * v[i];
    }
    int inside = 0;
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
            double a = 0, b = 0, ca = i / 4.0 - 2, cb = j / 5.0 - 1.2;
            int n = 0;
            for (; n < 10 && a * a + b * b < 4; n++) {
                double next = a * a - b * b + ca;
                b = 2 * a * b + cb, a = next;
            }
            inside += n == 10;
        }
    printf("%.9f %.9f %.9f %d\n", x[0], x[1], x[2], inside);
    return 0;
}
