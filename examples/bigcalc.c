/* A calculator without limits on the number of digits: + - * / % ^ and parentheses.
 *
 *   curta run examples/bigcalc.c --stdin "2^256 - (10^30 + 1) * 7"
 *
 * Every line of the input is an expression; its value is the answer. Division rounds down, and the
 * remainder has the sign of the divisor, as in Python.
 *
 * A number is a sign and limbs of four decimal digits, the least significant first. Four digits
 * times four digits and two carries fit into 32 bits, so nothing here is wider than that.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE = 10000, LIMB_DIGITS = 4, ROOM = 1 << 21 };

typedef struct {
    int negative;
    int length; /* without leading zeros; 0 has none */
    uint16_t *limbs;
} Number;

static const char *complaint; /* what is wrong with the line, if anything is */
static const char *at;        /* where in the line we are */

/* ---- numbers ---- */

static uint16_t room[ROOM]; /* of all numbers of a line; the next line begins anew */
static int used;

static Number make(int length) {
    if (length > ROOM - used) {
        complaint = "the numbers become too large";
        length = ROOM - used;
    }
    Number number = {0, length, room + used};
    memset(number.limbs, 0, length * sizeof *number.limbs);
    used += length;
    return number;
}

static Number trimmed(Number number) {
    while (number.length > 0 && number.limbs[number.length - 1] == 0) {
        number.length--;
    }
    if (number.length == 0) {
        number.negative = 0;
    }
    return number;
}

static Number small(unsigned value) {
    Number number = make(3);
    for (int i = 0; i < 3; i++, value /= BASE) {
        number.limbs[i] = value % BASE;
    }
    return trimmed(number);
}

static Number copy(Number a) {
    Number number = make(a.length);
    memcpy(number.limbs, a.limbs, number.length * sizeof *a.limbs);
    number.negative = a.negative;
    return number;
}

/* Compares without the signs. */
static int compare(Number a, Number b) {
    if (a.length != b.length) {
        return a.length < b.length ? -1 : 1;
    }
    for (int i = a.length - 1; i >= 0; i--) {
        if (a.limbs[i] != b.limbs[i]) {
            return a.limbs[i] < b.limbs[i] ? -1 : 1;
        }
    }
    return 0;
}

static Number add_sizes(Number a, Number b) {
    int length = (a.length > b.length ? a.length : b.length) + 1;
    Number sum = make(length);
    unsigned carry = 0;
    for (int i = 0; i < sum.length; i++) {
        carry += (i < a.length ? a.limbs[i] : 0) + (i < b.length ? b.limbs[i] : 0);
        sum.limbs[i] = carry >= BASE ? carry - BASE : carry;
        carry = carry >= BASE;
    }
    return trimmed(sum);
}

/* a - b, where a is not the smaller one. */
static Number subtract_sizes(Number a, Number b) {
    Number rest = make(a.length);
    int borrow = 0;
    for (int i = 0; i < rest.length; i++) {
        int digit = a.limbs[i] - (i < b.length ? b.limbs[i] : 0) - borrow;
        borrow = digit < 0;
        rest.limbs[i] = digit + (borrow ? BASE : 0);
    }
    return trimmed(rest);
}

static Number add(Number a, Number b) {
    Number sum;
    if (a.negative == b.negative) {
        sum = add_sizes(a, b);
        sum.negative = a.negative;
    } else if (compare(a, b) >= 0) {
        sum = subtract_sizes(a, b);
        sum.negative = a.negative;
    } else {
        sum = subtract_sizes(b, a);
        sum.negative = b.negative;
    }
    return trimmed(sum);
}

static Number negated(Number a) {
    Number number = copy(a);
    number.negative = !a.negative;
    return trimmed(number);
}

static Number multiply(Number a, Number b) {
    Number product = make(a.length + b.length);
    for (int i = 0; i < a.length && complaint == NULL; i++) {
        uint32_t carry = 0, factor = a.limbs[i];
        for (int j = 0; j < b.length; j++) {
            carry += product.limbs[i + j] + factor * b.limbs[j];
            product.limbs[i + j] = carry % BASE;
            carry /= BASE;
        }
        product.limbs[i + b.length] = carry;
    }
    product.negative = a.negative != b.negative;
    return trimmed(product);
}

/* a *= factor; the last carry is returned. */
static uint32_t scale(uint16_t *limbs, int length, uint32_t factor) {
    uint32_t carry = 0;
    for (int i = 0; i < length; i++) {
        carry += limbs[i] * factor;
        limbs[i] = carry % BASE;
        carry /= BASE;
    }
    return carry;
}

/* a /= divisor, one limb; the remainder is returned. */
static uint32_t divide_limb(uint16_t *limbs, int length, uint32_t divisor) {
    uint32_t rest = 0;
    for (int i = length - 1; i >= 0; i--) {
        rest = rest * BASE + limbs[i];
        limbs[i] = rest / divisor;
        rest %= divisor;
    }
    return rest;
}

/* Quotient and remainder of the sizes, by long division. Both numbers are scaled first so that the
 * leading limb of the divisor is at least BASE / 2; then a quotient limb that is guessed from the
 * leading limbs is at most two too large. */
static Number divide_sizes(Number a, Number b, Number *remainder) {
    if (compare(a, b) < 0) {
        *remainder = copy(a);
        return small(0);
    }
    if (b.length == 1) {
        Number quotient = copy(a);
        *remainder = small(divide_limb(quotient.limbs, quotient.length, b.limbs[0]));
        return trimmed(quotient);
    }
    int n = b.length, m = a.length - n;
    if (a.length + 1 + n + m + 1 > ROOM - used) {
        complaint = "the numbers become too large";
        return *remainder = small(0);
    }
    uint32_t factor = BASE / (b.limbs[n - 1] + 1);
    Number divisor = copy(b), quotient = make(m + 1), rest = make(a.length + 1);
    memcpy(rest.limbs, a.limbs, a.length * sizeof *a.limbs);
    rest.limbs[a.length] = scale(rest.limbs, a.length, factor);
    scale(divisor.limbs, n, factor);
    for (int i = m; i >= 0; i--) {
        uint16_t *part = rest.limbs + i;
        uint32_t top = part[n] * BASE + part[n - 1];
        uint32_t guess = top / divisor.limbs[n - 1], left = top % divisor.limbs[n - 1];
        while (guess >= BASE || (left < BASE &&
               guess * divisor.limbs[n - 2] > left * BASE + part[n - 2])) {
            guess--;
            left += divisor.limbs[n - 1];
        }
        int32_t borrow = 0;
        for (int j = 0; j < n; j++) {
            int32_t digit = part[j] - (int32_t)(guess * divisor.limbs[j]) + borrow;
            borrow = digit < 0 ? -((BASE - 1 - digit) / BASE) : 0;
            part[j] = digit - borrow * BASE;
        }
        int32_t last = part[n] + borrow;
        if (last < 0) { /* one too large after all: add the divisor back */
            uint32_t carry = 0;
            guess--;
            for (int j = 0; j < n; j++) {
                carry += part[j] + divisor.limbs[j];
                part[j] = carry % BASE;
                carry /= BASE;
            }
            last += carry;
        }
        part[n] = last;
        quotient.limbs[i] = guess;
    }
    rest.length = n;
    divide_limb(rest.limbs, n, factor);
    *remainder = trimmed(rest);
    return trimmed(quotient);
}

/* Rounds down. */
static Number divide(Number a, Number b, Number *remainder) {
    if (b.length == 0) {
        complaint = "division by zero";
        *remainder = small(0);
        return small(0);
    }
    Number quotient = divide_sizes(a, b, remainder);
    quotient.negative = a.negative != b.negative;
    if (remainder->length > 0 && quotient.negative) {
        Number one = small(1);
        one.negative = 1;
        quotient.negative = quotient.length > 0;
        quotient = add(quotient, one);
        *remainder = subtract_sizes(b, *remainder);
    }
    remainder->negative = b.negative;
    *remainder = trimmed(*remainder);
    return trimmed(quotient);
}

static Number power(Number base, Number exponent) {
    Number result = small(1);
    if (exponent.negative || exponent.length > 2) {
        complaint = exponent.negative ? "negative exponent" : "the exponent is too large";
        return result;
    }
    unsigned left = 0;
    for (int i = exponent.length - 1; i >= 0; i--) {
        left = left * BASE + exponent.limbs[i];
    }
    while (left > 0 && complaint == NULL) {
        if (left & 1) {
            result = multiply(result, base);
        }
        left >>= 1;
        if (left > 0) {
            base = multiply(base, base);
        }
    }
    return result;
}

/* ---- expressions ---- */

static Number sum(void);

static int next(void) {
    while (*at == ' ' || *at == '\t' || *at == '\r') {
        at++;
    }
    return *at;
}

static Number digits(void) {
    const char *end = at;
    while (*end >= '0' && *end <= '9') {
        end++;
    }
    int count = end - at;
    Number number = make((count + LIMB_DIGITS - 1) / LIMB_DIGITS);
    for (int i = 0; i < number.length; i++) {
        const char *last = end - i * LIMB_DIGITS;
        const char *first = last - at > LIMB_DIGITS ? last - LIMB_DIGITS : at;
        unsigned limb = 0;
        while (first < last) {
            limb = limb * 10 + (*first++ - '0');
        }
        number.limbs[i] = limb;
    }
    at = end;
    return trimmed(number);
}

static Number atom(void) {
    int c = next();
    if (c >= '0' && c <= '9') {
        return digits();
    }
    if (c == '(') {
        at++;
        Number inner = sum();
        if (complaint == NULL && next() != ')') {
            complaint = "a parenthesis is not closed";
        }
        at += *at == ')';
        return inner;
    }
    complaint = c == 0 ? "the line ends too early" : "this is not a number";
    return small(0);
}

static Number sign(void);

/* Right to left, and before a sign in front: -2^2 is -4. */
static Number tower(void) {
    Number base = atom();
    if (complaint == NULL && next() == '^') {
        at++;
        return power(base, sign());
    }
    return base;
}

static Number sign(void) {
    int c = next();
    if (c != '-' && c != '+') {
        return tower();
    }
    at++;
    Number number = sign();
    return c == '-' ? negated(number) : number;
}

static Number product(void) {
    Number left = sign();
    for (int c; complaint == NULL && ((c = next()) == '*' || c == '/' || c == '%');) {
        at++;
        Number right = sign(), rest;
        if (complaint != NULL) {
            break;
        }
        if (c == '*') {
            left = multiply(left, right);
        } else {
            Number quotient = divide(left, right, &rest);
            left = c == '/' ? quotient : rest;
        }
    }
    return left;
}

static Number sum(void) {
    Number left = product();
    for (int c; complaint == NULL && ((c = next()) == '+' || c == '-');) {
        at++;
        Number right = product();
        left = add(left, c == '-' ? negated(right) : right);
    }
    return left;
}

/* ---- lines ---- */

static void print(Number number) {
    if (number.negative) {
        putchar('-');
    }
    printf("%d", number.length > 0 ? number.limbs[number.length - 1] : 0);
    for (int i = number.length - 2; i >= 0; i--) {
        printf("%04d", number.limbs[i]);
    }
    putchar('\n');
}

int main(void) {
    char *line = NULL;
    size_t line_room = 0;
    while (getline(&line, &line_room, stdin) >= 0) {
        line[strcspn(line, "\n")] = 0;
        at = line;
        complaint = NULL;
        used = 0;
        if (next() == 0) {
            continue;
        }
        Number value = sum();
        if (complaint == NULL && next() != 0) {
            complaint = "this does not belong here";
        }
        if (complaint != NULL) {
            printf("error: %s, at \"%s\"\n", complaint, at);
        } else {
            print(value);
        }
        fflush(stdout);
    }
    return 0;
}
