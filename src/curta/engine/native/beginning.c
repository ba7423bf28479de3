/* Beginnings: a state that has taken some tokens, of which copies are made at once. A copy shares
   all pages that it does not write to. Before this stands entry.c. */

#if defined __linux__ && (!defined UNIT || UNIT == 0)

/* The state, and behind it the block that everything else is in. */
enum { ROOM = 2 * LARGEST_BLOCK };

typedef struct {
    int file;
    char *at; /* where the state was when its pointers were noted */
    Pointers pointers;
} Beginning;

/* Where the block is: the state may be given back without it. */
static uint64_t size_of_state(void) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (sizeof(State) + page - 1) / page * page;
}

static State *mapped(int file, int flags) {
    const int access = PROT_READ | PROT_WRITE;
    void *memory = mmap(0, size_of_state() + ROOM, access, flags | MAP_NORESERVE, file, 0);
    return memory == MAP_FAILED ? 0 : memory;
}

static Block *block_of(State *s) { return (Block *)((char *)s + size_of_state()); }

void curta_forget(Beginning *beginning) {
    if (beginning->file >= 0) close(beginning->file);
    free(beginning->pointers.places);
    free(beginning);
}

/* What was there after these tokens, or null: where there is no such memory, or too little of it,
   where the state does not lie together, and where they cannot be taken. */
Beginning *curta_beginning(const int32_t *tokens, int64_t count) {
    Beginning *beginning = RING && LIES_TOGETHER ? calloc(1, sizeof(Beginning)) : 0;
    if (!beginning) return 0;
    beginning->file = memfd_create("curta", MFD_CLOEXEC);
    const int is_there = !ftruncate(beginning->file, (off_t)(size_of_state() + ROOM));
    State *s = is_there ? mapped(beginning->file, MAP_SHARED) : 0;
    int fits = 0;
    if (s) {
        int32_t said;
        s->blocks = block_of(s);
        *s->blocks = (Block){0, ROOM, sizeof(Block)};
        s->pointers = &beginning->pointers;
        set_up(s);
        fits = curta_take(s, tokens, count, &said) == count && !s->exhausted;
        s->pointers = 0;
        beginning->at = (char *)s;
        give_back(s, size_of_state() + ROOM);
    }
    if (fits) return beginning;
    curta_forget(beginning);
    return 0;
}

/* A state as after curta_create and curta_take of these tokens; null if there is no memory. */
State *curta_begin(const Beginning *beginning) {
    State *s = mapped(beginning->file, MAP_PRIVATE);
    if (!s) return 0;
    s->blocks = block_of(s);
    for (int64_t i = 0; i < beginning->pointers.count; i++) {
        char *place = (char *)s + beginning->pointers.places[i], *pointer;
        memcpy(&pointer, place, sizeof pointer);
        pointer = (char *)s + (pointer - beginning->at);
        memcpy(place, &pointer, sizeof pointer);
    }
    return s;
}
#endif
