/* Reversi on bit boards of 64 bits: flips by shifts, a search of three plies, and the first moves. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t bits;

static const bits not_left = 0xFEFEFEFEFEFEFEFEULL, not_right = 0x7F7F7F7F7F7F7F7FULL;
static const int shifts[8] = {1, -1, 8, -8, 9, -9, 7, -7};
static unsigned nodes;

static bits shift(bits b, int way) {
    switch (way) {
    case 1: return (b & not_right) << 1;
    case -1: return (b & not_left) >> 1;
    case 8: return b << 8;
    case -8: return b >> 8;
    case 9: return (b & not_right) << 9;
    case -9: return (b & not_left) >> 9;
    case 7: return (b & not_left) << 7;
    default: return (b & not_right) >> 7;
    }
}

static bits moves(bits mine, bits theirs) {
    bits empty = ~(mine | theirs), found = 0;
    for (int i = 0; i < 8; i++) {
        bits run = shift(mine, shifts[i]) & theirs;
        for (int k = 0; k < 5; k++) run |= shift(run, shifts[i]) & theirs;
        found |= shift(run, shifts[i]) & empty;
    }
    return found;
}

static bits flips(bits mine, bits theirs, bits move) {
    bits all = 0;
    for (int i = 0; i < 8; i++) {
        bits line = 0, at = shift(move, shifts[i]);
        while (at & theirs) line |= at, at = shift(at, shifts[i]);
        if (at & mine) all |= line;
    }
    return all;
}

static int value(bits mine, bits theirs) {
    const bits corners = 0x8100000000000081ULL, edges = 0x3C0081818181003CULL;
    return 8 * (__builtin_popcountll(mine & corners) - __builtin_popcountll(theirs & corners)) +
           2 * (__builtin_popcountll(mine & edges) - __builtin_popcountll(theirs & edges)) +
           __builtin_popcountll(moves(mine, theirs)) - __builtin_popcountll(moves(theirs, mine));
}

static int search(bits mine, bits theirs, int depth, int alpha, int beta, bits *best) {
    nodes++;
    bits possible = depth > 0 ? moves(mine, theirs) : 0;
    if (possible == 0) return value(mine, theirs);
    while (possible) {
        bits move = possible & -possible, turned = flips(mine, theirs, move);
        possible ^= move;
        int v = -search(theirs & ~turned, mine | move | turned, depth - 1, -beta, -alpha, NULL);
        if (v > alpha) {
            alpha = v;
            if (best) *best = move;
            if (alpha >= beta) break;
        }
    }
    return alpha;
}

static void print(bits black, bits white) {
    for (int i = 0; i < 64; i++)
        printf("%c%s", black >> i & 1 ? 'x' : white >> i & 1 ? 'o' : '.', i % 8 == 7 ? "\n" : "");
}

static unsigned perft(bits mine, bits theirs, int depth) {
    if (depth == 0) return 1;
    unsigned count = 0;
    for (bits possible = moves(mine, theirs); possible; possible &= possible - 1) {
        bits move = possible & -possible, turned = flips(mine, theirs, move);
        count += perft(theirs & ~turned, mine | move | turned, depth - 1);
    }
    return count;
}

int main(void) {
    bits mine = 0x0000000810000000ULL, theirs = 0x0000001008000000ULL;
    for (int depth = 1; depth <= 3; depth++) printf("%u ", perft(mine, theirs, depth));
    printf("\n");
    int turn = 0;
    for (; turn < 5; turn++) {
        bits move = 0;
        int v = search(mine, theirs, 2, -1000, 1000, &move);
        if (move == 0) break;
        int place = __builtin_ctzll(move);
        printf("%c%d (%d) ", 'a' + place % 8, place / 8 + 1, v);
        bits turned = flips(mine, theirs, move), next = theirs & ~turned;
        theirs = mine | move | turned;
        mine = next;
    }
    printf("\n");
    print(turn % 2 ? theirs : mine, turn % 2 ? mine : theirs);
    printf("%u nodes, %016" PRIx64 "\n", nodes, moves(mine, theirs));
    return 0;
}
