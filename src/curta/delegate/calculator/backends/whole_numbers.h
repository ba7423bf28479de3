/* Whole numbers with a sign, of a bounded length.

   Limbs have 16 bits, the least significant first: a product of two and two carries fit into 32
   bits, so nothing here is wider than that. Results may be the same variables as operands. Nothing
   is allocated; a product that would not fit leaves 0 and sets `overflown`. */

#include <stdint.h>
#include <string.h>

enum { LIMB_BITS = 16, LIMBS = 2 * MOST_BITS / LIMB_BITS + 16 };

typedef struct {
    int negative;
    int length; /* without leading zeros; 0 has none, and is not negative */
    uint16_t limbs[LIMBS];
} Number;

static int overflown;

static void trim(Number *a) {
    while (a->length > 0 && a->limbs[a->length - 1] == 0) a->length--;
    if (a->length == 0) a->negative = 0;
}

static void set(Number *a, uint32_t value) {
    a->negative = 0;
    a->length = 2;
    a->limbs[0] = value & 0xffff;
    a->limbs[1] = value >> LIMB_BITS;
    trim(a);
}

static void copy(Number *to, const Number *from) {
    if (to == from) return;
    to->negative = from->negative;
    to->length = from->length;
    memcpy(to->limbs, from->limbs, from->length * sizeof *from->limbs);
}

static void negate(Number *a) { a->negative = a->length > 0 && !a->negative; }

static int bits(const Number *a) {
    if (a->length == 0) return 0;
    int count = (a->length - 1) * LIMB_BITS;
    for (unsigned top = a->limbs[a->length - 1]; top > 0; top >>= 1) count++;
    return count;
}

static int is_odd(const Number *a) { return a->length > 0 && (a->limbs[0] & 1); }

static int is_one(const Number *a) { return a->length == 1 && a->limbs[0] == 1 && !a->negative; }

/* The size of a number of at most 32 bits; longer ones count as the largest of those. */
static uint32_t size(const Number *a) {
    if (a->length > 2) return UINT32_MAX;
    uint32_t high = a->length > 1 ? a->limbs[1] : 0, low = a->length > 0 ? a->limbs[0] : 0;
    return high << LIMB_BITS | low;
}

static int compare_sizes(const Number *a, const Number *b) {
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    for (int i = a->length - 1; i >= 0; i--) {
        if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i] ? -1 : 1;
    }
    return 0;
}

static int compare(const Number *a, const Number *b) {
    if (a->negative != b->negative) return a->negative ? -1 : 1;
    return a->negative ? -compare_sizes(a, b) : compare_sizes(a, b);
}

/* ---- sums ---- */

/* Limbs of a + b, or a - b by a sign of -1; what is left to carry is returned. */
static int32_t add(uint16_t *sum, const uint16_t *a, int length, const uint16_t *b, int shorter,
                   int sign) {
    int32_t carry = 0;
    for (int i = 0; i < length; i++) {
        carry += a[i] + (i < shorter ? sign * b[i] : 0);
        sum[i] = carry & 0xffff;
        carry >>= LIMB_BITS;
    }
    return carry;
}

/* a + b, or a - b. */
static void combine(Number *sum, const Number *a, const Number *b, int minus) {
    int a_negative = a->negative, b_negative = minus ? !b->negative : b->negative;
    int is_less = compare_sizes(a, b) < 0, sign = a_negative == b_negative ? 1 : -1;
    const Number *larger = is_less ? b : a, *smaller = is_less ? a : b;
    int length = larger->length;
    int32_t carry = add(sum->limbs, larger->limbs, length, smaller->limbs, smaller->length, sign);
    if (carry > 0 && length < LIMBS) sum->limbs[length++] = carry;
    else if (carry > 0) overflown = 1;
    sum->length = length;
    sum->negative = is_less ? b_negative : a_negative;
    trim(sum);
}

static void add_small(Number *a, uint32_t value) {
    Number small;
    set(&small, value);
    combine(a, a, &small, 0);
}

/* ---- products ---- */

static void multiply(Number *product, const Number *a, const Number *b) {
    Number other, *result = product == a || product == b ? &other : product;
    result->length = a->length + b->length;
    result->negative = a->negative != b->negative;
    if (result->length > LIMBS) {
        overflown = 1;
        result->length = 0;
    } else {
        memset(result->limbs, 0, result->length * sizeof *result->limbs);
        for (int i = 0; i < a->length; i++) {
            uint32_t carry = 0, factor = a->limbs[i];
            uint16_t *part = result->limbs + i;
            for (int j = 0; j < b->length; j++) {
                carry += part[j] + factor * b->limbs[j];
                part[j] = carry & 0xffff;
                carry >>= LIMB_BITS;
            }
            part[b->length] = carry;
        }
    }
    trim(result);
    copy(product, result);
}

static void scale(Number *a, uint32_t factor) {
    Number small;
    set(&small, factor);
    multiply(a, &small, a);
}

static void raise(Number *result, const Number *base, uint32_t exponent) {
    Number square;
    copy(&square, base);
    set(result, 1);
    while (exponent > 0) {
        if (exponent & 1) multiply(result, result, &square);
        exponent >>= 1;
        if (exponent > 0) multiply(&square, &square, &square);
    }
}

/* ---- quotients ---- */

/* a /= divisor, one limb; the remainder is returned. */
static uint32_t divide_by_limb(Number *a, uint32_t divisor) {
    uint32_t rest = 0;
    for (int i = a->length - 1; i >= 0; i--) {
        rest = rest << LIMB_BITS | a->limbs[i];
        a->limbs[i] = rest / divisor;
        rest %= divisor;
    }
    trim(a);
    return rest;
}

/* part -= guess * divisor, over one limb more than the divisor has; whether that was too much, in
   which case the divisor has been added back. */
static int take_away(uint16_t *part, uint32_t guess, const Number *divisor) {
    int n = divisor->length;
    uint32_t carry = 0;
    int32_t borrow = 0;
    for (int j = 0; j <= n; j++) {
        carry += j < n ? guess * divisor->limbs[j] : 0;
        int32_t digit = (int32_t)part[j] - (int32_t)(carry & 0xffff) - borrow;
        borrow = digit < 0;
        part[j] = digit & 0xffff;
        carry >>= LIMB_BITS;
    }
    if (borrow) add(part, part, n + 1, divisor->limbs, n, 1);
    return borrow;
}

/* Quotient and remainder of the sizes, by long division. Both are scaled first, so that the
   leading limb of the divisor is at least half of what a limb can be; then a limb that is guessed
   from the leading ones is at most one too large. */
static void divide_sizes(Number *quotient, Number *rest, const Number *a, const Number *b) {
    Number divisor, left, result, factor;
    int n = b->length, m = a->length - n;
    if (m < 0) {
        set(&result, 0);
        copy(&left, a);
    } else if (n == 1) {
        copy(&result, a);
        set(&left, divide_by_limb(&result, b->limbs[0]));
    } else {
        set(&factor, 0x10000 / (b->limbs[n - 1] + 1u));
        multiply(&left, &factor, a);
        multiply(&divisor, &factor, b);
        if (left.length == m + n) left.limbs[m + n] = 0;
        for (int i = m; i >= 0; i--) {
            uint16_t *part = left.limbs + i;
            uint32_t top = (uint32_t)part[n] << LIMB_BITS | part[n - 1], head = divisor.limbs[n - 1];
            uint32_t guess = part[n] >= head ? 0xffff : top / head, over = top - guess * head;
            while (over <= 0xffff && guess * divisor.limbs[n - 2] > (over << LIMB_BITS | part[n - 2])) {
                guess--;
                over += head;
            }
            result.limbs[i] = guess - take_away(part, guess, &divisor);
        }
        result.length = m + 1;
        left.length = n;
        divide_by_limb(&left, size(&factor));
    }
    result.negative = left.negative = 0;
    trim(&result);
    trim(&left);
    copy(quotient, &result);
    copy(rest, &left);
}

/* Rounded down; the remainder has the sign of b. */
static void divide(Number *quotient, Number *rest, const Number *a, const Number *b) {
    int down = a->negative != b->negative, b_negative = b->negative;
    Number divisor;
    copy(&divisor, b);
    divisor.negative = 0;
    divide_sizes(quotient, rest, a, &divisor);
    if (down && rest->length > 0) {
        add_small(quotient, 1);
        combine(rest, &divisor, rest, 1);
    }
    quotient->negative = down;
    rest->negative = b_negative;
    trim(quotient);
    trim(rest);
}

static void common_divisor(Number *found, const Number *a, const Number *b) {
    Number first, second, quotient, *larger = &first, *smaller = &second;
    copy(larger, a);
    copy(smaller, b);
    while (smaller->length > 0) {
        divide_sizes(&quotient, larger, larger, smaller);
        Number *rest = larger;
        larger = smaller;
        smaller = rest;
    }
    larger->negative = 0;
    copy(found, larger);
}

/* The root of a number that is not negative, by Newton's method from above; whether it is exact. */
static int take_root(Number *a, const Number *degree) {
    int length = bits(a);
    if (length < 2) return 1;
    if (size(degree) >= (uint32_t)length) return 0;
    int n = (int)size(degree), top = (length + n - 1) / n;
    Number root, power, quotient, rest;
    set(&power, 2);
    raise(&root, &power, top);
    for (;;) {
        raise(&power, &root, n - 1);
        divide_sizes(&quotient, &rest, a, &power);
        copy(&power, &root);
        scale(&power, n - 1);
        combine(&power, &power, &quotient, 0);
        divide_by_limb(&power, n);
        if (compare_sizes(&power, &root) >= 0) break;
        copy(&root, &power);
    }
    raise(&power, &root, n);
    int exact = compare_sizes(&power, a) == 0;
    copy(a, &root);
    return exact;
}
