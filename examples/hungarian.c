/* The cheapest way to give every row a column of its own (Hungarian algorithm), step by step.
 *
 *   curta run examples/hungarian.c
 *   curta run examples/hungarian.c - --stdin "2  4 1  2 8"     (the size, then the matrix)
 *
 * Every row and every column has a dual variable, a price; the reduced cost of a field is its cost
 * minus both prices, and never negative. Rows are assigned one after another: Dijkstra's algorithm
 * looks for the shortest way, in reduced costs, from the new row to a free column, by way of columns
 * that are taken and the rows that hold them. Along that way everybody moves on by one column.
 */
#include <stdio.h>
#include <string.h>

enum { MOST = 64, FAR = 1 << 30 };

static int size = 10;
static int cost[MOST][MOST] = {
    {61, 58, 35, 86, 32, 39, 41, 27, 21, 42}, {59, 77, 97, 99, 78, 21, 89, 72, 35, 63},
    {88, 85, 37, 57, 59, 97, 37, 29, 69, 94}, {32, 82, 53, 20, 77, 96, 21, 70, 50, 61},
    {15, 44, 81, 10, 64, 36, 56, 78, 20, 69}, {76, 35, 87, 69, 16, 55, 26, 37, 30, 66},
    {86, 32, 74, 94, 32, 14, 24, 12, 31, 70}, {97, 63, 20, 64, 90, 21, 28, 49, 89, 10},
    {58, 52, 27, 76, 61, 35, 17, 91, 37, 66}, {42, 79, 61, 26, 55, 98, 70, 17, 26, 86},
};

static int row_price[MOST], column_price[MOST];
static int row_of[MOST];    /* which row a column is given to, or -1 */
static int column_of[MOST]; /* and the other way round */

static int distance[MOST];  /* from the new row to a column */
static int from_row[MOST];  /* the last row on the way there */
static char explored[MOST]; /* the distance is final */

/* ---- input and output without scanf and printf, which are long: programs that use them take
 * the machine three times as long to read ---- */

/* The next number, or -1 if there is none. */
static int read_number(void) {
    int c = getchar(), number = 0;
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',') {
        c = getchar();
    }
    if (c < '0' || c > '9') {
        return -1;
    }
    for (; c >= '0' && c <= '9'; c = getchar()) {
        number = number * 10 + (c - '0');
        if (number > 1000000) {
            return -1;
        }
    }
    return number;
}

static void say(const char *text) {
    fputs(text, stdout);
}

static void say_number(int number) {
    char digits[12];
    char *first = digits + sizeof digits - 1;
    unsigned left = number < 0 ? -(unsigned)number : (unsigned)number;
    *first = 0;
    do {
        *--first = '0' + left % 10;
        left /= 10;
    } while (left != 0);
    if (number < 0) {
        *--first = '-';
    }
    say(first);
}

/* ---- the algorithm ---- */

/* Shortest ways from a row, until they reach a free column; returns that column. */
static int find_free_column(int row, int *count) {
    int reached = 0; /* how far it is to the row that is being looked at */
    memset(explored, 0, sizeof explored);
    for (int column = 0; column < size; column++) {
        distance[column] = FAR;
    }
    *count = 0;
    for (;;) {
        int nearest = -1;
        for (int column = 0; column < size; column++) {
            if (explored[column]) {
                continue;
            }
            int away = reached + cost[row][column] - row_price[row] - column_price[column];
            if (away < distance[column]) {
                distance[column] = away;
                from_row[column] = row;
            }
            if (nearest < 0 || distance[column] < distance[nearest]) {
                nearest = column;
            }
        }
        explored[nearest] = 1;
        ++*count;
        reached = distance[nearest];
        if (row_of[nearest] < 0) {
            return nearest;
        }
        row = row_of[nearest];
    }
}

/* New prices: reduced costs stay at least 0, and are 0 along the way. */
static void update_prices(int row, int free_column) {
    int reached = distance[free_column];
    row_price[row] += reached;
    for (int column = 0; column < size; column++) {
        if (explored[column] && column != free_column) {
            int gap = reached - distance[column];
            column_price[column] -= gap;
            row_price[row_of[column]] += gap;
        }
    }
}

/* Everybody along the way moves on by one column. */
static void augment(int row, int column) {
    for (;;) {
        int holder = from_row[column], next = column_of[holder];
        row_of[column] = holder;
        column_of[holder] = column;
        say("    row ");
        say_number(holder + 1);
        say(next < 0 ? " takes column " : " moves to column ");
        say_number(column + 1);
        say("\n");
        if (holder == row) {
            return;
        }
        column = next;
    }
}

static void assign(int row, int *total) {
    int count, before = *total;
    say("Row ");
    say_number(row + 1);
    say(": Dijkstra on reduced costs, ");
    int column = find_free_column(row, &count);
    say_number(count);
    say(count == 1 ? " column explored, column " : " columns explored, column ");
    say_number(column + 1);
    say(" is free at distance ");
    say_number(distance[column]);
    say("\n");
    update_prices(row, column);
    augment(row, column);
    *total = 0;
    for (int assigned = 0; assigned <= row; assigned++) {
        *total += cost[assigned][column_of[assigned]];
    }
    say("    cost ");
    say_number(before);
    say(*total < before ? " - " : " + ");
    say_number(*total < before ? before - *total : *total - before);
    say(" = ");
    say_number(*total);
    say("\n");
}

static int read_matrix(void) {
    size = read_number();
    if (size < 1 || size > MOST) {
        return 0;
    }
    for (int row = 0; row < size; row++) {
        for (int column = 0; column < size; column++) {
            cost[row][column] = read_number();
            if (cost[row][column] < 0) {
                return 0;
            }
        }
    }
    return 1;
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "-") == 0 && !read_matrix()) {
        say("expected the size of the matrix (at most 64) and then its fields, 0 to 1000000\n");
        return 2;
    }
    say("Assigning ");
    say_number(size);
    say(" rows to ");
    say_number(size);
    say(" columns.\n");
    memset(row_of, -1, sizeof row_of);
    memset(column_of, -1, sizeof column_of);
    int total = 0;
    for (int row = 0; row < size; row++) {
        assign(row, &total);
    }
    say("The cheapest assignment costs ");
    say_number(total);
    say(":");
    for (int row = 0; row < size; row++) {
        say(row == 0 ? " " : ", ");
        say_number(row + 1);
        say("-");
        say_number(column_of[row] + 1);
    }
    say("\n");
    return 0;
}
