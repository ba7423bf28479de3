/* SHA3 and SHAKE on the permutation Keccak-f[1600]; round constants come from their LFSR. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint64_t lanes[25];
    unsigned rate, at;
    uint8_t suffix;
} sponge;

static uint64_t rol(uint64_t x, unsigned n) { return n == 0 ? x : x << n | x >> (64 - n); }

static int lfsr_bit(uint8_t *state) {
    int bit = *state & 1;
    *state = (uint8_t)(*state & 0x80 ? *state << 1 ^ 0x71 : *state << 1);
    return bit;
}

static void permute(uint64_t a[25]) {
    uint8_t lfsr = 1;
    for (int round = 0; round < 24; round++) {
        uint64_t c[5];
        for (int x = 0; x < 5; x++) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int x = 0; x < 5; x++) {
            uint64_t d = c[(x + 4) % 5] ^ rol(c[(x + 1) % 5], 1);
            for (int y = 0; y < 25; y += 5) a[y + x] ^= d;
        }
        uint64_t carried = a[1];
        int x = 1, y = 0;
        for (unsigned t = 0; t < 24; t++) {
            int next = (2 * x + 3 * y) % 5;
            x = y, y = next;
            uint64_t kept = a[x + 5 * y];
            a[x + 5 * y] = rol(carried, (t + 1) * (t + 2) / 2 % 64);
            carried = kept;
        }
        for (int row = 0; row < 25; row += 5) {
            uint64_t b[5];
            memcpy(b, a + row, sizeof b);
            for (int i = 0; i < 5; i++) a[row + i] = b[i] ^ (~b[(i + 1) % 5] & b[(i + 2) % 5]);
        }
        for (int j = 0; j < 7; j++)
            if (lfsr_bit(&lfsr)) a[0] ^= 1ULL << ((1 << j) - 1);
    }
}

static void xor_byte(sponge *s, unsigned at, uint8_t byte) {
    s->lanes[at / 8] ^= (uint64_t)byte << (8 * (at % 8));
}

static sponge start(unsigned capacity_bytes, uint8_t suffix) {
    return (sponge){.rate = 200 - capacity_bytes, .suffix = suffix};
}

static void absorb(sponge *s, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        xor_byte(s, s->at++, (uint8_t)text[i]);
        if (s->at == s->rate) permute(s->lanes), s->at = 0;
    }
}

static void turn(sponge *s) {
    xor_byte(s, s->at, s->suffix);
    xor_byte(s, s->rate - 1, 0x80);
    permute(s->lanes);
    s->at = 0;
}

static void squeeze(sponge *s, uint8_t *out, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (s->at == s->rate) permute(s->lanes), s->at = 0;
        out[i] = (uint8_t)(s->lanes[s->at / 8] >> (8 * (s->at % 8)));
        s->at++;
    }
}

static void digest(const char *name, sponge s, const char *text, size_t times, size_t len) {
    uint8_t out[300];
    for (size_t i = 0; i < times; i++) absorb(&s, text, strlen(text));
    turn(&s);
    squeeze(&s, out, len);
    printf("%s ", name);
    for (size_t i = len > 32 ? len - 32 : 0; i < len; i++) printf("%02x", out[i]);
    printf("\n");
}

int main(void) {
    digest("sha3-256", start(64, 6), "abc", 1, 32);
    digest("sha3-256", start(64, 6), "", 1, 32);
    digest("sha3-512", start(128, 6), "one hundred and more bytes ", 5, 64);
    digest("shake128", start(32, 0x1f), "stretch", 1, 200);
    return 0;
}
