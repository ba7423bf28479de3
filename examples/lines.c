/* Reads its input line by line and answers every line before it asks for the next one.
 *
 *   curta run examples/lines.c
 *   curta run examples/lines.c --stdin-file README.md
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void reverse(char *text) {
    for (char *last = text + strlen(text) - 1; text < last; text++, last--) {
        char c = *text;
        *text = *last;
        *last = c;
    }
}

int main(void) {
    char line[256];
    int lines = 0, all_words = 0;
    puts("Say something, or nothing to end.");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL && line[0] != '\n') {
        int words = 0, letters = 0, inside = 0;
        line[strcspn(line, "\n")] = 0;
        for (const char *c = line; *c != 0; c++) {
            words += !inside && !isspace((unsigned char)*c);
            inside = !isspace((unsigned char)*c);
            letters += isalpha((unsigned char)*c) != 0;
        }
        reverse(line);
        printf("%d: %d words, %d letters; backwards: %s\n", ++lines, words, letters, line);
        fflush(stdout);
        all_words += words;
    }
    printf("%d lines, %d words. Goodbye.\n", lines, all_words);
    return 0;
}
