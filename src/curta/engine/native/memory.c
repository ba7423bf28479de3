/* Memory of a sequence. Before it stand State, Track, and RING: rows of the track, if it goes round. */

#define ROW(n) (RING ? (n) & (RING - 1) : (n))

static inline void stop(State *s, int32_t promise, int64_t value, int32_t step) {
    s->broken = promise;
    s->broken_value = value;
    s->broken_step = step;
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

/* The track grows if it does not go round. */
static inline int grow(State *s) {
    const int64_t capacity = s->capacity ? s->capacity * 2 : 4096;
    Track *moved = realloc(s->track, sizeof(Track) * (uint64_t)capacity);
    if (!moved) {
        s->exhausted = 1;
        return 0;
    }
    s->bytes += (int64_t)sizeof(Track) * (capacity - s->capacity);
    s->track = moved;
    s->capacity = capacity;
    return 1;
}

/* How many of the steps that are left there is room for, without memory of their own. */
static inline int64_t at_most(State *s, int64_t left) {
    if (RING) return left;
    if (s->position >= s->capacity && !grow(s)) return 0;
    const int64_t room = s->capacity - s->position;
    return room < left ? room : left;
}
