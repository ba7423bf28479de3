/* Ways to put n queens on a board. */
#include <stdio.h>

static int place(int n, int row, unsigned columns, unsigned left, unsigned right) {
    if (row == n) return 1;
    int count = 0;
    for (int i = 0; i < n; i++) {
        unsigned c = 1u << i, l = 1u << (row + i), r = 1u << (row - i + n);
        if (columns & c || left & l || right & r) continue;
        count += place(n, row + 1, columns | c, left | l, right | r);
    }
    return count;
}

int main(void) {
    printf("%d\n", place(6, 0, 0, 0, 0));
    return 0;
}
