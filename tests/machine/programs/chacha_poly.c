/* ChaCha20-Poly1305: encrypt, tag, and open again; a tampered message is refused. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static uint32_t get32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put64(uint8_t *p, uint64_t x) {
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static void quarter(uint32_t *x, int a, int b, int c, int d) {
    x[a] += x[b], x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d], x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d], x[b] = rotate(x[b] ^ x[c], 7);
}

static void chacha_block(const uint8_t key[32], uint32_t counter, const uint8_t nonce[12],
                         uint8_t out[64]) {
    uint32_t state[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
    for (int i = 0; i < 8; i++) state[4 + i] = get32(key + 4 * i);
    state[12] = counter;
    for (int i = 0; i < 3; i++) state[13 + i] = get32(nonce + 4 * i);
    memcpy(x, state, sizeof x);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) quarter(x, i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; i++)
            quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 4; k++) out[4 * i + k] = (uint8_t)((x[i] + state[i]) >> 8 * k);
}

static void chacha_xor(const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t len) {
    uint8_t block[64];
    for (size_t at = 0; at < len; at++) {
        if (at % 64 == 0) chacha_block(key, (uint32_t)(1 + at / 64), nonce, block);
        text[at] ^= block[at % 64];
    }
}

typedef struct {
    uint32_t r[5], h[5];
    uint8_t pad[16];
} poly;

static void poly_block(poly *p, const uint8_t *m, uint32_t high) { /* limbs of 26 bits */
    uint32_t *h = p->h, *r = p->r;
    h[0] += get32(m) & 0x3ffffff;
    h[1] += get32(m + 3) >> 2 & 0x3ffffff;
    h[2] += get32(m + 6) >> 4 & 0x3ffffff;
    h[3] += get32(m + 9) >> 6 & 0x3ffffff;
    h[4] += get32(m + 12) >> 8 | high << 24;
    uint64_t d[5];
    for (int i = 0; i < 5; i++) {
        d[i] = 0;
        for (int j = 0; j < 5; j++)
            d[i] += (uint64_t)h[j] * (j <= i ? r[i - j] : 5 * r[5 + i - j]);
    }
    uint64_t carry = 0;
    for (int i = 0; i < 5; i++) {
        d[i] += carry;
        h[i] = (uint32_t)d[i] & 0x3ffffff;
        carry = d[i] >> 26;
    }
    h[0] += (uint32_t)carry * 5;
    h[1] += h[0] >> 26;
    h[0] &= 0x3ffffff;
}

static void poly_begin(poly *p, const uint8_t key[32]) {
    memset(p, 0, sizeof *p);
    p->r[0] = get32(key) & 0x3ffffff;
    p->r[1] = get32(key + 3) >> 2 & 0x3ffff03;
    p->r[2] = get32(key + 6) >> 4 & 0x3ffc0ff;
    p->r[3] = get32(key + 9) >> 6 & 0x3f03fff;
    p->r[4] = get32(key + 12) >> 8 & 0x00fffff;
    memcpy(p->pad, key + 16, 16);
}

static void poly_padded(poly *p, const uint8_t *m, size_t len) {
    uint8_t last[16] = {0};
    for (; len >= 16; m += 16, len -= 16) poly_block(p, m, 1);
    memcpy(last, m, len);
    if (len > 0) poly_block(p, last, 1);
}

static void poly_end(poly *p, uint8_t tag[16]) {
    uint32_t *h = p->h, g[5], carry = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 5; i++) {
            h[i] += carry * (i == 0 ? 5 : 1);
            carry = h[i] >> 26;
            h[i] &= 0x3ffffff;
        }
    h[0] += carry * 5;
    carry = 5;
    for (int i = 0; i < 5; i++) {
        g[i] = h[i] + carry;
        carry = g[i] >> 26;
        g[i] &= 0x3ffffff;
    }
    const uint32_t *x = carry ? g : h; /* h - (2^130 - 5), if h is not smaller */
    uint64_t sum = 0;
    uint32_t words[4] = {x[0] | x[1] << 26, x[1] >> 6 | x[2] << 20, x[2] >> 12 | x[3] << 14,
                         x[3] >> 18 | x[4] << 8};
    for (int i = 0; i < 4; i++) {
        sum += (uint64_t)words[i] + get32(p->pad + 4 * i);
        for (int k = 0; k < 4; k++) tag[4 * i + k] = (uint8_t)(sum >> 8 * k);
        sum >>= 32;
    }
}

static void authenticate(const uint8_t *key, const uint8_t *nonce, const char *header,
                         const uint8_t *text, size_t len, uint8_t tag[16]) {
    uint8_t block[64], lengths[16];
    poly p;
    chacha_block(key, 0, nonce, block);
    poly_begin(&p, block);
    poly_padded(&p, (const uint8_t *)header, strlen(header));
    poly_padded(&p, text, len);
    put64(lengths, strlen(header));
    put64(lengths + 8, len);
    poly_padded(&p, lengths, 16);
    poly_end(&p, tag);
}

static void show(const char *name, const uint8_t *p, size_t len) {
    printf("%-7s", name);
    for (size_t i = 0; i < len; i++) printf("%s%02x", i % 32 || i == 0 ? "" : "\n       ", p[i]);
    printf("\n");
}

int main(void) {
    uint8_t key[32], nonce[12] = {7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
    char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip "
                  "for the future, sunscreen would be it.";
    uint8_t tag[16], again[16], *bytes = (uint8_t *)text;
    size_t len = strlen(text);
    for (int i = 0; i < 32; i++) key[i] = (uint8_t)(0x80 + i);
    chacha_xor(key, nonce, bytes, len);
    authenticate(key, nonce, "header", bytes, len, tag);
    show("cipher", bytes, len);
    show("tag", tag, 16);
    bytes[3] ^= 1;
    authenticate(key, nonce, "header", bytes, len, again);
    printf("tampered: %s\n", memcmp(tag, again, 16) ? "refused" : "taken");
    bytes[3] ^= 1;
    authenticate(key, nonce, "header", bytes, len, again);
    printf("as sent: %s\n", memcmp(tag, again, 16) ? "refused" : "taken");
    chacha_xor(key, nonce, bytes, len);
    printf("%s\n", text);
    return 0;
}
