/* What tokens have filed: PlainLedger in ledger.py, for millions of tokens a second.

   The ids of tokens (FIRST_..., ..._ID), sizes and the kinds of instructions are macros that
   fast_ledger.py puts before this file. */

#include <string.h>

typedef struct {
    uint32_t kind; /* KIND_..., and for stores the number of bytes in the lowest bits */
    uint32_t library;
    uint32_t a, b, c, d, immediate;
    int32_t own; /* the last instruction up to this one that is not the library's, or -1 */
} Row; /* of a power of two */

typedef struct {
    const Row *rows;
    int64_t count, counter, frame, ended_at, ended_frame, own_at;
    uint64_t digits, number;
    int64_t far;
    int32_t since_frame, failed;
    int64_t size; /* no instruction names a register of its frame from this number on */
    int64_t top;  /* no register from here on was written */
    uint32_t *registers;
    uint8_t **pages;
    int64_t *there, pages_there, room; /* the numbers of the pages that there are */
} Ledger;

enum { PAGES = (int)(MEMORY_END / MEMORY_PAGE) };

void curta_ledger_free(Ledger *ledger) {
    if (!ledger) return;
    for (int64_t n = 0; n < ledger->pages_there; n++) give_back(ledger->pages[ledger->there[n]], MEMORY_PAGE);
    free(ledger->there);
    give_back(ledger->pages, PAGES * sizeof(uint8_t *));
    give_back(ledger->registers, REGISTERS * sizeof(uint32_t));
    free(ledger);
}

Ledger *curta_ledger_new(const Row *rows, int64_t count, int64_t size) {
    Ledger *ledger = calloc(1, sizeof(Ledger));
    if (!ledger) return 0;
    ledger->rows = rows;
    ledger->count = count;
    ledger->size = size;
    ledger->since_frame = ADDRESS_BYTES;
    ledger->own_at = -1;
    ledger->registers = fresh_zeros(REGISTERS * sizeof(uint32_t));
    ledger->pages = fresh_zeros(PAGES * sizeof(uint8_t *));
    if (ledger->registers && ledger->pages) return ledger;
    curta_ledger_free(ledger);
    return 0;
}

uint32_t *curta_ledger_registers(Ledger *ledger) { return ledger->registers; }

/* The page that an address lies in, made if there is none: 0 if memory is short. */
static uint8_t *page_of(Ledger *ledger, uint64_t address) {
    const int64_t number = (int64_t)(address / MEMORY_PAGE);
    if (address / MEMORY_PAGE >= (uint64_t)PAGES) {
        ledger->failed = NO_PLACE;
        return 0;
    }
    if (ledger->pages[number]) return ledger->pages[number];
    if (ledger->pages_there == ledger->room) {
        const int64_t room = ledger->room ? 2 * ledger->room : 64;
        int64_t *there = realloc(ledger->there, sizeof(int64_t) * (size_t)room);
        if (!there) {
            ledger->failed = NO_MEMORY;
            return 0;
        }
        ledger->there = there;
        ledger->room = room;
    }
    uint8_t *page = fresh_zeros(MEMORY_PAGE);
    if (!page) {
        ledger->failed = NO_MEMORY;
        return 0;
    }
    ledger->there[ledger->pages_there++] = number;
    return ledger->pages[number] = page;
}

/* The numbers of the pages that there are; how many. */
int64_t curta_ledger_pages(const Ledger *ledger, int64_t *found) {
    if (found && ledger->pages_there)
        memcpy(found, ledger->there, sizeof(int64_t) * (size_t)ledger->pages_there);
    return ledger->pages_there;
}

/* Pieces of memory, of which the bytes lie one behind the other; 0, or what is wrong. */
int32_t curta_ledger_bytes(Ledger *ledger, const int64_t *firsts, const int64_t *lengths,
                           int64_t count, const uint8_t *content) {
    for (int64_t n = 0; n < count; n++) {
        uint64_t address = (uint64_t)firsts[n];
        for (int64_t left = lengths[n], size; left > 0; left -= size, address += (uint64_t)size) {
            uint8_t *page = page_of(ledger, address);
            if (!page) return ledger->failed;
            size = MEMORY_PAGE - (int64_t)(address % MEMORY_PAGE);
            if (size > left) size = left;
            memcpy(page + address % MEMORY_PAGE, content, (size_t)size);
            content += size;
        }
    }
    return 0;
}

/* The same for registers. */
int32_t curta_ledger_words(Ledger *ledger, const int64_t *firsts, const int64_t *lengths,
                           int64_t count, const uint32_t *content) {
    for (int64_t n = 0; n < count; n++) {
        const int64_t first = firsts[n], length = lengths[n];
        if (first < 0 || length < 0 || first > REGISTERS - length) return NO_PLACE;
        memcpy(ledger->registers + first, content, sizeof(uint32_t) * (size_t)length);
        if (first + length > ledger->top) ledger->top = first + length;
        content += length;
    }
    return 0;
}

/* What is not 0 in pages, which are in order, as pieces with more than `apart` zeros between them:
   how many pieces and bytes in `sizes`; the rest only if there is room for it. */
void curta_ledger_memory(const Ledger *ledger, const int64_t *numbers, int64_t pages, int64_t apart,
                         int64_t *sizes, int64_t *firsts, int64_t *lengths, uint8_t *content) {
    int64_t pieces = 0, bytes = 0, end = 0;
    for (int64_t n = 0; n < pages; n++) {
        const uint8_t *page = ledger->pages[numbers[n]];
        for (int64_t at = 0; at < MEMORY_PAGE; at++) {
            uint64_t eight;
            if (at % 8 == 0 && (memcpy(&eight, page + at, 8), !eight)) at += 7;
            if (!page[at]) continue;
            const int64_t address = numbers[n] * MEMORY_PAGE + at;
            if (!pieces || address - end > apart) {
                if (firsts) firsts[pieces] = address;
                pieces++;
                end = address;
            }
            bytes += address - end; /* zeros, as which content begins */
            if (content) content[bytes] = page[at];
            bytes++;
            if (lengths) lengths[pieces - 1] += address + 1 - end;
            end = address + 1;
        }
    }
    sizes[0] = pieces;
    sizes[1] = bytes;
}

/* From a register on all hold 0 again. */
void curta_ledger_forget(Ledger *ledger, int64_t first) {
    if (first < 0 || first >= ledger->top) return;
    memset(ledger->registers + first, 0, sizeof(uint32_t) * (size_t)(ledger->top - first));
    ledger->top = first;
}

/* -- tokens ------------------------------------------------------------------------------------

   Nearly all tokens are those of an instruction that are said as it wants them (`instructions`). What
   is inlined works on a copy of the ledger whose fields are registers of the processor; what is said
   seldom does not, and works on the ledger itself. */

#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif
#if defined __GNUC__ && !defined __clang__
#define VECTORS __attribute__((optimize("O3"), target_clones("avx2", "default")))
#else
#define VECTORS
#endif

/* Tokens as they were said, or kept in half the room. */
typedef struct {
    const void *tokens;
    int is_kept;
} Said;

INLINE int32_t token_at(Said said, int64_t at) {
    return said.is_kept ? ((const uint16_t *)said.tokens)[at] : ((const int32_t *)said.tokens)[at];
}

INLINE int is(int32_t token, int32_t first, int32_t count) {
    return (uint32_t)token - (uint32_t)first < (uint32_t)count;
}

/* Where a register lies: within bounds, since the frame is (`frame_at`), and numbers have two bytes
   (LoadedProgram.from_bytes). */
INLINE uint32_t *place(Ledger *now, uint32_t number) {
    return now->registers + number + (number < GLOBALS ? FIRST_FRAME + now->frame : 0);
}

/* The frame begins there. */
INLINE void frame_at(Ledger *now, int64_t frame) {
    if ((uint64_t)frame > LAST_FRAME) {
        now->failed = NO_PLACE;
        return;
    }
    now->frame = frame;
    if (FIRST_FRAME + frame + now->size > now->top) now->top = FIRST_FRAME + frame + now->size;
}

/* What a jump does, except for the distance. */
INLINE void jump(Ledger *now, const Row *row, int64_t to) {
    if (row->kind == KIND_CALL) {
        *place(now, row->d) = (uint32_t)(now->counter + 1);
        frame_at(now, now->frame + row->immediate);
    } else if (row->kind == KIND_RETURN && to > 0 && to <= now->count) {
        frame_at(now, now->frame - now->rows[to - 1].immediate);
    }
}

/* Where a store leads to. */
INLINE uint64_t address_of(Ledger *now, const Row *row) {
    const uint32_t index = row->kind & STORE_INDEX ? *place(now, row->b) : 0;
    const uint64_t private = row->kind & STORE_PRIVATE ? UINT64_C(1) << 32 : 0;
    return (uint64_t)(*place(now, row->a) + index) + row->immediate + private;
}

/* A store within a page that there is; 0 if it is another. */
INLINE int store(Ledger *now, const Row *row) {
    const uint64_t address = address_of(now, row), at = address % MEMORY_PAGE;
    const uint32_t size = row->kind & STORE_SIZE, content = *place(now, row->c);
    uint8_t *page = address / MEMORY_PAGE < PAGES ? now->pages[address / MEMORY_PAGE] : 0;
    if (!page || at > MEMORY_PAGE - sizeof(content)) return 0;
    switch (size) {
    case 1: page[at] = (uint8_t)content; break;
    case 2: memcpy(page + at, &content, 2); break;
    case 4: memcpy(page + at, &content, 4); break;
    default: return 0;
    }
    return 1;
}

/* Of instructions that follow one another, up to this one, the last that is not the library's. */
INLINE void passed(Ledger *now, int64_t first, int64_t last) {
    if (last >= first && now->rows[last].own >= first) now->own_at = now->rows[last].own;
}

/* Instructions from their first token to their last, up to one that is said otherwise: where that is. */
INLINE int64_t instructions(Ledger *now, Said said, int64_t at, int64_t count) {
    int64_t first = now->counter;
    while (at + WORD_DIGITS <= count && (uint64_t)now->counter < (uint64_t)now->count) {
        const Row *row = &now->rows[now->counter];
        if (row->kind == KIND_WORD) {
            uint64_t content = 0;
            int digits = 0;
            while (digits < WORD_DIGITS - 1 && is(token_at(said, at + digits), FIRST_MORE, DIGIT))
                content = content * DIGIT + (uint64_t)(token_at(said, at + digits++) - FIRST_MORE);
            const int32_t last = token_at(said, at + digits);
            if (!is(last, FIRST_LAST, DIGIT)) break;
            *place(now, row->d) = (uint32_t)(content * DIGIT + (uint64_t)(last - FIRST_LAST));
            at += digits;
            now->counter++;
        } else if (row->kind >= KIND_STORE) {
            if (token_at(said, at) != STORED_ID || !store(now, row)) break;
            now->counter++;
        } else if (is(token_at(said, at), FIRST_JUMP, 2 * NEAR)) {
            const int64_t to = now->counter + token_at(said, at) - FIRST_JUMP - NEAR;
            jump(now, row, to);
            passed(now, first, now->counter);
            first = now->counter = to;
            if (now->failed) return at;
        } else {
            break;
        }
        at++;
    }
    passed(now, first, now->counter - 1);
    return at;
}

static void done(Ledger *ledger, const Row *row, int64_t to) {
    if (!row->library) ledger->own_at = ledger->counter;
    ledger->counter = to;
    ledger->digits = 0;
    ledger->far = 0;
}

static void store_bytes(Ledger *ledger, const Row *row) {
    if (row->kind < KIND_STORE) {
        ledger->failed = ledger->failed ? ledger->failed : NO_STORE;
        return;
    }
    const uint64_t address = address_of(ledger, row);
    const uint32_t content = *place(ledger, row->c);
    for (uint32_t n = 0; n < (row->kind & STORE_SIZE); n++) {
        uint8_t *page = page_of(ledger, address + n);
        if (!page) return;
        page[(address + n) % MEMORY_PAGE] = (uint8_t)(content >> 8 * n);
    }
    done(ledger, row, ledger->counter + 1);
}

/* The instruction that a token ends; an empty one if there is none. */
static const Row *ended(Ledger *ledger) {
    static const Row none;
    if ((uint64_t)ledger->counter < (uint64_t)ledger->count) return &ledger->rows[ledger->counter];
    ledger->failed = NO_INSTRUCTION;
    return &none;
}

/* Any token. */
static void single(Ledger *ledger, int32_t token) {
    if (is(token, FIRST_LAST, DIGIT)) {
        const Row *row = ended(ledger);
        *place(ledger, row->d) = (uint32_t)(ledger->digits * DIGIT + (uint64_t)(token - FIRST_LAST));
        done(ledger, row, ledger->counter + 1);
    } else if (is(token, FIRST_JUMP, 2 * NEAR)) {
        const int64_t to = ledger->counter + ledger->far + token - FIRST_JUMP - NEAR;
        const Row *row = ended(ledger);
        jump(ledger, row, to);
        done(ledger, row, to);
    } else if (token == STORED_ID) {
        store_bytes(ledger, ended(ledger));
    } else if (is(token, FIRST_OUTPUT, OUTPUTS)) {
        done(ledger, ended(ledger), ledger->counter + 1);
    } else if (is(token, FIRST_MORE, DIGIT)) {
        ledger->digits = ledger->digits * DIGIT + (uint64_t)(token - FIRST_MORE);
    } else if (is(token, FIRST_FAR_JUMP, 2 * FAR)) {
        ledger->far = 2 * NEAR * (int64_t)(token - FIRST_FAR_JUMP - FAR);
    } else if (token == FRAME_ID) {
        ledger->number = 0;
        ledger->since_frame = 0;
    } else if (is(token, FIRST_BYTE, 256) && ledger->since_frame < ADDRESS_BYTES) {
        ledger->number = ledger->number << 8 | (uint64_t)(token - FIRST_BYTE);
        if (++ledger->since_frame == ADDRESS_BYTES)
            frame_at(ledger, ledger->frame + (int64_t)ledger->number);
    } else if (token == EXIT_ID || is(token, FIRST_TRAP, TRAPS)) {
        ledger->ended_at = ledger->counter;
        ledger->ended_frame = ledger->frame;
        ledger->counter = ledger->frame = 0;
    } else if (token != READ_ID && token != AWAIT_ID) {
        ledger->failed = NO_TOKEN;
    }
}

/* Few tokens in half the room, and whether all of them have room there. */
VECTORS static int halved(const int32_t *restrict said, int32_t count, uint16_t *restrict kept) {
    uint32_t all = 0;
    for (int32_t at = 0; at < count; at++) {
        all |= (uint32_t)said[at];
        kept[at] = (uint16_t)said[at];
    }
    return all <= UINT16_MAX;
}

INLINE uint16_t is_half(uint16_t token, int32_t first, int32_t count) {
    return (uint16_t)(token - first) < count;
}

/* How many of few tokens end an instruction, and how many write a byte. */
VECTORS static void counted(const uint16_t *restrict kept, int32_t count, int64_t *ended, int64_t *written) {
    uint16_t filed = 0, bytes = 0;
    for (int32_t at = 0; at < count; at++) {
        const uint16_t token = kept[at];
        filed += is_half(token, FIRST_LAST, DIGIT) | is_half(token, FIRST_JUMP, 2 * NEAR) |
                 is_half(token, STORED_ID, 1);
        bytes += is_half(token, FIRST_OUTPUT, OUTPUTS);
    }
    *ended += filed + bytes;
    *written = bytes;
}

/* How many tokens end an instruction. And what bytes they write, and how many. They are kept, if they are to
   be, where one of no run is none either. */
int64_t curta_ledger_count(const int32_t *said, int64_t count, uint16_t *kept, uint16_t *written,
                           int64_t *ended) {
    enum { FEW = 4096 };
    uint16_t few[FEW];
    int64_t bytes = 0;
    for (int64_t start = 0; start < count; start += FEW) {
        const int32_t some = count - start < FEW ? (int32_t)(count - start) : FEW;
        const int32_t *these = said + start;
        uint16_t *halves = kept ? kept + start : few;
        if (!halved(these, some, halves))
            for (int32_t at = 0; at < some; at++)
                if ((uint32_t)these[at] > UINT16_MAX) halves[at] = UINT16_MAX;
        int64_t here;
        counted(halves, some, ended, &here);
        for (int32_t at = 0; here > 0; at++)
            if (is(halves[at], FIRST_OUTPUT, OUTPUTS)) {
                written[bytes++] = (uint16_t)(halves[at] - FIRST_OUTPUT);
                here--;
            }
    }
    return bytes;
}

INLINE int32_t filed(Ledger *ledger, Said said, int64_t count) {
    frame_at(ledger, ledger->frame);
    for (int64_t at = 0; at < count && !ledger->failed; at++) {
        if (!ledger->digits && !ledger->far) {
            Ledger now = *ledger;
            at = instructions(&now, said, at, count);
            *ledger = now;
            if (ledger->failed || at == count) break;
        }
        single(ledger, token_at(said, at));
    }
    return ledger->failed;
}

/* File tokens; 0, or what is wrong with them. */
int32_t curta_ledger_take(Ledger *ledger, const int32_t *said, int64_t count) {
    return filed(ledger, (Said){said, 0}, count);
}

int32_t curta_ledger_take_kept(Ledger *ledger, const uint16_t *kept, int64_t count) {
    return filed(ledger, (Said){kept, 1}, count);
}
