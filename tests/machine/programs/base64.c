/* Texts for bytes: base64, base32, hexadecimal, Ascii85, percent signs and quoted-printable. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char table32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static char *grouped(const uint8_t *in, size_t n, const char *table, int bits, size_t group) {
    char *text = malloc(n * 2 + 9), *out = text;
    uint32_t held = 0;
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        held = held << 8 | in[i];
        for (count += 8; count >= bits; count -= bits)
            *out++ = table[held >> (count - bits) & ((1u << bits) - 1)];
    }
    if (count > 0) *out++ = table[held << (bits - count) & ((1u << bits) - 1)];
    while ((size_t)(out - text) % group) *out++ = '=';
    *out = '\0';
    return text;
}

static size_t from_base64(const char *text, uint8_t *out) {
    size_t n = 0;
    uint32_t held = 0;
    int bits = 0;
    for (; *text && *text != '='; text++) {
        const char *found = strchr(table64, *text);
        if (found == NULL) {
            if (isspace((unsigned char)*text)) continue;
            return 0;
        }
        held = held << 6 | (uint32_t)(found - table64);
        if ((bits += 6) >= 8) out[n++] = (uint8_t)(held >> (bits -= 8));
    }
    return n;
}

static void ascii85(const uint8_t *in, size_t n) {
    printf("<~");
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        size_t some = n - i < 4 ? n - i : 4;
        for (size_t k = 0; k < 4; k++) word = word << 8 | (k < some ? in[i + k] : 0);
        if (word == 0 && some == 4) {
            putchar('z');
            continue;
        }
        char five[5];
        for (int k = 4; k >= 0; k--, word /= 85) five[k] = (char)('!' + word % 85);
        printf("%.*s", (int)some + 1, five);
    }
    puts("~>");
}

static void percent(const char *text) {
    for (; *text; text++)
        printf(isalnum((unsigned char)*text) || strchr("-._~", *text) ? "%c" : "%%%02X",
               (unsigned char)*text);
    putchar('\n');
}

static void quoted(const char *text) {
    int column = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        int plain = c >= 33 && c <= 126 && c != '=';
        if (c == ' ' && text[1] != '\0') plain = 1;
        if (column + (plain ? 1 : 3) > 30) fputs("=\n", stdout), column = 0;
        column += printf(plain ? "%c" : "=%02X", c);
    }
    putchar('\n');
}

int main(void) {
    const char *words = "Many hands make light work.";
    uint8_t bytes[64], again[64];
    for (size_t n = 0; n <= 6; n++) {
        char *a = grouped((const uint8_t *)words, n, table64, 6, 4);
        char *b = grouped((const uint8_t *)words, n, table32, 5, 8);
        printf("%zu %-8s %s\n", n, a, b);
        free(a), free(b);
    }
    for (int i = 0; i < 64; i++) bytes[i] = (uint8_t)(i * i * 7 + 3 * i);
    char *text = grouped(bytes, 64, table64, 6, 4);
    printf("%s\n", text);
    size_t count = from_base64(text, again);
    printf("%zu %s\n", count, memcmp(bytes, again, 64) ? "wrong" : "right");
    printf("%zu\n", from_base64("not*base64", again));
    free(text);
    ascii85((const uint8_t *)words, strlen(words));
    ascii85((const uint8_t *)"\0\0\0\0\xff\xff\xff\xff\1", 9);
    percent("a b/c?d=\xc3\xa4&e~f");
    quoted("J'interdis aux marchands de vanter trop leurs marchandises = caf\xc3\xa9 ");
    return 0;
}
