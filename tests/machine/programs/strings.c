/* Texts: Knuth-Morris-Pratt, Boyer-Moore-Horspool, Rabin-Karp, a trie, suffixes, Levenshtein. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "it was the best of times, it was the worst of times, it was the age of wisdom, it was "
                           "the age of foolishness, it was the epoch of belief";

static int kmp(const char *s, const char *word, int *places) {
    int fail[32] = {0}, n = (int)strlen(word), count = 0;
    for (int i = 1, k = 0; i < n; i++) {
        while (k > 0 && word[i] != word[k]) k = fail[k - 1];
        fail[i] = k += word[i] == word[k];
    }
    for (int i = 0, k = 0; s[i]; i++) {
        while (k > 0 && s[i] != word[k]) k = fail[k - 1];
        k += s[i] == word[k];
        if (k == n) places[count++] = i - n + 1, k = fail[k - 1];
    }
    return count;
}

static int horspool(const char *s, const char *word, int *places) {
    size_t skip[256], n = strlen(word), length = strlen(s);
    int count = 0;
    for (int c = 0; c < 256; c++) skip[c] = n;
    for (size_t i = 0; i + 1 < n; i++) skip[(uint8_t)word[i]] = n - 1 - i;
    for (size_t at = 0; at + n <= length; at += skip[(uint8_t)s[at + n - 1]])
        if (memcmp(s + at, word, n) == 0) places[count++] = (int)at;
    return count;
}

static int rabin_karp(const char *s, const char *word, int *places) {
    const uint64_t base = 257, modulus = 1000000007;
    uint64_t wanted = 0, hash = 0, top = 1;
    size_t n = strlen(word), length = strlen(s);
    int count = 0;
    for (size_t i = 0; i < n; i++) wanted = (wanted * base + (uint8_t)word[i]) % modulus;
    for (size_t i = 1; i < n; i++) top = top * base % modulus;
    for (size_t i = 0; i < length; i++) {
        if (i >= n) hash = (hash + modulus - (uint8_t)s[i - n] * top % modulus) % modulus;
        hash = (hash * base + (uint8_t)s[i]) % modulus;
        if (i + 1 >= n && hash == wanted && memcmp(s + i + 1 - n, word, n) == 0) places[count++] = (int)(i + 1 - n);
    }
    return count;
}

struct trie {
    struct trie *next[26];
    int count;
};

static void plant(struct trie *t, const char *word) {
    for (; isalpha((unsigned char)*word); word++) {
        struct trie **next = &t->next[*word - 'a'];
        if (*next == NULL) *next = calloc(1, sizeof **next);
        t = *next;
    }
    t->count++;
}

static void walk(const struct trie *t, char *word, int length) {
    if (t->count > 1) printf("%.*s %d, ", length, word, t->count);
    for (int c = 0; c < 26; c++)
        if (t->next[c]) word[length] = (char)('a' + c), walk(t->next[c], word, length + 1);
}

static void uproot(struct trie *t) {
    for (int c = 0; c < 26; c++)
        if (t->next[c]) uproot(t->next[c]);
    free(t);
}

static int levenshtein(const char *a, const char *b) {
    int row[32], n = (int)strlen(b);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = corner + (*a != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

static int by_suffix(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void longest_repeat(const char *s) {
    const char *suffixes[64];
    size_t n = strlen(s), best = 0;
    const char *where = s;
    for (size_t i = 0; i < n; i++) suffixes[i] = s + i;
    qsort(suffixes, n, sizeof *suffixes, by_suffix);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        while (suffixes[i][k] && suffixes[i][k] == suffixes[i - 1][k]) k++;
        if (k > best) best = k, where = suffixes[i];
    }
    printf("'%.*s' twice in '%s'\n", (int)best, where, s);
}

static void palindrome(const char *s) {
    int n = (int)strlen(s), best = 0, start = 0;
    for (int center = 0; center < 2 * n - 1; center++) {
        int left = center / 2, right = left + center % 2;
        while (left >= 0 && right < n && s[left] == s[right]) left--, right++;
        if (right - left - 1 > best) best = right - left - 1, start = left + 1;
    }
    printf("'%.*s' in '%s'\n", best, s + start, s);
}

static uint16_t soundex(const char *word) {
    static const char codes[] = "01230120022455012623010202";
    uint16_t code = 0;
    char last = 0;
    for (int n = 0; *word && n < 4; word++) {
        char c = codes[tolower((unsigned char)*word) - 'a'];
        if (c != '0' && c != last) code = (uint16_t)(code << 4 | (c - '0')), n++;
        last = c;
    }
    return code;
}

int main(void) {
    int a[32], b[32], c[32];
    for (const char **word = (const char *[]){"it was the", "of", "es", "zebra", "a", NULL}; *word; word++) {
        int n = kmp(text, *word, a), same = horspool(text, *word, b) == n && rabin_karp(text, *word, c) == n;
        same = same && memcmp(a, b, (size_t)n * sizeof *a) == 0 && memcmp(a, c, (size_t)n * sizeof *a) == 0;
        printf("'%s' %d times, last at %d, %s\n", *word, n, n ? a[n - 1] : -1, same ? "all agree" : "they differ");
    }
    struct trie *root = calloc(1, sizeof *root);
    for (const char *p = text; *p; p += strcspn(p, " ,"), p += strspn(p, " ,")) plant(root, p);
    char word[32];
    walk(root, word, 0);
    printf("\n");
    uproot(root);
    printf("%d %d %d\n", levenshtein("kitten", "sitting"), levenshtein("", "abc"), levenshtein("intention", "execution"));
    longest_repeat("to be or not to be that is the");
    palindrome("never odd or even, racecar");
    printf("%04x %04x %04x\n", soundex("Robert"), soundex("Rupert"), soundex("Tymczak"));
    return 0;
}
