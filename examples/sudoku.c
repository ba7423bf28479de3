/* Solves a Sudoku and tells how: every cell that the rules decide, every guess, every dead end.
 *
 *   curta run examples/sudoku.c --stdin 8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..
 *
 * The puzzle is read from the standard input: 81 cells row by row, digits, and dots or zeros for
 * the empty ones; everything else (spaces, new lines, frames) is skipped.
 *
 * A cell is a set of candidates, one bit for each digit. Placing a digit takes it away from the 20
 * peers of its cell. A peer that is left with one candidate has to have it; a digit that is left
 * with one cell in a row, column or box has to go there. When nothing follows any more, the solver
 * guesses in the cell with the fewest candidates, and takes everything back if that fails.
 */
#include <stdint.h>
#include <stdio.h>

enum { CELLS = 81, UNITS = 27, PEERS = 20, ALL = 0x1ff };

static uint16_t candidates[CELLS]; /* bit d: digit d + 1 is possible */
static uint8_t placed[CELLS];      /* the digit was placed, and taken away from the peers */
static int cells_placed;

static uint8_t unit_cells[UNITS][9];
static uint8_t peers[CELLS][PEERS];
static uint32_t unit_set[CELLS]; /* the row, the column and the box of a cell, as a set */

static uint32_t changed_units; /* to be searched for digits that have only one cell left */
static uint8_t forced[CELLS];  /* cells that have only one candidate left: a queue */
static int forced_count;

/* What every change overwrote, so that it can be taken back: cell * 1024 + old candidates, and
 * 512 more if the change was the placing of the digit. */
static uint32_t trail[CELLS * 9];
static int trail_length;

static int guesses, dead_ends;

/* ---- output: collected here, and written at the end of every line of thought ---- */

static char output[4096];
static int output_length;

static void flush(void) {
    fwrite(output, 1, output_length, stdout);
    fflush(stdout);
    output_length = 0;
}

static void say(const char *text) {
    int length = output_length;
    for (char c; (c = *text) != 0; text++) {
        output[length++] = c;
    }
    output_length = length;
    if (length > (int)sizeof output - 512) {
        flush();
    }
}

static void say_number(int number) {
    if (number >= 10) {
        say_number(number / 10);
    }
    output[output_length++] = '0' + number % 10;
}

static void say_cell(const char *before, int cell) {
    say(before);
    say_number(cell / 9 + 1);
    say(", column ");
    say_number(cell % 9 + 1);
}

/* ---- the rules ---- */

static int digit_of(unsigned set) {
    return __builtin_ctz(set) + 1;
}

static void make_tables(void) {
    for (int cell = 0; cell < CELLS; cell++) {
        int row = cell / 9, column = cell % 9;
        int box = row / 3 * 3 + column / 3, place = row % 3 * 3 + column % 3;
        unit_cells[row][column] = cell;
        unit_cells[9 + column][row] = cell;
        unit_cells[18 + box][place] = cell;
        unit_set[cell] = 1u << row | 1u << (9 + column) | 1u << (18 + box);
        candidates[cell] = ALL;
    }
    for (int cell = 0; cell < CELLS; cell++) {
        uint32_t row_and_column = unit_set[cell] & 0x3ffff;
        uint8_t *peer = peers[cell];
        for (int i = 0; i < 9; i++) {
            int in_row = cell / 9 * 9 + i, in_column = i * 9 + cell % 9;
            int in_box = unit_cells[__builtin_ctz(unit_set[cell] >> 18) + 18][i];
            if (in_row != cell) {
                *peer++ = in_row;
            }
            if (in_column != cell) {
                *peer++ = in_column;
            }
            if ((unit_set[in_box] & row_and_column) == 0) {
                *peer++ = in_box;
            }
        }
    }
}

/* Puts the digit that is the only bit of `set` into a cell. Returns 0 if that breaks a rule. */
static int place(int cell, unsigned set) {
    trail[trail_length++] = cell << 10 | 512 | candidates[cell];
    candidates[cell] = set;
    placed[cell] = 1;
    cells_placed++;
    changed_units |= unit_set[cell];
    for (const uint8_t *peer = peers[cell], *end = peer + PEERS; peer != end; peer++) {
        unsigned old = candidates[*peer];
        if (old & set) {
            unsigned rest = old ^ set;
            if (rest == 0) {
                return 0;
            }
            trail[trail_length++] = *peer << 10 | old;
            candidates[*peer] = rest;
            changed_units |= unit_set[*peer];
            if ((rest & (rest - 1)) == 0) {
                forced[forced_count++] = *peer;
            }
        }
    }
    return 1;
}

static void say_placement(int cell) {
    char *text = output + output_length;
    text[0] = ' ';
    text[1] = 'r';
    text[2] = '1' + cell / 9;
    text[3] = 'c';
    text[4] = '1' + cell % 9;
    text[5] = '=';
    text[6] = '0' + digit_of(candidates[cell]);
    output_length += 7;
}

/* Places digits that have only one cell left in a row, column or box. */
static int place_in_unit(const uint8_t *cells) {
    unsigned once = 0, more = 0, done = 0;
    for (int i = 0; i < 9; i++) {
        unsigned set = candidates[cells[i]];
        more |= once & set;
        once |= set;
        done |= placed[cells[i]] ? set : 0;
    }
    if (once != ALL) {
        return 0; /* a digit has no cell at all */
    }
    unsigned hidden = ~more & ~done & ALL;
    for (int i = 0; hidden != 0 && i < 9; i++) {
        int cell = cells[i];
        unsigned set = candidates[cell] & hidden;
        if (set != 0 && !placed[cell]) {
            hidden ^= set;
            if ((set & (set - 1)) != 0 || !place(cell, set)) {
                return 0; /* two digits have no other cell than this one */
            }
            say_placement(cell);
        }
    }
    return 1;
}

/* Places what follows from the placements so far. Returns 0 if they contradict each other. */
static int propagate(void) {
    for (;;) {
        if (forced_count > 0) {
            int cell = forced[--forced_count];
            if (!placed[cell]) {
                if (!place(cell, candidates[cell])) {
                    return 0;
                }
                say_placement(cell);
            }
        } else if (changed_units != 0) {
            int unit = __builtin_ctz(changed_units);
            changed_units &= changed_units - 1;
            if (!place_in_unit(unit_cells[unit])) {
                return 0;
            }
        } else {
            return 1;
        }
    }
}

static void take_back(int length) {
    while (trail_length > length) {
        uint32_t change = trail[--trail_length];
        int cell = change >> 10;
        candidates[cell] = change & ALL;
        if (change & 512) {
            placed[cell] = 0;
            cells_placed--;
        }
    }
    forced_count = 0;
    changed_units = 0;
}

/* ---- the search ---- */

static int cell_with_fewest_candidates(void) {
    int best = -1, fewest = 10;
    for (int cell = 0; cell < CELLS; cell++) {
        if (!placed[cell]) {
            int count = __builtin_popcount(candidates[cell]);
            if (count < fewest) {
                best = cell;
                fewest = count;
                if (count == 2) {
                    break; /* one would have been placed */
                }
            }
        }
    }
    return best;
}

static int search(int depth) {
    if (cells_placed == CELLS) {
        return 1;
    }
    int cell = cell_with_fewest_candidates();
    int before = trail_length;
    for (unsigned left = candidates[cell]; left != 0; left &= left - 1) {
        unsigned set = left & -left;
        guesses++;
        say("Trying ");
        say_number(digit_of(set));
        say_cell(" at row ", cell);
        say(".");
        if (place(cell, set) && propagate()) {
            say("\nConsistent, ");
            say_number(cells_placed);
            say(" cells resolved.\n");
            if (search(depth + 1)) {
                return 1;
            }
        } else {
            say("\nContradiction.\n");
            dead_ends++;
        }
        take_back(before);
    }
    if (depth > 0) {
        say_cell("Nothing fits at row ", cell);
        say(". Going back.\n");
    }
    return 0;
}

/* ---- the puzzle ---- */

static void say_grid(void) {
    for (int cell = 0; cell < CELLS; cell++) {
        output[output_length++] = placed[cell] ? '0' + digit_of(candidates[cell]) : '.';
        output[output_length++] = cell % 9 == 8 ? '\n' : ' ';
    }
}

/* Reads 81 cells and places the clues. Returns 0 if there are too few, or if they contradict. */
static int read_puzzle(int *consistent) {
    int cell = 0;
    *consistent = 1;
    while (cell < CELLS) {
        int c = getchar();
        if (c == EOF) {
            return 0;
        }
        if (c >= '1' && c <= '9') {
            unsigned set = 1u << (c - '1');
            *consistent = *consistent && (candidates[cell] & set) != 0 && place(cell, set);
        }
        cell += (c >= '0' && c <= '9') || c == '.';
    }
    return 1;
}

int main(void) {
    int consistent;
    make_tables();
    if (!read_puzzle(&consistent)) {
        say("A Sudoku has 81 cells: digits, and dots or zeros for the empty ones.\n");
        flush();
        return 2;
    }
    if (consistent) {
        say_grid();
        say("Puzzle loaded, ");
        say_number(cells_placed);
        say(" clues given.\nConstraints:");
        consistent = propagate();
        say("\nPropagated constraints, ");
        say_number(cells_placed);
        say(" of 81 cells resolved.\n");
    }
    if (consistent && cells_placed < CELLS) {
        say("Need to search, depth first.\n");
        consistent = search(0);
    }
    if (!consistent) {
        say("There is no solution.\n");
        flush();
        return 1;
    }
    say("Solved with ");
    say_number(guesses);
    say(" guesses and ");
    say_number(dead_ends);
    say(" contradictions.\n");
    say_grid();
    flush();
    return 0;
}
