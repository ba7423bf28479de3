/* Putting things in order: numbers by size, the words of a text by the alphabet. */
#include <string.h>

/* The numbers of a list in ascending order. */
void sort_numbers(double *values, int n) {
    for (int gap = n / 2; gap; gap /= 2) {
        for (int i = gap; i < n; i++) {
            double value = values[i];
            int at = i;
            for (; at >= gap && values[at - gap] > value; at -= gap) values[at] = values[at - gap];
            values[at] = value;
        }
    }
}

enum { MOST = 4096 };
static const char *words[MOST];
static char said[65536];

static int lower(int letter) {
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
}

static int before(const char *one, const char *other) {
    for (; *one && *one != ' ' && lower(*one) == lower(*other); one++) other++;
    int a = *one == ' ' ? 0 : lower(*one), b = *other == ' ' ? 0 : lower(*other);
    return (unsigned char)a < (unsigned char)b;
}

/* The words of a text, which spaces separate, in alphabetical order; case does not count. */
const char *sort_words(const char *text) {
    int count = 0;
    for (const char *at = text; *at; at++) {
        if (*at == ' ' || (at > text && at[-1] != ' ')) continue;
        if (count == MOST || strlen(text) >= sizeof said) __builtin_trap();
        int place = count++;
        for (; place && before(at, words[place - 1]); place--) words[place] = words[place - 1];
        words[place] = at;
    }
    char *to = said;
    for (int i = 0; i < count; i++) {
        if (i) *to++ = ' ';
        for (const char *at = words[i]; *at && *at != ' '; at++) *to++ = *at;
    }
    *to = 0;
    return said;
}
