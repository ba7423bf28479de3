/* SipHash with any number of rounds, on test data and on a table of words. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROTL(x, n) (((x) << (n)) | ((x) >> (64 - (n))))

typedef struct {
    uint64_t v0, v1, v2, v3;
} sip_state;

static void sip_round(sip_state *s) {
    s->v0 += s->v1;
    s->v1 = ROTL(s->v1, 13) ^ s->v0;
    s->v0 = ROTL(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = ROTL(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = ROTL(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = ROTL(s->v1, 17) ^ s->v2;
    s->v2 = ROTL(s->v2, 32);
}

static uint64_t load64le(const uint8_t *p) {
    uint64_t x = 0;
    for (int i = 7; i >= 0; i--) x = x << 8 | p[i];
    return x;
}

static uint64_t siphash(const void *data, size_t len, const uint8_t key[16], int c, int d) {
    const uint8_t *in = data;
    uint64_t k0 = load64le(key), k1 = load64le(key + 8);
    sip_state s = {
        k0 ^ 0x736f6d6570736575ULL,
        k1 ^ 0x646f72616e646f6dULL,
        k0 ^ 0x6c7967656e657261ULL,
        k1 ^ 0x7465646279746573ULL,
    };
    uint64_t last = (uint64_t)len << 56;
    size_t left = len & 7;
    for (const uint8_t *end = in + (len - left); in != end; in += 8) {
        uint64_t m = load64le(in);
        s.v3 ^= m;
        for (int i = 0; i < c; i++) sip_round(&s);
        s.v0 ^= m;
    }
    while (left-- > 0) last |= (uint64_t)in[left] << (8 * left);
    s.v3 ^= last;
    for (int i = 0; i < c; i++) sip_round(&s);
    s.v0 ^= last;
    s.v2 ^= 0xff;
    for (int i = 0; i < d; i++) sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static const char *const words[] = {"the", "quick", "brown", "fox", "jumps", "over",
                                    "a",   "lazy",  "dog",   "and", "sleeps", ""};

int main(void) {
    uint8_t key[16], data[64];
    for (int i = 0; i < 16; i++) key[i] = (uint8_t)i;
    for (int i = 0; i < 64; i++) data[i] = (uint8_t)i;
    uint64_t fold = 0;
    for (size_t n = 0; n <= 24; n++) {
        uint64_t h = siphash(data, n, key, 2, 4);
        fold = ROTL(fold, 5) ^ h;
        if (n % 5 == 0 || n == 15) printf("%2zu %016llx\n", n, (unsigned long long)h);
    }
    printf("all %016llx\n", (unsigned long long)fold);
    printf("vector %s\n", siphash(data, 15, key, 2, 4) == 0xa129ca6149be45e5ULL ? "ok" : "wrong");

    unsigned buckets[8] = {0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint64_t h = siphash(words[i], strlen(words[i]), key, 1, 3);
        buckets[h % 8]++;
        printf("%-7s %20llu\n", words[i], (unsigned long long)h);
    }
    for (int i = 0; i < 8; i++) printf("%u%c", buckets[i], i == 7 ? '\n' : ' ');
    return 0;
}
