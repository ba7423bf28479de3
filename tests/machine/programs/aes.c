/* AES with keys of 128 and 256 bits, its S-box computed; CBC and CTR modes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint8_t sbox[256], inverse[256];

static uint8_t xtime(uint8_t x) { return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }

static uint8_t multiply(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (; b; b >>= 1, a = xtime(a))
        if (b & 1) product ^= a;
    return product;
}

static void make_sbox(void) {
    uint8_t p = 1, q = 1;
    do { /* p runs through powers of 3, q through those of its inverse */
        p = (uint8_t)(p ^ xtime(p));
        q ^= (uint8_t)(q << 1);
        q ^= (uint8_t)(q << 2);
        q ^= (uint8_t)(q << 4);
        if (q & 0x80) q ^= 0x09;
        uint8_t x = q;
        for (int i = 1; i < 5; i++) x ^= (uint8_t)(q << i | q >> (8 - i));
        sbox[p] = x ^ 0x63;
    } while (p != 1);
    sbox[0] = 0x63;
    for (int i = 0; i < 256; i++) inverse[sbox[i]] = (uint8_t)i;
}

typedef struct {
    int rounds;
    uint8_t keys[15][16];
} aes;

static void expand(aes *a, const uint8_t *key, int words) {
    uint8_t *w = a->keys[0], power = 1;
    a->rounds = words + 6;
    memcpy(w, key, (size_t)words * 4);
    for (int i = words; i < 4 * (a->rounds + 1); i++) {
        uint8_t t[4];
        memcpy(t, w + 4 * (i - 1), 4);
        if (i % words == 0) {
            uint8_t first = t[0];
            t[0] = sbox[t[1]] ^ power, t[1] = sbox[t[2]], t[2] = sbox[t[3]], t[3] = sbox[first];
            power = xtime(power);
        } else if (words > 6 && i % words == 4) {
            for (int k = 0; k < 4; k++) t[k] = sbox[t[k]];
        }
        for (int k = 0; k < 4; k++) w[4 * i + k] = w[4 * (i - words) + k] ^ t[k];
    }
}

static void add_key(uint8_t s[16], const uint8_t k[16]) {
    for (int i = 0; i < 16; i++) s[i] ^= k[i];
}

static void encrypt(const aes *a, uint8_t s[16]) {
    add_key(s, a->keys[0]);
    for (int round = 1; round <= a->rounds; round++) {
        uint8_t t[16];
        for (int i = 0; i < 16; i++) t[i] = sbox[s[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; c < 16 && round < a->rounds; c += 4) {
            uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3], first = t[c];
            for (int i = 0; i < 4; i++) {
                uint8_t next = i == 3 ? first : t[c + i + 1];
                t[c + i] ^= all ^ xtime(t[c + i] ^ next);
            }
        }
        memcpy(s, t, 16);
        add_key(s, a->keys[round]);
    }
}

static void decrypt(const aes *a, uint8_t s[16]) {
    for (int round = a->rounds; round > 0; round--) {
        uint8_t t[16];
        add_key(s, a->keys[round]);
        for (int c = 0; c < 16 && round < a->rounds; c += 4) {
            memcpy(t, s + c, 4);
            for (int i = 0; i < 4; i++)
                s[c + i] = multiply(t[i], 14) ^ multiply(t[(i + 1) % 4], 11) ^
                           multiply(t[(i + 2) % 4], 13) ^ multiply(t[(i + 3) % 4], 9);
        }
        for (int i = 0; i < 16; i++) t[(i + 4 * (i % 4)) % 16] = inverse[s[i]];
        memcpy(s, t, 16);
    }
    add_key(s, a->keys[0]);
}

static void show(const char *name, const uint8_t *p, int len) {
    printf("%s ", name);
    for (int i = 0; i < len; i++) printf("%02x", p[i]);
    puts("");
}

int main(void) {
    uint8_t key[32], block[16], iv[16] = {0}, message[48];
    aes a;
    make_sbox();
    for (int i = 0; i < 32; i++) key[i] = (uint8_t)i;
    for (int words = 4; words <= 8; words += 4) {
        for (int i = 0; i < 16; i++) block[i] = (uint8_t)(i * 0x11);
        expand(&a, key, words);
        encrypt(&a, block);
        show(words == 4 ? "aes-128" : "aes-256", block, 16);
        decrypt(&a, block);
        show("back   ", block, 16);
    }
    memcpy(message, "forty eight bytes of a message, in three blocks", 48);
    for (int at = 0; at < 48; at += 16) { /* CBC */
        add_key(message + at, at ? message + at - 16 : iv);
        encrypt(&a, message + at);
    }
    show("cbc    ", message, 48);
    for (int at = 32; at >= 0; at -= 16) {
        decrypt(&a, message + at);
        add_key(message + at, at ? message + at - 16 : iv);
    }
    printf("%.47s\n", (char *)message);
    for (int at = 0; at < 40; at++) { /* CTR */
        if (at % 16 == 0) {
            memset(block, 0xff, 16);
            block[15] = (uint8_t)(at / 16);
            encrypt(&a, block);
        }
        message[at] ^= block[at % 16];
    }
    show("ctr    ", message, 40);
    return 0;
}
