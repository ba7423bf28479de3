/* Corners of the language: structs by value, bit fields, unions, varargs, function pointers, generics. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t id;
    float weight;
    char tag[5];
    int16_t offsets[3];
} large;

typedef struct {
    unsigned kind : 3;
    signed level : 5;
    unsigned long long count : 40;
    unsigned last : 1;
} packed;

typedef union {
    double d;
    float f[2];
    uint64_t u64;
    uint32_t u32[2];
    int8_t bytes[8];
} overlay;

static large changed(large x, int by) {
    x.id = x.id * 3 + (uint64_t)by;
    x.weight /= 2;
    x.tag[0]++;
    for (int i = 0; i < 3; i++) x.offsets[i] = (int16_t)(x.offsets[i] * by);
    return x;
}

static int64_t total(const char *kinds, ...) {
    va_list list, again;
    int64_t sum = 0;
    va_start(list, kinds);
    va_copy(again, list);
    for (const char *k = kinds; *k; k++) switch (*k) {
        case 'i': sum += va_arg(list, int); break;
        case 'l': sum += va_arg(list, long long); break;
        case 'd': sum += (int64_t)va_arg(list, double); break;
        case 's': sum += (int64_t)strlen(va_arg(list, char *)); break;
        case 'x': sum += (int64_t)va_arg(list, large).id; break;
        case 'f': sum += va_arg(list, int (*)(int))(5); break;
    }
    va_end(list);
    sum = sum * 1000 + (*kinds == 'i' ? va_arg(again, int) : 0);
    va_end(again);
    return sum;
}

static int twice(int x) { return 2 * x; }
static int squared(int x) { return x * x; }
static int (*pick(bool which))(int) { return which ? twice : squared; }

typedef struct stage {
    int (*apply)(int);
    const struct stage *next;
} stage;

static int run(const stage *s, int x) { return s ? run(s->next, s->apply(x)) : x; }

#define DESCRIBE(x) \
    _Generic((x), int: "int", unsigned: "unsigned", double: "double", float: "float", char *: "text", \
             long long: "long long", default: "other")
#define LENGTH(a) (sizeof(a) / sizeof *(a))
#define JOIN(a, b) a##b
#define COLOURS(X) X(RED, 0xff0000) X(GREEN, 0x00ff00) X(BLUE, 0x0000ff)
enum {
#define ENUMERATE(name, rgb) name = rgb,
    COLOURS(ENUMERATE)
};

static const char *colour(unsigned rgb) {
    switch (rgb) {
#define CASE(name, value) \
    case name: return #name;
        COLOURS(CASE)
    }
    return "unknown";
}

static unsigned duff(const uint8_t *p, unsigned n) {
    unsigned sum = 0, turns = (n + 3) / 4;
    switch (n % 4) {
    case 0: do { sum += *p++; /* fall through */
    case 3: sum = sum * 3 + *p++; /* fall through */
    case 2: sum = sum * 5 + *p++; /* fall through */
    case 1: sum = sum * 7 + *p++;
            } while (--turns > 0);
    }
    return sum;
}

static int find_pair(int n, int *x, int *y) {
    for (int i = 1; i < n; i++)
        for (int j = i; j < n; j++)
            if (i * i + j * j == n) {
                *x = i, *y = j;
                goto found;
            }
    return 0;
found:
    return 1;
}

int main(void) {
    large x = {.id = 1ULL << 40, .weight = 5.5f, .tag = "abc", .offsets = {1, -2, 300}};
    large y = changed(changed(x, 7), -3);
    printf("%llu %g %s %d %d %d, %g\n", (unsigned long long)y.id, y.weight, y.tag, y.offsets[0], y.offsets[1], y.offsets[2], x.weight);
    packed p = {.kind = 9 & 7, .level = -16, .count = 1ULL << 39};
    p.level--, p.count += p.count - 1, p.last--, p.kind += 7;
    printf("%u %d %llu %u\n", p.kind, p.level, (unsigned long long)p.count, p.last);
    overlay o = {.d = -1.5};
    printf("%08x %08x %d", o.u32[0], o.u32[1], o.bytes[7]);
    o.f[0] = 1.0f;
    printf(" %016llx\n", (unsigned long long)o.u64);
    printf("%lld\n", (long long)total("ildsxf", -5, 1LL << 33, 2.9, "four", x, pick(false)));
    const stage third = {twice, NULL}, second = {squared, &third}, first = {pick(true), &second};
    printf("%d %d\n", run(&first, 3), pick(false)(-9));
    char *text = "text";
    printf("%s %s %s %s %s\n", DESCRIBE(1), DESCRIBE(1.0f * 2), DESCRIBE(text), DESCRIBE(1LL << 3), DESCRIBE(JOIN(1, u)));
    printf("%s %s %s\n", colour(0x00ff00), colour(RED | BLUE), colour(BLUE));
    uint8_t bytes[11];
    for (unsigned i = 0; i < LENGTH(bytes); i++) bytes[i] = (uint8_t)(i * 29);
    printf("%u %u\n", duff(bytes, 11), duff(bytes, 8));
    int a = 0, b = 0;
    printf("%d ", find_pair(325, &a, &b));
    printf("%d %d\n", a, b);
    printf("%d %d %d %d\n", (int8_t)200, (uint8_t)-1, (int16_t)70000, -7 / 2 * 2 + -7 % 2);
    printf("%u %d %lld\n", 1u - 2u, -1 < (int)sizeof(char), (long long)(int32_t)0x80000000u - 1);
    int grid[3][4] = {[1] = {[2] = 7, 8}, [2][0] = 9}, *flat = &grid[0][0];
    printf("%d %d %d %td\n", flat[6], flat[7], flat[8], &grid[2][1] - &grid[0][3]);
    int n = 5, (*rows)[n] = malloc(3 * sizeof *rows);
    for (int i = 0; i < 3 * n; i++) rows[i / n][i % n] = i;
    printf("%d %zu\n", rows[2][3], sizeof *rows / sizeof **rows);
    free(rows);
    printf("%zu %zu\n", offsetof(large, weight), offsetof(large, offsets));
    return a + b == 19 ? 17 : 1;
}
