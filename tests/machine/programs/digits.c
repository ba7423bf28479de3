/* Digits of pi (a spigot, and Machin's formula in fixed point) and of e. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIMBS 8 /* of 32 bits behind the point, and one before it */
typedef struct {
    uint32_t limb[LIMBS + 1]; /* the most significant first */
} fixed;

static void spigot(int digits) {
    static int32_t a[400];
    int length = digits * 10 / 3 + 1, nines = 0, held = 0, first = 1;
    for (int i = 0; i < length; i++) a[i] = 2;
    for (int n = 0; n <= digits; n++) {
        int32_t q = 0;
        for (int i = length; i > 0; i--) {
            int32_t x = 10 * a[i - 1] + q * i;
            a[i - 1] = x % (2 * i - 1);
            q = x / (2 * i - 1);
        }
        a[0] = q % 10;
        q /= 10;
        if (q == 9) {
            nines++;
            continue;
        }
        if (!first) printf("%d", q == 10 ? held + 1 : held);
        first = 0;
        for (; nines > 0; nines--) putchar(q == 10 ? '0' : '9');
        held = q == 10 ? 0 : q;
    }
    putchar('\n');
}

static int divide(fixed *a, uint32_t divisor) {
    uint64_t rest = 0;
    uint32_t any = 0;
    for (int i = 0; i <= LIMBS; i++) {
        rest = rest << 32 | a->limb[i];
        a->limb[i] = (uint32_t)(rest / divisor);
        any |= a->limb[i];
        rest %= divisor;
    }
    return any != 0;
}

static uint32_t scale(fixed *a, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = LIMBS; i >= 0; i--) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)carry;
}

static void accumulate(fixed *a, const fixed *b, int negative) {
    uint32_t carry = negative != 0;
    for (int i = LIMBS; i >= 0; i--) {
        uint32_t term = negative ? ~b->limb[i] : b->limb[i];
        uint64_t sum = (uint64_t)a->limb[i] + term + carry;
        a->limb[i] = (uint32_t)sum;
        carry = (uint32_t)(sum >> 32);
    }
}

static fixed arc_cotangent(uint32_t x, uint32_t factor) {
    fixed power = {{factor}}, sum = {{0}};
    divide(&power, x);
    for (uint32_t n = 1;; n += 2) {
        fixed term = power;
        if (!divide(&term, n)) return sum;
        accumulate(&sum, &term, n % 4 == 3);
        divide(&power, x * x);
    }
}

static void print(const char *name, fixed a, int groups) {
    printf("%s %u.", name, a.limb[0]);
    for (int i = 0; i < groups; i++) {
        a.limb[0] = 0;
        scale(&a, 1000000000);
        printf("%09u", a.limb[0]);
    }
    printf("\n");
}

int main(void) {
    spigot(40);
    fixed pi = arc_cotangent(5, 16), rest = arc_cotangent(239, 4);
    accumulate(&pi, &rest, 1);
    print("pi", pi, 7);
    fixed e = {{1}}, term = {{1}};
    for (uint32_t n = 1; divide(&term, n); n++) accumulate(&e, &term, 0);
    print("e ", e, 7);
    fixed half = pi;
    divide(&half, 2);
    accumulate(&half, &e, 1);
    scale(&half, 1u << 31);
    printf("%08x %08x %08x\n", half.limb[0], half.limb[1], half.limb[2]);
    return 0;
}
