/* n queens: how many ways are there to put n queens on a board so that none attacks another?
 *
 *   curta run examples/queens.c        (n = 8)
 *   curta run examples/queens.c 6
 *
 * Columns and diagonals are sets of bits; a row is finished by moving the diagonals by one.
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned board_width, all;
static unsigned first[32]; /* the first solution, a bit for each row */
static unsigned queens[32];
static int solutions;

static void place(int row, unsigned columns, unsigned rising, unsigned falling) {
    if (columns == all) {
        if (solutions++ == 0) {
            for (unsigned i = 0; i < board_width; i++) {
                first[i] = queens[i];
            }
        }
        return;
    }
    for (unsigned free = all & ~(columns | rising | falling); free != 0; free &= free - 1) {
        unsigned queen = free & -free;
        queens[row] = queen;
        place(row + 1, columns | queen, (rising | queen) << 1, (falling | queen) >> 1);
    }
}

/* Shorter than printf, which the machine would have to read. */
static void say_number(int number) {
    if (number >= 10) {
        say_number(number / 10);
    }
    putchar('0' + number % 10);
}

int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 8;
    if (n < 1 || n > 16) {
        fputs("queens: a number from 1 to 16, please\n", stderr);
        return 2;
    }
    board_width = n;
    all = (1u << n) - 1;
    place(0, 0, 0, 0);
    for (int row = 0; solutions > 0 && row < n; row++) {
        for (int column = 0; column < n; column++) {
            putchar(first[row] >> column & 1 ? 'Q' : '.');
            putchar(column == n - 1 ? '\n' : ' ');
        }
    }
    say_number(n);
    fputs(" queens: ", stdout);
    say_number(solutions);
    puts(" solutions");
    return 0;
}
