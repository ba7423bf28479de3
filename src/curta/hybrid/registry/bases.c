/* Numbers in other bases, from 2 to 36: from decimal to binary or hexadecimal and back, of any
 * length; and Roman numerals. */
#include <string.h>

enum { LONGEST = 2048 };
static unsigned char digits[LONGEST];
static char said[8 * LONGEST];

static int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'Z') return letter - 'A' + 10;
    return 99;
}

/* A whole number that is written in one base, written in another. */
const char *in_base(const char *number, int from, int to) {
    if (from < 2 || from > 36 || to < 2 || to > 36) __builtin_trap();
    int negative = *number == '-', length = 0, count = 0;
    for (number += negative; *number; number++) {
        int digit = digit_of(*number);
        if (digit >= from || length == LONGEST) __builtin_trap();
        digits[length++] = (unsigned char)digit;
    }
    if (!length) __builtin_trap();
    for (int start = 0; start < length;) { /* divided by the new base, again and again */
        int left = 0;
        for (int at = start; at < length; at++) {
            left = left * from + digits[at];
            digits[at] = (unsigned char)(left / to);
            left %= to;
        }
        if (count == sizeof said - 2) __builtin_trap();
        said[count++] = "0123456789abcdefghijklmnopqrstuvwxyz"[left];
        while (start < length && !digits[start]) start++;
    }
    if (negative && (count > 1 || *said != '0')) said[count++] = '-';
    for (int at = 0; at < count / 2; at++) {
        char other = said[at];
        said[at] = said[count - 1 - at];
        said[count - 1 - at] = other;
    }
    said[count] = 0;
    return said;
}

/* A number from 1 to 3999 in Roman numerals. */
const char *roman(int number) {
    static const char *const signs[] = {"M",  "CM", "D",  "CD", "C",  "XC", "L",
                                        "XL", "X",  "IX", "V",  "IV", "I"};
    static const short values[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    if (number < 1 || number > 3999) __builtin_trap();
    *said = 0;
    for (int at = 0; number; at++)
        for (; number >= values[at]; number -= values[at]) strcat(said, signs[at]);
    return said;
}
