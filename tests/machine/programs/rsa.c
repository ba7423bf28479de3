/* Modular powers of 256-bit numbers by Montgomery multiplication, words of 32 bits. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORDS 8
typedef struct {
    uint32_t w[WORDS];
} big;
typedef struct {
    big n, one, square; /* the modulus, R mod n, R^2 mod n */
    uint32_t inverse;   /* -1 / n mod 2^32 */
} modulus;

static int compare(const big *a, const big *b) {
    for (int i = WORDS - 1; i >= 0; i--)
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

static uint32_t subtract(big *r, const big *a, const big *b) {
    int64_t borrow = 0;
    for (int i = 0; i < WORDS; i++) {
        borrow += (int64_t)a->w[i] - b->w[i];
        r->w[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return (uint32_t)-borrow;
}

static void double_mod(big *a, const big *n) {
    uint32_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        uint32_t top = a->w[i] >> 31;
        a->w[i] = a->w[i] << 1 | carry;
        carry = top;
    }
    if (carry || compare(a, n) >= 0) subtract(a, a, n);
}

static big multiply(const modulus *m, const big *a, const big *b) {
    uint32_t t[WORDS + 2] = {0};
    for (int i = 0; i < WORDS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < WORDS; j++) {
            carry += (uint64_t)a->w[j] * b->w[i] + t[j];
            t[j] = (uint32_t)carry;
            carry >>= 32;
        }
        carry += t[WORDS];
        t[WORDS] = (uint32_t)carry;
        t[WORDS + 1] = (uint32_t)(carry >> 32);
        uint32_t q = t[0] * m->inverse;
        carry = ((uint64_t)q * m->n.w[0] + t[0]) >> 32;
        for (int j = 1; j < WORDS; j++) {
            carry += (uint64_t)q * m->n.w[j] + t[j];
            t[j - 1] = (uint32_t)carry;
            carry >>= 32;
        }
        carry += t[WORDS];
        t[WORDS - 1] = (uint32_t)carry;
        t[WORDS] = t[WORDS + 1] + (uint32_t)(carry >> 32);
    }
    big r;
    memcpy(r.w, t, sizeof r.w);
    if (t[WORDS] || compare(&r, &m->n) >= 0) subtract(&r, &r, &m->n);
    return r;
}

static void prepare(modulus *m, const big *n) {
    uint32_t x = 1;
    for (int i = 0; i < 5; i++) x *= 2 - n->w[0] * x; /* Newton: 1 / n mod 2^32 */
    m->n = *n;
    m->inverse = -x;
    memset(&m->one, 0, sizeof m->one);
    m->one.w[0] = 1;
    for (int i = 0; i < 32 * WORDS; i++) double_mod(&m->one, n);
    m->square = m->one;
    for (int i = 0; i < 32 * WORDS; i++) double_mod(&m->square, n);
}

static big power(const modulus *m, const big *base, const big *exponent, int bits) {
    big result = m->one, b = multiply(m, base, &m->square), plain = {{1}};
    for (int i = bits - 1; i >= 0; i--) {
        result = multiply(m, &result, &result);
        if (exponent->w[i / 32] >> i % 32 & 1) result = multiply(m, &result, &b);
    }
    return multiply(m, &result, &plain);
}

static void parse(big *a, const char *hex) {
    memset(a, 0, sizeof *a);
    for (size_t n = strlen(hex), i = 0; i < n; i++) {
        char c = hex[n - 1 - i];
        a->w[i / 8] |= (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10) << 4 * (i % 8);
    }
}

static void show(const char *name, const big *a) {
    printf("%-10s", name);
    for (int i = WORDS - 1; i >= 0; i--) printf("%08x", a->w[i]);
    printf("\n");
}

int main(void) {
    big n, message, e = {{65537}}, cipher, exponent;
    modulus m;
    parse(&n, "c5062b58d8539c765e1e5dbaf14cf75dd56c2e13105fecfd1a930bbb5948ff33");
    parse(&message, "0048656c6c6f2c206d6f64756c6172206172697468206d6574696321");
    prepare(&m, &n);
    show("R mod n", &m.one);
    show("R^2 mod n", &m.square);
    cipher = power(&m, &message, &e, 17);
    show("cipher", &cipher);
    parse(&exponent, "fedcba9876543210");
    cipher = power(&m, &cipher, &exponent, 64);
    show("power", &cipher);
    parse(&n, "00000000000000000000000000000000000000000000000000000000fffffffb");
    prepare(&m, &n);
    subtract(&exponent, &n, &(big){{1}});
    cipher = power(&m, &message, &exponent, 32);
    show("Fermat", &cipher);
    return 0;
}
