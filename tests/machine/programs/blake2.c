/* BLAKE2s and BLAKE2b: the same algorithm over words of 32 and of 64 bits. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static const uint64_t iv[8] = {
    0x6a09e667f3bcc908ULL, 0xbb67ae8584caa73bULL, 0x3c6ef372fe94f82bULL, 0xa54ff53a5f1d36f1ULL,
    0x510e527fade682d1ULL, 0x9b05688c2b3e6c1fULL, 0x1f83d9abfb41bd6bULL, 0x5be0cd19137e2179ULL,
};

#define DEFINE_BLAKE(name, word, bits, rounds, r1, r2, r3, r4)                                   \
    static word name##_rotate(word x, int n) { return (word)(x >> n | x << (bits - n)); }        \
    static void name##_mix(word *v, int a, int b, int c, int d, word x, word y) {                \
        v[a] += v[b] + x;                                                                        \
        v[d] = name##_rotate(v[d] ^ v[a], r1);                                                   \
        v[c] += v[d];                                                                            \
        v[b] = name##_rotate(v[b] ^ v[c], r2);                                                   \
        v[a] += v[b] + y;                                                                        \
        v[d] = name##_rotate(v[d] ^ v[a], r3);                                                   \
        v[c] += v[d];                                                                            \
        v[b] = name##_rotate(v[b] ^ v[c], r4);                                                   \
    }                                                                                            \
    static void name##_block(word h[8], const uint8_t *p, uint64_t counted, int last) {          \
        word v[16], m[16];                                                                       \
        for (int i = 0; i < 16; i++) {                                                           \
            m[i] = 0;                                                                            \
            for (int k = bits / 8; k-- > 0;) m[i] = (word)(m[i] << 8 | p[i * (bits / 8) + k]);   \
        }                                                                                        \
        for (int i = 0; i < 8; i++) v[i] = h[i], v[i + 8] = (word)(iv[i] >> (64 - bits));        \
        v[12] ^= (word)counted;                                                                  \
        v[13] ^= (word)(bits == 32 ? counted >> 32 : 0);                                         \
        if (last) v[14] = ~v[14];                                                                \
        for (int r = 0; r < rounds; r++) {                                                       \
            const uint8_t *s = sigma[r % 10];                                                    \
            for (int i = 0; i < 4; i++)                                                          \
                name##_mix(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);            \
            for (int i = 0; i < 4; i++)                                                          \
                name##_mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4,             \
                           m[s[8 + 2 * i]], m[s[9 + 2 * i]]);                                    \
        }                                                                                        \
        for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];                                     \
    }                                                                                            \
    static void name(uint8_t *out, int out_len, const char *text, size_t len) {                  \
        word h[8];                                                                               \
        uint8_t block[bits * 2];                                                                 \
        for (int i = 0; i < 8; i++) h[i] = (word)(iv[i] >> (64 - bits));                         \
        h[0] ^= 0x01010000 ^ (word)out_len;                                                      \
        size_t at = 0;                                                                           \
        for (; len - at > sizeof block; at += sizeof block)                                      \
            name##_block(h, (const uint8_t *)text + at, at + sizeof block, 0);                   \
        memset(block, 0, sizeof block);                                                          \
        memcpy(block, text + at, len - at);                                                      \
        name##_block(h, block, len, 1);                                                          \
        for (int i = 0; i < out_len; i++)                                                        \
            out[i] = (uint8_t)(h[i / (bits / 8)] >> 8 * (i % (bits / 8)));                       \
    }

DEFINE_BLAKE(blake2s, uint32_t, 32, 10, 16, 12, 8, 7)
DEFINE_BLAKE(blake2b, uint64_t, 64, 12, 32, 24, 16, 63)

static void show(const char *name, const uint8_t *bytes, int count) {
    printf("%-10s", name);
    for (int i = 0; i < count; i++) printf("%02x", bytes[i]);
    printf("\n");
}

int main(void) {
    uint8_t out[64];
    char text[200];
    for (int i = 0; i < 200; i++) text[i] = (char)(i * 7 + 1);
    blake2s(out, 32, "abc", 3);
    show("2s abc", out, 32);
    blake2b(out, 64, "abc", 3);
    show("2b abc", out, 64);
    blake2s(out, 20, text, 200);
    show("2s 200", out, 20);
    blake2b(out, 32, text, 200);
    show("2b 200", out, 32);
    blake2b(out, 16, text, 128);
    show("2b 128", out, 16);
    return 0;
}
