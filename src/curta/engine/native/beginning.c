/* Beginnings: a state that has taken some tokens, of which copies are made instead of taking them
   again. Only pages that were written to are copied. Before this stands entry.c. */

#if defined __linux__ && (!defined UNIT || UNIT == 0)
#include <fcntl.h>

/* No multiple of a huge page: such mappings would not lie side by side, and count one by one. */
enum {
    ROOM = 2 * LARGEST_BLOCK - (1 << 16), /* of the one block */
    MOST_COPIED = 1 << 10     /* pages; beyond, tokens are taken as quickly */
};

/* The state begins with what is copied as it is; the directory at its end holds noted pointers. */
#define HEAD offsetof(State, pages)

typedef struct {
    Pointers pointers; /* where they lie in the state */
    int64_t *offsets;  /* in the block, of what they point to */
    int64_t pages[MOST_COPIED], count; /* of the block, that were written to */
    char *content; /* the head of the state, then these pages */
} Beginning;

/* A state with one block, as empty as memory is; null if there is none. */
static State *with_block(void) {
    State *s = fresh_zeros(sizeof(State));
    Block *block = s ? fresh_zeros(ROOM) : 0;
    if (block) s->blocks = block;
    else give_back(s, sizeof(State)), s = 0;
    return s;
}

/* Note the pages of the block that were written to, as the system knows, swapped out or not. */
static int find_pages(Beginning *beginning, const Block *block) {
    enum { AT_ONCE = 1024 };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = (uint64_t)block / page;
    const uint64_t pages = (block->used + page - 1) / page;
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int fits = file >= 0;
    for (uint64_t n = 0; fits && n < pages; n += AT_ONCE) {
        uint64_t found[AT_ONCE];
        const uint64_t most = pages - n < AT_ONCE ? pages - n : AT_ONCE, size = most * 8;
        fits = pread(file, found, size, (off_t)((first + n) * 8)) == (ssize_t)size;
        for (uint64_t i = 0; fits && i < most; i++)
            if (found[i] >> 62) {
                fits = beginning->count < MOST_COPIED;
                if (fits) beginning->pages[beginning->count++] = (int64_t)(n + i);
            }
    }
    if (file >= 0) close(file);
    return fits;
}

/* Keep what was written to, apart from the state. */
static int keep(Beginning *beginning, const State *s) {
    const char *const block = (const char *)s->blocks;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), count = (uint64_t)beginning->count;
    char *content = beginning->content = malloc(HEAD + count * page);
    int64_t *offsets = malloc(sizeof(int64_t) * (uint64_t)(beginning->pointers.count + 1));
    beginning->offsets = offsets;
    if (!content || !offsets) return 0;
    memcpy(content, s, HEAD);
    for (uint64_t i = 0; i < count; i++)
        memcpy(content + HEAD + i * page, block + (uint64_t)beginning->pages[i] * page, page);
    for (int64_t i = 0; i < beginning->pointers.count; i++) {
        const char *pointer;
        memcpy(&pointer, (const char *)s + beginning->pointers.places[i], sizeof pointer);
        offsets[i] = pointer - block;
    }
    return 1;
}

void curta_forget(Beginning *beginning) {
    free(beginning->pointers.places);
    free(beginning->offsets);
    free(beginning->content);
    free(beginning);
}

/* What was there after these tokens, or null: where there is too little memory, where the state
   grows or is large, and where they cannot be taken. */
Beginning *curta_beginning(const int32_t *tokens, int64_t count) {
    Beginning *beginning = RING ? calloc(1, sizeof(Beginning)) : 0;
    if (!beginning) return 0;
    State *s = with_block();
    int fits = 0;
    if (s) {
        int32_t said;
        *s->blocks = (Block){0, ROOM, sizeof(Block)};
        s->pointers = &beginning->pointers;
        set_up(s);
        fits = curta_take(s, tokens, count, &said, 0) == count && !s->exhausted;
        fits = fits && find_pages(beginning, s->blocks);
        s->pointers = 0;
        fits = fits && keep(beginning, s);
        curta_destroy(s);
    }
    if (fits) return beginning;
    curta_forget(beginning);
    return 0;
}

/* A state as after curta_create and curta_take of these tokens; null if there is no memory. */
State *curta_begin(const Beginning *beginning) {
    State *s = with_block();
    if (!s) return 0;
    char *const block = (char *)s->blocks;
    const char *pages = beginning->content + HEAD;
    const int64_t page = sysconf(_SC_PAGESIZE);
    memcpy(s, beginning->content, HEAD);
    s->blocks = (Block *)block;
    for (int64_t i = 0; i < beginning->count; i++, pages += page)
        memcpy(block + beginning->pages[i] * page, pages, (size_t)page);
    for (int64_t i = 0; i < beginning->pointers.count; i++) {
        const char *moved = block + beginning->offsets[i];
        memcpy((char *)s + beginning->pointers.places[i], &moved, sizeof moved);
    }
    return s;
}
#endif
