/* Cellular automata: Life on rows of 64 bits by adders, rule 110, Langton's ant, a sand pile. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROWS 16

static uint64_t left(uint64_t x) { return x << 1 | x >> 63; }
static uint64_t right(uint64_t x) { return x >> 1 | x << 63; }

static void add(uint64_t bit, uint64_t *ones, uint64_t *twos, uint64_t *fours) {
    uint64_t carry = *ones & bit;
    *ones ^= bit;
    *fours |= *twos & carry;
    *twos ^= carry;
}

static void generation(uint64_t world[ROWS]) {
    uint64_t next[ROWS];
    for (int y = 0; y < ROWS; y++) {
        uint64_t up = world[(y + ROWS - 1) % ROWS], here = world[y], down = world[(y + 1) % ROWS];
        uint64_t ones = 0, twos = 0, fours = 0;
        const uint64_t around[8] = {left(up), up, right(up), left(here), right(here), left(down), down, right(down)};
        for (int i = 0; i < 8; i++) add(around[i], &ones, &twos, &fours);
        next[y] = twos & ~fours & (ones | here);
    }
    memcpy(world, next, sizeof next);
}

static void place(uint64_t world[ROWS], int x, int y, const char *shape) {
    for (int start = x; *shape; shape++, x++) {
        if (*shape == '/') x = start - 1, y++;
        if (*shape == 'O') world[y % ROWS] |= 1ULL << (x % 64);
    }
}

static int population(const uint64_t world[ROWS]) {
    int count = 0;
    for (int y = 0; y < ROWS; y++) count += __builtin_popcountll(world[y]);
    return count;
}

static void rule(uint8_t number, int rows) {
    uint64_t cells = 1ULL << 40;
    for (int row = 0; row < rows; row++) {
        for (int x = 40; x > 0; x--) putchar(cells >> x & 1 ? '#' : '.');
        putchar('\n');
        uint64_t next = 0;
        for (int x = 0; x < 64; x++) {
            unsigned seen = (unsigned)(cells >> ((x + 63) % 64) & 1) | (unsigned)(cells >> x & 1) << 1 | (unsigned)(cells >> ((x + 1) % 64) & 1) << 2;
            next |= (uint64_t)(number >> seen & 1) << x;
        }
        cells = right(right(left(next)));
    }
}

static void ant(int steps) {
    static uint8_t grid[24][24];
    int x = 12, y = 12, way = 0, black = 0;
    static const int dx[] = {0, 1, 0, -1}, dy[] = {-1, 0, 1, 0};
    while (steps-- > 0) {
        way = (way + (grid[y][x] ? 3 : 1)) % 4;
        black += grid[y][x] ? -1 : 1;
        grid[y][x] ^= 1;
        x = (x + dx[way] + 24) % 24, y = (y + dy[way] + 24) % 24;
    }
    printf("ant at %d %d, %d black\n", x, y, black);
}

static void sand(int grains) {
    int pile[9][9] = {{0}}, lost = 0, topples = 0;
    pile[4][4] = grains;
    for (int again = 1; again;) {
        again = 0;
        for (int y = 0; y < 9; y++)
            for (int x = 0; x < 9; x++) {
                if (pile[y][x] < 4) continue;
                int share = pile[y][x] / 4;
                pile[y][x] %= 4;
                topples += share;
                again = 1;
                if (y > 0) pile[y - 1][x] += share; else lost += share;
                if (y < 8) pile[y + 1][x] += share; else lost += share;
                if (x > 0) pile[y][x - 1] += share; else lost += share;
                if (x < 8) pile[y][x + 1] += share; else lost += share;
            }
    }
    for (int y = 0; y < 5; y++) {
        for (int x = 0; x < 9; x++) putchar('0' + pile[y][x]);
        putchar(' ');
    }
    printf("%d topples, %d lost\n", topples, lost);
}

int main(void) {
    uint64_t world[ROWS] = {0};
    place(world, 58, 12, ".O/..O/OOO");
    place(world, 20, 5, ".OO/OO/.O");
    place(world, 40, 3, "O..O/....O/O...O/.OOOO");
    for (int n = 0; n <= 40; n++) {
        if (n % 10 == 0) printf("%2d: %d\n", n, population(world));
        generation(world);
    }
    for (int y = 0; y < ROWS; y += 3) printf("%016" PRIx64 "\n", world[y]);
    rule(110, 8);
    ant(1200);
    sand(150);
    return 0;
}
