/* Natural numbers of any size in base 10^9: factorials, Fibonacci numbers, powers, square roots. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE 1000000000u

typedef struct {
    uint32_t *digits;
    size_t count, room;
} number;

static number make(uint32_t value) {
    number n = {calloc(4, sizeof *n.digits), 0, 4};
    if (value >= BASE) n.digits[n.count++] = value % BASE, value /= BASE;
    if (value > 0) n.digits[n.count++] = value;
    return n;
}

static void push(number *n, uint32_t digit) {
    if (n->count == n->room) {
        n->room = 2 * n->room;
        n->digits = realloc(n->digits, n->room * sizeof *n->digits);
        if (n->digits == NULL) abort();
    }
    n->digits[n->count++] = digit;
}

static void trim(number *n) {
    while (n->count > 0 && n->digits[n->count - 1] == 0) n->count--;
}

static void times_small(number *n, uint32_t factor) {
    uint64_t carry = 0;
    for (size_t i = 0; i < n->count; i++) {
        carry += (uint64_t)n->digits[i] * factor;
        n->digits[i] = carry % BASE;
        carry /= BASE;
    }
    if (carry > 0) push(n, (uint32_t)carry);
}

static uint32_t divide_small(number *n, uint32_t divisor) {
    uint64_t rest = 0;
    for (size_t i = n->count; i-- > 0;) {
        rest = rest * BASE + n->digits[i];
        n->digits[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    trim(n);
    return (uint32_t)rest;
}

static void add(number *a, const number *b) {
    uint32_t carry = 0;
    for (size_t i = 0; i < b->count || carry; i++) {
        if (i == a->count) push(a, 0);
        uint32_t sum = a->digits[i] + carry + (i < b->count ? b->digits[i] : 0);
        carry = sum >= BASE;
        a->digits[i] = carry ? sum - BASE : sum;
    }
}

static void subtract(number *a, const number *b) {
    int64_t borrow = 0;
    for (size_t i = 0; i < a->count; i++) {
        borrow += (int64_t)a->digits[i] - (i < b->count ? b->digits[i] : 0);
        a->digits[i] = (uint32_t)(borrow < 0 ? borrow + BASE : borrow);
        borrow = borrow < 0 ? -1 : 0;
    }
    trim(a);
}

static number product(const number *a, const number *b) {
    number r = make(0);
    for (size_t i = 0; i < a->count + b->count; i++) push(&r, 0);
    for (size_t i = 0; i < a->count; i++) {
        uint64_t carry = 0;
        for (size_t j = 0; j < b->count || carry; j++) {
            carry += r.digits[i + j] + (uint64_t)a->digits[i] * (j < b->count ? b->digits[j] : 0);
            r.digits[i + j] = carry % BASE;
            carry /= BASE;
        }
    }
    trim(&r);
    return r;
}

static void print(const char *name, const number *n) {
    printf("%s = %u", name, n->count ? n->digits[n->count - 1] : 0);
    for (size_t i = n->count > 0 ? n->count - 1 : 0; i-- > 0;) printf("%09u", n->digits[i]);
    putchar('\n');
}

static unsigned digit_sum(const number *n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n->count; i++)
        for (uint32_t d = n->digits[i]; d > 0; d /= 10) sum += d % 10;
    return sum;
}

int main(void) {
    number factorial = make(1);
    for (uint32_t i = 2; i <= 60; i++) times_small(&factorial, i);
    print("60!", &factorial);
    printf("digit sum %u\n", digit_sum(&factorial));

    number a = make(0), b = make(1);
    for (int i = 0; i < 200; i++) {
        add(&a, &b);
        number t = a;
        a = b, b = t;
    }
    print("F(200)", &a);
    subtract(&b, &a);
    print("F(199)", &b);

    number power = make(7), square;
    for (int i = 0; i < 6; i++) {
        square = product(&power, &power);
        free(power.digits);
        power = square;
    }
    print("7^64", &power);
    uint32_t rest = divide_small(&power, 1000003);
    print("/ 1000003", &power);
    printf("rest %u\n", rest);

    number x = make(4000000000u), zero = make(0);
    number y = product(&x, &x);
    print("4000000000^2", &y);
    print("0", &zero);
    free(factorial.digits), free(a.digits), free(b.digits), free(power.digits);
    free(x.digits), free(y.digits), free(zero.digits);
    return 0;
}
