/* vfprintf and vsnprintf; the rest of the family calls these two.
 *
 * Arguments are taken as words from memory, where WebAssembly's calling convention puts them: a
 * va_list is an address. Formats are walked twice: up to the first argument that has no number
 * nothing is written, so that all numbered ones are known before the first of them is needed. */
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 10 /* arguments can be numbered 1 to 9 */
#define BUFFER_BYTES 128

typedef struct Walk {
    Sink *sink;     /* none while only the sizes of arguments are wanted */
    const char *at; /* in the format */
    u32 arguments;  /* the address of the next one */
    u32 has_numbers;
    u32 numbered[NUMBERS]; /* their sizes, then their addresses */
} Walk;

/* Sets of letters, small or not. */
#define LETTER(c) (1u << ((c) & 31))
#define INTEGERS \
    (LETTER('d') | LETTER('i') | LETTER('o') | LETTER('u') | LETTER('x') | LETTER('n'))
#define FLOATS (LETTER('a') | LETTER('e') | LETTER('f') | LETTER('g'))
#define TEXTS (LETTER('c') | LETTER('s'))
#define CAPITALS (FLOATS | LETTER('x'))

static i32 fail(int code) {
    errno = code;
    return -1;
}

/* ---- integers ---- */

/* Octal and hexadecimal digits. */
INLINE char *write_bits(u32 low, u32 high, u32 bits, u32 lower, char *end) {
    while ((low | high) != 0) {
        u32 digit = low & ((1u << bits) - 1);
        *--end = digit < 10 ? '0' + digit : ('A' - 10 + digit) | lower;
        low = low >> bits | high << (32 - bits);
        high >>= bits;
    }
    return end;
}

/* The argument's value as two words; a short one keeps the bits of its length. */
INLINE void read_integer(const u32 *argument, u32 length, u32 is_signed, u32 *value) {
    u32 low = argument[0], high = 0;
    if (length == LONG_LONG || length == WIDEST) {
        high = argument[1];
    } else {
        u32 unused = length == CHAR ? 24 : length == SHORT ? 16 : 0;
        low <<= unused;
        if (is_signed) {
            low = (u32)((i32)low >> unused);
            high = (u32)((i32)low >> 31);
        } else {
            low >>= unused;
        }
    }
    value[0] = low;
    value[1] = high;
}

INLINE void negate(u32 *value) {
    value[0] = -value[0];
    value[1] = ~value[1] + (value[0] == 0);
}

/* Zero has no digits; a precision of one, which is the default, makes it a zero. */
INLINE i32 write_integer(Sink *sink, Field *field, const u32 *argument, u32 most) {
    char digits[24], *end = digits + sizeof digits, *start;
    u32 letter = field->letter, is_signed = letter == 'd' || letter == 'i', value[2];
    i32 precision = field->precision, least = -1;
    read_integer(argument, field->length, is_signed, value);
    if (is_signed) {
        curta_sign(field, value[1] >> 31);
        if ((i32)value[1] < 0) {
            negate(value);
        }
    }
    if (is_signed || letter == 'u') {
        start = curta_decimal(value, 2, end);
    } else {
        u32 bits = letter == 'o' ? 3 : 4;
        if (letter == 'p') {
            letter = 'x';
            field->flags |= FLAG('#');
            if (precision >= 0) {
                least = 8; /* without a precision none: musl compares it as unsigned */
            }
        }
        start = write_bits(value[0], value[1], bits, letter & LOWER, end);
        if (field->flags & FLAG('#')) {
            if (bits == 3) {
                least = end - start + 1;
            } else if (start != end) {
                field->prefix[0] = '0';
                field->prefix[1] = letter;
                field->prefix_length = 2;
            }
        }
    }
    if (precision < least) {
        precision = least;
    }
    if (field->has_precision) {
        if (precision < 0) {
            return -1;
        }
        field->flags &= ~FLAG('0');
    } else if (start == end && precision < 0) {
        precision = 1;
    }
    field->body = start;
    field->body_length = end - start;
    if (precision > end - start) {
        field->zeros = precision - (end - start);
    }
    return curta_lay(sink, field, most);
}

/* ---- text ---- */

INLINE i32 write_text(Sink *sink, Field *field, u32 argument, u32 most) {
    u32 letter = field->letter, character = argument;
    wchar_t single[2];
    if (field->length == LONG) {
        letter &= ~LOWER;
    }
    if (letter == 'C' && argument != 0) {
        single[0] = argument;
        single[1] = 0;
        argument = (u32)single;
        field->precision = -1;
        letter = 'S';
    }
    if (letter == 'S') {
        return curta_wide(sink, field, (const wchar_t *)argument);
    }
    field->flags &= ~FLAG('0');
    if ((letter | LOWER) == 'c') {
        field->body = (const char *)&character;
        field->body_length = 1;
    } else {
        if (letter == 'm') {
            argument = (u32)strerror(errno);
        }
        if (argument == 0) {
            argument = (u32) "(null)";
        }
        field->body = (const char *)argument;
        field->body_length = strnlen(field->body, field->precision < 0 ? MOST : field->precision);
    }
    return curta_lay(sink, field, most);
}

INLINE void store_count(void *to, u32 length, i32 count) {
    if (length == CHAR) {
        *(u8 *)to = count;
    } else if (length == SHORT) {
        *(u16 *)to = count;
    } else if (length != LONG_DOUBLE) {
        *(i32 *)to = count;
        if (length == LONG_LONG || length == WIDEST) {
            ((i32 *)to)[1] = count >> 31;
        }
    }
}

/* ---- directives ---- */

/* The address of an argument; while there is no sink, that of a numbered one is its size. */
SHARED static const u32 *take(Walk *walk, i32 number, u32 size) {
    if (number >= 0) {
        u32 *numbered = &walk->numbered[number];
        if (!walk->sink) {
            *numbered = size;
        }
        return (const u32 *)*numbered;
    }
    u32 address = (walk->arguments + size - 1) & -size;
    walk->arguments = address + size;
    return (const u32 *)address;
}

/* An argument's number, or -1. */
SHARED static i32 read_place(Walk *walk) {
    const char *at = walk->at;
    if (IS_DIGIT(at[0]) && at[1] == '$') {
        if (!walk->has_numbers) {
            walk->has_numbers = 1;
            for (u32 number = 0; number != NUMBERS; number++) {
                walk->numbered[number] = 0;
            }
        }
        walk->at = at + 2;
        return at[0] - '0';
    }
    return -1;
}

/* A width or precision, in digits or as an argument; -1: too large. */
SHARED static i32 read_number(Walk *walk) {
    if (*walk->at == '*') {
        walk->at += 1;
        i32 number = read_place(walk);
        if (number < 0 && walk->has_numbers) {
            walk->at = "%"; /* which is no conversion */
        }
        const u32 *argument = take(walk, number, 4);
        return walk->sink ? (i32)*argument : 0;
    }
    i32 value = 0;
    for (; IS_DIGIT(*walk->at); walk->at++) {
        u32 digit = *walk->at - '0';
        value = (u32)value > (MOST - digit) / 10 ? -1 : (i32)(10 * value + digit);
    }
    return value;
}

INLINE u32 read_flags(Walk *walk) {
    u32 flags = 0;
    for (;;) {
        u32 number = *walk->at - ' ';
        if (number >= 32 || (FLAGS >> number & 1) == 0) {
            return flags;
        }
        flags |= 1u << number;
        walk->at += 1;
    }
}

INLINE enum length read_length(Walk *walk) {
    const char *at = walk->at;
    enum length length = PLAIN;
    char letter = *at;
    if (letter == 'l') {
        length = LONG;
    } else if (letter == 'h') {
        length = SHORT;
    } else if (letter == 'L') {
        length = LONG_DOUBLE;
    } else if (letter == 'z' || letter == 't') {
        length = WORD;
    } else if (letter == 'j') {
        length = WIDEST;
    } else {
        return length;
    }
    at += 1;
    if ((length == LONG || length == SHORT) && *at == letter) {
        at += 1;
        length += 1;
    }
    walk->at = at;
    return length;
}

/* Whether there is such a conversion, with this modifier. */
INLINE u32 is_conversion(u32 letter, enum length length) {
    u32 allowed = INTEGERS, capitals = CAPITALS;
    if (letter - 'A' > 'z' - 'A') {
        return 0;
    }
    if (length == LONG_DOUBLE) {
        allowed = FLOATS | LETTER('n');
    } else if (length == LONG) {
        allowed |= FLOATS | TEXTS;
    } else if (length == PLAIN) {
        allowed |= FLOATS | TEXTS | LETTER('p') | LETTER('m');
        capitals |= TEXTS;
    }
    if ((letter & LOWER) == 0) {
        allowed &= capitals;
    }
    return allowed >> (letter & 31) & 1;
}

/* Flags, width, precision, length and conversion; errno tells what is wrong. */
INLINE i32 read_directive(Walk *walk, Field *field) {
    field->flags = read_flags(walk);
    u32 is_star = *walk->at == '*';
    i32 width = read_number(walk);
    if (width < 0) {
        if (!is_star) {
            return fail(EOVERFLOW);
        }
        field->flags |= FLAG('-');
        width = -width;
    }
    if (field->flags & FLAG('-')) {
        field->flags &= ~FLAG('0');
    }
    field->width = width;
    field->precision = -1;
    field->has_precision = 0;
    if (*walk->at == '.') {
        walk->at += 1;
        is_star = *walk->at == '*';
        field->precision = read_number(walk);
        field->has_precision = !is_star || field->precision >= 0;
    }
    field->length = read_length(walk);
    field->letter = *walk->at++;
    return is_conversion(field->letter, field->length) ? 0 : fail(EINVAL);
}

INLINE u32 argument_size(u32 set, enum length length) {
    if (set & FLOATS) {
        return length == LONG_DOUBLE ? 16 : 8;
    }
    return (length == LONG_LONG || length == WIDEST) && (set & LETTER('n')) == 0 ? 8 : 4;
}

INLINE i32 write_argument(Walk *walk, Field *field, const u32 *argument, u32 set, i32 count) {
    u32 most = MOST - count;
    i32 length;
    field->prefix_length = field->zeros = field->is_float = field->is_unwritable = 0;
    if (set & LETTER('n')) {
        store_count((void *)*argument, field->length, count);
        return 0;
    }
    if (set & (TEXTS | LETTER('m'))) {
        length = write_text(walk->sink, field, *argument, most);
    } else if ((set & FLOATS) == 0) {
        length = write_integer(walk->sink, field, argument, most);
    } else if (field->has_precision && field->precision < 0) {
        length = -1;
    } else {
        length = curta_float(walk->sink, field, argument);
    }
    return length < 0 && !field->is_unwritable ? fail(EOVERFLOW) : length;
}

/* What follows a percent sign. How many characters it is; -1: an error, which errno tells. */
static i32 follow_directive(Walk *walk, i32 count) {
    Field field;
    i32 number = read_place(walk);
    if (read_directive(walk, &field) < 0) {
        return -1;
    }
    u32 set = LETTER(field.letter);
    const u32 *argument = &set;
    if ((set & LETTER('m')) == 0) {
        if (!walk->sink && number < 0) {
            walk->at = ""; /* from here on arguments come one after the other */
            return 0;
        }
        argument = take(walk, number, argument_size(set, field.length));
    } else if (number >= 0) {
        return fail(EINVAL);
    }
    if (!walk->sink) {
        return 0;
    }
    return walk->sink->failed ? -1 : write_argument(walk, &field, argument, set, count);
}

/* How many characters were written, or -1. */
static i32 follow_format(Walk *walk, const char *format) {
    i32 count = 0;
    walk->at = format;
    for (;;) {
        const char *start = walk->at, *at = start;
        i32 length;
        while (*at != 0 && *at != '%') {
            at += 1;
        }
        if (at == start) {
            if (*at == 0) {
                return count;
            }
            start = at += 1;
            if (*at == '%') {
                at += 1;
            }
        }
        walk->at = at;
        length = at - start;
        if (length == 0) {
            length = follow_directive(walk, count);
            if (length < 0) {
                return -1;
            }
        } else if (walk->sink) {
            curta_emit(walk->sink, start, length, 1);
        }
        if (length > (i32)MOST - count) {
            return fail(EOVERFLOW);
        }
        count += length;
    }
}

/* From the sizes of numbered arguments, which are those from 1 on, their addresses. */
INLINE i32 place_numbered(Walk *walk) {
    u32 is_end = 0;
    for (u32 *numbered = walk->numbered + 1; numbered != walk->numbered + NUMBERS; numbered++) {
        u32 size = *numbered;
        if (size == 0) {
            is_end = 1;
        } else if (is_end) {
            return fail(EINVAL);
        } else {
            *numbered = (u32)take(walk, -1, size);
        }
    }
    return 0;
}

SHARED static i32 print(Sink *sink, const char *format, va_list arguments) {
    Walk walk;
    walk.sink = 0;
    walk.has_numbers = 0;
    if (follow_format(&walk, format) < 0) {
        return -1;
    }
    walk.arguments = (u32)arguments;
    if (walk.has_numbers && place_numbered(&walk) < 0) {
        return -1;
    }
    walk.sink = sink;
    return follow_format(&walk, format);
}

/* ---- what programs call ---- */

WEAK int vfprintf(FILE *restrict file, const char *restrict format, va_list arguments) {
    char buffer[BUFFER_BYTES];
    Sink sink = {buffer, buffer + BUFFER_BYTES, buffer, file, 0};
    i32 count = print(&sink, format, arguments);
    curta_empty(&sink);
    return sink.failed || !__fwritable(file) ? -1 : count; /* nothing can be written anywhere */
}

WEAK int vsnprintf(char *restrict text, size_t size, const char *restrict format, va_list arguments) {
    char nowhere[1];
    Sink sink = {text, text + size - 1, text, 0, 0};
    if (size == 0) {
        sink.at = sink.end = nowhere;
    }
    i32 count = print(&sink, format, arguments);
    *sink.at = 0;
    return count;
}
