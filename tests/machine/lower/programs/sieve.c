/* Primes below a few thousand. */
#include <stdio.h>
#include <string.h>

static unsigned char composite[4000];

int main(void) {
    int count = 0, last = 0;
    for (int i = 2; i < 4000; i++) {
        if (composite[i]) continue;
        count++, last = i;
        for (int j = 2 * i; j < 4000; j += i) composite[j] = 1;
    }
    printf("%d %d\n", count, last);
    return 0;
}
