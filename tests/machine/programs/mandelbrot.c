/* The Mandelbrot set in characters (doubles), a Julia set in fixed point, a Newton fractal in floats. */
#include <stdint.h>
#include <stdio.h>

static int escape(double cx, double cy, int most) {
    double x = 0, y = 0;
    for (int n = 0; n < most; n++) {
        double x2 = x * x, y2 = y * y;
        if (x2 + y2 > 4) return n;
        y = 2 * x * y + cy;
        x = x2 - y2 + cx;
    }
    return most;
}

static int32_t fixed_mul(int32_t a, int32_t b) { /* 28 bits behind the point */
    return (int32_t)(((int64_t)a * b + (1 << 27)) >> 28);
}

static int julia(int32_t x, int32_t y, int most) {
    const int32_t cx = (int32_t)(-0.8 * (1 << 28)), cy = (int32_t)(0.156 * (1 << 28));
    for (int n = 0; n < most; n++) {
        int32_t x2 = fixed_mul(x, x), y2 = fixed_mul(y, y);
        if (x2 + y2 > (int32_t)(1.9 * (1 << 28)) || x2 < 0 || y2 < 0) return n;
        y = 2 * fixed_mul(x, y) + cy;
        x = x2 - y2 + cx;
    }
    return most;
}

static int newton(float x, float y) { /* which root of z^3 = 1 */
    for (int n = 0; n < 6; n++) {
        float x2 = x * x, y2 = y * y, d = 3 * (x2 + y2) * (x2 + y2);
        if (d == 0) return 0;
        float nx = (2 * x * d + 3 * (x2 - y2)) / (3 * d);
        y = (2 * y * d - 6 * x * y) / (3 * d);
        x = nx;
    }
    return x > 0.5f ? 1 : y > 0 ? 2 : 3;
}

int main(void) {
    static const char shades[] = " .:-=+*%@#";
    unsigned total = 0;
    for (int row = 0; row < 11; row++) {
        for (int column = 0; column < 32; column++) {
            int n = escape(-2.1 + column * 0.09, -1.2 + row * 0.24, 18);
            putchar(shades[n / 2]);
            total += (unsigned)n;
        }
        putchar('\n');
    }
    printf("%u iterations\n", total);
    for (int row = 0; row < 9; row++) {
        for (int column = 0; column < 32; column++)
            putchar(shades[julia((column - 16) * (1 << 24) * 3 / 2, (row - 4) * (1 << 25) * 2, 18) / 2]);
        putchar('\n');
    }
    for (int row = 0; row < 5; row++) {
        for (int column = 0; column < 12; column++)
            putchar("?123"[newton(-1.1f + 0.2f * (float)column, -1.0f + 0.49f * (float)row)]);
        putchar('\n');
    }
    return 0;
}
