/* Collatz: halve what is even, replace what is odd by 3 n + 1, and you arrive at 1. Always?
 *
 *   curta run examples/collatz64.c 27 8528817511
 *   curta run examples/collatz64.c     (numbers of its own)
 *
 * The numbers have 64 bits, and a step that would not fit is noticed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Shorter than printf, which the machine would have to read. */
static void say_number(uint64_t number) {
    if (number >= 10) {
        say_number(number / 10);
    }
    putchar('0' + (int)(number % 10));
}

static void follow(uint64_t start) {
    uint64_t number = start, peak = start;
    unsigned steps = 0;
    while (number > 1) {
        if (number % 2 == 0) {
            number /= 2;
        } else if (number > (UINT64_MAX - 1) / 3) {
            say_number(start);
            fputs(": leaves 64 bits after ", stdout);
            say_number(steps);
            puts(" steps");
            return;
        } else {
            number = 3 * number + 1;
        }
        steps++;
        peak = number > peak ? number : peak;
    }
    say_number(start);
    fputs(": ", stdout);
    say_number(steps);
    fputs(" steps, peak ", stdout);
    say_number(peak);
    putchar('\n');
}

int main(int count, char **words) {
    static const uint64_t own[] = {27, 97, 871, 6171, 77031, 837799, 63728127, 670617279,
                                   9780657630, 75128138247, 989345275647, 1899148184679};
    for (int i = 1; i < count; i++) {
        follow(strtoull(words[i], NULL, 10));
    }
    for (unsigned i = 0; count == 1 && i < sizeof own / sizeof *own; i++) {
        follow(own[i]);
    }
    return 0;
}
