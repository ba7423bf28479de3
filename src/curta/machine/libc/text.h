/* What formatted output is made of: a sink for characters, and fields.
 *
 * Only what the standard headers promise is used of the rest of the C library, so these objects
 * can be linked with any version of it. */
#ifndef CURTA_LIBC_TEXT_H
#define CURTA_LIBC_TEXT_H

#include "digits.h"

#include <stddef.h>
#include <stdio.h>

#define MOST 0x7fffffffu /* characters that a call can count */

/* ---- where output goes ---- */

typedef struct Sink {
    char *at, *end; /* where the next character is put, and where there is no room */
    char *start;
    FILE *file; /* takes what is between start and at; none: what finds no room is dropped */
    u32 failed;
} Sink;

/* `count` characters; with step 0 they are all the first. */
void curta_emit(Sink *sink, const char *from, u32 count, u32 step);

/* ---- what a conversion writes ---- */

/* Length modifiers. */
enum length { PLAIN, LONG, LONG_LONG, SHORT, CHAR, LONG_DOUBLE, WORD, WIDEST };

/* Bit numbers of flags are those of their characters, counted from the space. */
#define FLAG(c) (1u << ((c) - ' '))
#define FLAGS (FLAG(' ') | FLAG('#') | FLAG('\'') | FLAG('+') | FLAG('-') | FLAG('0'))

/* In this order, between spaces: prefix, zeros, body, a point, more, more zeros, tail. */
typedef struct Field {
    u32 flags;
    i32 width, precision;
    u32 has_precision;
    u32 length; /* the modifier */
    u32 is_unwritable; /* errno tells already what is wrong */
    u32 letter;
    char prefix[4];
    u32 prefix_length;
    u32 zeros;
    const char *body;
    u32 body_length;
    u32 is_float; /* has what follows */
    u32 point;
    const char *more;
    u32 more_length, more_zeros;
    const char *tail;
    u32 tail_length;
} Field;

/* What is in the buffer is written to the file. */
void curta_empty(Sink *sink);

/* `count` spaces, unless the flags want them on the right, or zeros. */
void curta_pad(Sink *sink, u32 flags, u32 count);

/* How many characters that were, or -1 if they would be more than `most`. */
i32 curta_lay(Sink *sink, Field *field, u32 most);

void curta_sign(Field *field, u32 negative);

/* A text of wide characters. How many bytes that were, or -1 if one of them cannot be written. */
i32 curta_wide(Sink *sink, Field *field, const wchar_t *characters);

/* A floating-point number, as it lies in memory: two words, or four if it is long. How many
 * characters that were, or -1. */
i32 curta_float(Sink *sink, Field *field, const u32 *number);

#endif
