/* Generators of random numbers: PCG32, PCG64, xoshiro256**, xorshift128+, splitmix64, wyrand, LCGs. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 u128;

static uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

static uint32_t pcg32(uint64_t *state, uint64_t stream) {
    uint64_t old = *state;
    *state = old * 6364136223846793005ULL + (stream << 1 | 1);
    uint32_t shifted = (uint32_t)((old >> 18 ^ old) >> 27), by = (uint32_t)(old >> 59);
    return shifted >> by | shifted << (-by & 31);
}

static uint64_t pcg64(u128 *state) {
    const u128 multiplier = (u128)2549297995355413924ULL << 64 | 4865540595714422341ULL;
    const u128 increment = (u128)6364136223846793005ULL << 64 | 1442695040888963407ULL;
    *state = *state * multiplier + increment;
    uint64_t folded = (uint64_t)(*state >> 64) ^ (uint64_t)*state;
    unsigned by = (unsigned)(*state >> 122);
    return folded >> by | folded << (-by & 63);
}

typedef struct {
    uint64_t s[4];
} xoshiro;

static uint64_t xoshiro_next(xoshiro *x) {
    uint64_t *s = x->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

static void xoshiro_jump(xoshiro *x) {
    static const uint64_t jump[] = {0x180ec6d33cfd0abaULL, 0xd5a61266f0c9392cULL, 0xa9582618e03fc9aaULL,
                                    0x39abdc4529b1661cULL};
    xoshiro sum = {{0}};
    for (int i = 0; i < 4; i++)
        for (int b = 0; b < 64; b++) {
            if (jump[i] >> b & 1)
                for (int k = 0; k < 4; k++) sum.s[k] ^= x->s[k];
            xoshiro_next(x);
        }
    *x = sum;
}

static uint64_t xorshift_plus(uint64_t s[2]) {
    uint64_t a = s[0], b = s[1];
    s[0] = b;
    a ^= a << 23;
    s[1] = a ^ b ^ a >> 18 ^ b >> 5;
    return s[1] + b;
}

static uint64_t wyrand(uint64_t *seed) {
    *seed += 0xa0761d6478bd642fULL;
    u128 t = (u128)*seed * (*seed ^ 0xe7037ed1a0b428dbULL);
    return (uint64_t)(t >> 64) ^ (uint64_t)t;
}

static uint32_t minimal(uint32_t *x) { return *x = (uint32_t)((uint64_t)*x * 48271 % 2147483647); }

static uint32_t below(uint64_t *state, uint32_t bound) { /* Lemire's, without bias */
    for (;;) {
        uint64_t product = (uint64_t)pcg32(state, 54) * bound;
        if ((uint32_t)product >= -bound % bound) return (uint32_t)(product >> 32);
    }
}

int main(void) {
    uint64_t seed = 1234567, pcg = 42, plus[2] = {1, 2}, wy = 7, sum = 0;
    u128 wide = (u128)0x0123456789abcdefULL << 64 | 0xfedcba9876543210ULL;
    uint32_t small = 1;
    xoshiro x;
    for (int i = 0; i < 4; i++) printf("%016" PRIx64 "\n", x.s[i] = splitmix(&seed));
    for (int i = 0; i < 3; i++)
        printf("%08" PRIx32 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %10" PRIu32 "\n", pcg32(&pcg, 54),
               pcg64(&wide), xoshiro_next(&x), xorshift_plus(plus), wyrand(&wy), minimal(&small));
    for (int i = 0; i < 100; i++) sum ^= pcg64(&wide) + wyrand(&wy) * 3 - xorshift_plus(plus);
    printf("%016" PRIx64 "\n", sum);
    for (int i = 0; i < 200; i++) minimal(&small);
    printf("%" PRIu32 "\n", small);
    xoshiro_jump(&x);
    printf("%016" PRIx64 "\n", xoshiro_next(&x));
    unsigned counts[6] = {0};
    for (int i = 0; i < 300; i++) counts[below(&pcg, 6)]++;
    for (int i = 0; i < 6; i++) printf("%u%c", counts[i], i == 5 ? '\n' : ' ');
    char deck[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (uint32_t i = 25; i > 0; i--) {
        uint32_t j = below(&pcg, i + 1);
        char t = deck[i];
        deck[i] = deck[j], deck[j] = t;
    }
    puts(deck);
    int inside = 0;
    for (int i = 0; i < 60; i++) {
        double a = (double)(xoshiro_next(&x) >> 11) * 0x1p-53, b = (double)(xoshiro_next(&x) >> 11) * 0x1p-53;
        inside += a * a + b * b < 1;
        if (i % 20 == 0) printf("%.17g %.9f\n", a, b);
    }
    printf("pi is about %.3f\n", 4 * inside / 60.0);
    return 0;
}
