/* A compressor in the manner of LZ4: literals and matches, lengths in nibbles, a hash of four bytes. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HASH_BITS 8
#define MIN_MATCH 4

static uint32_t read32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

static uint8_t *put_length(uint8_t *out, size_t rest) {
    for (; rest >= 255; rest -= 255) *out++ = 255;
    *out++ = (uint8_t)rest;
    return out;
}

static uint8_t *put_sequence(uint8_t *out, const uint8_t *literals, size_t count, size_t match,
                             size_t offset) {
    uint8_t *token = out++;
    size_t extra = match >= MIN_MATCH ? match - MIN_MATCH : 0;
    *token = (uint8_t)((count < 15 ? count : 15) << 4 | (extra < 15 ? extra : 15));
    if (count >= 15) out = put_length(out, count - 15);
    memcpy(out, literals, count);
    out += count;
    if (match == 0) return out;
    *out++ = (uint8_t)offset;
    *out++ = (uint8_t)(offset >> 8);
    return extra >= 15 ? put_length(out, extra - 15) : out;
}

static size_t compress(const uint8_t *in, size_t len, uint8_t *out) {
    uint16_t heads[1 << HASH_BITS] = {0};
    uint8_t *start = out;
    size_t anchor = 0, at = 0;
    while (at + 12 <= len) {
        uint32_t four = read32(in + at), hash = four * 2654435761u >> (32 - HASH_BITS);
        size_t candidate = heads[hash];
        heads[hash] = (uint16_t)(at + 1);
        if (candidate == 0 || read32(in + candidate - 1) != four) {
            at++;
            continue;
        }
        candidate--;
        size_t match = MIN_MATCH;
        while (at + match + 5 < len && in[candidate + match] == in[at + match]) match++;
        out = put_sequence(out, in + anchor, at - anchor, match, at - candidate);
        at += match;
        anchor = at;
    }
    return (size_t)(put_sequence(out, in + anchor, len - anchor, 0, 0) - start);
}

static const uint8_t *get_length(const uint8_t *in, size_t *length) {
    if (*length != 15) return in;
    do *length += *in;
    while (*in++ == 255);
    return in;
}

static size_t expand(const uint8_t *in, size_t len, uint8_t *out, size_t room) {
    const uint8_t *end = in + len;
    uint8_t *start = out;
    while (in < end) {
        size_t literals = *in >> 4, match = *in & 15;
        in = get_length(in + 1, &literals);
        if ((size_t)(out - start) + literals > room) return 0;
        memcpy(out, in, literals);
        in += literals, out += literals;
        if (in >= end) break;
        size_t offset = in[0] | (size_t)in[1] << 8;
        in = get_length(in + 2, &match);
        match += MIN_MATCH;
        if (offset == 0 || offset > (size_t)(out - start)) return 0;
        if ((size_t)(out - start) + match > room) return 0;
        for (; match > 0; match--, out++) *out = *(out - offset);
    }
    return (size_t)(out - start);
}

static void round_trip(const char *name, const uint8_t *text, size_t len) {
    static uint8_t packed[4096], again[4096];
    size_t count = compress(text, len, packed), back = expand(packed, count, again, sizeof again);
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) sum = sum * 31 + packed[i];
    assert(back == len && memcmp(text, again, len) == 0);
    printf("%-8s %4zu -> %4zu bytes (%08x)\n", name, len, count, sum);
}

int main(void) {
    static uint8_t text[1500];
    memset(text, 'z', sizeof text);
    round_trip("equal", text, 700);
    uint32_t x = 12345;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)((x = x * 1103515245 + 12345) >> 16);
    round_trip("noise", text, 500);
    size_t len = 0;
    static const char *const parts[] = {"how much wood ", "would a woodchuck ", "chuck, ", "if ", "could "};
    while (len < 1200) {
        const char *part = parts[((x = x * 1103515245 + 12345) >> 16) % 5];
        memcpy(text + len, part, strlen(part));
        len += strlen(part);
    }
    round_trip("words", text, len);
    round_trip("nothing", text, 0);
    static const uint8_t wrong[] = {0x10, 'a', 9, 0, 0x00};
    printf("wrong offset: %zu\n", expand(wrong, sizeof wrong, text, sizeof text));
    return 0;
}
