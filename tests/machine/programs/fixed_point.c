/* Fixed-point arithmetic of 16.16 and 2.30: CORDIC, square roots, logarithms, a filter, a rotation. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int32_t q16;
#define ONE 65536
#define Q(x) ((q16)((x) * 65536.0 + ((x) < 0 ? -0.5 : 0.5)))

static q16 mul(q16 a, q16 b) { return (q16)(((int64_t)a * b + 0x8000) >> 16); }
static q16 divide(q16 a, q16 b) { return (q16)(((int64_t)a * 65536) / b); }
static q16 saturate(int64_t x) { return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (q16)x; }

static const int32_t angles[20] = { /* arc tangents of 2^-i, with 30 bits behind the point */
    843314857, 497837829, 263043837, 133525159, 67021687, 33543516, 16775851, 8388437, 4194283, 2097149,
    1048576,   524288,    262144,    131072,    65536,    32768,    16384,    8192,    4096,    2048};

static void cordic(int32_t angle, int32_t *cosine, int32_t *sine) {
    int32_t x = 652032874, y = 0; /* the product of all cosines */
    for (int i = 0; i < 20; i++) {
        int32_t dx = y >> i, dy = x >> i;
        if (angle >= 0)
            x -= dx, y += dy, angle -= angles[i];
        else
            x += dx, y -= dy, angle += angles[i];
    }
    *cosine = x, *sine = y;
}

static int32_t arc_tangent(int32_t y, int32_t x) {
    int32_t angle = 0;
    for (int i = 0; i < 20; i++) {
        int32_t dx = y >> i, dy = x >> i;
        if (y > 0)
            x += dx, y -= dy, angle += angles[i];
        else
            x -= dx, y += dy, angle -= angles[i];
    }
    return angle;
}

static uint32_t integer_root(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = 1ULL << 62; bit; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root;
}

static q16 square_root(q16 x) { return (q16)integer_root((uint64_t)x << 16); }

static q16 logarithm2(q16 x) {
    int whole = 15 - __builtin_clz((uint32_t)x);
    uint64_t y = whole >= 0 ? (uint64_t)x << 15 >> whole : (uint64_t)x << (15 - whole); /* 1.31 */
    q16 result = whole * ONE;
    for (q16 bit = ONE / 2; bit; bit /= 2) {
        y = y * y >> 31;
        if (y >= 1ULL << 32) y >>= 1, result += bit;
    }
    return result;
}

static q16 power2(q16 x) {
    q16 fraction = x & 0xFFFF;
    int64_t sum = ONE, term = ONE;
    for (int n = 1; n < 8; n++) {
        term = term * fraction / n * 45426 >> 32; /* times ln 2 */
        sum += term;
    }
    return (q16)(x >= 0 ? sum << (x >> 16) : sum >> -(x >> 16));
}

static void print(const char *name, q16 x) {
    int64_t size = x < 0 ? -(int64_t)x : x, micro = (size * 1000000 + 0x8000) >> 16;
    printf("%s %s%lld.%06lld\n", name, x < 0 ? "-" : "", (long long)(micro / 1000000), (long long)(micro % 1000000));
}

int main(void) {
    for (int degrees = -60; degrees <= 90; degrees += 50) {
        int32_t c, s;
        cordic((int32_t)((int64_t)degrees * 3373259426LL / 180), &c, &s);
        printf("%3d cos %11d sin %11d, %lld\n", degrees, c, s, (long long)(((int64_t)c * c + (int64_t)s * s) >> 30));
    }
    printf("%d %d\n", arc_tangent(1 << 28, 1 << 28), arc_tangent(-(1 << 27), 1 << 29));
    print("sqrt 2", square_root(2 * ONE));
    print("sqrt 30000", square_root(30000 * ONE));
    print("log2 10", logarithm2(10 * ONE));
    print("log2 0.3", logarithm2(Q(0.3)));
    print("2^2.5", power2(Q(2.5)));
    print("2^-1.25", power2(Q(-1.25)));
    print("-7.5 * 1.1", mul(Q(-7.5), Q(1.1)));
    print("-1 / 3", divide(-ONE, 3 * ONE));
    print("too large", saturate((int64_t)Q(30000) * 2));
    q16 state = 0, peak = 0;
    for (int n = 0; n < 32; n++) {
        q16 input = n % 8 < 4 ? ONE : -ONE;
        state += mul(input - state, Q(0.2));
        if (abs(state) > peak) peak = abs(state);
    }
    print("filtered", state);
    print("peak", peak);
    printf("%u %u\n", integer_root(UINT64_MAX), integer_root(999999999999ULL));
    return 0;
}
