/* Collatz: halve what is even, replace what is odd by 3 n + 1, and you arrive at 1. Always?
 *
 *   curta run examples/collatz64.c 27 8528817511
 *   curta run examples/collatz64.c     (numbers of its own)
 *
 * The numbers have 64 bits, and a step that would not fit is noticed.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void follow(uint64_t start) {
    uint64_t number = start, peak = start;
    int steps = 0;
    while (number > 1) {
        if (number % 2 == 0) {
            number /= 2;
        } else if (number > (UINT64_MAX - 1) / 3) {
            printf("%" PRIu64 ": leaves 64 bits after %d steps\n", start, steps);
            return;
        } else {
            number = 3 * number + 1;
        }
        steps++;
        peak = number > peak ? number : peak;
    }
    printf("%" PRIu64 ": %d steps, peak %" PRIu64 "\n", start, steps, peak);
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
