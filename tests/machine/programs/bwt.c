/* Burrows and Wheeler's transform, move to front, run lengths, Elias' gamma code; all undone again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512

static const uint8_t *sorted_text;
static int sorted_length;

static int by_rotation(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    for (int k = 0; k < sorted_length; k++) {
        uint8_t x = sorted_text[(i + k) % sorted_length], y = sorted_text[(j + k) % sorted_length];
        if (x != y) return x - y;
    }
    return i - j;
}

static int transform(const uint8_t *text, int n, uint8_t *out) {
    int rows[MOST], primary = 0;
    for (int i = 0; i < n; i++) rows[i] = i;
    sorted_text = text, sorted_length = n;
    qsort(rows, (size_t)n, sizeof *rows, by_rotation);
    for (int i = 0; i < n; i++) {
        out[i] = text[(rows[i] + n - 1) % n];
        if (rows[i] == 0) primary = i;
    }
    return primary;
}

static void restore(const uint8_t *last, int n, int primary, uint8_t *out) {
    int counts[257] = {0}, next[MOST];
    for (int i = 0; i < n; i++) counts[last[i] + 1]++;
    for (int c = 0; c < 256; c++) counts[c + 1] += counts[c];
    for (int i = 0; i < n; i++) next[counts[last[i]]++] = i;
    for (int i = 0, row = next[primary]; i < n; i++, row = next[row]) out[i] = last[row];
}

static void to_front(uint8_t *bytes, int n, int back) {
    uint8_t order[256];
    for (int c = 0; c < 256; c++) order[c] = (uint8_t)c;
    for (int i = 0; i < n; i++) {
        uint8_t c, at = 0;
        if (back)
            c = order[at = bytes[i]];
        else
            for (c = bytes[i]; order[at] != c;) at++;
        memmove(order + 1, order, at);
        order[0] = c;
        bytes[i] = back ? c : at;
    }
}

typedef struct {
    uint8_t bytes[MOST];
    unsigned bits;
} stream;

static void put_bit(stream *s, unsigned bit) {
    if (bit) s->bytes[s->bits / 8] |= (uint8_t)(1u << s->bits % 8);
    s->bits++;
}

static unsigned get_bit(stream *s) {
    unsigned bit = s->bytes[s->bits / 8] >> s->bits % 8 & 1;
    s->bits++;
    return bit;
}

static void put_gamma(stream *s, unsigned x) { /* x > 0 */
    int length = 31 - __builtin_clz(x);
    for (int i = 0; i < length; i++) put_bit(s, 0);
    for (int i = length; i >= 0; i--) put_bit(s, x >> i & 1);
}

static unsigned get_gamma(stream *s) {
    int length = 0;
    while (!get_bit(s)) length++;
    unsigned x = 1;
    while (length--) x = x << 1 | get_bit(s);
    return x;
}

int main(void) {
    const char *text = "six mixed pixies sift sixty pixie dust boxes; "
                       "she sells sea shells by the sea shore, the shells she sells are sea shells";
    int n = (int)strlen(text);
    uint8_t work[MOST], again[MOST];
    int primary = transform((const uint8_t *)text, n, work);
    printf("%.*s\n", n, (char *)work);
    to_front(work, n, 0);
    stream s = {.bits = 0};
    int runs = 0;
    for (int i = 0, end; i < n; i = end, runs++) {
        for (end = i; end < n && work[end] == work[i];) end++;
        put_gamma(&s, work[i] + 1u);
        put_gamma(&s, (unsigned)(end - i));
    }
    printf("%d bytes, %d runs, %u bits, row %d\n", n, runs, s.bits, primary);
    s.bits = 0;
    int count = 0;
    while (count < n) {
        uint8_t c = (uint8_t)(get_gamma(&s) - 1);
        for (unsigned length = get_gamma(&s); length > 0; length--) again[count++] = c;
    }
    to_front(again, n, 1);
    restore(again, n, primary, work);
    printf("%.*s\n%s\n", n, (char *)work, memcmp(work, text, (size_t)n) ? "wrong" : "right");
    return 0;
}
