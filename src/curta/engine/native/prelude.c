/* What generated code begins with: numbers, and how tables are looked through. */

#include <math.h>
#include <stddef.h>
#include <string.h>

#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif

/* Rows of a page: few, of which a sequence leaves little empty, if there is room for a directory. */
enum { PAGE_BITS = sizeof(void *) > 4 ? 10 : 12, LAST_OF_PAGE = (1 << PAGE_BITS) - 1 };

INLINE int64_t rectified(int64_t x) { return x > 0 ? x : 0; }

/* x / width, but at least 0 and at most count. */
INLINE int64_t staircase(int64_t x, int64_t width, int64_t count) {
    return x < width ? 0 : x >= width * count ? count : (int64_t)((uint64_t)x / (uint64_t)width);
}

/* How many of the first `most` multiples of `of`, which is not negative, are not above a number. */
INLINE int64_t multiples(int64_t number, int64_t of, int64_t most) {
    if (number < of) return 0;
    return of && number / of < most ? number / of : most;
}

INLINE int64_t clamped(int64_t x, int64_t most) { return x < 0 ? 0 : x > most ? most : x; }

INLINE int64_t bit_length(int64_t x) { return x ? 64 - __builtin_clzll((uint64_t)x) : 0; }

/* The d in 0..most with the largest d * linear - d * d * square, the smallest of equals. */
static inline int64_t vertex(int64_t linear, int64_t square, int64_t most) {
    if (square <= 0) return linear - most * square > 0 ? most : 0;
    const int64_t above = linear + square - 1, twice = 2 * square;
    const int64_t digit = above < 0 ? -1 : above / twice;
    return digit < 0 ? 0 : digit > most ? most : digit;
}

/* A tree of bitmaps: bit k of level 0 says that key k was filed, bit k of level n + 1 that word k
   of level n is not zero. Neighbours are found by going up until there is one, and down again. */
static inline void mark(uint64_t *const *levels, int count, uint64_t key) {
    for (int n = 0; n < count; n++, key >>= 6) levels[n][key >> 6] |= UINT64_C(1) << (key & 63);
}

static inline int64_t find_below(uint64_t *const *levels, int count, int64_t key) {
    int64_t place = key; /* inclusive */
    for (int n = 0; n < count && place >= 0; n++) {
        const uint64_t word = levels[n][place >> 6] & (~UINT64_C(0) >> (63 - (place & 63)));
        if (word) {
            int64_t found = (place & ~INT64_C(63)) + 63 - __builtin_clzll(word);
            while (n-- > 0) found = (found << 6) + 63 - __builtin_clzll(levels[n][found]);
            return found;
        }
        place = (place >> 6) - 1;
    }
    return -1;
}

static inline int64_t find_above(
    uint64_t *const *levels, const int64_t *words, int count, int64_t key) {
    int64_t place = key; /* inclusive */
    for (int n = 0; n < count; n++) {
        if ((place >> 6) >= words[n]) return -1;
        const uint64_t word = levels[n][place >> 6] & (~UINT64_C(0) << (place & 63));
        if (word) {
            int64_t found = (place & ~INT64_C(63)) + __builtin_ctzll(word);
            while (n-- > 0) found = (found << 6) + __builtin_ctzll(levels[n][found]);
            return found;
        }
        place = (place >> 6) + 1;
    }
    return -1;
}
