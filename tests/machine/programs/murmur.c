/* Non-cryptographic hashes: MurmurHash3 (32 bits and 128 bits for x64), FNV-1a, Jenkins, djb2. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotl32(uint32_t x, int r) { return x << r | x >> (32 - r); }
static uint64_t rotl64(uint64_t x, int r) { return x << r | x >> (64 - r); }

static uint64_t mix64(uint64_t k) {
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdULL;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ULL;
    return k ^ k >> 33;
}

static void murmur128(const void *key, size_t len, uint32_t seed, uint64_t out[2]) {
    const uint64_t c1 = 0x87c37b91114253d5ULL, c2 = 0x4cf5ad432745937fULL;
    const uint8_t *data = key, *tail = data + len / 16 * 16;
    uint64_t h1 = seed, h2 = seed, k1, k2;
    for (; data != tail; data += 16) {
        memcpy(&k1, data, 8);
        memcpy(&k2, data + 8, 8);
        h1 ^= rotl64(k1 * c1, 31) * c2;
        h1 = (rotl64(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rotl64(k2 * c2, 33) * c1;
        h2 = (rotl64(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    k1 = k2 = 0;
    switch (len & 15) {
    case 15: k2 ^= (uint64_t)tail[14] << 48; /* fall through */
    case 14: k2 ^= (uint64_t)tail[13] << 40; /* fall through */
    case 13: k2 ^= (uint64_t)tail[12] << 32; /* fall through */
    case 12: k2 ^= (uint64_t)tail[11] << 24; /* fall through */
    case 11: k2 ^= (uint64_t)tail[10] << 16; /* fall through */
    case 10: k2 ^= (uint64_t)tail[9] << 8;   /* fall through */
    case 9:
        k2 ^= (uint64_t)tail[8];
        h2 ^= rotl64(k2 * c2, 33) * c1; /* fall through */
    case 8: k1 ^= (uint64_t)tail[7] << 56; /* fall through */
    case 7: k1 ^= (uint64_t)tail[6] << 48; /* fall through */
    case 6: k1 ^= (uint64_t)tail[5] << 40; /* fall through */
    case 5: k1 ^= (uint64_t)tail[4] << 32; /* fall through */
    case 4: k1 ^= (uint64_t)tail[3] << 24; /* fall through */
    case 3: k1 ^= (uint64_t)tail[2] << 16; /* fall through */
    case 2: k1 ^= (uint64_t)tail[1] << 8;  /* fall through */
    case 1:
        k1 ^= (uint64_t)tail[0];
        h1 ^= rotl64(k1 * c1, 31) * c2;
    }
    h1 ^= len, h2 ^= len;
    h1 += h2, h2 += h1;
    h1 = mix64(h1), h2 = mix64(h2);
    h1 += h2, h2 += h1;
    out[0] = h1, out[1] = h2;
}

static uint32_t murmur32(const uint8_t *data, size_t len, uint32_t h) {
    uint32_t k;
    size_t at = 0;
    for (; at + 4 <= len; at += 4) {
        memcpy(&k, data + at, 4);
        h ^= rotl32(k * 0xcc9e2d51, 15) * 0x1b873593;
        h = rotl32(h, 13) * 5 + 0xe6546b64;
    }
    k = 0;
    for (size_t i = len; i-- > at;) k = k << 8 | data[i];
    h ^= rotl32(k * 0xcc9e2d51, 15) * 0x1b873593;
    h ^= (uint32_t)len;
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

static uint64_t fnv1a(const char *s) {
    uint64_t h = 14695981039346656037ULL;
    while (*s) h = (h ^ (uint8_t)*s++) * 1099511628211ULL;
    return h;
}

static uint32_t jenkins(const char *s) {
    uint32_t h = 0;
    while (*s) h += (uint8_t)*s++, h += h << 10, h ^= h >> 6;
    h += h << 3, h ^= h >> 11;
    return h + (h << 15);
}

static uint32_t djb2(const char *s) {
    uint32_t h = 5381;
    for (int c; (c = *s++);) h = h * 33 + (uint32_t)c;
    return h;
}

int main(void) {
    const char *text = "The quick brown fox jumps over the lazy dog, and away it goes.";
    uint64_t out[2], xored[2] = {0, 0};
    for (size_t n = 0; n <= strlen(text); n++) {
        murmur128(text, n, (uint32_t)n * 12345, out);
        xored[0] ^= out[0], xored[1] += out[1];
        if (n % 9 == 4)
            printf("%2zu %016" PRIx64 "%016" PRIx64 " %08" PRIx32 "\n", n, out[0], out[1],
                   murmur32((const uint8_t *)text, n, 1));
    }
    printf("%016" PRIx64 " %" PRIu64 "\n", xored[0], xored[1]);
    for (const char **s = (const char *[]){"", "a", "foobar", "hash me", NULL}; *s; s++)
        printf("%-8s %016" PRIx64 " %10" PRIu32 " %10" PRIu32 "\n", *s, fnv1a(*s), jenkins(*s),
               djb2(*s));
    return 0;
}
