/* Mersenne twisters of 32 and 64 bits, and what is drawn from them: normals, shuffles, samples. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define N64 312
#define M64 156
#define N32 624
#define M32 397

static uint64_t mt64[N64];
static uint32_t mt32[N32];
static int left64, left32;

static void seed64(uint64_t seed) {
    mt64[0] = seed;
    for (unsigned i = 1; i < N64; i++) mt64[i] = 6364136223846793005ULL * (mt64[i - 1] ^ mt64[i - 1] >> 62) + i;
    left64 = 0;
}

static uint64_t next64(void) {
    if (left64 == 0) {
        for (int i = 0; i < N64; i++) {
            uint64_t x = (mt64[i] & 0xFFFFFFFF80000000ULL) | (mt64[(i + 1) % N64] & 0x7FFFFFFFULL);
            mt64[i] = mt64[(i + M64) % N64] ^ x >> 1 ^ (x & 1 ? 0xB5026F5AA96619E9ULL : 0);
        }
        left64 = N64;
    }
    uint64_t x = mt64[N64 - left64--];
    x ^= x >> 29 & 0x5555555555555555ULL;
    x ^= x << 17 & 0x71D67FFFEDA60000ULL;
    x ^= x << 37 & 0xFFF7EEE000000000ULL;
    return x ^ x >> 43;
}

static void seed32(uint32_t seed) {
    mt32[0] = seed;
    for (uint32_t i = 1; i < N32; i++) mt32[i] = 1812433253u * (mt32[i - 1] ^ mt32[i - 1] >> 30) + i;
    left32 = 0;
}

static uint32_t next32(void) {
    if (left32 == 0) {
        for (int i = 0; i < N32; i++) {
            uint32_t x = (mt32[i] & 0x80000000u) | (mt32[(i + 1) % N32] & 0x7FFFFFFFu);
            mt32[i] = mt32[(i + M32) % N32] ^ x >> 1 ^ (0x9908B0DFu & -(x & 1));
        }
        left32 = N32;
    }
    uint32_t x = mt32[N32 - left32--];
    x ^= x >> 11;
    x ^= x << 7 & 0x9D2C5680u;
    x ^= x << 15 & 0xEFC60000u;
    return x ^ x >> 18;
}

static double uniform(void) { return (double)(next64() >> 11) / 9007199254740992.0; }

static double normal(void) { /* Marsaglia's polar method */
    for (;;) {
        double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
        if (s > 0 && s < 1) return u * sqrt(-2 * log(s) / s);
    }
}

int main(void) {
    seed64(5489);
    for (int i = 0; i < 3; i++) printf("%" PRIu64 "\n", next64());
    uint64_t sum = 0;
    for (int i = 3; i < 400; i++) sum = sum * 3 + next64();
    printf("%" PRIu64 "\n", sum);
    seed32(5489);
    uint32_t last = 0;
    for (int i = 0; i < 1000; i++) {
        last = next32();
        if (i < 3) printf("%" PRIu32 "\n", last);
    }
    printf("the thousandth %" PRIu32 "\n", last);
    double mean = 0, square = 0;
    for (int i = 0; i < 20; i++) {
        double x = normal();
        mean += x / 20, square += x * x / 20;
    }
    printf("mean %.12f, deviation %.12f\n", mean, sqrt(square - mean * mean));
    int reservoir[5];
    for (int i = 0; i < 100; i++) {
        uint32_t place = i < 5 ? (uint32_t)i : next32() % (uint32_t)(i + 1);
        if (place < 5) reservoir[place] = i;
    }
    for (int i = 0; i < 5; i++) printf("%d%c", reservoir[i], i == 4 ? '\n' : ' ');
    return 0;
}
