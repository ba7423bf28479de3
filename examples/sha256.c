/* SHA-256 of words, of the input, or of a message of its own.
 *
 *   curta run examples/sha256.c abc hello
 *   curta run examples/sha256.c --stdin-file LICENSE
 *   curta run examples/sha256.c -- --own 4096
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64 };

/* The first 32 bits behind the point of the cube roots of the first 64 primes, ... */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* ... and of the square roots of the first 8. */
static const uint32_t first_state[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

typedef struct {
    uint32_t state[8];
    uint32_t length; /* bytes so far, less than 512 MiB */
    uint8_t block[BLOCK];
} Hash;

static uint32_t rotated(uint32_t word, int bits) {
    return word >> bits | word << (32 - bits);
}

static uint32_t big_endian(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, 4);
    return __builtin_bswap32(word);
}

static void mix(uint32_t state[8], const uint8_t *block) {
    uint32_t words[ROUNDS];
    for (int i = 0; i < 16; i++) {
        words[i] = big_endian(block + 4 * i);
    }
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t old = words[i - 15], late = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] +
                   (rotated(old, 7) ^ rotated(old, 18) ^ old >> 3) +
                   (rotated(late, 17) ^ rotated(late, 19) ^ late >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t choice = g ^ (e & (f ^ g)), majority = (a & b) | (c & (a | b));
        uint32_t one = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice +
                       constants[i] + words[i];
        uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
        h = g, g = f, f = e, e = d + one;
        d = c, c = b, b = a, a = one + two;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void begin(Hash *hash) {
    memcpy(hash->state, first_state, sizeof hash->state);
    hash->length = 0;
}

static void add(Hash *hash, const uint8_t *bytes, size_t count) {
    uint32_t filled = hash->length % BLOCK;
    hash->length += count;
    if (filled > 0) {
        size_t room = BLOCK - filled, part = count < room ? count : room;
        memcpy(hash->block + filled, bytes, part);
        if (part < room) {
            return;
        }
        mix(hash->state, hash->block);
        bytes += part;
        count -= part;
    }
    for (; count >= BLOCK; bytes += BLOCK, count -= BLOCK) {
        mix(hash->state, bytes);
    }
    memcpy(hash->block, bytes, count);
}

/* A one bit, zeros, and the length in bits fill the last block. */
static void finish(Hash *hash) {
    static const uint8_t padding[BLOCK] = {0x80};
    uint32_t length = hash->length;
    uint8_t bits[8] = {0, 0, 0, length >> 29, length >> 21, length >> 13, length >> 5, length << 3};
    add(hash, padding, (BLOCK + 55 - length % BLOCK) % BLOCK + 1);
    add(hash, bits, sizeof bits);
}

static void print(Hash *hash, const char *name) {
    char text[65];
    for (int i = 0; i < 64; i++) {
        text[i] = "0123456789abcdef"[hash->state[i / 8] >> (28 - i % 8 * 4) & 15];
    }
    text[64] = 0;
    fputs(text, stdout);
    fputs("  ", stdout);
    puts(name);
}

static void hash_own_message(int length) {
    Hash hash;
    uint8_t *message = malloc(length);
    for (int i = 0; i < length; i++) {
        message[i] = 7 * i + i / 256;
    }
    begin(&hash);
    add(&hash, message, length);
    finish(&hash);
    print(&hash, "own message");
    free(message);
}

int main(int count, char **words) {
    Hash hash;
    if (count == 3 && strcmp(words[1], "--own") == 0) {
        hash_own_message(atoi(words[2]));
        return 0;
    }
    for (int i = 1; i < count; i++) {
        begin(&hash);
        add(&hash, (const uint8_t *)words[i], strlen(words[i]));
        finish(&hash);
        print(&hash, words[i]);
    }
    if (count == 1) {
        uint8_t part[256];
        begin(&hash);
        for (size_t length; (length = fread(part, 1, sizeof part, stdin)) > 0;) {
            add(&hash, part, length);
        }
        finish(&hash);
        print(&hash, "-");
    }
    return 0;
}
