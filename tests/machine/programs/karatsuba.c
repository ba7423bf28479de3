/* Karatsuba's multiplication of large numbers, checked against the schoolbook's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t limb;
typedef uint64_t wide;

static limb add(limb *r, const limb *a, const limb *b, size_t n) {
    limb carry = 0;
    for (size_t i = 0; i < n; i++) {
        wide sum = (wide)a[i] + b[i] + carry;
        r[i] = (limb)sum;
        carry = (limb)(sum >> 32);
    }
    return carry;
}

static limb sub(limb *r, const limb *a, const limb *b, size_t n) {
    limb borrow = 0;
    for (size_t i = 0; i < n; i++) {
        wide difference = (wide)a[i] - b[i] - borrow;
        r[i] = (limb)difference;
        borrow = (limb)(difference >> 63);
    }
    return borrow;
}

static void propagate(limb *r, limb carry) {
    while (carry) {
        wide sum = (wide)*r + carry;
        *r++ = (limb)sum;
        carry = (limb)(sum >> 32);
    }
}

static void schoolbook(limb *r, const limb *a, const limb *b, size_t n) {
    memset(r, 0, 2 * n * sizeof *r);
    for (size_t i = 0; i < n; i++) {
        limb carry = 0;
        for (size_t j = 0; j < n; j++) {
            wide t = (wide)a[i] * b[j] + r[i + j] + carry;
            r[i + j] = (limb)t;
            carry = (limb)(t >> 32);
        }
        r[i + n] = carry;
    }
}

static int magnitude(limb *r, const limb *a, const limb *b, size_t n) { /* |a - b|, and its sign */
    for (size_t i = n; i-- > 0;) {
        if (a[i] > b[i]) break;
        if (a[i] < b[i]) {
            sub(r, b, a, n);
            return -1;
        }
    }
    sub(r, a, b, n);
    return 1;
}

static unsigned calls;

static void karatsuba(limb *r, const limb *a, const limb *b, size_t n) {
    calls++;
    if (n < 4 || n % 2) {
        schoolbook(r, a, b, n);
        return;
    }
    size_t h = n / 2;
    limb *t = malloc((4 * n + 2) * sizeof *t), *middle = t + 2 * n;
    karatsuba(r, a, b, h);
    karatsuba(r + n, a + h, b + h, h);
    int sign = magnitude(t, a, a + h, h) * magnitude(t + h, b, b + h, h);
    karatsuba(middle, t, t + h, h);
    limb carry = add(t, r, r + n, n);
    if (sign > 0)
        carry -= sub(t, t, middle, n);
    else
        carry += add(t, t, middle, n);
    carry += add(r + h, r + h, t, n);
    propagate(r + n + h, carry);
    free(t);
}

static limb random_limb(void) {
    static wide state = 0x853c49e6748fea9bULL;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    limb mixed = (limb)((state >> 45 ^ state >> 27));
    unsigned by = (unsigned)(state >> 59);
    return mixed >> by | mixed << (-by & 31);
}

int main(void) {
    limb a[32], b[32], fast[64], slow[64];
    for (size_t n = 2; n <= 32; n *= 2) {
        for (size_t i = 0; i < n; i++) {
            a[i] = n == 8 ? 0xFFFFFFFF : random_limb();
            b[i] = n == 8 ? 0xFFFFFFFF : random_limb();
        }
        calls = 0;
        karatsuba(fast, a, b, n);
        schoolbook(slow, a, b, n);
        wide sum = 0;
        for (size_t i = 0; i < 2 * n; i++) sum = sum * 0x100000001b3ULL ^ fast[i];
        printf("%2zu limbs: %3u calls, top %08x, sum %016llx, %s\n", n, calls, fast[2 * n - 1],
               (unsigned long long)sum, memcmp(fast, slow, 2 * n * sizeof *fast) ? "wrong" : "right");
    }
    return 0;
}
