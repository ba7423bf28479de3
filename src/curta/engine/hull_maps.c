/* What the hull level's replay spends its time on: sparse maps, and keys of two digits and more.
 *
 * A block of positions is an array [slot][position] with `stride` positions to a row. Positions are
 * taken TILE at a time, and the caller sees to it that there are whole tiles. A map has its weights
 * row by row, without the zeros: those of row r stand from starts[r] to starts[r + 1].
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define INLINE static inline __attribute__((always_inline))

/* On x86 the loops exist for several widths of registers; the processor chooses when it is loaded. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_ALL_PROCESSORS
#endif

/* A tile is four vectors of eight numbers; compilers split them where registers are narrower. */
#define TILE 32
typedef double lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t choice __attribute__((vector_size(64), may_alias));
typedef struct {
    lanes a, b, c, d;
} tile;

typedef struct {
    int64_t rows;
    const int64_t *starts;
    const int32_t *places;
    const double *weights;
} map;

/* -- maps ------------------------------------------------ */

INLINE tile read_tile(const double *from) {
    const lanes *l = (const lanes *)from;
    return (tile){l[0], l[1], l[2], l[3]};
}

INLINE void write_tile(double *to, tile t) {
    lanes *l = (lanes *)to;
    l[0] = t.a, l[1] = t.b, l[2] = t.c, l[3] = t.d;
}

INLINE tile add_scaled(tile sum, double weight, tile t) {
    return (tile){sum.a + weight * t.a, sum.b + weight * t.b, sum.c + weight * t.c,
                  sum.d + weight * t.d};
}

INLINE lanes chosen(choice yes, lanes one, lanes other) {
    return (lanes)((yes & (choice)one) | (~yes & (choice)other));
}

INLINE lanes gated(lanes gate, lanes value) {
    return (lanes)((choice)(gate > 0.0) & (choice)gate) * value;
}

/* The sum over the row of weight * x[place] */
INLINE tile row_times(const map *m, int64_t row, const double *x, int64_t stride) {
    tile sum = {{0}, {0}, {0}, {0}};
    for (int64_t i = m->starts[row]; i < m->starts[row + 1]; i++)
        sum = add_scaled(sum, m->weights[i], read_tile(x + m->places[i] * stride));
    return sum;
}

/* y[row] = m x */
FOR_ALL_PROCESSORS EXPORT void replay_map(const map *m, const double *x, int64_t stride,
                                          double *y) {
    for (int64_t at = 0; at < stride; at += TILE)
        for (int64_t row = 0; row < m->rows; row++)
            write_tile(y + row * stride + at, row_times(m, row, x + at, stride));
}

/* x += contract (relu(gate x) * (expand x)). The rows of `contract` are hidden units here, too; its
 * places are places in the list of slots that change. `change` has room for a tile of each. */
FOR_ALL_PROCESSORS EXPORT void replay_gates(const map *gate, const map *expand, const map *contract,
                                            int64_t count, const int32_t *slots, double *change,
                                            double *x, int64_t stride) {
    for (int64_t at = 0; at < stride; at += TILE) {
        memset(change, 0, sizeof(double) * TILE * (size_t)count);
        for (int64_t unit = 0; unit < gate->rows; unit++) {
            tile g = row_times(gate, unit, x + at, stride);
            tile e = row_times(expand, unit, x + at, stride);
            tile hidden = {gated(g.a, e.a), gated(g.b, e.b), gated(g.c, e.c), gated(g.d, e.d)};
            for (int64_t i = contract->starts[unit]; i < contract->starts[unit + 1]; i++) {
                double *to = change + contract->places[i] * TILE;
                write_tile(to, add_scaled(read_tile(to), contract->weights[i], hidden));
            }
        }
        for (int64_t i = 0; i < count; i++) {
            double *to = x + slots[i] * stride + at;
            write_tile(to, add_scaled(read_tile(to), 1.0, read_tile(change + i * TILE)));
        }
    }
}

INLINE void keep_higher(lanes score, double row, lanes *best, lanes *which) {
    choice higher = score > *best;
    *best = chosen(higher, score, *best);
    *which = chosen(higher, row - (lanes){0}, *which);
}

/* said[position] = the first row with the highest sum */
FOR_ALL_PROCESSORS EXPORT void replay_arg_max(const map *m, const double *x, int64_t stride,
                                              double *said) {
    for (int64_t at = 0; at < stride; at += TILE) {
        lanes lowest = -INFINITY - (lanes){0};
        tile best = {lowest, lowest, lowest, lowest}, which = {{0}, {0}, {0}, {0}};
        for (int64_t row = 0; row < m->rows; row++) {
            tile score = row_times(m, row, x + at, stride);
            keep_higher(score.a, (double)row, &best.a, &which.a);
            keep_higher(score.b, (double)row, &best.b, &which.b);
            keep_higher(score.c, (double)row, &best.c, &which.c);
            keep_higher(score.d, (double)row, &best.d, &which.d);
        }
        write_tile(said + at, which);
    }
}

/* -- keys of several digits ------------------------------------------------
 *
 * hull_filed.py says what is computed here, and why it is the arg-max. */

typedef struct {
    int64_t digits, width;
    int64_t count, room;
    double *keys;    /* [room][digits + 1] */
    double *values;  /* [room][width] */
    int64_t *filed;  /* [room]: when */
    int64_t *table;  /* [table_size]: entry + 1, or 0 */
    int64_t table_size;
    int64_t steps;
    double most_excess;
    int whole;
    double *missed;  /* [digits + 1]: the query that was scanned for last */
    int64_t answer;  /* its entry, or -1 if there is no such query */
    double answer_score;
} filed_keys;

static void *checked(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

EXPORT filed_keys *replay_filed_create(int64_t digits, int64_t width) {
    filed_keys *f = checked(calloc(1, sizeof *f));
    f->digits = digits, f->width = width;
    f->table_size = 128;
    f->table = checked(calloc((size_t)f->table_size, sizeof(int64_t)));
    f->missed = checked(calloc((size_t)digits + 1, sizeof(double)));
    f->most_excess = -INFINITY, f->whole = 1, f->answer = -1;
    return f;
}

EXPORT void replay_filed_free(filed_keys *f) {
    free(f->keys), free(f->values), free(f->filed), free(f->table), free(f->missed), free(f);
}

static uint64_t hash(const double *digits, int64_t count, double scale) {
    uint64_t mixed = 0x9E3779B97F4A7C15u;
    for (int64_t i = 0; i < count; i++) {
        double digit = digits[i] * scale + 0.0; /* -0.0 and 0.0 are one number */
        uint64_t bits;
        memcpy(&bits, &digit, sizeof bits);
        mixed = (mixed ^ bits) * 0xFF51AFD7ED558CCDu;
        mixed ^= mixed >> 32;
    }
    return mixed;
}

/* The place in the table of the key with these digits, times `scale`; empty if there is none. */
static int64_t *find(const filed_keys *f, const double *digits, double scale) {
    uint64_t at = hash(digits, f->digits, scale) & (uint64_t)(f->table_size - 1);
    for (;; at = (at + 1) & (uint64_t)(f->table_size - 1)) {
        if (f->table[at] == 0) return f->table + at;
        const double *key = f->keys + (f->table[at] - 1) * (f->digits + 1);
        int64_t same = 0;
        while (same < f->digits && key[same] == digits[same] * scale) same++;
        if (same == f->digits) return f->table + at;
    }
}

static void grow(filed_keys *f) {
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : 64;
        size_t room = (size_t)f->room;
        f->keys = checked(realloc(f->keys, room * sizeof(double) * (size_t)(f->digits + 1)));
        f->values = checked(realloc(f->values, room * sizeof(double) * (size_t)f->width));
        f->filed = checked(realloc(f->filed, room * sizeof(int64_t)));
    }
    if (2 * f->count < f->table_size) return;
    f->table_size *= 4;
    free(f->table);
    f->table = checked(calloc((size_t)f->table_size, sizeof(int64_t)));
    for (int64_t entry = 0; entry < f->count; entry++)
        *find(f, f->keys + entry * (f->digits + 1), 1.0) = entry + 1;
}

static double score(const filed_keys *f, const double *key, const double *query) {
    double total = 0.0;
    for (int64_t i = 0; i <= f->digits; i++) total += key[i] * query[i];
    return total;
}

/* last + the sum of (digit / 2)^2; notes whether all halves are whole and the sum is exact. */
static double excess(const double *key, int64_t digits, int *whole) {
    double squares = 0.0;
    for (int64_t i = 0; i < digits; i++) {
        double half = 0.5 * key[i];
        if (half != rint(half)) *whole = 0;
        squares += half * half;
    }
    if (!(squares < 0x1p50)) *whole = 0;
    return key[digits] + squares;
}

static void insert(filed_keys *f, const double *key, const double *value) {
    int64_t d = f->digits;
    grow(f);
    int64_t *place = find(f, key, 1.0), entry = *place - 1;
    double over = excess(key, d, &f->whole);
    if (!(over <= f->most_excess)) f->most_excess = over;
    f->steps++;
    if (entry >= 0 && key[d] < f->keys[entry * (d + 1) + d]) return;
    if (entry < 0) {
        entry = f->count++;
        *place = entry + 1;
    }
    memcpy(f->keys + entry * (d + 1), key, sizeof(double) * (size_t)(d + 1));
    memcpy(f->values + entry * f->width, value, sizeof(double) * (size_t)f->width);
    f->filed[entry] = f->steps;
    if (f->answer < 0) return;
    double now = score(f, key, f->missed);
    if (now >= f->answer_score) f->answer = entry, f->answer_score = now;
}

/* Does the entry, whose key is the one that the query asks for, beat all others? */
static int wins(const filed_keys *f, int64_t entry, double hardness) {
    int whole = f->whole, exponent;
    if (!whole || !(fabs(f->most_excess) < 0x1p50) || frexp(hardness, &exponent) != 0.5) return 0;
    double over = excess(f->keys + entry * (f->digits + 1), f->digits, &whole);
    return f->most_excess - over < 0.5;
}

static int64_t scan(filed_keys *f, const double *query) {
    size_t size = sizeof(double) * (size_t)(f->digits + 1);
    if (f->answer >= 0 && memcmp(f->missed, query, size) == 0) return f->answer;
    int64_t best = 0;
    double highest = score(f, f->keys, query);
    for (int64_t entry = 1; entry < f->count; entry++) {
        double now = score(f, f->keys + entry * (f->digits + 1), query);
        if (now > highest || (now == highest && f->filed[entry] > f->filed[best]))
            best = entry, highest = now;
    }
    memcpy(f->missed, query, size);
    f->answer = best, f->answer_score = highest;
    return best;
}

/* Step i files key i, then answers query i, whose last component is positive. */
EXPORT void replay_filed_steps(filed_keys *f, int64_t n, const double *keys, const double *values,
                               const double *queries, double *answers) {
    int64_t d = f->digits;
    for (int64_t i = 0; i < n; i++) {
        const double *query = queries + i * (d + 1);
        insert(f, keys + i * (d + 1), values + i * f->width);
        int64_t entry = *find(f, query, 2.0 / query[d]) - 1;
        if (entry < 0 || !wins(f, entry, query[d])) entry = scan(f, query);
        memcpy(answers + i * f->width, f->values + entry * f->width,
               sizeof(double) * (size_t)f->width);
    }
}
