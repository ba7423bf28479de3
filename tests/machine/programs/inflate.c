/* Inflate: stored blocks, fixed and dynamic codes, decoded bit by bit from counts of code lengths. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const uint8_t fixed_block[] = {
    0x4b, 0xcb, 0xac, 0x48, 0x4d, 0x51, 0x48, 0xce, 0x4f, 0x49, 0x2d, 0x56, 0x48, 0xcb, 0x2f, 0x52,
    0x48, 0x54, 0x28, 0xce, 0xc8, 0x2f, 0x2a, 0x51, 0x28, 0x49, 0xad, 0x28, 0xd1, 0x41, 0xe1, 0x29,
    0x94, 0x67, 0x96, 0x64, 0x28, 0xa4, 0x21, 0xd4, 0x03, 0x00,
};
static const uint8_t dynamic_block[] = {
    0x95, 0xcc, 0xcb, 0x09, 0x80, 0x40, 0x0c, 0x45, 0xd1, 0x56, 0x5e, 0x01, 0x22, 0x46, 0xf0, 0x87,
    0xd5, 0x8c, 0x18, 0x51, 0x1c, 0x26, 0xe2, 0x44, 0x6c, 0x5f, 0xf7, 0x42, 0x24, 0xeb, 0x7b, 0x39,
    0x54, 0x63, 0x12, 0xd5, 0xc8, 0x19, 0xb2, 0x60, 0x62, 0x3e, 0x21, 0x09, 0xba, 0x32, 0xee, 0x10,
    0x63, 0x01, 0xfa, 0xf4, 0x11, 0x1a, 0x76, 0x7e, 0x2f, 0xc6, 0x2c, 0x77, 0x2a, 0x70, 0x84, 0x9c,
    0xb1, 0x29, 0xc2, 0x29, 0x57, 0x9a, 0x4b, 0x10, 0xfd, 0x90, 0xe4, 0x27, 0xab, 0x1f, 0xb2, 0x72,
    0x93, 0x83, 0x2d, 0x0e, 0x6e, 0xb0, 0xb7, 0xc1, 0xde, 0x0d, 0x76, 0x36, 0xd8, 0xb9, 0xc1, 0xd6,
    0x06, 0x5b, 0x37, 0xd8, 0xd8, 0x60, 0xe3, 0x06, 0x1f,
};
static const uint8_t stored_block[] = {
    0x01, 0x0f, 0x00, 0xf0, 0xff, 0x73, 0x74, 0x6f, 0x72, 0x65, 0x64, 0x20, 0x61, 0x73, 0x20, 0x69,
    0x74, 0x20, 0x69, 0x73,
};

typedef struct {
    const uint8_t *in;
    size_t length, at;
    uint32_t held;
    int bits;
    uint8_t *out;
    size_t count, room;
} state;

typedef struct {
    uint16_t counts[16], symbols[288];
} code;

static int take(state *s, int need) {
    while (s->bits < need) {
        if (s->at == s->length) return -1;
        s->held |= (uint32_t)s->in[s->at++] << s->bits;
        s->bits += 8;
    }
    int value = (int)(s->held & ((1u << need) - 1));
    s->held >>= need;
    s->bits -= need;
    return value;
}

static void build(code *c, const uint8_t *lengths, int n) {
    uint16_t offsets[16] = {0};
    memset(c->counts, 0, sizeof c->counts);
    for (int i = 0; i < n; i++) c->counts[lengths[i]]++;
    c->counts[0] = 0;
    for (int i = 1; i < 16; i++) offsets[i] = (uint16_t)(offsets[i - 1] + c->counts[i - 1]);
    for (int i = 0; i < n; i++)
        if (lengths[i]) c->symbols[offsets[lengths[i]]++] = (uint16_t)i;
}

static int symbol(state *s, const code *c) {
    int value = 0, first = 0, index = 0;
    for (int length = 1; length < 16; length++) {
        int bit = take(s, 1);
        if (bit < 0) return -1;
        value |= bit;
        int count = c->counts[length];
        if (value - count < first) return c->symbols[index + (value - first)];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    return -1;
}

static int codes(state *s, const code *lengths, const code *distances) {
    static const uint16_t base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                      31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    for (;;) {
        int found = symbol(s, lengths);
        if (found < 0 || found > 285) return 0;
        if (found == 256) return 1;
        if (found < 256) {
            if (s->count == s->room) return 0;
            s->out[s->count++] = (uint8_t)found;
            continue;
        }
        int length = base[found - 257] + take(s, extra[found - 257]);
        int place = symbol(s, distances);
        if (place < 0 || place > 29) return 0;
        int bits = place < 4 ? 0 : place / 2 - 1;
        int distance = place < 4 ? place + 1 : ((2 + place % 2) << bits) + 1 + take(s, bits);
        if ((size_t)distance > s->count || s->count + (size_t)length > s->room) return 0;
        for (; length > 0; length--, s->count++) s->out[s->count] = s->out[s->count - (size_t)distance];
    }
}

static int stored(state *s) {
    s->held = 0, s->bits = 0;
    if (s->at + 4 > s->length) return 0;
    size_t n = s->in[s->at] | (size_t)s->in[s->at + 1] << 8;
    s->at += 4;
    if (s->at + n > s->length || s->count + n > s->room) return 0;
    memcpy(s->out + s->count, s->in + s->at, n);
    s->at += n, s->count += n;
    return 1;
}

static int fixed(state *s) {
    uint8_t lengths[288];
    code l, d;
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    build(&l, lengths, 288);
    memset(lengths, 5, 30);
    build(&d, lengths, 30);
    return codes(s, &l, &d);
}

static int dynamic(state *s) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[320] = {0};
    code l, d;
    int literals = take(s, 5) + 257, distances = take(s, 5) + 1, count = take(s, 4) + 4, at = 0;
    for (int i = 0; i < count; i++) lengths[order[i]] = (uint8_t)take(s, 3);
    build(&l, lengths, 19);
    while (at < literals + distances) {
        int found = symbol(s, &l);
        if (found < 0) return 0;
        if (found < 16) {
            lengths[at++] = (uint8_t)found;
            continue;
        }
        if (found == 16 && at == 0) return 0;
        uint8_t again = found == 16 ? lengths[at - 1] : 0;
        int times = found == 16 ? 3 + take(s, 2) : found == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        if (at + times > literals + distances) return 0;
        while (times--) lengths[at++] = again;
    }
    build(&d, lengths + literals, distances);
    build(&l, lengths, literals);
    return codes(s, &l, &d);
}

static int inflate(state *s) {
    for (int last = 0; !last;) {
        last = take(s, 1);
        int kind = take(s, 2);
        if (last < 0 || kind < 0 || kind == 3) return 0;
        if (!(kind == 0 ? stored(s) : kind == 1 ? fixed(s) : dynamic(s))) return 0;
    }
    return 1;
}

static void show(const char *name, const uint8_t *in, size_t length) {
    static uint8_t out[2000];
    state s = {.in = in, .length = length, .out = out, .room = sizeof out};
    int fine = inflate(&s);
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < s.count; i++) a = (a + out[i]) % 65521, b = (b + a) % 65521;
    printf("%s: %s, %zu -> %zu bytes, adler %08x\n", name, fine ? "fine" : "wrong", length, s.count,
           b << 16 | a);
    printf("  %.60s\n", (char *)out);
    memset(out, 0, s.count);
}

int main(void) {
    show("stored", stored_block, sizeof stored_block);
    show("fixed", fixed_block, sizeof fixed_block);
    show("dynamic", dynamic_block, sizeof dynamic_block);
    show("cut off", dynamic_block, sizeof dynamic_block / 2);
    return 0;
}
