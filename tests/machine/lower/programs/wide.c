/* Numbers of 64 bits: random ones, powers to a modulus, long chains. */
#include <stdint.h>
#include <stdio.h>

static uint64_t state = 88172645463325252ull;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t power(uint64_t b, uint64_t e, uint64_t m) {
    uint64_t r = 1;
    for (b %= m; e; e >>= 1, b = b * b % m)
        if (e & 1) r = r * b % m;
    return r;
}

int main(void) {
    uint64_t sum = 0;
    for (int i = 0; i < 300; i++) sum += next() >> 40;
    int64_t longest = 0;
    for (int64_t i = 1; i < 60; i++) {
        int64_t n = i, count = 0;
        for (; n != 1; count++) n = n % 2 ? 3 * n + 1 : n / 2;
        if (count > longest) longest = count;
    }
    printf("%llu %lld %llu\n", (unsigned long long)sum, (long long)longest,
           (unsigned long long)power(3, 1000000006, 1000000007));
    return 0;
}
