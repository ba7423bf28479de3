/* Texts at random, read as numbers; what is printed is a digest for each block of them, or the
 * texts and numbers themselves. The same seed is the same draws.
 *
 *     strtod_draws SEED COUNT          digests of 1,000 draws each, then which kinds were drawn
 *     strtod_draws SEED COUNT BLOCK    the texts of this block */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum kind { SHORT, DIGITS, LONG, HALFWAY, NEAR_LIMITS, TINY, VAST, HEXADECIMAL, NAME, BROKEN, KINDS };

static uint32_t drawn[KINDS][3];
static char text[20000];

static char *put_digits(char *at, uint32_t count) {
    while (count-- != 0) *at++ = '0' + below(10);
    return at;
}

static char *put_exponent(char *at, char letter, uint32_t most) {
    return at + sprintf(at, "%c%s%u", letter + below(2) * 32, (const char *[]){"", "+", "-", "-0"}[below(4)], below(most));
}

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static float from_word(uint32_t word) {
    float value;
    memcpy(&value, &word, 4);
    return value;
}

/* All digits of what is halfway between two neighbours, and sometimes a little more or less. */
static char *put_halfway(char *at) {
    long double middle;
    if (below(3)) {
        uint64_t bits = below(3) ? draw64() >> (1 + below(3) * 6) : (uint64_t)below(2046) << 52;
        if (bits >= 0x7fe0000000000000) bits = 0x7fefffffffffffff;
        middle = from_bits(bits) / 2.0L + from_bits(bits + 1 < 0x7ff0000000000000 ? bits + 1 : bits) / 2.0L;
        if (bits == 0x7fefffffffffffff) middle = 0x1p1024L - 0x1p970L;
    } else {
        uint32_t word = draw() >> (1 + below(3) * 4);
        if (word >= 0x7f7fffff) word = 0x7f7ffffe;
        middle = from_word(word) / 2.0L + from_word(word + 1) / 2.0L;
    }
    int digits = below(4) ? 1100 : (int)below(40);
    int length = below(2) ? sprintf(at, "%.*Le", digits, middle)
               : middle < 1e40L ? sprintf(at, "%.*Lf", digits, middle)
                                : sprintf(at, "%.*Lg", digits, middle);
    char *end = at + length, *last = memchr(at, 'e', length);
    if (below(2)) {
        char *digit = (last ? last : end) - 1 - below(3) * below(300);
        if (digit > at && *digit >= '0' && *digit < '9') *digit += 1;
    }
    return end;
}

static char *put_hexadecimal(char *at) {
    at = stpcpy(at, below(2) ? "0x" : "0X");
    uint32_t digits = below(3) ? below(16) : below(40), point = below(digits + 2), ones = below(4) == 0;
    for (uint32_t i = 0; i < digits; i++) {
        if (i == point) *at++ = '.';
        *at++ = ones ? "0f8"[below(3)] : "0123456789abcdefABCDEF"[below(22)];
    }
    if (below(8)) {
        static const uint32_t exponents[] = {10, 60, 200, 1200, 17000, 2000000000};
        at = put_exponent(at, 'P', exponents[below(6)]);
    }
    return at;
}

static char *put_number(char *at, enum kind kind) {
    switch (kind) {
        case SHORT: return at + sprintf(at, "%d.%0*u", (int)below(2000), (int)below(4), below(1000));
        case DIGITS:
            at = put_digits(at, 1 + below(20));
            *at++ = '.';
            at = put_digits(at, below(20));
            return below(2) ? put_exponent(at, 'E', 40) : at;
        case LONG:
            at = put_digits(at, below(900));
            *at++ = '.';
            for (uint32_t zeros = below(3) ? 0 : below(400); zeros != 0; zeros--) *at++ = '0';
            at = put_digits(at, below(40) ? below(900) : below(15000));
            return below(2) ? put_exponent(at, 'E', 1000) : at;
        case HALFWAY: return put_halfway(at);
        case NEAR_LIMITS: {
            static const char *const limits[] = {
                "1.7976931348623157", "1.7976931348623158", "1.7976931348623159", "17976931348623158079372897140530",
                "2.2250738585072014", "2.2250738585072011", "2.225073858507201", "4.9406564584124654", "2.4703282292062327",
                "3.4028235", "3.40282357", "1.17549435", "1.40129846", "0.70064923", "1.1897314953572317650857593266280070162",
                "3.3621031431120935062626778173217526", "6.475175119438025110924438958227646", "3", "5",
            };
            static const char *const exponents[] = {"308", "-308", "-324", "-323", "38", "-38", "-45", "-44", "4932", "-4932", "-4966", "-4965", "277"};
            at = stpcpy(at, limits[below(19)]);
            if (below(3)) at = put_digits(at, below(20));
            return at + sprintf(at, "e%s", exponents[below(13)]);
        }
        case TINY:
            at = stpcpy(at, "0.");
            at = put_digits(at, 1 + below(30));
            return at + sprintf(at, "e-%u", 25 + below(6) * 60 + below(60) + (below(6) ? 0 : 4600));
        case VAST:
            at = put_digits(at, 1 + below(30));
            return at + sprintf(at, "e%u", 20 + below(3) * 130 + below(60) + (below(6) ? 0 : 4600));
        case HEXADECIMAL: return put_hexadecimal(at);
        case NAME: {
            static const char *const names[] = {
                "inf", "INF", "infinity", "Infinity", "infinit", "in", "i", "infx", "nan", "NaN", "nan(", "nan()",
                "nan(12_aZ)", "nan(12-)", "nan(abc", "na", "nanx", "n", "INFINITYY",
            };
            return stpcpy(at, names[below(19)]);
        }
        default: {
            static const char pieces[] = "00112589..eE+-xXpP \tabfi";
            for (uint32_t i = below(12); i != 0; i--) *at++ = pieces[below(sizeof pieces - 1)];
            return at;
        }
    }
}

static enum kind draw_text(void) {
    static const char *const behind[] = {"", "", "", " ", "x", "e", "e+", "p", ".", "0", "E-x", "\xff", "("};
    char *at = text;
    for (uint32_t spaces = below(3); spaces != 0; spaces--) *at++ = " \t\n\v\f\r"[below(6)];
    at = stpcpy(at, (const char *[]){"", "", "-", "+", "--"}[below(below(20) ? 4 : 5)]);
    for (uint32_t zeros = below(4) ? 0 : below(30); zeros != 0; zeros--) *at++ = '0';
    enum kind kind = below(KINDS);
    if (at != text && at[-1] == '0' && (kind == HEXADECIMAL || kind == NAME)) at--;
    at = put_number(at, kind);
    strcpy(at, behind[below(13)]);
    return kind;
}

int main(int count, char **words) {
    state = strtoul(words[1], 0, 10) * 2654435761u;
    uint32_t draws = strtoul(words[2], 0, 10), shown = count > 3 ? strtoul(words[3], 0, 10) : UINT32_MAX;
    for (uint32_t block = 0; block * 1000 < draws; block++) {
        uint32_t digest = 2166136261u;
        for (uint32_t i = 0; i < 1000 && block * 1000 + i < draws; i++) {
            struct { int error, length; union { float f; double d; long double q; unsigned char bytes[16]; uint64_t words[2]; } value; } result;
            enum kind kind = draw_text();
            uint32_t format = below(3);
            char *end = text;
            memset(&result, 0, sizeof result);
            errno = 0;
            if (format == 0) result.value.f = strtof(text, &end);
            if (format == 1) result.value.d = strtod(text, &end);
            if (format == 2) result.value.q = strtold(text, &end);
            result.error = errno;
            result.length = end - text;
            /* musl rounds hexadecimal numbers wrongly that have just 31 bits before they are zero. */
            int is_hexadecimal = strpbrk(text, "xX") != 0;
            if (is_hexadecimal && format == 1 && (result.value.words[0] & ~(1ull << 63)) >> 30 == 1) result.value.d = 1;
            if (is_hexadecimal && format == 2 && (result.value.words[1] & ~(1ull << 63)) == 0 && result.value.words[0] >> 30 == 1) result.value.q = 1;
            drawn[kind][format] += 1;
            const unsigned char *at = (void *)&result;
            for (uint32_t j = 0; j < sizeof result; j++) digest = (digest ^ at[j]) * 16777619u;
            if (block == shown) {
                printf("%u %d %d ", format, result.error, result.length);
                for (int j = 15; j >= 0; j--) printf("%02x", result.value.bytes[j]);
                printf(" %s\n", text);
            }
        }
        if (shown == UINT32_MAX) printf("%08x\n", digest);
        if (block == shown) return 0;
    }
    for (int kind = 0; kind < KINDS; kind++) printf("%u %u %u\n", drawn[kind][0], drawn[kind][1], drawn[kind][2]);
}
