/* Number theory of 64 bits: Miller and Rabin, Pollard's rho, square roots modulo a prime. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t m) {
    if ((a | b) >> 32 == 0) return a * b % m;
    return (uint64_t)((unsigned __int128)a * b % m);
}

static uint64_t pow_mod(uint64_t base, uint64_t e, uint64_t m) {
    uint64_t result = 1;
    for (base %= m; e > 0; e >>= 1) {
        if (e & 1) result = mul_mod(result, base, m);
        base = mul_mod(base, base, m);
    }
    return result;
}

static int is_prime(uint64_t n) {
    static const uint8_t witnesses[] = {2, 3, 5, 7, 11, 13, 17};
    if (n < 2) return 0;
    for (size_t i = 0; i < sizeof witnesses; i++)
        if (n % witnesses[i] == 0) return n == witnesses[i];
    int twos = __builtin_ctzll(n - 1);
    for (size_t i = 0; i < (n >> 32 ? sizeof witnesses : 3); i++) {
        uint64_t x = pow_mod(witnesses[i], (n - 1) >> twos, n);
        if (x == 1 || x == n - 1) continue;
        int left = twos - 1;
        while (left > 0 && x != n - 1) x = mul_mod(x, x, n), left--;
        if (x != n - 1) return 0;
    }
    return 1;
}

static uint64_t gcd(uint64_t a, uint64_t b) { /* Stein's */
    if (a == 0 || b == 0) return a | b;
    int shift = __builtin_ctzll(a | b);
    a >>= __builtin_ctzll(a);
    while (b != 0) {
        b >>= __builtin_ctzll(b);
        if (a > b) {
            uint64_t t = a;
            a = b, b = t;
        }
        b -= a;
    }
    return a << shift;
}

static uint64_t rho(uint64_t n) {
    if (n % 2 == 0) return 2;
    for (uint64_t c = 1;; c++) {
        uint64_t x = 2, y = 2, d = 1;
        while (d == 1) {
            x = (mul_mod(x, x, n) + c) % n;
            y = (mul_mod(y, y, n) + c) % n;
            y = (mul_mod(y, y, n) + c) % n;
            d = gcd(x > y ? x - y : y - x, n);
        }
        if (d != n) return d;
    }
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t factor(uint64_t n, uint64_t *out) {
    if (n == 1) return 0;
    if (is_prime(n)) {
        *out = n;
        return 1;
    }
    uint64_t d = rho(n);
    size_t count = factor(d, out);
    return count + factor(n / d, out + count);
}

static uint64_t root_mod(uint64_t a, uint64_t p) { /* Cipolla's, for small p */
    for (uint64_t r = 0; r < p; r++) {
        uint64_t w = (r * r + p - a) % p;
        if (pow_mod(w, (p - 1) / 2, p) != p - 1) continue;
        uint64_t x = r, i = 1, sx = 1, si = 0;
        for (uint64_t e = (p + 1) / 2; e > 0; e >>= 1) {
            if (e & 1) {
                uint64_t t = (sx * x + si * i % p * w) % p;
                si = (sx * i + si * x) % p, sx = t;
            }
            uint64_t t = (x * x + i * i % p * w) % p;
            i = 2 * x * i % p, x = t;
        }
        return sx < p - sx ? sx : p - sx;
    }
    return 0;
}

int main(void) {
    static const uint64_t numbers[] = {600851475143ULL, 1000036000099ULL, 4294967297ULL,
                                       720720ULL, 121ULL};
    uint64_t factors[64];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t count = factor(numbers[i], factors);
        qsort(factors, count, sizeof *factors, by_size);
        printf("%" PRIu64 " =", numbers[i]);
        for (size_t k = 0; k < count; k++) printf("%s %" PRIu64, k ? " *" : "", factors[k]);
        printf("\n");
    }
    printf("%d %d %d\n", is_prime(18446744073709551557ULL), is_prime(3215031751ULL), is_prime(2147483647));
    printf("%" PRIu64 "\n", pow_mod(123456789123456789ULL, 1000003, 18446744073709551557ULL));
    for (uint64_t a = 2; a < 12; a += 3)
        if (pow_mod(a, 5006, 10013) == 1)
            printf("%" PRIu64 "^2 = %" PRIu64 " mod 10013\n", root_mod(a, 10013), a);
    int count = 0;
    for (uint64_t n = 1; n < 600; n += 2) count += is_prime(n);
    printf("%d odd primes below 600\n", count);
    return 0;
}
