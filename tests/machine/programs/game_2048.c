/* 2048 on a board of 64 bits, four to a tile, with rows moved by a function and a greedy player. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

static uint64_t generator = 20480;
static unsigned score;

static uint32_t random_below(uint32_t n) {
    generator = generator * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(((generator >> 32) * n) >> 32);
}

static uint64_t transpose(uint64_t b) {
    uint64_t out = 0;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++)
            out |= (b >> 4 * (4 * row + column) & 15) << 4 * (4 * column + row);
    return out;
}

static uint16_t flip_row(uint16_t row) {
    return (uint16_t)(row << 12 | (row << 4 & 0x0F00) | (row >> 4 & 0x00F0) | row >> 12);
}

static uint16_t slide_row(uint16_t row, unsigned *gained) {
    unsigned tiles[4] = {0}, count = 0, merged = 0;
    for (int i = 0; i < 4; i++) {
        unsigned tile = row >> 4 * i & 15;
        if (tile == 0) continue;
        if (count > merged && tiles[count - 1] == tile) {
            tiles[count - 1]++;
            *gained += 1u << (tile + 1);
            merged = count;
        } else {
            tiles[count++] = tile;
        }
    }
    return (uint16_t)(tiles[0] | tiles[1] << 4 | tiles[2] << 8 | tiles[3] << 12);
}

static uint64_t slide(uint64_t b, int direction, unsigned *gained) { /* left, right, up, down */
    if (direction >= 2) b = transpose(b);
    uint64_t out = 0;
    for (int i = 0; i < 4; i++) {
        uint16_t row = (uint16_t)(b >> 16 * i);
        row = direction & 1 ? flip_row(slide_row(flip_row(row), gained)) : slide_row(row, gained);
        out |= (uint64_t)row << 16 * i;
    }
    return direction >= 2 ? transpose(out) : out;
}

static unsigned empty_places(uint64_t b) {
    unsigned count = 0;
    for (int i = 0; i < 16; i++) count += (b >> 4 * i & 15) == 0;
    return count;
}

static uint64_t add_tile(uint64_t b) {
    uint32_t place = random_below(empty_places(b));
    for (int i = 0;; i++) {
        if (b >> 4 * i & 15) continue;
        if (place-- == 0) return b | (uint64_t)(random_below(10) == 0 ? 2 : 1) << 4 * i;
    }
}

static int choose(uint64_t b) {
    static const int weights[4] = {3, 0, 2, 1};
    int best = -1, best_value = -1;
    for (int direction = 0; direction < 4; direction++) {
        unsigned gained = 0;
        uint64_t next = slide(b, direction, &gained);
        if (next == b) continue;
        int value = (int)(gained + 4 * empty_places(next)) + weights[direction];
        if (value > best_value) best = direction, best_value = value;
    }
    return best;
}

static void print(uint64_t b) {
    for (int i = 0; i < 16; i++) {
        unsigned tile = (unsigned)(b >> 4 * i & 15);
        printf("%5u%s", tile ? 1u << tile : 0, i % 4 == 3 ? "\n" : "");
    }
}

int main(void) {
    uint64_t b = add_tile(add_tile(0));
    int moves = 0, tally[4] = {0};
    for (int direction; moves < 45 && (direction = choose(b)) >= 0; moves++) {
        b = add_tile(slide(b, direction, &score));
        tally[direction]++;
    }
    print(b);
    printf("%d moves (%d %d %d %d), score %u, board %016" PRIx64 "\n", moves, tally[0], tally[1], tally[2], tally[3],
           score, b);
    unsigned gained = 0;
    uint64_t stuck = 0x1212212112122121ULL, full = 0x1111222233334444ULL;
    printf("%d ", choose(stuck));
    printf("%016" PRIx64 " ", slide(full, 0, &gained));
    printf("%016" PRIx64 " %u\n", slide(full, 3, &gained), gained);
    return 0;
}
