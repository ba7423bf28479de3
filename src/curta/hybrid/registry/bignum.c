/* Whole numbers of hundreds of digits: sums, differences, products, quotients, remainders, powers
 * of numbers that are too long for anything else. Numbers are texts of digits. */
#include <stdlib.h>
#include <string.h>

enum { BASE = 10000, DIGITS = 4, LONGEST = 1024 };

/* A sign, and limbs of four digits, the lowest first; zero has none. */
typedef struct {
    int negative, length;
    unsigned short limbs[LONGEST];
} Number;

static Number first, second, result, rest;

static void trim(Number *number) {
    while (number->length && !number->limbs[number->length - 1]) number->length--;
    if (!number->length) number->negative = 0;
}

static void push(Number *number, unsigned limb) {
    if (number->length == LONGEST) abort(); /* too long */
    number->limbs[number->length++] = (unsigned short)limb;
}

static void read(Number *number, const char *text) {
    number->negative = *text == '-';
    number->length = 0;
    text += *text == '-' || *text == '+';
    int left = (int)strlen(text);
    if (!left) abort(); /* no number */
    for (; left > 0; left -= DIGITS) {
        unsigned limb = 0;
        for (int at = left < DIGITS ? 0 : left - DIGITS; at < left; at++) {
            if (text[at] < '0' || text[at] > '9') abort();
            limb = limb * 10 + (unsigned)(text[at] - '0');
        }
        push(number, limb);
    }
    trim(number);
}

static const char *written(Number *number) {
    static char said[DIGITS * LONGEST + 2];
    char *to = said;
    trim(number);
    if (number->negative) *to++ = '-';
    int begun = 0;
    for (int at = number->length - 1; at >= 0; at--) {
        for (unsigned unit = BASE / 10; unit; unit /= 10) {
            unsigned digit = number->limbs[at] / unit % 10;
            begun |= digit > 0;
            if (begun) *to++ = (char)('0' + digit);
        }
    }
    if (!begun) *to++ = '0';
    *to = 0;
    return said;
}

/* Of sizes: below, equal, above is -1, 0, 1. */
static int compare(const Number *a, const Number *b) {
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    for (int at = a->length - 1; at >= 0; at--)
        if (a->limbs[at] != b->limbs[at]) return a->limbs[at] < b->limbs[at] ? -1 : 1;
    return 0;
}

static unsigned limb(const Number *number, int at) {
    return at < number->length ? number->limbs[at] : 0;
}

static void add_sizes(const Number *a, const Number *b, Number *sum) {
    unsigned carry = 0;
    sum->length = 0;
    for (int at = 0; at < a->length || at < b->length || carry; at++) {
        carry += limb(a, at) + limb(b, at);
        push(sum, carry % BASE);
        carry /= BASE;
    }
}

/* a -= b, which is not larger. */
static void subtract_size(Number *a, const Number *b) {
    unsigned borrow = 0;
    for (int at = 0; at < a->length; at++) {
        unsigned left = BASE + a->limbs[at] - limb(b, at) - borrow;
        borrow = left < BASE;
        a->limbs[at] = (unsigned short)(left % BASE);
    }
    trim(a);
}

static void add(const Number *a, const Number *b, Number *sum) {
    if (a->negative == b->negative) {
        add_sizes(a, b, sum);
        sum->negative = a->negative;
    } else if (compare(a, b) >= 0) {
        *sum = *a;
        subtract_size(sum, b);
    } else {
        *sum = *b;
        subtract_size(sum, a);
    }
}

static void multiply(const Number *a, const Number *b, Number *product) {
    product->length = a->length + b->length;
    if (product->length > LONGEST) abort();
    memset(product->limbs, 0, sizeof product->limbs);
    for (int i = 0; i < a->length; i++) {
        unsigned carry = 0;
        for (int j = 0; j < b->length || carry; j++) {
            carry += product->limbs[i + j] + a->limbs[i] * limb(b, j);
            product->limbs[i + j] = (unsigned short)(carry % BASE);
            carry /= BASE;
        }
    }
    product->negative = a->negative != b->negative;
    trim(product);
}

static void scale(const Number *a, unsigned factor, Number *product) {
    unsigned carry = 0;
    product->length = 0;
    for (int at = 0; at < a->length || carry; at++) {
        carry += limb(a, at) * factor;
        push(product, carry % BASE);
        carry /= BASE;
    }
    trim(product);
}

/* Towards zero; what is left over is in `rest`, with the sign of a. */
static void divide(const Number *a, const Number *b, Number *quotient) {
    static Number part;
    if (!b->length) __builtin_trap();
    *quotient = *a;
    rest.length = 0;
    for (int at = a->length - 1; at >= 0; at--) {
        memmove(rest.limbs + 1, rest.limbs, sizeof *rest.limbs * (unsigned)rest.length++);
        rest.limbs[0] = a->limbs[at];
        trim(&rest);
        unsigned low = 0, high = BASE - 1;
        while (low < high) {
            unsigned middle = (low + high + 1) / 2;
            scale(b, middle, &part);
            if (compare(&part, &rest) <= 0) low = middle;
            else high = middle - 1;
        }
        scale(b, low, &part);
        subtract_size(&rest, &part);
        quotient->limbs[at] = (unsigned short)low;
    }
    quotient->negative = a->negative != b->negative;
    rest.negative = a->negative;
    trim(quotient);
    trim(&rest);
}

/* The sum of two whole numbers of any length. */
const char *big_sum(const char *a, const char *b) {
    read(&first, a);
    read(&second, b);
    add(&first, &second, &result);
    return written(&result);
}

/* The difference a - b of two whole numbers of any length. */
const char *big_difference(const char *a, const char *b) {
    read(&first, a);
    read(&second, b);
    second.negative = !second.negative;
    add(&first, &second, &result);
    return written(&result);
}

/* The product of two whole numbers of any length. */
const char *big_product(const char *a, const char *b) {
    read(&first, a);
    read(&second, b);
    multiply(&first, &second, &result);
    return written(&result);
}

/* The quotient a / b of two whole numbers of any length, rounded towards zero. */
const char *big_quotient(const char *a, const char *b) {
    read(&first, a);
    read(&second, b);
    divide(&first, &second, &result);
    return written(&result);
}

/* What is left over when a is divided by b, with the sign of a. */
const char *big_remainder(const char *a, const char *b) {
    read(&first, a);
    read(&second, b);
    divide(&first, &second, &result);
    return written(&rest);
}

/* A whole number to the power of another one that is not negative. */
const char *big_power(const char *base, unsigned exponent) {
    static Number product;
    read(&first, base);
    read(&result, "1");
    for (unsigned left = exponent; left; left >>= 1) {
        if (left & 1) {
            multiply(&result, &first, &product);
            result = product;
        }
        if (left > 1) {
            multiply(&first, &first, &product);
            first = product;
        }
    }
    return written(&result);
}
