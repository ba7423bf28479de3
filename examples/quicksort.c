/* Quicksort.
 *
 *   curta run examples/quicksort.c 3 1 -4 1 5 9 2 6
 *   curta run examples/quicksort.c             (1000 numbers of its own; prints a few of them)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { OWN = 1000, SMALL = 8 };

static void insertion_sort(int32_t *first, int32_t *end) {
    for (int32_t *next = first + 1; next < end; next++) {
        int32_t number = *next, *place = next;
        for (; place > first && place[-1] > number; place--) {
            *place = place[-1];
        }
        *place = number;
    }
}

static int32_t median(int32_t a, int32_t b, int32_t c) {
    if ((a < b) == (b < c)) {
        return b;
    }
    return (b < a) == (a < c) ? a : c;
}

static void quicksort(int32_t *first, int32_t *end) {
    while (end - first > SMALL) {
        int32_t pivot = median(first[0], first[(end - first) / 2], end[-1]);
        int32_t *left = first, *right = end - 1;
        for (;;) { /* everything before left is at most the pivot, behind right at least */
            while (*left < pivot) {
                left++;
            }
            while (*right > pivot) {
                right--;
            }
            if (left >= right) {
                break;
            }
            int32_t number = *left;
            *left++ = *right;
            *right-- = number;
        }
        /* The smaller part by recursion, so that the stack stays small. */
        if (left - first < end - left) {
            quicksort(first, left);
            first = left;
        } else {
            quicksort(left, end);
            end = left;
        }
    }
    insertion_sort(first, end);
}

int main(int count, char **words) {
    int length = count > 1 ? count - 1 : OWN;
    int32_t *numbers = malloc(length * sizeof *numbers);
    if (numbers == NULL) {
        return 1;
    }
    uint32_t state = 1;
    for (int i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        numbers[i] = count > 1 ? (int32_t)strtol(words[i + 1], NULL, 10) : (int32_t)state / 1024;
    }
    quicksort(numbers, numbers + length);
    int step = count > 1 ? 1 : length / 8;
    for (int i = 0; i < length; i += step) {
        printf("%d\n", (int)numbers[i]);
    }
    for (int i = 1; i < length; i++) {
        if (numbers[i - 1] > numbers[i]) {
            printf("not sorted at %d\n", i);
            return 1;
        }
    }
    free(numbers);
    return 0;
}
