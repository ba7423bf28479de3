/* Hashes of texts: SHA-256. */
#include <string.h>

/* Of the cube roots of the first 64 primes, 32 bits behind the point. */
static const unsigned constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static unsigned rotated(unsigned word, int bits) {
    return word >> bits | word << (32 - bits);
}

static void mix(unsigned *state, const unsigned char *block) {
    unsigned words[64], v[8];
    for (int at = 0; at < 16; at++, block += 4)
        words[at] = (unsigned)block[0] << 24 | block[1] << 16 | block[2] << 8 | block[3];
    for (int at = 16; at < 64; at++) {
        unsigned a = words[at - 15], b = words[at - 2];
        words[at] = words[at - 16] + words[at - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
                    (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int at = 0; at < 64; at++) {
        unsigned e = v[4], a = v[0];
        unsigned one = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + constants[at] + words[at];
        unsigned two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int at = 0; at < 8; at++) state[at] += v[at];
}

/* The SHA-256 of a text, in hexadecimal. */
const char *sha256(const char *text) {
    static char said[65];
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    unsigned length = (unsigned)strlen(text), whole = length / 64 * 64, left = length - whole;
    for (unsigned at = 0; at < whole; at += 64) mix(state, (const unsigned char *)text + at);
    memcpy(last, text + whole, left);
    last[left] = 0x80;
    unsigned end = left < 56 ? 64 : 128;
    for (int byte = 0; byte < 5; byte++)
        last[end - 1 - (unsigned)byte] = (unsigned char)(length * 8ull >> 8 * byte);
    mix(state, last);
    if (end == 128) mix(state, last + 64);
    for (int at = 0; at < 64; at++)
        said[at] = "0123456789abcdef"[state[at / 8] >> (28 - at % 8 * 4) & 15];
    return said;
}
