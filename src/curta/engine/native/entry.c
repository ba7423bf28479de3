/* The functions that a library has. Before them stand step and is_stop, and what cases there are. */

#ifndef CASES
static inline int ready(State *s, int32_t token) { return (void)s, (void)token, 0; }
static inline int64_t run(State *s, int32_t token, int32_t *said, int64_t count) {
    return (void)s, (void)token, (void)said, (void)count, 0;
}
static inline int64_t take(State *s, const int32_t *tokens, int64_t count) {
    return (void)s, (void)tokens, (void)count, 0;
}
#endif

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

/* Use: curta_create; curta_take the prompt; curta_generate from the token that it said;
   curta_destroy. Tokens have to be in the vocabulary, and the sequence within the certificate:
   neither is checked here. If fewer tokens come back than were asked for, see curta_broken. */
State *curta_create(void) {
    State *s = fresh_zeros(sizeof(State));
    if (!s) return 0;
    s->broken = -1;
    s->bytes = sizeof(State) - DIRECTORIES; /* of these, next to nothing is ever written */
    if (RING) s->track = allocate(s, sizeof(Track) * RING);
    create_tables(s);
    return s;
}

void curta_destroy(State *s) {
    free_tables(s);
    if (!RING) free(s->track);
    free_blocks(s);
    give_back(s, sizeof(State));
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

/* The promise that was broken, or -1; by a value in units of 2**step. */
int32_t curta_broken(const State *s, int64_t *value, int32_t *step) {
    *value = s->broken_value;
    *step = s->broken_step;
    return s->broken;
}

#ifdef STREAM_SIZE
/* The residual stream after the last token that was fed. */
void curta_stream(const State *s, double *stream) {
    memcpy(stream, s->stream, sizeof(double) * STREAM_SIZE);
}
#endif
