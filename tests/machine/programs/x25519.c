/* A Montgomery ladder on Curve25519 with ten limbs of 26 and 25 bits, signed 64-bit products. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int64_t field[10];

static const int bits[10] = {26, 25, 26, 25, 26, 25, 26, 25, 26, 25};
static const uint8_t first_bit[10] = {0, 26, 51, 77, 102, 128, 153, 179, 204, 230};

static void carry(field a) {
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 10; i++) {
            int64_t c = (a[i] + (1LL << (bits[i] - 1))) >> bits[i];
            a[i] -= c * (1LL << bits[i]);
            a[(i + 1) % 10] += i == 9 ? 19 * c : c;
        }
}

static void add(field r, const field a, const field b) {
    for (int i = 0; i < 10; i++) r[i] = a[i] + b[i];
}

static void sub(field r, const field a, const field b) {
    for (int i = 0; i < 10; i++) r[i] = a[i] - b[i];
}

static void mul(field r, const field a, const field b) {
    field t = {0};
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            int64_t product = a[i] * b[j];
            if (i & j & 1) product *= 2; /* both limbs are half a bit beyond their place */
            t[(i + j) % 10] += i + j >= 10 ? 19 * product : product;
        }
    carry(t);
    memcpy(r, t, sizeof t);
}

static void scale(field r, const field a, int32_t factor) {
    for (int i = 0; i < 10; i++) r[i] = a[i] * factor;
    carry(r);
}

static void power_of_two(field r, const field a, int squarings) {
    memcpy(r, a, sizeof(field));
    while (squarings--) mul(r, r, r);
}

static void invert(field r, const field a) {
    field x2, x9, x11, b5, b10, b20, t, b50, b100;
    power_of_two(x2, a, 1);
    power_of_two(t, x2, 2), mul(x9, t, a);
    mul(x11, x9, x2);
    power_of_two(t, x11, 1), mul(b5, t, x9);
    power_of_two(t, b5, 5), mul(b10, t, b5);
    power_of_two(t, b10, 10), mul(b20, t, b10);
    power_of_two(t, b20, 20), mul(t, t, b20);
    power_of_two(t, t, 10), mul(b50, t, b10);
    power_of_two(t, b50, 50), mul(b100, t, b50);
    power_of_two(t, b100, 100), mul(t, t, b100);
    power_of_two(t, t, 50), mul(t, t, b50);
    power_of_two(t, t, 5), mul(r, t, x11);
}

static void swap_if(unsigned yes, field a, field b) {
    int64_t mask = -(int64_t)yes;
    for (int i = 0; i < 10; i++) {
        int64_t t = mask & (a[i] ^ b[i]);
        a[i] ^= t, b[i] ^= t;
    }
}

static void to_bytes(uint8_t out[32], field a) {
    carry(a);
    for (int turn = 0; turn < 2; turn++) /* make all limbs positive */
        for (int i = 0; i < 10; i++) {
            int64_t c = a[i] >> bits[i];
            a[i] &= (1LL << bits[i]) - 1;
            a[(i + 1) % 10] += i == 9 ? 19 * c : c;
        }
    memset(out, 0, 32);
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < bits[i]; k++)
            out[(first_bit[i] + k) / 8] |= (uint8_t)((a[i] >> k & 1) << (first_bit[i] + k) % 8);
}

static void ladder(uint8_t out[32], uint32_t scalar, int length, int64_t u) {
    field x1 = {u}, x2 = {1}, z2 = {0}, x3 = {u}, z3 = {1};
    unsigned swapped = 0;
    for (int at = length - 1; at >= 0; at--) {
        unsigned bit = scalar >> at & 1;
        swap_if(swapped ^ bit, x2, x3);
        swap_if(swapped ^ bit, z2, z3);
        swapped = bit;
        field a, b, c, d, e;
        add(a, x2, z2), sub(b, x2, z2), add(c, x3, z3), sub(d, x3, z3);
        mul(d, d, a), mul(c, c, b);
        add(x3, d, c), mul(x3, x3, x3);
        sub(z3, d, c), mul(z3, z3, z3), mul(z3, z3, x1);
        mul(a, a, a), mul(b, b, b);
        mul(x2, a, b);
        sub(e, a, b), scale(c, e, 121665), add(c, c, a), mul(z2, e, c);
    }
    swap_if(swapped, x2, x3);
    swap_if(swapped, z2, z3);
    invert(z2, z2);
    mul(x2, x2, z2);
    to_bytes(out, x2);
}

int main(void) {
    uint8_t out[32];
    ladder(out, 74, 7, 9);
    for (int i = 31; i >= 0; i--) printf("%02x", out[i]);
    printf("\n");
    return 0;
}
