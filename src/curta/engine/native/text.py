"""The parts of the generated C that are the same for every model."""

PRELUDE = """\
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int64_t rectified(int64_t x) { return x > 0 ? x : 0; }

/* x / width, but at least 0 and at most count. */
static inline int64_t staircase(int64_t x, int64_t width, int64_t count) {
    return x < width ? 0 : x >= width * count ? count : (int64_t)((uint64_t)x / (uint64_t)width);
}

static inline int64_t clamped(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

/* The d in 0..most with the largest d * linear - d * d * square, the smallest of equals. */
static inline int64_t vertex(int64_t linear, int64_t square, int64_t most) {
    if (square <= 0) return linear - most * square > 0 ? most : 0;
    const int64_t above = linear + square - 1, twice = 2 * square;
    const int64_t digit = above < 0 ? -1 : above / twice;
    return digit < 0 ? 0 : digit > most ? most : digit;
}
"""

ENTRY_POINTS = """\
/* Use: curta_create; curta_take the prompt; curta_generate from the token that it said;
   curta_destroy. Tokens have to be in the vocabulary, and the sequence within the certificate:
   neither is checked here. If fewer tokens come back than were asked for, see curta_broken. */
State *curta_create(void) {
    State *s = calloc(1, sizeof(State));
    if (!s) return 0;
    s->broken = -1;
    s->bytes = sizeof(State) - DIRECTORIES; /* of these, next to nothing is ever written */
    create_tables(s);
    return s;
}

void curta_destroy(State *s) {
    free_tables(s);
    free_blocks(s);
    free(s);
}

/* Take `count` tokens of a given sequence; what is said after each goes to `said`. Returns how many
   were taken: fewer if a promise was broken or memory ran out. */
int64_t curta_feed(State *s, const int32_t *tokens, int64_t count, int32_t *said) {
    for (int64_t i = 0; i < count; i++) {
        if (s->exhausted) return i;
        const int32_t next = step(s, tokens[i]);
        if (next < 0) return i;
        said[i] = next;
    }
    return count;
}

int64_t curta_bytes(const State *s) { return s->bytes; }
int32_t curta_exhausted(const State *s) { return s->exhausted; }
int32_t curta_broken(const State *s, int64_t *value) {
    *value = s->broken_value;
    return s->broken;
}
"""

RESIDUALS = """\
/* The residual stream after the last token that was fed. */
void curta_stream(const State *s, double *stream) {
    memcpy(stream, s->stream, sizeof(double) * STREAM_SIZE);
}
"""

MEMORY = """\
static inline int32_t stop(State *s, int32_t promise, int64_t value) {
    s->broken = promise;
    s->broken_value = value;
    return -1;
}

static void *zeros(State *s, uint64_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory) s->bytes += (int64_t)bytes;
    else s->exhausted = 1;
    return memory;
}

/* Zeros that are there until the end. */
static void *allocate(State *s, uint64_t bytes) {
    Block *block = zeros(s, sizeof(Block) + bytes);
    if (!block) return 0;
    block->before = s->blocks;
    s->blocks = block;
    return block + 1;
}

static void free_blocks(State *s) {
    for (Block *block = s->blocks, *before; block; block = before) {
        before = block->before;
        free(block);
    }
}

static inline void *resize(State *s, void *memory, uint64_t row, int64_t capacity) {
    void *moved = realloc(memory, row * (uint64_t)capacity);
    if (!moved) {
        s->exhausted = 1;
        return memory;
    }
    s->bytes += (int64_t)row * (capacity - s->capacity);
    return moved;
}
"""

GENERAL_RUN = """\
/* Say `first` and up to count - 1 more tokens; returns how many. Ends after a stop token. */
int64_t curta_generate(State *s, int32_t first, int32_t *said, int64_t count) {
    int32_t token = said[0] = first;
    for (int64_t i = 1; i < count; i++) {
        if (is_stop(token) || s->exhausted) return i;
        token = step(s, token);
        if (token < 0) return i;
        said[i] = token;
    }
    return count;
}
"""

ROOM = """\
/* How many of the steps that are left there is room for, without memory of their own. */
static inline int64_t at_most(State *s, int64_t left) {
    if (!TRACK_GROWS) return left;
    if (s->position >= s->capacity && !grow(s)) return 0;
    const int64_t room = s->capacity - s->position;
    return room < left ? room : left;
}
"""

QUIET_RUN = """\
/* Say `first` and up to count - 1 more tokens; returns how many. Ends after a stop token. */
int64_t curta_generate(State *s, int32_t first, int32_t *said, int64_t count) {
    int32_t token = said[0] = first;
    int64_t i = 1;
    while (i < count) {
        if (is_stop(token) || s->exhausted) return i;
        if (ready(s, token)) {
            const int64_t more = run(s, token, said + i, at_most(s, count - i));
            if (s->broken >= 0) return i + more;
            i += more;
            token = said[i - 1];
            if (more) continue;
        }
        const int32_t next = step(s, token);
        if (next < 0) return i;
        token = said[i++] = next;
    }
    return i;
}
"""

GENERAL_INTAKE = """\
/* Take `count` tokens; what is said after the last goes to `said`. Returns how many were taken. */
int64_t curta_take(State *s, const int32_t *tokens, int64_t count, int32_t *said) {
    for (int64_t i = 0; i < count; i++) {
        if (s->exhausted) return i;
        *said = step(s, tokens[i]);
        if (*said < 0) return i;
    }
    return count;
}
"""

QUICK_INTAKE = """\
/* Take `count` tokens; what is said after the last goes to `said`. Returns how many were taken. */
int64_t curta_take(State *s, const int32_t *tokens, int64_t count, int32_t *said) {
    int64_t i = 0;
    while (i < count) {
        if (s->exhausted) return i;
        i += take(s, tokens + i, at_most(s, count - 1 - i));
        if (s->broken >= 0) return i;
        *said = step(s, tokens[i++]);
        if (*said < 0) return i - 1;
    }
    return i;
}
"""
