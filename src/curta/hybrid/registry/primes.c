/* Primes and factors of whole numbers up to 2^64: whether a number is prime, its prime factors, the
 * greatest common divisor, the next prime. */

typedef unsigned long long u64;

/* Montgomery's arithmetic: numbers modulo an odd n stand for themselves times 2^64. */
static u64 n, inverse, one;

static u64 high_half(u64 a, u64 b) {
    u64 a1 = a >> 32, a0 = (unsigned)a, b1 = b >> 32, b0 = (unsigned)b;
    u64 middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (unsigned)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static u64 times(u64 a, u64 b) {
    u64 high = high_half(a, b), reduced = high_half(a * b * inverse, n);
    return high < reduced ? high - reduced + n : high - reduced;
}

static u64 plus(u64 a, u64 b) {
    return a >= n - b ? a - (n - b) : a + b;
}

static void modulo(u64 odd) {
    n = inverse = odd;
    for (int round = 0; round < 5; round++) inverse *= 2 - n * inverse;
    one = -n % n;
}

/* A small number in this form. */
static u64 form(unsigned small) {
    u64 sum = 0, power = one;
    for (; small; small >>= 1, power = plus(power, power))
        if (small & 1) sum = plus(sum, power);
    return sum;
}

/* Miller and Rabin's test; these bases decide all numbers up to 2^64. */
static int passes(unsigned base) {
    u64 odd = n - 1, power = form(base), x = one, minus_one = n - one;
    int twos = 0;
    for (; odd % 2 == 0; odd /= 2) twos++;
    if (!power) return 1;
    for (; odd; odd >>= 1, power = times(power, power))
        if (odd & 1) x = times(x, power);
    if (x == one || x == minus_one) return 1;
    while (--twos > 0)
        if ((x = times(x, x)) == minus_one) return 1;
    return 0;
}

/* Whether a whole number is prime. */
_Bool is_prime(u64 number) {
    static const unsigned bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    if (number < 2 || (number % 2 == 0 && number > 2)) return 0;
    if (number < 4) return 1;
    modulo(number);
    for (int at = 0; at < 12; at++)
        if (!passes(bases[at])) return 0;
    return 1;
}

/* The greatest common divisor of two whole numbers. */
u64 gcd(u64 a, u64 b) {
    while (b) {
        u64 left = a % b;
        a = b;
        b = left;
    }
    return a;
}

/* The least prime that is larger than a number. */
u64 next_prime(u64 number) {
    if (number >= 18446744073709551557u) __builtin_trap();
    do number++;
    while (!is_prime(number));
    return number;
}

/* A divisor of an odd number that is no prime: Pollard's rho, by Brent's way to find a cycle. */
static u64 divisor(u64 number) {
    modulo(number);
    for (unsigned c = 1;; c++) {
        u64 x = form(2), y = x, product = one, shift = form(c), found = 1, kept = x;
        for (unsigned lap = 1; found == 1; lap *= 2) {
            x = y;
            for (unsigned at = 0; at < lap && found == 1; at += 64) {
                kept = y;
                for (unsigned step = at; step < at + 64 && step < lap; step++) {
                    y = plus(times(y, y), shift);
                    product = times(product, x > y ? x - y : y - x);
                }
                found = gcd(product, number);
            }
        }
        if (found == number) { /* too many steps at once: one by one */
            do {
                kept = plus(times(kept, kept), shift);
                found = gcd(x > kept ? x - kept : kept - x, number);
            } while (found == 1);
        }
        if (found != number) return found;
    }
}

static int split(u64 number, u64 *factors) {
    if (number < 2) return 0;
    if (is_prime(number)) {
        *factors = number;
        return 1;
    }
    u64 found = number % 2 == 0 ? 2 : divisor(number);
    int count = split(found, factors);
    return count + split(number / found, factors + count);
}

/* The prime factors of a whole number, in ascending order, as often as they divide it. */
int prime_factors(u64 number, u64 *out_factors, int room) {
    static u64 factors[64];
    if (!number) __builtin_trap();
    int count = split(number, factors);
    for (int i = 0; i < count; i++) { /* in order */
        int at = i;
        for (; at && out_factors[at - 1] > factors[i]; at--) out_factors[at] = out_factors[at - 1];
        out_factors[at] = factors[i];
    }
    return count;
}
