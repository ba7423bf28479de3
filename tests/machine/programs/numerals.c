/* Numbers in words: Roman numerals both ways, English words, other bases, Morse. */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void to_roman(int n, char *out) {
    static const struct {
        int value;
        const char *text;
    } steps[] = {{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"},
                 {40, "XL"},  {10, "X"},   {9, "IX"},  {5, "V"},    {4, "IV"},  {1, "I"}};
    *out = '\0';
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (; n >= steps[i].value; n -= steps[i].value) strcat(out, steps[i].text);
}

static int from_roman(const char *text) {
    static const char letters[] = "IVXLCDM";
    static const int values[] = {1, 5, 10, 50, 100, 500, 1000};
    int total = 0, last = 0;
    for (size_t i = strlen(text); i-- > 0;) {
        const char *found = strchr(letters, toupper((unsigned char)text[i]));
        if (found == NULL) return -1;
        int value = values[found - letters];
        total += value < last ? -value : value;
        if (value > last) last = value;
    }
    char again[32];
    if (total <= 0 || total >= 4000) return -1;
    to_roman(total, again);
    return strcasecmp(again, text) == 0 ? total : -1;
}

static const char *const small[] = {
    "zero",    "one",     "two",       "three",    "four",     "five",    "six",
    "seven",   "eight",   "nine",      "ten",      "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen",  "seventeen", "eighteen", "nineteen"};
static const char *const tens[] = {"twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
static const char *const powers[] = {"", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion"};

static void below_thousand(unsigned n) {
    if (n >= 100) {
        printf("%s hundred%s", small[n / 100], n % 100 ? " and " : "");
        n %= 100;
        if (n == 0) return;
    }
    if (n >= 20) {
        printf("%s%s", tens[n / 10 - 2], n % 10 ? "-" : "");
        n %= 10;
        if (n == 0) return;
    }
    printf("%s", small[n]);
}

static void in_words(int64_t n) {
    uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    bool any = false;
    if (n < 0) printf("minus ");
    if (n == 0) printf("zero");
    for (int power = 6; power >= 0; power--) {
        uint64_t unit = 1;
        for (int i = 0; i < power; i++) unit *= 1000;
        unsigned group = (unsigned)(size / unit % 1000);
        if (group == 0) continue;
        if (any) printf(power == 0 && group < 100 ? " and " : ", ");
        below_thousand(group);
        printf("%s", powers[power]);
        any = true;
    }
    printf("\n");
}

static const char *in_base(int64_t n, int base) { /* negative bases, too */
    static char buffer[80];
    char *at = buffer + sizeof buffer - 1;
    *at = '\0';
    do {
        int64_t digit = n % base;
        n /= base;
        if (digit < 0) digit += base < 0 ? -base : base, n++;
        *--at = "0123456789abcdefghijklmnopqrstuvwxyz"[digit];
    } while (n != 0);
    return at;
}

static void morse(const char *text) {
    static const char *const letters[] = {".-",   "-...", "-.-.", "-..",  ".",   "..-.", "--.",  "....", "..",
                                          ".---", "-.-",  ".-..", "--",   "-.",  "---",  ".--.", "--.-", ".-.",
                                          "...",  "-",    "..-",  "...-", ".--", "-..-", "-.--", "--.."};
    for (; *text; text++) printf("%s ", isalpha((unsigned char)*text) ? letters[tolower(*text) - 'a'] : "/");
    printf("\n");
}

int main(void) {
    char roman[32];
    int wrong = 0;
    for (int n = 1; n < 4000; n += 37) {
        to_roman(n, roman);
        wrong += from_roman(roman) != n;
    }
    printf("%d wrong\n", wrong);
    for (const char **s = (const char *[]){"MCMXLVIII", "mmxxvi", "IIII", "IC", "XLX", "what", "", NULL}; *s; s++)
        printf("'%s' %d\n", *s, from_roman(*s));
    in_words(0);
    in_words(-15);
    in_words(1000001);
    in_words(987654321012LL);
    in_words(INT64_MIN);
    printf("%s is ", in_base(255, 2));
    printf("%s\n", in_base(255, 16));
    for (int base = -10; base <= 36; base += 23) printf("%d: %s\n", base, in_base(123456789, base));
    printf("%s\n", in_base(-13, -2));
    morse("Morse code");
    return 0;
}
