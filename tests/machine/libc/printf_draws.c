/* Formats and values at random, formatted; what is printed is a digest for each block of them, or
 * the texts themselves. The same seed is the same draws, whatever library this is linked with.
 *
 *     printf_draws SEED COUNT          digests of 1,000 draws each, then which cells were drawn
 *     printf_draws SEED COUNT BLOCK    the texts of this block
 *
 * A cell is a conversion with a set of flags and a kind of value, or a conversion with a length, a
 * kind of width and one of precision. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static uint32_t state;

static uint32_t draw(void) {
    state = state * 747796405u + 2891336453u;
    uint32_t word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

static uint32_t below(uint32_t count) {
    return draw() % count;
}

static uint64_t draw64(void) {
    uint64_t high = draw();
    return high << 32 | draw();
}

/* ---- values ---- */

enum kind {
    ZERO, INFINITE, NOT_A_NUMBER, SUBNORMAL, EXTREME, HALVES, POWER_OF_TWO, POWER_OF_TEN, AT_53_BITS,
    CARRY, ANY_BITS, DECIMAL, SMALL, KINDS
};

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static double power_of_ten(int exponent) {
    double value = 1;
    for (; exponent > 0; exponent--) value *= 10;
    for (; exponent < 0; exponent++) value /= 10;
    return value;
}

static double draw_double(enum kind kind) {
    uint64_t sign = (uint64_t)below(2) << 63;
    double value = 0;
    switch (kind) {
        case ZERO: break;
        case INFINITE: value = from_bits(0x7ffull << 52); break;
        case NOT_A_NUMBER: value = from_bits(0x7ffull << 52 | (draw64() >> 12 | 1)); break;
        case SUBNORMAL: value = from_bits(draw64() >> (12 + below(52))); break;
        case EXTREME: {
            uint64_t extremes[] = {1, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff};
            value = from_bits(extremes[below(4)]);
            break;
        }
        case HALVES: value = (2.0 * below(1000) + 1) / (1 << (1 + below(12))); break;
        case POWER_OF_TWO: value = from_bits((uint64_t)(1 + below(2046)) << 52); break;
        case POWER_OF_TEN: value = power_of_ten((int)below(640) - 320); break;
        case AT_53_BITS: value = (double)((1ull << 53) - 3 + below(6)) * power_of_ten((int)below(9) - 4); break;
        case CARRY: {
            double ten = power_of_ten((int)below(12) - 5);
            value = ten - (below(2) ? 5 * power_of_ten(-(int)below(9)) : 0x1p-53) * ten;
            break;
        }
        case ANY_BITS: value = from_bits(draw64() & ~(1ull << 63)); break;
        case DECIMAL: value = below(1000000) / power_of_ten(below(10)); break;
        default: value = below(100); break;
    }
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return from_bits(bits ^ sign);
}

/* Any exponent, or one near 0; few bits or all. */
static long double draw_long_double(enum kind kind) {
    if (kind != ANY_BITS && kind != SUBNORMAL && kind != HALVES && kind != EXTREME) {
        return draw_double(kind);
    }
    union { long double value; uint64_t words[2]; } number;
    number.words[0] = draw64() << below(64);
    uint64_t exponent = kind == SUBNORMAL ? 0 : kind == EXTREME ? below(2) * 0x7ffd + 1 : below(40) ? 16383 - 60 + below(120) : below(0x7fff);
    number.words[1] = exponent << 48 | (draw64() >> 16) | (uint64_t)below(2) << 63;
    if (kind == HALVES) {
        number.words[0] = 0;
        number.words[1] &= ~0u << 8;
    }
    return number.value;
}

static uint64_t draw_integer(enum kind kind) {
    switch (kind) {
        case ZERO: return 0;
        case EXTREME: {
            uint64_t extremes[] = {INT_MIN, INT_MAX, LLONG_MIN, LLONG_MAX, UINT_MAX, ULLONG_MAX, 128, 32768};
            return extremes[below(8)];
        }
        case POWER_OF_TWO: return 1ull << below(64);
        case POWER_OF_TEN: {
            uint64_t value = 1;
            for (uint32_t i = below(20); i != 0; i--) value *= 10;
            return value - below(2);
        }
        case SMALL: return below(1000) - 500ull;
        default: return draw64() >> below(64);
    }
}

/* ---- formats ---- */

static const char conversions[] = "diouxXaAeEfFgGcspnmCS";
#define CONVERSIONS (sizeof conversions - 1)
static unsigned char with_flags[CONVERSIONS][64][KINDS];
static unsigned char with_sizes[CONVERSIONS][8][3][4];

static char format[64];
static int stars[2], star_count;

static void add_number(char **at, uint32_t is_star) {
    static const int common[] = {0, 1, 2, 3, 5, 6, 8, 9, 10, 12, 15, 16, 17, 18, 20, 26, 27, 28, 29, 30, 40};
    int number = below(60) == 0 ? (int)below(1200) : common[below(sizeof common / sizeof *common)];
    if (is_star) {
        stars[star_count++] = below(4) ? number : -number;
        *(*at)++ = '*';
    } else {
        *at += sprintf(*at, "%d", number);
    }
}

/* A conversion somewhere in a text. */
static char draw_format(enum kind *kind, int *length) {
    char *at = format;
    star_count = 0;
    if (below(4) == 0) at = stpcpy(at, below(2) ? "text " : "%%");
    *at++ = '%';
    uint32_t flags = 0, often = 1 + below(2) * 4, first = below(6);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t flag = (first + i) % 6;
        if (below(8) < often) {
            *at++ = " #'+-0"[flag];
            flags |= 1u << flag;
        }
    }
    uint32_t width = below(3), precision = below(4);
    if (width) add_number(&at, width == 2);
    if (precision) *at++ = '.';
    if (precision > 1) add_number(&at, precision == 3);
    uint32_t place = below(3) ? 6 + below(8) : below(CONVERSIONS);
    char letter = conversions[place];
    *length = 0;
    if (strchr("diouxXn", letter)) {
        *length = below(8);
        at = stpcpy(at, (const char *[]){"", "l", "ll", "h", "hh", "z", "j", "t"}[*length]);
    } else if (strchr("aAeEfFgG", letter)) {
        *length = below(4);
        at = stpcpy(at, (const char *[]){"", "l", "L", ""}[*length]);
    } else if (letter == 'c' || letter == 's') {
        *length = below(2);
        at = stpcpy(at, (const char *[]){"", "l"}[*length]);
    }
    *at++ = letter;
    if (below(4) == 0) at = stpcpy(at, "%% end");
    *at = 0;
    *kind = below(KINDS);
    with_flags[place][flags][*kind] = 1;
    with_sizes[place][*length][width][precision] = 1;
    return letter;
}

/* ---- one draw ---- */

static char text[8192];
static size_t size;

static int put(const char *with, ...) {
    va_list arguments;
    va_start(arguments, with);
    int written = vsnprintf(text, size, with, arguments);
    va_end(arguments);
    return written;
}

/* The stars, and then the value. */
#define PUT(value)                                             \
    (star_count == 0   ? put(format, (value))                  \
     : star_count == 1 ? put(format, stars[0], (value))        \
                       : put(format, stars[0], stars[1], (value)))

static int format_draw(void) {
    static const wchar_t *const wide[] = {L"", L"wide", L"h\xe9!", L"\x20ac", L"\xd800 no", L"\xdf80\xdfff"};
    static const char *const narrow[] = {"", "a", "some words", "h\xc3\xa9", NULL};
    enum kind kind;
    int length;
    long long count = -1;
    char letter = draw_format(&kind, &length);
    errno = below(2) ? 0 : (int)below(80);
    switch (letter) {
        case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
            if (length == 2) return PUT(draw_long_double(kind));
            return PUT(draw_double(kind));
        case 'c':
            if (length) return PUT((wint_t)below(300));
            return PUT((int)below(256));
        case 'C': return PUT((wint_t)(below(4) ? below(0xe000) : 0));
        case 'S': return PUT(wide[below(6)]);
        case 's':
            if (length) return PUT(wide[below(6)]);
            return PUT(narrow[below(5)]);
        case 'p': return PUT((void *)(uintptr_t)draw_integer(kind));
        case 'm': return PUT(0);
        case 'n': {
            int written = PUT(&count);
            return written * 31 + (int)count + (int)(count >> 32);
        }
        default:
            if (length == 2 || length == 6) return PUT((long long)draw_integer(kind));
            return PUT((int)draw_integer(kind));
    }
}

static uint32_t digest;

static void add(const void *from, size_t count) {
    for (const unsigned char *at = from; count != 0; count--) digest = (digest ^ *at++) * 16777619u;
}

static uint32_t sum(const void *from, size_t count) {
    uint32_t total = 0;
    for (const unsigned char *at = from; count != 0; count--) total += *at++;
    return total;
}

int main(int count, char **words) {
    state = strtoul(words[1], 0, 10) * 2654435761u;
    uint32_t draws = strtoul(words[2], 0, 10), shown = count > 3 ? strtoul(words[3], 0, 10) : UINT_MAX;
    for (uint32_t block = 0; block * 1000 < draws; block++) {
        digest = 2166136261u;
        for (uint32_t i = 0; i < 1000 && block * 1000 + i < draws; i++) {
            memset(text, '.', 40);
            size = below(10) ? sizeof text : below(40);
            int written = format_draw(), error = errno;
            add(text, size == 0 ? 0 : strlen(text));
            add(&written, sizeof written);
            add(&error, sizeof error);
            if (block == shown) {
                fputs(format, stdout);
                fputs(" ", stdout);
                for (int j = 0; j < star_count; j++) fprintf(stdout, "%d,", stars[j]);
                fputs(": ", stdout);
                fputs(size == 0 ? "" : text, stdout);
                fprintf(stdout, "; %d %d\n", written, error);
            }
        }
        if (shown == UINT_MAX) printf("%08x\n", digest);
        if (block == shown) return 0;
    }
    if (shown == UINT_MAX) {
        printf("%u of %zu\n", sum(with_flags, sizeof with_flags), sizeof with_flags);
        printf("%u\n", sum(with_sizes, sizeof with_sizes));
    }
}
