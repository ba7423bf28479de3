/* Sudokus: all 81 cells of a puzzle whose given digits stand in a text, row by row. */
#include <string.h>

static char grid[82];
static unsigned short taken[3][9]; /* digits of each row, column and box, a bit for each */

static int box_of(int cell) {
    return cell / 27 * 3 + cell % 9 / 3;
}

static unsigned taken_at(int cell) {
    return taken[0][cell / 9] | taken[1][cell % 9] | taken[2][box_of(cell)];
}

static void put(int cell, int digit) {
    unsigned short bit = (unsigned short)(1 << digit);
    grid[cell] = (char)(grid[cell] == '0' ? '0' + digit : '0');
    taken[0][cell / 9] ^= bit;
    taken[1][cell % 9] ^= bit;
    taken[2][box_of(cell)] ^= bit;
}

/* A digit that only one cell of a row, column or box can have; the cell, or -1. */
static int only_place(int *digit) {
    for (int kind = 0; kind < 3; kind++) {
        for (int unit = 0; unit < 9; unit++) {
            for (*digit = 1; *digit <= 9; ++*digit) {
                if (taken[kind][unit] >> *digit & 1) continue;
                int count = 0, found = -1;
                for (int n = 0; n < 9 && count < 2; n++) {
                    int cell = kind == 0   ? unit * 9 + n
                               : kind == 1 ? n * 9 + unit
                                           : unit / 3 * 27 + n / 3 * 9 + unit % 3 * 3 + n % 3;
                    if (grid[cell] != '0' || taken_at(cell) >> *digit & 1) continue;
                    found = cell;
                    count++;
                }
                if (count == 1) return found;
            }
        }
    }
    return -1;
}

/* Fill what is left, trying the cell with the fewest digits first. */
static int solve(void) {
    int best = -1, fewest = 10;
    for (int cell = 0; cell < 81 && fewest > 1; cell++) {
        if (grid[cell] != '0') continue;
        int count = 9 - __builtin_popcount(taken_at(cell) & 0x3fe);
        if (count >= fewest) continue;
        fewest = count;
        best = cell;
    }
    if (best < 0) return 1;
    int digit = 0, place = fewest > 1 ? only_place(&digit) : -1;
    if (place >= 0) {
        put(place, digit);
        if (solve()) return 1;
        put(place, digit);
        return 0;
    }
    for (digit = 1; digit <= 9; digit++) {
        if (taken_at(best) >> digit & 1) continue;
        put(best, digit);
        if (solve()) return 1;
        put(best, digit);
    }
    return 0;
}

/* Solve a sudoku: 81 cells row by row, digits, and dots or zeros for the empty ones. */
const char *sudoku(const char *puzzle) {
    int cells = 0, digits[81];
    for (; *puzzle; puzzle++) {
        if ((*puzzle < '0' || *puzzle > '9') && *puzzle != '.') continue;
        if (cells == 81) return "not 81 cells";
        digits[cells++] = *puzzle == '.' ? 0 : *puzzle - '0';
    }
    if (cells != 81) return "not 81 cells";
    memset(grid, '0', 81);
    for (int cell = 0; cell < 81; cell++) {
        if (!digits[cell]) continue;
        if (taken_at(cell) >> digits[cell] & 1) return "no solution";
        put(cell, digits[cell]);
    }
    return solve() ? grid : "no solution";
}
