/* The functions that a library has. Before them stand step and is_stop; and run, take and what
   belongs to them, if the model executes programs. */

#if !defined UNIT || UNIT == 0

#ifdef PLACES
/* The same as curta_generate, a token at a time; where the run was before each goes to `places`. */
int64_t curta_follow(State *s, int32_t first, int32_t *said, int64_t *places, int64_t count) {
    said[0] = first;
    for (int64_t i = 1; i < count; i++) {
        if (is_stop(said[i - 1]) || s->exhausted) return i;
        const int32_t token = said[i - 1];
        const int32_t next = step(s, token);
        if (next < 0) return i;
        said[i] = next;
        places[i] = place_of_run(s, token);
    }
    return count;
}

/* What is known of some places: FIELDS numbers of each. */
int32_t curta_fields(State *s, const int64_t *places, int64_t count, int64_t *fields) {
    for (int64_t i = 0; i < count; i++) fields_of(s, places[i], fields + i * FIELDS);
    return FIELDS;
}

/* Code for some places, or none: curta_places of what is generated for them. */
void curta_set_places(State *s, const Places *places) { s->places = places; }

/* How many tokens such code has said. */
int64_t curta_placed(const State *s) { return s->placed; }

/* Say what is said by whole instructions; where there is code for places, try that first. */
static int64_t run_on(State *s, int32_t token, int32_t *said, int64_t count) {
    if (!ready(s, token)) return 0;
    if (s->places) {
        const int64_t length = s->places->say(s, token, said, count);
        s->placed += length;
        if (length) return length;
    }
    return run(s, token, said, count);
}
#else
static int64_t run_on(State *s, int32_t token, int32_t *said, int64_t count) {
    return (void)s, (void)token, (void)said, (void)count, 0;
}

static int64_t take(State *s, const int32_t *tokens, int64_t count) {
    return (void)s, (void)tokens, (void)count, 0;
}
#endif

/* Say `first` and up to count - 1 more tokens; returns how many. Ends after a stop token, and where
   `enough` were said. */
static int64_t say(State *s, int32_t first, int32_t *said, int64_t count, int64_t enough) {
    int32_t token = said[0] = first;
    int64_t i = 1;
    while (i < count) {
        if (is_stop(token) || s->exhausted) return i;
        const int64_t more = run_on(s, token, said + i, count - i);
        if (more) {
            i += more;
            token = said[i - 1];
            if (i >= enough) return i;
            continue;
        }
        const int32_t next = step(s, token);
        if (next < 0) return i;
        token = said[i++] = next;
    }
    return i;
}

/* What is given behind `asks`: a token each time. */
typedef struct {
    const int32_t *next, *end;
    int64_t asks;
} Answers;

/* The same; what `answers` has, if there are any, is given where it is asked for, and is among the
   tokens. */
int64_t curta_generate(
    State *s, int32_t first, int32_t *said, int64_t count, int64_t enough, Answers *answers) {
    int64_t i = say(s, first, said, count, enough);
    if (!answers) return i;
    while (said[i - 1] == answers->asks && answers->next < answers->end && i < count) {
        if (s->exhausted || step(s, said[i - 1]) < 0) return i;
        i += say(s, *answers->next++, said + i, count - i, enough - i);
    }
    return i;
}

/* Take `count` tokens of a given sequence; what is said after the last goes to `said`, or what is
   said after each. Returns how many were taken: fewer if a promise was broken or memory ran out. */
int64_t curta_take(State *s, const int32_t *tokens, int64_t count, int32_t *said, int32_t each) {
    int64_t i = 0;
    while (i < count) {
        if (s->exhausted) return i;
        if (!each) i += take(s, tokens + i, count - 1 - i);
        if (s->broken >= 0) return i;
        const int32_t next = step(s, tokens[i]);
        if (next < 0) return i;
        said[each ? i : 0] = next;
        i++;
    }
    return i;
}

static void set_up(State *s) {
    s->broken = -1;
    s->bytes = offsetof(State, pages); /* of the directory next to nothing is ever written */
    if (RING) allocate(s, &s->track, sizeof(Track) * RING);
    create_tables(s);
}

/* Use: curta_create; curta_take the prompt; curta_generate from the token that it said;
   curta_destroy. Tokens have to be in the vocabulary, and the sequence within the certificate:
   neither is checked here. If fewer tokens come back than were asked for, see curta_broken. */
State *curta_create(void) {
    State *s = fresh_zeros(sizeof(State));
    if (s) set_up(s);
    return s;
}

void curta_destroy(State *s) {
    if (!RING) free(s->track);
    free_blocks(s);
    give_back(s, sizeof(State));
}

int64_t curta_bytes(const State *s) { return s->bytes + bytes_of_arrays(s); }
int32_t curta_exhausted(const State *s) { return s->exhausted; }

/* The promise that was broken, or -1; by a value in units of 2**step. */
int32_t curta_broken(const State *s, int64_t *value, int32_t *step) {
    *value = s->broken_value;
    *step = s->broken_step;
    return s->broken;
}
#endif
