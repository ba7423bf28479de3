/* MD5, by the RFC's description, and a hex dump. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t T[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t rol(uint32_t x, int n) { return (x << n) | (x >> (32 - n)); }

static void md5_block(uint32_t state[4], const unsigned char *p) {
    uint32_t m[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++, p += 4)
        m[i] = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    for (int i = 0; i < 64; i++) {
        uint32_t f;
        int g;
        switch (i / 16) {
        case 0: f = (b & c) | (~b & d); g = i; break;
        case 1: f = (d & b) | (~d & c); g = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d; g = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d); g = 7 * i % 16; break;
        }
        uint32_t next = b + rol(a + f + T[i] + m[g], shifts[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void md5(const char *text, size_t len, unsigned char digest[16]) {
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    size_t padded = (len + 8) / 64 * 64 + 64;
    unsigned char *copy = calloc(padded, 1);
    memcpy(copy, text, len);
    copy[len] = 0x80;
    uint64_t bits = (uint64_t)len * 8;
    for (int i = 0; i < 8; i++) copy[padded - 8 + i] = (unsigned char)(bits >> 8 * i);
    for (size_t at = 0; at < padded; at += 64) md5_block(state, copy + at);
    free(copy);
    for (int i = 0; i < 16; i++) digest[i] = (unsigned char)(state[i / 4] >> 8 * (i % 4));
}

static void hexdump(const unsigned char *bytes, size_t count) {
    for (size_t row = 0; row < count; row += 8) {
        printf("%08zx ", row);
        for (size_t i = row; i < row + 8 && i < count; i++) printf(" %02x", bytes[i]);
        printf("  |");
        for (size_t i = row; i < row + 8 && i < count; i++)
            putchar(bytes[i] >= 32 && bytes[i] < 127 ? bytes[i] : '.');
        puts("|");
    }
}

int main(void) {
    static const char *texts[] = {
        "", "a", "abc", "message digest", "abcdefghijklmnopqrstuvwxyz",
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
    };
    unsigned char digest[16];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        md5(texts[i], strlen(texts[i]), digest);
        for (int k = 0; k < 16; k++) printf("%02x", digest[k]);
        printf("  \"%.20s%s\"\n", texts[i], strlen(texts[i]) > 20 ? "..." : "");
    }
    for (int turn = 0; turn < 20; turn++) md5((const char *)digest, sizeof digest, digest);
    hexdump(digest, sizeof digest);
    return 0;
}
