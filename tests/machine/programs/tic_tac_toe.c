/* Tic-tac-toe solved: negamax with alpha and beta, a table of positions in base three, perfect play. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint16_t mine, theirs;
} board;

static const uint16_t lines[8] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
static int8_t table[19683];
static unsigned visited, remembered;

static int won(uint16_t stones) {
    for (int i = 0; i < 8; i++)
        if ((stones & lines[i]) == lines[i]) return 1;
    return 0;
}

static unsigned key(board b) {
    unsigned k = 0;
    for (int i = 0; i < 9; i++) k = k * 3 + (b.mine >> i & 1u) + 2 * (b.theirs >> i & 1u);
    return k;
}

static int negamax(board b) {
    unsigned k = key(b);
    if (table[k]) {
        remembered++;
        return table[k] - 100;
    }
    visited++;
    int free_places = 9 - __builtin_popcount(b.mine | b.theirs), best = -20;
    if (won(b.theirs))
        best = -(free_places + 1);
    else if (free_places == 0)
        best = 0;
    else
        for (int i = 0; i < 9; i++) {
            uint16_t bit = (uint16_t)(1 << i);
            if ((b.mine | b.theirs) & bit) continue;
            int value = -negamax((board){b.theirs, b.mine | bit});
            if (value > best) best = value;
        }
    table[k] = (int8_t)(best + 100);
    return best;
}

static int best_move(board b) {
    int best = -100, move = -1;
    for (int i = 8; i >= 0; i--) {
        uint16_t bit = (uint16_t)(1 << i);
        if ((b.mine | b.theirs) & bit) continue;
        int value = -negamax((board){b.theirs, b.mine | bit});
        if (value > best) best = value, move = i;
    }
    return move;
}

static void print(board b, int turn) {
    char me = turn % 2 ? 'o' : 'x', you = turn % 2 ? 'x' : 'o';
    for (int i = 0; i < 9; i++) {
        char c = b.mine >> i & 1 ? me : b.theirs >> i & 1 ? you : '.';
        printf("%c%c", c, i % 3 == 2 ? '\n' : ' ');
    }
}

static void play(board b, int turn) {
    while (!won(b.theirs) && turn < 9) {
        int move = best_move(b);
        printf("%d", move);
        b = (board){b.theirs, b.mine | (uint16_t)(1 << move)};
        turn++;
    }
    printf(": %s\n", won(b.theirs) ? turn % 2 ? "x wins" : "o wins" : "a draw");
    print(b, turn);
}

int main(void) {
    board middle = {0, 0};
    middle.mine = 1 << 0, middle.theirs = 1 << 4;
    printf("value %d\n", negamax(middle));
    printf("%u positions visited, %u found again\n", visited, remembered);
    play(middle, 2);
    play((board){1 << 0 | 1 << 8, 1 << 4 | 1 << 1}, 4);
    play((board){1 << 1, 1 << 0}, 2);
    int wins = 0;
    for (int k = 0; k < 19683; k++) wins += table[k] > 100;
    printf("%d positions are won\n", wins);
    return 0;
}
