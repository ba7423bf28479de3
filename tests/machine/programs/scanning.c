/* The C library's own: sscanf, strtod and its relatives, printf's formats, qsort, bsearch, setvbuf. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void scan(void) {
    int a, b, n, count;
    unsigned hex;
    long long big;
    double x;
    float y;
    char word[16], set[16], c;
    count = sscanf("12 -7 0x1F 9223372036854775807", "%d %d %x %lld", &a, &b, &hex, &big);
    printf("%d: %d %d %u %lld\n", count, a, b, hex, big);
    count = sscanf("3.25e2 -0.125 rest", "%lf %f %15s%n", &x, &y, word, &n);
    printf("%d: %g %g %s %d\n", count, x, y, word, n);
    count = sscanf("key=value;x", "%15[a-z]=%15[^;];%c", word, set, &c);
    printf("%d: %s %s %c\n", count, word, set, c);
    count = sscanf("20261122T0915", "%4d%2d%*2dT%2d", &a, &b, &n);
    printf("%d: %d %d %d\n", count, a, b, n);
    printf("%d %d\n", sscanf("abc", "%d", &a), sscanf("", "%d", &a));
    count = sscanf("017 017 017", "%i %d %o", &a, &b, &hex);
    printf("%d: %d %d %u\n", count, a, b, hex);
}

static void convert(const char *text) {
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    printf("'%s' -> %.17g, %zu left%s\n", text, x, strlen(end), errno == ERANGE ? ", out of range" : "");
}

static void integers(const char *text, int base) {
    char *end;
    errno = 0;
    unsigned long long u = strtoull(text, &end, base);
    int range = errno == ERANGE;
    errno = 0;
    long long s = strtoll(text, NULL, base);
    printf("'%s' -> %llu%s %lld%s, %zu left\n", text, u, range ? "!" : "", s, errno == ERANGE ? "!" : "", strlen(end));
}

static void formats(void) {
    printf("[%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%5.3d]\n", 42, 42, 42, 42, 42, 7, 7);
    printf("[%x] [%#X] [%#o] [%08x] [%hhd] [%hu]\n", 255, 255, 8, 0xbeef, 300, 70000);
    printf("[%s] [%8s] [%-8s] [%.2s] [%*.*s]\n", "text", "text", "text", "text", 6, 3, "text");
    printf("[%f] [%.0f] [%8.3f] [%-8.1f] [%+.2e] [%g] [%G] [%#g]\n", 1.5, 2.5, 3.14159, 2.25, 12345.678, 1e-5, 1e20, 1.0);
    printf("[%a] [%.3a] [%c] [%%] [%" PRId64 "] [%" PRIu8 "] [%jd] [%td]\n", 1.0, 0.7, 'c', INT64_MIN, (uint8_t)200, (intmax_t)-5, (ptrdiff_t)9);
    printf("[%.17g] [%.20f] [%.3g] [%g]\n", 0.1, 0.1, 999.6, 100000.0);
    char small[12];
    int needed = snprintf(small, sizeof small, "%s-%d", "truncated", 12);
    printf("%s %d\n", small, needed);
}

struct item {
    const char *name;
    uint64_t size;
};

static int by_size(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

static int by_name(const void *key, const void *item) { return strcmp(key, ((const struct item *)item)->name); }

static int names(const void *a, const void *b) { return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name); }

int main(void) {
    static char buffer[64];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    scan();
    for (const char **t = (const char *[]){"1e308", "1e309", "-2.25e-308", "1e-400", "0x1.8p3z", "inf", "  nanx", ".5.", "e5", NULL}; *t; t++)
        convert(*t);
    integers("18446744073709551615", 10);
    integers("18446744073709551616", 10);
    integers("-42abc", 10);
    integers("0x7fffffffffffffff,", 0);
    integers("zz", 36);
    formats();
    struct item items[] = {{"mouse", 20}, {"whale", 150000000000ULL}, {"horse", 500000000}, {"virus", 1}, {"elephant", 5000000000ULL}};
    qsort(items, 5, sizeof *items, by_size);
    for (int i = 0; i < 5; i++) printf("%s ", items[i].name);
    qsort(items, 5, sizeof *items, names);
    const struct item *found = bsearch("horse", items, 5, sizeof *items, by_name);
    printf("%" PRIu64 " %s\n", found->size, bsearch("ant", items, 5, sizeof *items, by_name) ? "found" : "missing");
    char copy[] = "a,b;;c", *rest = copy;
    for (char *token = strtok_r(rest, ",;", &rest); token; token = strtok_r(NULL, ",;", &rest)) printf("<%s>", token);
    div_t d = div(-17, 5);
    lldiv_t l = lldiv(-1000000000007LL, 1000);
    printf("\n%d %d %lld %lld %d\n", d.quot, d.rem, l.quot, l.rem, abs(INT_MIN + 1));
    fflush(stdout);
    setvbuf(stdout, NULL, _IONBF, 0);
    return puts("unbuffered") < 0;
}
