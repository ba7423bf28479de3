/* Formats and inputs at random, read; what is printed is a digest for each block of them, or the
 * formats and what was read. The same seed is the same draws.
 *
 *     scanf_draws SEED COUNT          digests of 1,000 draws each, then how often each conversion matched
 *     scanf_draws SEED COUNT BLOCK    what was read in this block */
#include <errno.h>
#include <locale.h>
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

#define PLACES 3
static const char conversions[] = "diouxXpaefgAEGscnCS[";
static uint32_t matched[sizeof conversions];
static char format[200], input[300];
static unsigned char places[PLACES][600];
static int kinds[PLACES + 1], allocated[PLACES + 1];

static char *put_input(char *at, char letter) {
    static const char *const numbers[] = {
        "0", "7", "-12", "+345", "0x1F", "0X", "0xg", "010", "08", "-", "+", "99999999999", "18446744073709551615",
        "18446744073709551616", "-9223372036854775808", "1e", "4294967296", "-0", "00012", "--1", "0x", "-0x7fffffff1",
    };
    static const char *const floats[] = {
        "1.5", "-2.25e3", "1e", "1e+", "1e+x", "1.e2", ".5", ".", "-.e1", "inf", "-infinity", "infinit", "nan", "nan(12)",
        "nan(1", "0x1.8p3", "0x1p", "0x.p1", "0x", "1e400", "1e-400", "3.4e38", "1e39", "12345678901234567890", "0", "-0", "in",
        "0.1", "1.7976931348623159e308", "1e5000", "4.9e-324",
    };
    static const char *const texts[] = {
        "word", "a", "two words", "h\xc3\xa9!", "\xe2\x82\xac", "abc]def", "-a-z", "^x", "\xff", "0123456789", "",
        "a text that is longer than what is allocated at first, and longer than its double, too. And so on",
    };
    if (below(8) == 0) letter = conversions[below(sizeof conversions - 1)];
    if (strchr("diouxXpn", letter)) return stpcpy(at, numbers[below(22)]);
    if (strchr("aefgAEG", letter)) return stpcpy(at, floats[below(31)]);
    return stpcpy(at, texts[below(below(3) ? 11 : 12)]);
}

static char *put_conversion(char *at, int *place, char letter) {
    static const char *const lengths[] = {"", "", "l", "ll", "h", "hh", "L", "j", "z", "t"};
    *at++ = '%';
    int skipped = below(8) == 0, allocates = 0;
    if (skipped) *at++ = '*';
    uint32_t width = below(3) ? 0 : 1 + below(12);
    if (width) at += sprintf(at, "%u", width);
    if (strchr("sc[", letter) && below(5) == 0) *at++ = 'm', allocates = 1;
    if (strchr("diouxXn", letter)) at = stpcpy(at, lengths[below(10)]);
    if (strchr("aefgAEG", letter)) at = stpcpy(at, lengths[below(20) ? below(3) * 3 : below(10)]);
    if (strchr("sc[", letter) && below(4) == 0) *at++ = 'l';
    *at++ = letter;
    kinds[*place] = letter, allocated[*place] = allocates && !skipped;
    *place += !skipped;
    if (letter == '[') {
        static const char *const sets[] = {"a-z]", "^ ]", "]a]", "^]]", "-a]", "a-]", "0-9a-fx]", "^a-c]", "z-a]", "a-c-e]", "abc", "\x80-\xff]"};
        at = stpcpy(at, sets[below(below(20) ? 11 : 12)]);
    }
    return at;
}

static void draw_case(void) {
    char *at = format, *in = input;
    int place = 0;
    for (int i = 0; i < PLACES; i++) {
        char letter = conversions[below(sizeof conversions - 1)];
        for (uint32_t spaces = below(3); spaces != 0; spaces--) *in++ = " \n\t"[below(3)];
        if (below(4) == 0) {
            const char *text = (const char *[]){",", " ", "x", "%%", " %%", "\n"}[below(6)];
            at = stpcpy(at, text);
            *in++ = below(10) ? text[below(2) && text[1] ? 1 : 0] : 'y';
        }
        at = put_conversion(at, &place, letter);
        in = put_input(in, letter);
    }
    for (; place < PLACES; place++) allocated[place] = 0;
    if (below(30) == 0) at = stpcpy(at, (const char *[]){"%", "%y", "%5", "%l", "%%"}[below(5)]);
    if (below(5) == 0) *in++ = ' ';
    *at = *in = 0;
    if (at[-1] == 'l') *--at = 0;
    if (below(10) == 0) input[below(in - input + 1)] = 0;
}

static uint32_t digest;
static int showing;

static void add(const void *from, size_t count) {
    for (const unsigned char *at = from; count != 0; count--) digest = (digest ^ *at++) * 16777619u;
}

static void add_places(int result) {
    add(&result, sizeof result);
    int error = errno;
    add(&error, sizeof error);
    if (showing) printf("%d %d", result, error);
    for (int place = 0; place < PLACES; place++) {
        if (allocated[place]) {
            char *text;
            memcpy(&text, places[place], sizeof text);
            if (text) {
                add(text, strlen(text));
                if (showing) printf(" \"%s\"", text);
                continue;
            }
        }
        if (allocated[place]) memset(places[place], 0, sizeof(char *));
        add(places[place], sizeof places[place]);
        if (showing) {
            printf(" ");
            for (int i = 0; i < 20; i++) printf("%02x", places[place][i]);
        }
    }
}

/* From a text, or from a file, of which then the rest is read. */
static void read_case(int from_file) {
    for (int place = 0; place < PLACES; place++) memset(places[place], 0xcc, sizeof places[place]);
    for (int place = 0; place < PLACES; place++) {
        if (allocated[place]) memset(places[place], 0, sizeof(char *));
    }
    errno = 0;
    if (!from_file) {
        add_places(sscanf(input, format, places[0], places[1], places[2]));
    } else {
        FILE *file = fmemopen(input, strlen(input), "r");
        setvbuf(file, 0, _IOFBF, 1 + below(20));
        int result = fscanf(file, format, places[0], places[1], places[2]);
        add_places(result);
        char rest[300] = "";
        int ended = feof(file) != 0;
        size_t length = fread(rest, 1, sizeof rest, file);
        add(&ended, sizeof ended);
        add(rest, length);
        if (showing) printf(" rest %d %s", ended, rest);
        for (int place = 0; place < result && place < PLACES; place++) matched[strchr(conversions, kinds[place]) - conversions] += 1;
        fclose(file);
    }
    if (showing) printf("\n");
}

int main(int count, char **words) {
    state = strtoul(words[1], 0, 10) * 2654435761u;
    uint32_t draws = strtoul(words[2], 0, 10), shown = count > 3 ? strtoul(words[3], 0, 10) : UINT32_MAX;
    for (uint32_t block = 0; block * 1000 < draws; block++) {
        digest = 2166136261u;
        showing = block == shown;
        for (uint32_t i = 0; i < 1000 && block * 1000 + i < draws; i++) {
            setlocale(LC_ALL, below(2) ? "C" : "C.UTF-8");
            draw_case();
            if (showing) printf("[%s] [%s]\n", format, input);
            read_case(0);
            if (input[0]) read_case(1);
        }
        if (shown == UINT32_MAX) printf("%08x\n", digest);
        if (showing) return 0;
    }
    for (int i = 0; conversions[i]; i++) printf("%c %u\n", conversions[i], matched[i]);
}
