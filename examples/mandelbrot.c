/* The Mandelbrot set in characters: doubles, and a loop that is left early.
 *
 *   curta run examples/mandelbrot.c       (24 lines)
 *   curta run examples/mandelbrot.c 60
 */
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STEPS = 50 };

/* How many steps z = z^2 + c stays within the circle of radius 2, from 0 on; at most so many. */
static int steps(double real, double imaginary) {
    double x = 0, y = 0;
    for (int step = 0; step < MOST_STEPS; step++) {
        if (x * x + y * y > 4) {
            return step;
        }
        double next = x * x - y * y + real;
        y = 2 * x * y + imaginary;
        x = next;
    }
    return MOST_STEPS;
}

int main(int count, char **words) {
    int lines = count > 1 ? atoi(words[1]) : 24, inside = 0;
    for (int line = 0; line < lines; line++) {
        for (int column = 0; column < 2 * lines; column++) {
            int reached = steps(1.5 * column / lines - 2, 2.0 * line / lines - 1);
            putchar(" .:-=+*#%@"[reached * 9 / MOST_STEPS]);
            inside += reached == MOST_STEPS;
        }
        putchar('\n');
    }
    printf("%d of %d points\n", inside, 2 * lines * lines);
}
