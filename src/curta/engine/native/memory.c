/* Memory of a sequence. Before it stand State, Track, and RING: rows of the track, if it goes round. */

enum { FIRST_BLOCK = 1 << 20, LARGEST_BLOCK = 1 << 26 };

#define ROW(n) (RING ? (n) & (RING - 1) : (n))

static inline void stop(State *s, int32_t promise, int64_t value, int32_t step) {
    s->broken = promise;
    s->broken_value = value;
    s->broken_step = step;
}

static void free_blocks(State *s) {
    for (Block *block = s->blocks, *before; block; block = before) {
        before = block->before;
        give_back(block, block->size);
    }
}

/* Where pointers to what was allocated lie: a copy of the state has to have others there. */
typedef struct Pointers {
    int64_t *places, count, room;
} Pointers;

static int note(Pointers *pointers, int64_t place) {
    if (pointers->count == pointers->room) {
        const int64_t room = pointers->room * 2 + 64;
        int64_t *places = realloc(pointers->places, sizeof(int64_t) * (uint64_t)room);
        if (!places) return 0;
        pointers->places = places;
        pointers->room = room;
    }
    pointers->places[pointers->count++] = place;
    return 1;
}

/* Zeros that are there until the end, out of blocks that become larger, for a pointer in the state.
   If pointers are noted, there is one block. */
static void allocate(State *s, void *pointer, uint64_t bytes) {
    Block *block = s->blocks;
    bytes = (bytes + 63) & ~UINT64_C(63);
    if (!block || block->size - block->used < bytes) {
        uint64_t size = block ? block->size * 2 : FIRST_BLOCK;
        if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
        if (size < bytes + sizeof(Block)) size = bytes + sizeof(Block);
        if (s->pointers || !(block = fresh_zeros(size))) {
            s->exhausted = 1;
            return;
        }
        *block = (Block){s->blocks, size, sizeof(Block)};
        s->blocks = block;
    }
    if (s->pointers && !note(s->pointers, (char *)pointer - (char *)s)) {
        s->exhausted = 1;
        return;
    }
    void *memory = (char *)block + block->used;
    memcpy(pointer, &memory, sizeof memory);
    block->used += bytes;
    s->bytes += (int64_t)bytes;
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
