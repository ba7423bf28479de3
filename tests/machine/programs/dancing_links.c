/* Exact covers by dancing links: a small sudoku, Langford's numbers, and tilings with dominoes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cell {
    struct cell *left, *right, *up, *down, *column;
    int size, row;
};

static struct cell cells[1400];
static int used, columns, found;
static unsigned updates;
static int chosen[64], depth, solution[64], solution_depth;

static void begin(int count) {
    used = columns = count;
    used++;
    found = depth = 0;
    for (int i = 0; i <= count; i++)
        cells[i] = (struct cell){&cells[i ? i - 1 : count], &cells[i < count ? i + 1 : 0], &cells[i], &cells[i],
                                 &cells[i], 0, -1};
}

static void add_row(int row, const int *places, int count) {
    for (int i = 0; i < count; i++) {
        struct cell *column = &cells[places[i] + 1], *c = &cells[used + i];
        c->left = &cells[used + (i + count - 1) % count];
        c->right = &cells[used + (i + 1) % count];
        c->up = column->up, c->down = column;
        column->up->down = c, column->up = c;
        c->column = column, c->row = row;
        column->size++;
    }
    used += count;
}

static void cover(struct cell *column) {
    column->right->left = column->left, column->left->right = column->right;
    for (struct cell *r = column->down; r != column; r = r->down)
        for (struct cell *c = r->right; c != r; c = c->right) {
            c->down->up = c->up, c->up->down = c->down;
            c->column->size--;
            updates++;
        }
}

static void uncover(struct cell *column) {
    for (struct cell *r = column->up; r != column; r = r->up)
        for (struct cell *c = r->left; c != r; c = c->left) {
            c->down->up = c, c->up->down = c;
            c->column->size++;
        }
    column->right->left = column, column->left->right = column;
}

static void search(int most) {
    struct cell *head = &cells[0];
    if (head->right == head) {
        if (found++ == 0) memcpy(solution, chosen, sizeof chosen), solution_depth = depth;
        return;
    }
    struct cell *best = head->right;
    for (struct cell *c = best; c != head; c = c->right)
        if (c->size < best->size) best = c;
    cover(best);
    for (struct cell *r = best->down; r != best && found < most; r = r->down) {
        chosen[depth++] = r->row;
        for (struct cell *c = r->right; c != r; c = c->right) cover(c->column);
        search(most);
        for (struct cell *c = r->left; c != r; c = c->left) uncover(c->column);
        depth--;
    }
    uncover(best);
}

static void sudoku(const char *given) { /* four by four */
    begin(64);
    for (int place = 0; place < 16; place++)
        for (int digit = 0; digit < 4; digit++) {
            int row = place / 4, column = place % 4, box = row / 2 * 2 + column / 2;
            if (given[place] != '.' && given[place] - '1' != digit) continue;
            add_row(place * 4 + digit, (int[]){place, 16 + row * 4 + digit, 32 + column * 4 + digit, 48 + box * 4 + digit}, 4);
        }
    search(10);
    char text[17] = "";
    for (int i = 0; i < solution_depth; i++) text[solution[i] / 4] = (char)('1' + solution[i] % 4);
    printf("%d: %.4s %.4s %.4s %.4s\n", found, text, text + 4, text + 8, text + 12);
}

static void langford(int n) {
    begin(3 * n);
    for (int k = 1; k <= n; k++)
        for (int i = 0; i + k + 1 < 2 * n; i++)
            if (k < n || i < n - n / 2) /* without mirror images */
                add_row(k * 100 + i, (int[]){k - 1, n + i, n + i + k + 1}, 3);
    search(100);
    printf("%d:", found);
    int line[16] = {0};
    for (int i = 0; i < solution_depth; i++) {
        int k = solution[i] / 100, at = solution[i] % 100;
        line[at] = line[at + k + 1] = k;
    }
    for (int i = 0; i < 2 * n; i++) printf(" %d", line[i]);
    printf("\n");
}

static void dominoes(int width, int height) {
    begin(width * height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int place = y * width + x;
            if (x + 1 < width) add_row(2 * place, (int[]){place, place + 1}, 2);
            if (y + 1 < height) add_row(2 * place + 1, (int[]){place, place + width}, 2);
        }
    search(1000);
    printf("%d by %d: %d tilings\n", width, height, found);
}

int main(void) {
    sudoku("1....2....3....4");
    sudoku("12.............2");
    langford(4);
    dominoes(4, 4);
    dominoes(3, 4);
    dominoes(3, 3);
    printf("%u updates\n", updates);
    return 0;
}
