/* An adaptive binary range coder in the manner of LZMA, with a model of order one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PROB_BITS 11
#define MOVE 4
#define TOP (1u << 24)

typedef struct {
    uint64_t low;
    uint32_t range;
    uint8_t cache;
    uint64_t pending;
    uint8_t *out;
} encoder;

typedef struct {
    uint32_t range, code;
    const uint8_t *in;
} decoder;

typedef struct {
    uint16_t tree[8][256]; /* by three bits of the byte before */
} model;

static void reset(model *m) {
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 256; k++) m->tree[i][k] = 1 << (PROB_BITS - 1);
}

static void shift_low(encoder *e) {
    if ((uint32_t)e->low < 0xFF000000u || e->low >> 32) {
        uint8_t carry = (uint8_t)(e->low >> 32);
        do {
            *e->out++ = (uint8_t)(e->cache + carry);
            e->cache = 0xFF;
        } while (--e->pending);
        e->cache = (uint8_t)(e->low >> 24);
    }
    e->pending++;
    e->low = (e->low & 0x00FFFFFF) << 8;
}

static void encode_bit(encoder *e, uint16_t *prob, unsigned bit) {
    uint32_t bound = (e->range >> PROB_BITS) * *prob;
    if (bit) {
        e->low += bound;
        e->range -= bound;
        *prob -= *prob >> MOVE;
    } else {
        e->range = bound;
        *prob += ((1 << PROB_BITS) - *prob) >> MOVE;
    }
    while (e->range < TOP) {
        e->range <<= 8;
        shift_low(e);
    }
}

static unsigned decode_bit(decoder *d, uint16_t *prob) {
    uint32_t bound = (d->range >> PROB_BITS) * *prob;
    unsigned bit = d->code >= bound;
    if (bit) {
        d->code -= bound;
        d->range -= bound;
        *prob -= *prob >> MOVE;
    } else {
        d->range = bound;
        *prob += ((1 << PROB_BITS) - *prob) >> MOVE;
    }
    while (d->range < TOP) {
        d->range <<= 8;
        d->code = d->code << 8 | *d->in++;
    }
    return bit;
}

static size_t pack(const char *text, size_t len, uint8_t *out) {
    static model m;
    encoder e = {0, 0xFFFFFFFF, 0, 1, out};
    uint8_t last = 0;
    reset(&m);
    for (size_t i = 0; i < len; i++) {
        unsigned node = 1;
        for (int bit = 7; bit >= 0; bit--) {
            unsigned b = (uint8_t)text[i] >> bit & 1;
            encode_bit(&e, &m.tree[last & 7][node], b);
            node = node << 1 | b;
        }
        last = (uint8_t)text[i];
    }
    for (int i = 0; i < 5; i++) shift_low(&e);
    return (size_t)(e.out - out);
}

static void unpack(const uint8_t *in, char *text, size_t len) {
    static model m;
    decoder d = {0xFFFFFFFF, 0, in + 1};
    uint8_t last = 0;
    reset(&m);
    for (int i = 0; i < 4; i++) d.code = d.code << 8 | *d.in++;
    for (size_t i = 0; i < len; i++) {
        unsigned node = 1;
        while (node < 256) node = node << 1 | decode_bit(&d, &m.tree[last & 7][node]);
        text[i] = (char)(last = (uint8_t)node);
    }
}

static void try(const char *name, const char *text, size_t len) {
    static uint8_t packed[1000];
    static char again[1000];
    size_t count = pack(text, len, packed);
    uint32_t sum = 1;
    for (size_t i = 0; i < count; i++) sum = (sum ^ packed[i]) * 16777619u;
    unpack(packed, again, len);
    printf("%-6s %3zu -> %3zu %08x %s\n", name, len, count, sum,
           memcmp(text, again, len) ? "wrong" : "right");
}

int main(void) {
    char text[600];
    for (int i = 0; i < 300; i++) text[i] = "abracadabra, "[i % 13];
    try("words", text, 300);
    memset(text, 0xFF, 200);
    try("ones", text, 200);
    uint64_t x = 42;
    for (int i = 0; i < 150; i++) text[i] = (char)((x = x * 0x5851F42D4C957F2DULL + 1) >> 56);
    try("noise", text, 150);
    try("empty", text, 0);
    return 0;
}
