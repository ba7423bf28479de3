/* What C's library does: strings, memory, formats, numbers from text. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b) {
    return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

int main(int count, char **arguments) {
    const char *words[] = {"transformer", "curta", "a", "residual"};
    qsort(words, 4, sizeof *words, by_length);
    for (int i = 0; i < 4; i++) printf("%s %.6f %lld\n", words[i], sqrt(i + 2.0), 1ll << (i * 20));
    char *copy = malloc(100);
    snprintf(copy, 100, "%08.3e|%-5d|%x|%g", 12345.678, 42, 0xbeefu, 0.1);
    puts(copy);
    copy = realloc(copy, 3000);
    memset(copy, 'x', 2999);
    memmove(copy + 5, copy, 2000);
    printf("%c %zu %.3f\n", copy[2004], strlen(strchr(copy, 'x')) % 7, strtod("2.5e-1", NULL));
    free(copy);
    for (int i = 1; i < count; i++) printf("%d: %s\n", i, arguments[i]);
    char line[80];
    int total = 0;
    while (fgets(line, sizeof line, stdin)) {
        for (char *p = line; *p; p++) *p = (char)toupper((unsigned char)*p);
        fputs(line, stdout);
        total += atoi(line);
    }
    fprintf(stderr, "total %d\n", total);
    return total % 256;
}
