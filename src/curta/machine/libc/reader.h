/* Characters one by one, from a text or a file, and numbers out of them.
 *
 * To a file one character can be given back. What was read of something that turns out to be no
 * number is lost then, as the standard has it. */
#ifndef CURTA_LIBC_READER_H
#define CURTA_LIBC_READER_H

#include "digits.h"

#include <stdio.h>

#define END (-1)
#define EVERYTHING 0xffffffffu

typedef struct Reader {
    const u8 *at; /* in the text */
    FILE *file;   /* none: it is a text */
    u32 room;     /* how many characters may be read */
    u32 count;    /* how many were */
    i32 last;     /* what can be given back, if it is no END */
    u32 rewinds;  /* what follows a number is given back, all of it; only to texts */
} Reader;

/* A character or END. */
i32 curta_next(Reader *reader);
void curta_back(Reader *reader);

/* The first that is no space. */
i32 curta_next_mark(Reader *reader);

/* How floating-point numbers lie in memory: in one, two or four words. */
enum format { SINGLE, DOUBLE, QUADRUPLE };

/* A number from the reader; whether there was one. */
u32 curta_read_float(Reader *reader, enum format format, u32 *number);

#endif
