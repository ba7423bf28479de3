/* A knight's tour by Warnsdorff's rule with backtracking, a breadth-first search, and eight queens' kin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 6

static const signed char dx[8] = {1, 2, 2, 1, -1, -2, -2, -1}, dy[8] = {2, 1, -1, -2, -2, -1, 1, 2};
static int order[SIDE][SIDE];
static unsigned tries;

struct move {
    int x, y, exits;
};

static int inside(int x, int y) { return x >= 0 && x < SIDE && y >= 0 && y < SIDE; }

static int exits(int x, int y) {
    int count = 0;
    for (int i = 0; i < 8; i++)
        count += inside(x + dx[i], y + dy[i]) && order[y + dy[i]][x + dx[i]] == 0;
    return count;
}

static int fewest(const void *a, const void *b) {
    const struct move *m = a, *n = b;
    if (m->exits != n->exits) return m->exits - n->exits;
    return (m->y - n->y) * SIDE + m->x - n->x;
}

static int tour(int x, int y, int number) {
    order[y][x] = number;
    tries++;
    if (number == SIDE * SIDE) return 1;
    struct move moves[8];
    size_t count = 0;
    for (int i = 0; i < 8; i++) {
        int u = x + dx[i], v = y + dy[i];
        if (inside(u, v) && order[v][u] == 0) moves[count++] = (struct move){u, v, exits(u, v)};
    }
    qsort(moves, count, sizeof *moves, fewest);
    for (size_t i = 0; i < count; i++)
        if (tour(moves[i].x, moves[i].y, number + 1)) return 1;
    order[y][x] = 0;
    return 0;
}

static int distance(int from, int to, int side) {
    int *queue = malloc((size_t)(side * side) * sizeof *queue), head = 0, tail = 0;
    signed char *seen = malloc((size_t)(side * side));
    memset(seen, -1, (size_t)(side * side));
    seen[from] = 0;
    queue[tail++] = from;
    while (head < tail && seen[to] < 0) {
        int at = queue[head++];
        for (int i = 0; i < 8; i++) {
            int x = at % side + dx[i], y = at / side + dy[i];
            if (x < 0 || y < 0 || x >= side || y >= side || seen[y * side + x] >= 0) continue;
            seen[y * side + x] = (signed char)(seen[at] + 1);
            queue[tail++] = y * side + x;
        }
    }
    int found = seen[to];
    free(queue), free(seen);
    return found;
}

static int peaceful(int row, unsigned columns, unsigned left, unsigned right, int n) { /* queens, by bits */
    if (row == n) return 1;
    int count = 0;
    for (unsigned free_places = ~(columns | left | right) & ((1u << n) - 1); free_places;) {
        unsigned bit = free_places & -free_places;
        free_places ^= bit;
        count += peaceful(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, n);
    }
    return count;
}

int main(void) {
    int found = tour(0, 0, 1);
    printf("%s after %u squares\n", found ? "a tour" : "none", tries);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) printf("%3d%s", order[y][x], x == SIDE - 1 ? "\n" : "");
    printf("%d %d %d\n", distance(0, 63, 8), distance(0, 1, 8), distance(4, 8, 3));
    for (int n = 4; n <= 7; n++) printf("%d queens: %d\n", n, peaceful(0, 0, 0, 0, n));
    return 0;
}
