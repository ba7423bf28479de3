/* Sorting numbers, by hand and by qsort. */
#include <stdio.h>
#include <stdlib.h>

static int numbers[600], others[600];

static void sort(int *a, int low, int high) {
    while (low < high) {
        int pivot = a[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                int t = a[i];
                a[i++] = a[j], a[j--] = t;
            }
        }
        sort(a, low, j);
        low = i;
    }
}

static int compare(const void *x, const void *y) {
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

int main(void) {
    unsigned seed = 12345;
    for (int i = 0; i < 600; i++) {
        seed = seed * 1103515245 + 12345;
        numbers[i] = others[i] = (int)(seed >> 8) % 10000 - 5000;
    }
    sort(numbers, 0, 599);
    qsort(others, 600, sizeof *others, compare);
    for (int i = 0; i < 600; i++)
        if (numbers[i] != others[i]) return 1;
    printf("%d %d %d\n", numbers[0], numbers[300], numbers[599]);
    return 0;
}
