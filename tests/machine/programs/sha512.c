/* SHA-512 and SHA-384 with an incremental interface, and HMAC on top of it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint64_t h[8], total;
    uint8_t block[128];
    size_t filled;
} sha512_ctx;

static const uint64_t K[80] = {
    0x428a2f98d728ae22ULL, 0x7137449123ef65cdULL, 0xb5c0fbcfec4d3b2fULL, 0xe9b5dba58189dbbcULL,
    0x3956c25bf348b538ULL, 0x59f111f1b605d019ULL, 0x923f82a4af194f9bULL, 0xab1c5ed5da6d8118ULL,
    0xd807aa98a3030242ULL, 0x12835b0145706fbeULL, 0x243185be4ee4b28cULL, 0x550c7dc3d5ffb4e2ULL,
    0x72be5d74f27b896fULL, 0x80deb1fe3b1696b1ULL, 0x9bdc06a725c71235ULL, 0xc19bf174cf692694ULL,
    0xe49b69c19ef14ad2ULL, 0xefbe4786384f25e3ULL, 0x0fc19dc68b8cd5b5ULL, 0x240ca1cc77ac9c65ULL,
    0x2de92c6f592b0275ULL, 0x4a7484aa6ea6e483ULL, 0x5cb0a9dcbd41fbd4ULL, 0x76f988da831153b5ULL,
    0x983e5152ee66dfabULL, 0xa831c66d2db43210ULL, 0xb00327c898fb213fULL, 0xbf597fc7beef0ee4ULL,
    0xc6e00bf33da88fc2ULL, 0xd5a79147930aa725ULL, 0x06ca6351e003826fULL, 0x142929670a0e6e70ULL,
    0x27b70a8546d22ffcULL, 0x2e1b21385c26c926ULL, 0x4d2c6dfc5ac42aedULL, 0x53380d139d95b3dfULL,
    0x650a73548baf63deULL, 0x766a0abb3c77b2a8ULL, 0x81c2c92e47edaee6ULL, 0x92722c851482353bULL,
    0xa2bfe8a14cf10364ULL, 0xa81a664bbc423001ULL, 0xc24b8b70d0f89791ULL, 0xc76c51a30654be30ULL,
    0xd192e819d6ef5218ULL, 0xd69906245565a910ULL, 0xf40e35855771202aULL, 0x106aa07032bbd1b8ULL,
    0x19a4c116b8d2d0c8ULL, 0x1e376c085141ab53ULL, 0x2748774cdf8eeb99ULL, 0x34b0bcb5e19b48a8ULL,
    0x391c0cb3c5c95a63ULL, 0x4ed8aa4ae3418acbULL, 0x5b9cca4f7763e373ULL, 0x682e6ff3d6b2b8a3ULL,
    0x748f82ee5defb2fcULL, 0x78a5636f43172f60ULL, 0x84c87814a1f0ab72ULL, 0x8cc702081a6439ecULL,
    0x90befffa23631e28ULL, 0xa4506cebde82bde9ULL, 0xbef9a3f7b2c67915ULL, 0xc67178f2e372532bULL,
    0xca273eceea26619cULL, 0xd186b8c721c0c207ULL, 0xeada7dd6cde0eb1eULL, 0xf57d4f7fee6ed178ULL,
    0x06f067aa72176fbaULL, 0x0a637dc5a2c898a6ULL, 0x113f9804bef90daeULL, 0x1b710b35131c471bULL,
    0x28db77f523047d84ULL, 0x32caab7b40c72493ULL, 0x3c9ebe0a15c9bebcULL, 0x431d67c49c100d4cULL,
    0x4cc5d4becb3e42b6ULL, 0x597f299cfc657e2aULL, 0x5fcb6fab3ad6faecULL, 0x6c44198c4a475817ULL,
};
static const uint64_t H512[8] = {
    0x6a09e667f3bcc908ULL, 0xbb67ae8584caa73bULL, 0x3c6ef372fe94f82bULL, 0xa54ff53a5f1d36f1ULL,
    0x510e527fade682d1ULL, 0x9b05688c2b3e6c1fULL, 0x1f83d9abfb41bd6bULL, 0x5be0cd19137e2179ULL,
};
static const uint64_t H384[8] = {
    0xcbbb9d5dc1059ed8ULL, 0x629a292a367cd507ULL, 0x9159015a3070dd17ULL, 0x152fecd8f70e5939ULL,
    0x67332667ffc00b31ULL, 0x8eb44a8768581511ULL, 0xdb0c2e0d64f98fa7ULL, 0x47b5481dbefa4fa4ULL,
};

#define ROTR(x, n) ((x) >> (n) | (x) << (64 - (n)))

static void compress(sha512_ctx *ctx) {
    uint64_t w[80], s[8];
    for (int i = 0; i < 16; i++) {
        w[i] = 0;
        for (int k = 0; k < 8; k++) w[i] = w[i] << 8 | ctx->block[8 * i + k];
    }
    for (int i = 16; i < 80; i++) {
        uint64_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (ROTR(a, 1) ^ ROTR(a, 8) ^ a >> 7) + w[i - 7] +
               (ROTR(b, 19) ^ ROTR(b, 61) ^ b >> 6);
    }
    memcpy(s, ctx->h, sizeof s);
    for (int i = 0; i < 80; i++) {
        uint64_t big1 = ROTR(s[4], 14) ^ ROTR(s[4], 18) ^ ROTR(s[4], 41);
        uint64_t t1 = s[7] + big1 + ((s[4] & s[5]) ^ (~s[4] & s[6])) + K[i] + w[i];
        uint64_t big0 = ROTR(s[0], 28) ^ ROTR(s[0], 34) ^ ROTR(s[0], 39);
        uint64_t t2 = big0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) ctx->h[i] += s[i];
}

static void begin(sha512_ctx *ctx, const uint64_t *start) {
    memset(ctx, 0, sizeof *ctx);
    memcpy(ctx->h, start, sizeof ctx->h);
}

static void update(sha512_ctx *ctx, const void *data, size_t len) {
    const uint8_t *p = data;
    ctx->total += len;
    while (len > 0) {
        size_t n = sizeof ctx->block - ctx->filled;
        if (n > len) n = len;
        memcpy(ctx->block + ctx->filled, p, n);
        p += n, len -= n;
        if ((ctx->filled += n) == sizeof ctx->block) {
            compress(ctx);
            ctx->filled = 0;
        }
    }
}

static void finish(sha512_ctx *ctx, uint8_t out[64]) {
    uint64_t bits = ctx->total * 8;
    uint8_t mark = 0x80, zero = 0;
    update(ctx, &mark, 1);
    while (ctx->filled != 112) update(ctx, &zero, 1);
    uint8_t length[16] = {0};
    for (int i = 0; i < 8; i++) length[15 - i] = (uint8_t)(bits >> (8 * i));
    update(ctx, length, 16);
    for (int i = 0; i < 64; i++) out[i] = (uint8_t)(ctx->h[i / 8] >> (56 - 8 * (i % 8)));
}

static void hmac(const uint8_t *key, size_t key_len, const char *text, uint8_t out[64]) {
    uint8_t pad[128];
    sha512_ctx ctx;
    memset(pad, 0x36, sizeof pad);
    for (size_t i = 0; i < key_len; i++) pad[i] ^= key[i];
    begin(&ctx, H512);
    update(&ctx, pad, sizeof pad);
    update(&ctx, text, strlen(text));
    finish(&ctx, out);
    for (size_t i = 0; i < sizeof pad; i++) pad[i] ^= 0x36 ^ 0x5c;
    begin(&ctx, H512);
    update(&ctx, pad, sizeof pad);
    update(&ctx, out, 64);
    finish(&ctx, out);
}

static void show(const char *name, const uint8_t *bytes, int count) {
    printf("%s ", name);
    for (int i = 0; i < count; i++) printf("%02x", bytes[i]);
    putchar('\n');
}

int main(void) {
    uint8_t out[64];
    sha512_ctx ctx;
    const char *texts[] = {"", "abc", "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"};
    for (int i = 0; i < 3; i++) {
        begin(&ctx, H512);
        update(&ctx, texts[i], strlen(texts[i]));
        finish(&ctx, out);
        show("sha512", out, 64);
    }
    begin(&ctx, H384);
    for (int i = 0; i < 13; i++) update(&ctx, "pieces of eleven", 11);
    finish(&ctx, out);
    show("sha384", out, 48);
    hmac((const uint8_t *)"Jefe", 4, "what do ya want for nothing?", out);
    show("hmac", out, 64);
    return 0;
}
