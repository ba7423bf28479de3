/* What the hull level's replay spends its time on: maps that are mostly zeros.
 *
 * A block of positions is an array [slot][position] with `stride` positions to a row. Positions are
 * taken TILE at a time, and the caller sees to it that there are whole tiles. A map has its weights
 * row by row, without the zeros: those of row r stand from starts[r] to starts[r + 1].
 */
#include <math.h>
#include <stdint.h>
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
