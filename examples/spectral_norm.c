/* The spectral norm of an infinite matrix, from its upper left corner: sums of products of doubles,
 * and a quotient in each.
 *
 *   curta run examples/spectral_norm.c        (a corner of 20 x 20)
 *   curta run examples/spectral_norm.c 100
 *
 * With v = (A^T A)^n 1, the norm is about the root of (v . A^T A v) / (v . v).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 500, ROUNDS = 10 };

static double entry(int row, int column) {
    return 1.0 / ((row + column) * (row + column + 1) / 2 + row + 1);
}

/* The product of the corner, or of what it is mirrored, with a vector. */
static void multiply(int size, int mirrored, const double *vector, double *product) {
    for (int row = 0; row < size; row++) {
        double sum = 0;
        for (int column = 0; column < size; column++) {
            sum += (mirrored ? entry(column, row) : entry(row, column)) * vector[column];
        }
        product[row] = sum;
    }
}

static double between[LARGEST], vector[LARGEST], next[LARGEST];

int main(int count, char **words) {
    int size = count > 1 ? atoi(words[1]) : 20;
    if (size < 1 || size > LARGEST) {
        fprintf(stderr, "the corner has 1 to %d rows\n", LARGEST);
        return 1;
    }
    for (int row = 0; row < size; row++) {
        next[row] = 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int row = 0; row < size; row++) {
            vector[row] = next[row];
        }
        multiply(size, 0, vector, between);
        multiply(size, 1, between, next);
    }
    double above = 0, below = 0;
    for (int row = 0; row < size; row++) {
        above += vector[row] * next[row];
        below += vector[row] * vector[row];
    }
    printf("%.9f\n", sqrt(above / below));
}
