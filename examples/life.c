/* Conway's life on a torus of 32 by 16 cells.
 *
 *   curta run examples/life.c          (10 generations of an R-pentomino and a glider)
 *   curta run examples/life.c 100
 *
 * A row is a word, a cell is a bit, and all cells of a row are computed at once: the eight
 * neighbours are added up in binary, with the bits of equal weight side by side.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 32 };

static uint32_t rows[ROWS];

static uint32_t left(uint32_t row) {
    return row << 1 | row >> 31;
}

static uint32_t right(uint32_t row) {
    return row >> 1 | row << 31;
}

/* Adds three rows of bits; the carries go to *carry. */
static uint32_t add(uint32_t a, uint32_t b, uint32_t c, uint32_t *carry) {
    *carry = (a & b) | (c & (a ^ b));
    return a ^ b ^ c;
}

static void next_generation(void) {
    uint32_t next[ROWS];
    for (int row = 0; row < ROWS; row++) {
        uint32_t above = rows[(row + ROWS - 1) % ROWS], below = rows[(row + 1) % ROWS];
        uint32_t here = rows[row], twos_above, twos_below, twos_here, twos_all, fours_all;
        uint32_t ones_above = add(left(above), above, right(above), &twos_above);
        uint32_t ones_below = add(left(below), below, right(below), &twos_below);
        uint32_t ones = add(ones_above, ones_below, left(here) ^ right(here), &twos_here);
        uint32_t both = left(here) & right(here);
        /* Weight two: four numbers; whether their sum is exactly 1 is all that matters. */
        uint32_t twos = add(twos_above, twos_below, twos_here, &twos_all);
        fours_all = twos_all | (twos & both);
        twos ^= both;
        /* Two or three neighbours; three make a cell live in any case. */
        next[row] = twos & ~fours_all & (ones | here);
    }
    memcpy(rows, next, sizeof rows);
}

static int population(void) {
    int count = 0;
    for (int row = 0; row < ROWS; row++) {
        count += __builtin_popcount(rows[row]);
    }
    return count;
}

static void show(int generation) {
    printf("generation %d, %d cells\n", generation, population());
    for (int row = 0; row < ROWS; row++) {
        char line[COLUMNS + 1];
        for (int column = 0; column < COLUMNS; column++) {
            line[column] = rows[row] >> (COLUMNS - 1 - column) & 1 ? '#' : '.';
        }
        line[COLUMNS] = 0;
        puts(line);
    }
}

static void set(int row, const char *cells, int column) {
    for (; *cells != 0; cells++, column++) {
        rows[row] |= (uint32_t)(*cells == '#') << (COLUMNS - 1 - column);
    }
}

int main(int count, char **words) {
    int generations = count > 1 ? atoi(words[1]) : 10;
    set(6, ".##", 14);
    set(7, "##.", 14);
    set(8, ".#.", 14);
    set(0, ".#.", 1);
    set(1, "..#", 1);
    set(2, "###", 1);
    for (int generation = 0; generation < generations; generation++) {
        if (generation == 0) {
            show(generation);
        }
        next_generation();
    }
    show(generations);
    return 0;
}
