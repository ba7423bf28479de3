/* What the pieces of the C library share: words, and the characters that a conversion is made of.
 *
 * Written for few core instructions: words of 32 bits instead of the 64 and 128 of a usual C
 * library, one loop for what could be several. Only what the standard headers promise is used of
 * the rest of the library, so these objects can be linked with any version of it. */
#ifndef CURTA_LIBC_TEXT_H
#define CURTA_LIBC_TEXT_H

#include <stdio.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;

/* Called once within its file: part of its caller. */
#define INLINE static inline __attribute__((always_inline))
/* Called from several places: one copy of it in the prompt. */
#define SHARED __attribute__((noinline))

#define MOST 0x7fffffffu /* characters that a call can count */
#define IS_DIGIT(c) ((u32)(c) - '0' < 10)
#define LOWER 32u /* the bit that small letters have and capitals lack */

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

/* Digits that are made at a time: as many as a word holds. */
#define GROUP 1000000000u
#define GROUP_DIGITS 9

/* All digits from `start` to `end`. */
void curta_group(u32 group, char *end, char *start);

/* Decimal digits backwards from `end`, leading zeros left out; `limbs` are used up. Where they
 * begin is returned. */
char *curta_decimal(u32 *limbs, u32 count, char *end);

/* A floating-point number, as it lies in memory: two words, or four if it is long. How many
 * characters that were, or -1. */
i32 curta_float(Sink *sink, Field *field, const u32 *number);

#endif
