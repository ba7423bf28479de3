/* vfscanf and vsscanf; the rest of the family calls these two.
 *
 * All arguments are addresses, which lie in memory one after the other. */
#include "reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <wchar.h>

/* Letters of conversions. */
#define LETTER(c) (1u << ((c) & 31))
#define CAPITALS                                                                      \
    (LETTER('A') | LETTER('E') | LETTER('F') | LETTER('G') | LETTER('X') | LETTER('S') | \
     LETTER('C'))
#define SMALL                                                                           \
    (CAPITALS | LETTER('d') | LETTER('i') | LETTER('o') | LETTER('u') | LETTER('p') | LETTER('n'))
#define FIRST_ROOM 31u /* of texts for which memory is allocated */

enum length { CHAR, SHORT, PLAIN, LONG, LONG_DOUBLE, LONG_LONG };
enum outcome { MATCHED, NO_MATCH, NO_INPUT };

typedef struct Scan {
    Reader reader;
    const u8 *at;  /* in the format */
    u32 arguments; /* the address of the next one */
    u32 position;  /* how many characters were read before this directive */
} Scan;

typedef struct Directive {
    void *to; /* none: what is read is not wanted */
    u32 width, allocates, letter;
    enum length length;
} Directive;

/* What follows is read as far as `room`; what was read before counts no more. */
SHARED static void limit(Scan *scan, u32 room) {
    scan->position += scan->reader.count;
    scan->reader.count = 0;
    scan->reader.room = room;
}

SHARED static void skip_spaces(Scan *scan) {
    limit(scan, EVERYTHING);
    curta_next_mark(&scan->reader);
    curta_back(&scan->reader);
}

/* ---- whole numbers ---- */

SHARED static u32 digit_value(i32 character) {
    u32 digit = character - '0', letter = (character | LOWER) - 'a';
    return digit < 10 ? digit : letter < 26 ? letter + 10 : 36;
}

static u32 refuse(Reader *reader) {
    curta_back(reader);
    errno = EINVAL;
    return 0;
}

/* Two words; the largest number there is instead of a larger one. Whether there is one. */
INLINE u32 read_whole(Reader *reader, u32 base, u32 *value) {
    i32 character = curta_next_mark(reader);
    u32 negative = character == '-', is_out = 0, digit;
    if (negative || character == '+') {
        character = curta_next(reader);
    }
    if ((base == 0 || base == 16) && character == '0') {
        character = curta_next(reader);
        if ((character | LOWER) == 'x') {
            character = curta_next(reader);
            base = 16;
            if (digit_value(character) >= 16) {
                curta_back(reader);
                return 0;
            }
        } else if (base == 0) {
            base = 8;
        }
    } else {
        if (base == 0) {
            base = 10;
        }
        if (digit_value(character) >= base) {
            return refuse(reader);
        }
    }
    value[0] = value[1] = 0;
    for (; (digit = digit_value(character)) < base; character = curta_next(reader)) {
        if (value[1] == 0 && value[0] < 1u << 27) {
            value[0] = value[0] * base + digit;
        } else {
            is_out |= curta_multiply(value, value + 2, base, digit);
        }
    }
    curta_back(reader);
    if (is_out) {
        errno = ERANGE;
        value[0] = value[1] = EVERYTHING;
    } else if (negative) {
        value[0] = -value[0];
        value[1] = ~value[1] + (value[0] == 0);
    }
    return 1;
}

SHARED static void store(const Directive *directive, const u32 *value) {
    u32 *to = directive->to;
    enum length length = directive->length;
    if (!to) {
        return;
    }
    if (length == CHAR) {
        *(u8 *)to = value[0];
    } else if (length == SHORT) {
        *(u16 *)to = value[0];
    } else if (length != LONG_DOUBLE) {
        to[0] = value[0];
        if (length == LONG_LONG) {
            to[1] = value[1];
        }
    }
}

/* ---- text ---- */

/* Characters as bits of eight words. */
INLINE void add_to_set(u32 *set, u32 character) {
    set[character >> 5] |= 1u << (character & 31);
}

/* All but spaces, all, or what stands in brackets; whether the brackets are closed. */
INLINE u32 read_set(Scan *scan, u32 letter, u32 *set) {
    const u8 *at = scan->at;
    u32 others = EVERYTHING;
    for (u32 i = 0; i != 8; i++) {
        set[i] = 0;
    }
    if (letter == 's') {
        set[0] = 0x3e00;
        set[1] = 1;
    } else if (letter == '[') {
        if (*at == '^') {
            at += 1;
        } else {
            others = 0;
        }
        if (*at == '-' || *at == ']') {
            add_to_set(set, *at++);
        }
        for (; *at != ']'; at++) {
            if (*at == 0) {
                return 0;
            }
            if (*at == '-' && at[1] != 0 && at[1] != ']') {
                u32 character = at[-1];
                for (at += 1; character < *at; character++) {
                    add_to_set(set, character);
                }
            }
            add_to_set(set, *at);
        }
        scan->at = at + 1;
    }
    for (u32 i = 0; i != 8; i++) {
        set[i] ^= others;
    }
    return 1;
}

/* Twice the room for what is there. */
INLINE char *move(char *text, u32 bytes) {
    char *moved = malloc(2 * bytes);
    if (moved) {
        __builtin_memcpy(moved, text, bytes);
        free(text);
    }
    return moved;
}

/* Where the text is that was read, if it is wanted; or that there was none. */
INLINE enum outcome read_characters(Scan *scan, const Directive *directive, char **start) {
    Reader *reader = &scan->reader;
    u32 set[8], is_character = directive->letter == 'c', count = 0;
    u32 shift = directive->length == LONG ? 2 : 0; /* wide characters are words */
    u32 room = (is_character ? directive->width + 1 : FIRST_ROOM) << shift;
    mbstate_t unfinished = {0};
    if (!read_set(scan, directive->letter, set)) {
        return NO_INPUT;
    }
    if (directive->allocates && !(*start = malloc(room))) {
        return NO_INPUT;
    }
    for (;;) {
        i32 character = curta_next(reader);
        if (character == END || (set[character >> 5] >> (character & 31) & 1) == 0) {
            break;
        }
        wchar_t wide;
        if (shift != 0) {
            char byte = character;
            size_t length = mbrtowc(&wide, &byte, 1, &unfinished);
            if (length == (size_t)-1) {
                return NO_INPUT;
            }
            if (length == (size_t)-2) {
                continue;
            }
        }
        if (!*start) {
            continue;
        }
        char *to = *start + count;
        if (shift != 0) {
            *(wchar_t *)to = wide;
        } else {
            *to = character;
        }
        count += 1u << shift;
        if (directive->allocates && count == room) {
            char *moved = move(*start, room);
            if (!moved) {
                return NO_INPUT;
            }
            *start = moved;
            room *= 2;
        }
    }
    if (shift != 0 && !mbsinit(&unfinished)) {
        return NO_INPUT;
    }
    curta_back(reader);
    if (reader->count == 0 || (is_character && reader->count != directive->width)) {
        return NO_MATCH;
    }
    if (!is_character && *start) {
        (*start)[count] = 0;
        if (shift != 0) {
            *(wchar_t *)(*start + count) = 0;
        }
    }
    return MATCHED;
}

INLINE enum outcome read_text(Scan *scan, const Directive *directive) {
    char *start = directive->allocates ? 0 : directive->to;
    enum outcome outcome = read_characters(scan, directive, &start);
    if (directive->allocates) {
        if (outcome == MATCHED) {
            *(char **)directive->to = start;
        } else {
            free(start);
        }
    }
    return outcome;
}

/* ---- directives ---- */

INLINE void *take(Scan *scan) {
    u32 place = *scan->at - '0';
    if (*scan->at == '*') {
        scan->at += 1;
        return 0;
    }
    if (place < 10 && scan->at[1] == '$') {
        scan->at += 2;
        return ((void **)scan->arguments)[place == 0 ? 0 : place - 1];
    }
    scan->arguments += 4;
    return ((void **)scan->arguments)[-1];
}

/* Whether there can be such a directive. */
INLINE u32 read_directive(Scan *scan, Directive *directive) {
    directive->to = take(scan);
    const u8 *at = scan->at;
    u32 width = 0, letter;
    for (; IS_DIGIT(*at); at++) {
        width = 10 * width + (*at - '0');
    }
    directive->allocates = *at == 'm';
    at += *at == 'm';
    if (!directive->to) {
        directive->allocates = 0;
    }
    enum length length = PLAIN;
    letter = *at++;
    if (letter == 'h' || letter == 'l') {
        length = letter == 'h' ? SHORT : LONG;
        if (*at == letter) {
            length = letter == 'h' ? CHAR : LONG_LONG;
            at += 1;
        }
    } else if (letter == 'j') {
        length = LONG_LONG;
    } else if (letter == 'z' || letter == 't') {
        length = LONG;
    } else if (letter == 'L') {
        length = LONG_DOUBLE;
    } else {
        at -= 1;
    }
    letter = *at++;
    u32 is_known = length != PLAIN || letter == '[';
    if (letter - 64 < 64) {
        is_known |= (letter & LOWER ? SMALL : CAPITALS) >> (letter & 31) & 1;
    }
    if (letter == 'C' || letter == 'S') {
        letter |= LOWER;
        length = LONG;
    }
    directive->width = letter == 'c' && width == 0 ? 1 : width;
    directive->letter = letter;
    directive->length = length;
    scan->at = at;
    return is_known;
}

INLINE enum outcome read_number(Scan *scan, const Directive *directive, u32 letter) {
    u32 value[4], base = 10;
    enum length length = directive->length;
    u32 kind = letter | LOWER;
    if (kind == 'a' || (kind >= 'e' && kind <= 'g')) {
        enum format format = length == PLAIN ? SINGLE : length == LONG ? DOUBLE : QUADRUPLE;
        if (length < PLAIN || length == LONG_LONG ||
            !curta_read_float(&scan->reader, format, value)) {
            return NO_MATCH;
        }
        u32 *to = directive->to;
        if (to) {
            for (u32 i = 0; i != 1u << format; i++) {
                to[i] = value[i];
            }
        }
        return MATCHED;
    }
    if (kind == 'x' || letter == 'p') {
        base = 16;
    } else if (letter == 'o') {
        base = 8;
    } else if (letter == 'i') {
        base = 0;
    } else if (letter != 'd' && letter != 'u') {
        return MATCHED; /* no conversion at all: musl counts it */
    }
    if (!read_whole(&scan->reader, base, value)) {
        return NO_MATCH;
    }
    store(directive, value);
    return MATCHED;
}

/* What follows a percent sign. */
INLINE enum outcome follow_directive(Scan *scan, i32 *matches) {
    Directive directive;
    if (!read_directive(scan, &directive)) {
        return NO_INPUT;
    }
    u32 letter = directive.letter, is_text = letter == 'c' || letter == 's' || letter == '[';
    if (letter == 'n') {
        u32 position[2] = {scan->position + scan->reader.count, 0};
        store(&directive, position);
        return MATCHED;
    }
    if (letter != 'c' && letter != '[') {
        skip_spaces(scan);
    }
    limit(scan, directive.width == 0 ? EVERYTHING : directive.width);
    if (curta_next(&scan->reader) == END) {
        return NO_INPUT;
    }
    curta_back(&scan->reader);
    if (letter == 'p') {
        directive.length = PLAIN;
    }
    enum outcome outcome =
        is_text ? read_text(scan, &directive) : read_number(scan, &directive, letter);
    *matches += outcome == MATCHED && directive.to;
    return outcome;
}

/* A character that stands for itself, or spaces. */
INLINE enum outcome follow_character(Scan *scan) {
    Reader *reader = &scan->reader;
    u32 wanted = *scan->at++;
    i32 character;
    limit(scan, EVERYTHING);
    if (wanted == ' ' || wanted - '\t' < 5) {
        curta_next_mark(reader);
        curta_back(reader);
        return MATCHED;
    }
    if (wanted == '%') {
        scan->at += 1;
        character = curta_next_mark(reader);
    } else {
        character = curta_next(reader);
    }
    if (character == (i32)wanted) {
        return MATCHED;
    }
    curta_back(reader);
    return character == END ? NO_INPUT : NO_MATCH;
}

SHARED static i32 curta_scan(Scan *scan, const char *format, va_list arguments) {
    i32 matches = 0;
    enum outcome outcome = MATCHED;
    scan->at = (const u8 *)format;
    scan->arguments = (u32)arguments;
    scan->position = scan->reader.count = 0;
    scan->reader.rewinds = 0;
    while (outcome == MATCHED && *scan->at != 0) {
        if (scan->at[0] == '%' && scan->at[1] != '%') {
            scan->at += 1;
            outcome = follow_directive(scan, &matches);
        } else {
            outcome = follow_character(scan);
        }
    }
    return outcome == NO_INPUT && matches == 0 ? -1 : matches;
}

/* ---- what programs call ---- */

WEAK int vfscanf(FILE *restrict file, const char *restrict format, va_list arguments) {
    Scan scan;
    scan.reader.file = file;
    if (!__freadable(file)) {
        return ungetc(getc(file), file); /* which say so */
    }
    return curta_scan(&scan, format, arguments);
}

WEAK int vsscanf(const char *restrict text, const char *restrict format, va_list arguments) {
    Scan scan;
    scan.reader.file = 0;
    scan.reader.at = (const u8 *)text;
    return curta_scan(&scan, format, arguments);
}
