/* What the random programs begin with: helpers that leave nothing undefined, and a checksum. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fuel = FUEL; /* the program says #define FUEL */
static uint64_t sum = 14695981039346656037u;

static void mix(uint64_t word) {
    for (int i = 0; i < 64; i += 16) sum = (sum ^ (word >> i & 65535)) * 1099511628211u;
}
static void mix_double(double x) {
    uint64_t bits = 0x7ff8000000000000u;
    if (x == x) memcpy(&bits, &x, sizeof bits);
    mix(bits);
}
static double plain(double x) { return x == x ? x : 0.25; }
static int64_t whole(double x) { return x > -9e18 && x < 9e18 ? (int64_t)x : 77; }
static uint64_t natural(double x) { return x > -1 && x < 1.8e19 ? (uint64_t)x : 78; }
#define DIVISION(type, name, least)                                                     \
    static type name##_quotient(type a, type b) {                                       \
        return b == 0 || (a == least && b == (type)-1) ? (type)(a ^ 3) : (type)(a / b); \
    }                                                                                   \
    static type name##_rest(type a, type b) {                                           \
        return b == 0 || (a == least && b == (type)-1) ? (type)(b ^ 5) : (type)(a % b); \
    }
DIVISION(int32_t, i32, INT32_MIN)
DIVISION(uint32_t, u32, 1)
DIVISION(int64_t, i64, INT64_MIN)
DIVISION(uint64_t, u64, 1)

static int64_t total(int count, ...) {
    va_list given;
    va_start(given, count);
    int64_t result = 0;
    for (int i = 0; i < count; i++)
        result = result * 31 + (i % 3 == 0   ? va_arg(given, int)
                                : i % 3 == 1 ? va_arg(given, int64_t)
                                             : whole(va_arg(given, double)));
    va_end(given);
    return result;
}
static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static void sort_words(int64_t *words, int count) {
    char text[40];
    int64_t *copy = malloc((unsigned)count * sizeof *copy);
    memcpy(copy, words, (unsigned)count * sizeof *copy);
    qsort(copy, (unsigned)count, sizeof *copy, ascending);
    for (int i = 0; i < count; i++) {
        int length = snprintf(text, sizeof text, "%" PRIx64 "/%d", copy[i], i);
        mix((uint64_t)length << 32 | (uint64_t)strlen(strchr(text, '/')));
    }
    memmove(words + 1, copy, ((unsigned)count - 1) * sizeof *copy);
    free(copy);
}
