/* The curve of Ed25519: a field of five limbs of 51 bits, points in extended coordinates. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 u128;
typedef struct {
    uint64_t v[5];
} fe;
typedef struct {
    fe x, y, z, t;
} point;

#define MASK ((1ULL << 51) - 1)

static fe fe_carry(fe a) {
    uint64_t c = 0;
    for (int i = 0; i < 5; i++) {
        a.v[i] += c;
        c = a.v[i] >> 51;
        a.v[i] &= MASK;
    }
    a.v[0] += 19 * c;
    return a;
}

static fe fe_add(fe a, fe b) {
    for (int i = 0; i < 5; i++) a.v[i] += b.v[i];
    return fe_carry(a);
}

static fe fe_sub(fe a, fe b) { /* with a multiple of p that no limb goes below */
    a.v[0] += 0xFFFFFFFFFFFDAULL * 2 - b.v[0];
    for (int i = 1; i < 5; i++) a.v[i] += 0xFFFFFFFFFFFFEULL * 2 - b.v[i];
    return fe_carry(a);
}

static fe fe_mul(fe a, fe b) {
    u128 t[5];
    for (int i = 0; i < 5; i++) {
        t[i] = 0;
        for (int j = 0; j < 5; j++) {
            int k = i - j;
            t[i] += (u128)a.v[j] * (k >= 0 ? b.v[k] : 19 * b.v[k + 5]);
        }
    }
    fe r;
    uint64_t c = 0;
    for (int i = 0; i < 5; i++) {
        t[i] += c;
        r.v[i] = (uint64_t)t[i] & MASK;
        c = (uint64_t)(t[i] >> 51);
    }
    r.v[0] += c * 19;
    r.v[1] += r.v[0] >> 51;
    r.v[0] &= MASK;
    return r;
}

static fe fe_power(fe a, int squarings, fe b) {
    while (squarings-- > 0) a = fe_mul(a, a);
    return fe_mul(a, b);
}

static fe fe_invert(fe a) { /* a^(2^255 - 21) */
    fe a2 = fe_mul(a, a), a9 = fe_power(a2, 2, a), a11 = fe_mul(a9, a2);
    fe b5 = fe_power(a11, 1, a9), b10 = fe_power(b5, 5, b5), b20 = fe_power(b10, 10, b10);
    fe b40 = fe_power(b20, 20, b20), b50 = fe_power(b40, 10, b10), b100 = fe_power(b50, 50, b50);
    fe b200 = fe_power(b100, 100, b100), b250 = fe_power(b200, 50, b50);
    return fe_power(b250, 5, a11);
}

static void fe_bytes(fe a, uint8_t out[32]) {
    a = fe_carry(fe_carry(a));
    uint64_t q = (a.v[0] + 19) >> 51;
    for (int i = 1; i < 5; i++) q = (a.v[i] + q) >> 51;
    a.v[0] += 19 * q;
    a = fe_carry(a);
    a.v[0] -= a.v[0] > MASK ? 1ULL << 51 : 0;
    memset(out, 0, 32);
    for (int bit = 0; bit < 255; bit++)
        out[bit / 8] |= (uint8_t)((a.v[bit / 51] >> bit % 51 & 1) << bit % 8);
}

static fe from_words(const uint32_t w[8]) {
    fe r = {{0}};
    for (int bit = 0; bit < 255; bit++)
        r.v[bit / 51] |= (uint64_t)(w[bit / 32] >> bit % 32 & 1) << bit % 51;
    return r;
}

static fe d2; /* twice the constant of the curve */

static point add(point p, point q) {
    fe a = fe_mul(fe_sub(p.y, p.x), fe_sub(q.y, q.x)), b = fe_mul(fe_add(p.y, p.x), fe_add(q.y, q.x));
    fe c = fe_mul(fe_mul(p.t, d2), q.t), d = fe_mul(p.z, q.z);
    d = fe_add(d, d);
    fe e = fe_sub(b, a), f = fe_sub(d, c), g = fe_add(d, c), h = fe_add(b, a);
    return (point){fe_mul(e, f), fe_mul(g, h), fe_mul(f, g), fe_mul(e, h)};
}

static point twice(point p) {
    fe a = fe_mul(p.x, p.x), b = fe_mul(p.y, p.y), c = fe_mul(p.z, p.z), s = fe_add(p.x, p.y);
    fe h = fe_add(a, b), e = fe_sub(h, fe_mul(s, s)), g = fe_sub(a, b);
    fe f = fe_add(fe_add(c, c), g);
    return (point){fe_mul(e, f), fe_mul(g, h), fe_mul(f, g), fe_mul(e, h)};
}

static point multiply(point p, unsigned scalar) {
    point r = {.y = {{1}}, .z = {{1}}};
    for (int bit = 31 - __builtin_clz(scalar); bit >= 0; bit--) {
        r = twice(r);
        if (scalar >> bit & 1) r = add(r, p);
    }
    return r;
}

static void show(const char *name, point p) {
    uint8_t bytes[32], x[32];
    fe z = fe_invert(p.z);
    fe_bytes(fe_mul(p.y, z), bytes);
    fe_bytes(fe_mul(p.x, z), x);
    bytes[31] |= (uint8_t)(x[0] << 7);
    printf("%-6s", name);
    for (int i = 0; i < 32; i++) printf("%02x", bytes[i]);
    printf("\n");
}

int main(void) {
    static const uint32_t d[8] = {0x135978a3, 0x75eb4dca, 0x4141d8ab, 0x00700a4d,
                                  0x7779e898, 0x8cc74079, 0x2b6ffe73, 0x52036cee};
    static const uint32_t x[8] = {0x8f25d51a, 0xc9562d60, 0x9525a7b2, 0x692cc760,
                                  0xfdd6dc5c, 0xc0a4e231, 0xcd6e53fe, 0x216936d3};
    static const uint32_t y[8] = {0x66666658, 0x66666666, 0x66666666, 0x66666666,
                                  0x66666666, 0x66666666, 0x66666666, 0x66666666};
    d2 = fe_add(from_words(d), from_words(d));
    point base = {from_words(x), from_words(y), {{1}}, fe_mul(from_words(x), from_words(y))};
    show("B", base);
    show("200 B", multiply(base, 200));
    point left = add(multiply(base, 77), multiply(base, 23)), right = multiply(base, 100);
    uint8_t a[32], b[32];
    fe_bytes(fe_mul(left.x, right.z), a);
    fe_bytes(fe_mul(right.x, left.z), b);
    printf("77 B + 23 B %s 100 B\n", memcmp(a, b, 32) ? "is not" : "is");
    return 0;
}
