/* Small ciphers: XTEA, Speck128/128, Simon64/128, RC4, Salsa20 and a Feistel network. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void xtea(uint32_t v[2], const uint32_t k[4], int rounds, int back) {
    const uint32_t delta = 0x9E3779B9;
    uint32_t sum = back ? delta * (uint32_t)rounds : 0;
    for (int i = 0; i < rounds; i++) {
        if (back) {
            v[1] -= ((v[0] << 4 ^ v[0] >> 5) + v[0]) ^ (sum + k[sum >> 11 & 3]);
            sum -= delta;
            v[0] -= ((v[1] << 4 ^ v[1] >> 5) + v[1]) ^ (sum + k[sum & 3]);
        } else {
            v[0] += ((v[1] << 4 ^ v[1] >> 5) + v[1]) ^ (sum + k[sum & 3]);
            sum += delta;
            v[1] += ((v[0] << 4 ^ v[0] >> 5) + v[0]) ^ (sum + k[sum >> 11 & 3]);
        }
    }
}

#define ROR(x, r) ((x) >> (r) | (x) << (64 - (r)))
#define ROL(x, r) ((x) << (r) | (x) >> (64 - (r)))
#define SPECK_ROUND(x, y, k) (x = ROR(x, 8), x += y, x ^= k, y = ROL(y, 3), y ^= x)

static void speck(uint64_t text[2], const uint64_t key[2]) {
    uint64_t y = text[0], x = text[1], b = key[0], a = key[1];
    SPECK_ROUND(x, y, b);
    for (uint64_t i = 0; i < 31; i++) {
        SPECK_ROUND(a, b, i);
        SPECK_ROUND(x, y, b);
    }
    text[0] = y, text[1] = x;
}

static uint32_t left(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void simon(uint32_t *x, uint32_t *y, const uint32_t key[4]) {
    const uint64_t z3 = 0xfc2ce51207a635dbULL;
    uint32_t k[44];
    memcpy(k, key, 16);
    for (int i = 4; i < 44; i++) {
        uint32_t t = left(k[i - 1], 29) ^ k[i - 3];
        t ^= left(t, 31);
        k[i] = ~k[i - 4] ^ t ^ (uint32_t)(z3 >> (i - 4) % 62 & 1) ^ 3;
    }
    for (int i = 0; i < 44; i++) {
        uint32_t t = *x;
        *x = *y ^ (left(t, 1) & left(t, 8)) ^ left(t, 2) ^ k[i];
        *y = t;
    }
}

static void rc4(const char *key, char *text, size_t len) {
    uint8_t s[256], i = 0, j = 0, t;
    for (int n = 0; n < 256; n++) s[n] = (uint8_t)n;
    for (int n = 0; n < 256; n++) {
        j = (uint8_t)(j + s[n] + key[(size_t)n % strlen(key)]);
        t = s[n], s[n] = s[j], s[j] = t;
    }
    for (j = 0; len--; text++) {
        j = (uint8_t)(j + s[++i]);
        t = s[i], s[i] = s[j], s[j] = t;
        *text ^= (char)s[(uint8_t)(s[i] + s[j])];
    }
}

static void salsa20(uint32_t out[16], const uint32_t in[16]) {
    static const uint8_t order[8][4] = {{0, 4, 8, 12}, {5, 9, 13, 1}, {10, 14, 2, 6}, {15, 3, 7, 11},
                                        {0, 1, 2, 3},  {5, 6, 7, 4},  {10, 11, 8, 9}, {15, 12, 13, 14}};
    memcpy(out, in, 64);
    for (int round = 0; round < 80; round++) {
        const uint8_t *q = order[round % 8];
        for (int i = 0; i < 4; i++)
            out[q[(i + 1) % 4]] ^= left(out[q[i]] + out[q[(i + 3) % 4]], (int[]){7, 9, 13, 18}[i]);
    }
    for (int i = 0; i < 16; i++) out[i] += in[i];
}

static uint64_t feistel(uint64_t block, uint64_t key, int back) {
    uint32_t l = (uint32_t)(block >> 32), r = (uint32_t)block;
    for (int i = 0; i < 16; i++) {
        uint32_t k = (uint32_t)(key >> (back ? 15 - i : i));
        uint32_t f = (uint32_t)(((uint64_t)(r ^ k) * 0x9E3779B97F4A7C15ULL) >> 29);
        uint32_t t = l ^ f;
        l = r, r = t;
    }
    return (uint64_t)r << 32 | l;
}

int main(void) {
    uint32_t v[2] = {0x41424344, 0x45464748}, key[4] = {0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f};
    xtea(v, key, 32, 0);
    printf("xtea %08x %08x\n", v[0], v[1]);
    xtea(v, key, 32, 1);
    printf("back %08x %08x\n", v[0], v[1]);

    uint64_t text[2] = {0x7469206564616d20ULL, 0x6c61766975716520ULL};
    speck(text, (uint64_t[]){0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL});
    printf("speck %016llx %016llx\n", (unsigned long long)text[1], (unsigned long long)text[0]);

    uint32_t x = 0x656b696c, y = 0x20646e75;
    simon(&x, &y, (uint32_t[]){0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918});
    printf("simon %08x %08x\n", x, y);

    char letters[] = "Attack at dawn";
    rc4("Secret", letters, 14);
    printf("rc4 ");
    for (int i = 0; i < 14; i++) printf("%02X", (unsigned char)letters[i]);
    rc4("Secret", letters, 14);
    printf(" %s\n", letters);

    uint32_t in[16], out[16];
    for (uint32_t i = 0; i < 16; i++) in[i] = i * 0x01000193 + 7;
    salsa20(out, in);
    for (int i = 0; i < 16; i += 5) printf("salsa %08x\n", out[i]);

    uint64_t block = feistel(0x0123456789abcdefULL, 0xfedcba9876543210ULL, 0);
    printf("feistel %016llx", (unsigned long long)block);
    printf(" %016llx\n", (unsigned long long)feistel(block, 0xfedcba9876543210ULL, 1));
    return 0;
}
