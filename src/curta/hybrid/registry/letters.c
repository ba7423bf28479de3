/* Letters of a text, which language models do not see: how often one occurs, a text reversed, how
 * many letters have to be changed to make one text of another, whether it is a palindrome. */
#include <string.h>

static char said[65536];

/* How often a letter, or a word, occurs in a text. */
int count_in_text(const char *text, const char *part) {
    int count = 0, length = (int)strlen(part);
    if (!length) __builtin_trap();
    for (; *text; text++) {
        if (strncmp(text, part, (size_t)length)) continue;
        count++;
        text += length - 1;
    }
    return count;
}

/* A text from its end to its beginning. */
const char *reversed(const char *text) {
    int length = (int)strlen(text);
    if (length >= (int)sizeof said) __builtin_trap();
    for (int at = 0; at < length;) { /* the bytes of a letter stay in their order */
        int size = 1;
        while ((text[at + size] & 0xc0) == 0x80) size++;
        memcpy(said + length - at - size, text + at, (size_t)size);
        at += size;
    }
    said[length] = 0;
    return said;
}

/* The least number of letters to be put in, taken away or changed to make one text of another. */
int edit_distance(const char *one, const char *other) {
    static int row[4096];
    int length = (int)strlen(other);
    if (length >= 4096) __builtin_trap();
    for (int at = 0; at <= length; at++) row[at] = at;
    for (int line = 1; one[line - 1]; line++) {
        int diagonal = row[0];
        row[0] = line;
        for (int at = 1; at <= length; at++) {
            int best = diagonal + (one[line - 1] != other[at - 1]);
            if (row[at] + 1 < best) best = row[at] + 1;
            if (row[at - 1] + 1 < best) best = row[at - 1] + 1;
            diagonal = row[at];
            row[at] = best;
        }
    }
    return row[length];
}

/* Whether a text reads the same backwards; only letters and digits count, case does not. */
_Bool is_palindrome(const char *text) {
    int count = 0;
    for (; *text && count < (int)sizeof said; text++) {
        int letter = *text >= 'A' && *text <= 'Z' ? *text + 32 : *text;
        if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter < 0)
            said[count++] = (char)letter;
    }
    for (int at = 0; at < count / 2; at++)
        if (said[at] != said[count - 1 - at]) return 0;
    return 1;
}
