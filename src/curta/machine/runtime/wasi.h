/* Errors of WASI preview 1, and what the machine keeps between calls. */
#ifndef CURTA_RUNTIME_WASI_H
#define CURTA_RUNTIME_WASI_H

#include "words.h"

NATIVE("load_state") u32 load_state(u32 word);

enum state {
    STATE_SEED = 0,       /* given */
    STATE_RANDOM = 1,     /* random words drawn so far */
    STATE_CLOCK = 2,      /* nanoseconds since the start, low word */
    STATE_CLOCK_HIGH = 3, /* and high word */
    STATE_CLOSED = 4,     /* bit n: file n is closed */
};

enum error {
    SUCCESS = 0,
    EBADF = 8,
    EINVAL = 28,
    ENOSYS = 52,
    ENOTDIR = 54,
    ENOTSOCK = 57,
    ENOTSUP = 58,
    ESPIPE = 70,
};

INLINE u32 is_open(u32 file) {
    return file < 3 && (load_state(STATE_CLOSED) >> file & 1) == 0;
}

#endif
