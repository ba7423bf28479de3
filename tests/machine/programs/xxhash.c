/* XXH64, and a hash of short keys that folds 128-bit products, in the manner of XXH3. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t u64;
typedef unsigned __int128 u128;

static const u64 P1 = 0x9E3779B185EBCA87ULL, P2 = 0xC2B2AE3D27D4EB4FULL, P3 = 0x165667B19E3779F9ULL,
                 P4 = 0x85EBCA77C2B2AE63ULL, P5 = 0x27D4EB2F165667C5ULL;
static const uint32_t Q1 = 0x9E3779B1U;

static u64 rotl(u64 x, int r) { return (x << r) | (x >> (64 - r)); }

static u64 read64(const uint8_t *p) {
    u64 x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint32_t read32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static u64 round64(u64 acc, u64 input) { return rotl(acc + input * P2, 31) * P1; }

static u64 avalanche(u64 h) {
    h ^= h >> 33;
    h *= P2;
    h ^= h >> 29;
    h *= P3;
    return h ^ (h >> 32);
}

static u64 xxh64(const uint8_t *p, size_t len, u64 seed) {
    const uint8_t *end = p + len;
    u64 h;
    if (len >= 32) {
        u64 v[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; end - p >= 32; p += 32)
            for (int i = 0; i < 4; i++) v[i] = round64(v[i], read64(p + 8 * i));
        h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
        for (int i = 0; i < 4; i++) h = (h ^ round64(0, v[i])) * P1 + P4;
    } else {
        h = seed + P5;
    }
    h += len;
    for (; end - p >= 8; p += 8) h = rotl(h ^ round64(0, read64(p)), 27) * P1 + P4;
    if (end - p >= 4) {
        h = rotl(h ^ (u64)read32(p) * P1, 23) * P2 + P3;
        p += 4;
    }
    for (; p < end; p++) h = rotl(h ^ *p * P5, 11) * P1;
    return avalanche(h);
}

static u64 fold128(u64 a, u64 b) {
    u128 product = (u128)a * b;
    return (u64)product ^ (u64)(product >> 64);
}

static u64 mix3(u64 h) {
    h ^= h >> 37;
    h *= 0x165667919E3779F9ULL;
    return h ^ (h >> 32);
}

static u64 short_hash(const uint8_t *p, size_t len, u64 seed, const uint8_t *secret) {
    if (len > 16) {
        u64 acc = len * P1;
        for (size_t i = 0; i + 16 <= len; i += 16)
            acc += fold128(read64(p + i) ^ (read64(secret + i) + seed),
                           read64(p + i + 8) ^ (read64(secret + i + 8) - seed));
        acc += fold128(read64(p + len - 16) ^ seed, read64(p + len - 8) ^ read64(secret + 3));
        return mix3(acc);
    }
    if (len > 8) {
        u64 low = read64(p) ^ ((read64(secret + 24) ^ read64(secret + 32)) + seed);
        u64 high = read64(p + len - 8) ^ ((read64(secret + 40) ^ read64(secret + 48)) - seed);
        return mix3(len + __builtin_bswap64(low) + high + fold128(low, high));
    }
    if (len >= 4) {
        seed ^= (u64)__builtin_bswap32((uint32_t)seed) << 32;
        u64 both = read32(p + len - 4) + ((u64)read32(p) << 32);
        u64 h = both ^ ((read64(secret + 8) ^ read64(secret + 16)) - seed);
        h ^= rotl(h, 49) ^ rotl(h, 24);
        h *= 0x9FB21C651E98DF25ULL;
        h ^= (h >> 35) + len;
        h *= 0x9FB21C651E98DF25ULL;
        return h ^ (h >> 28);
    }
    if (len == 0) return avalanche(seed ^ read64(secret + 56));
    uint32_t combined = (uint32_t)p[0] << 16 | (uint32_t)p[len >> 1] << 24 | p[len - 1] |
                        (uint32_t)len << 8;
    return avalanche((u64)combined ^ ((read32(secret) ^ read32(secret + 4)) + seed));
}

int main(void) {
    static uint8_t data[300], secret[192];
    uint32_t generator = Q1;
    u64 stream = 0;
    for (size_t i = 0; i < sizeof data; i++, generator *= generator) data[i] = generator >> 24;
    for (size_t i = 0; i < sizeof secret; i++) {
        stream += P1;
        secret[i] = avalanche(stream) >> 56;
    }
    const char *text = "Nobody inspects the spammish repetition";
    printf("empty    %016llx\n", (unsigned long long)xxh64(data, 0, 0));
    printf("spammish %016llx\n", (unsigned long long)xxh64((const uint8_t *)text, strlen(text), 0));
    for (size_t len = 1; len <= sizeof data; len = len * 5 / 3 + 1)
        printf("%3zu %016llx %016llx\n", len, (unsigned long long)xxh64(data, len, 0),
               (unsigned long long)xxh64(data, len, P1));
    u64 all = 0;
    for (size_t len = 0; len <= 96; len++) {
        u64 h = short_hash(data, len, len * P3, secret);
        all = all * 31 + h;
        if (len % 12 < 2) printf("%3zu %016llx\n", len, (unsigned long long)h);
    }
    printf("all %llu\n", (unsigned long long)all);
    return 0;
}
