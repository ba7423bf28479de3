/* Sorting: quick, merge, heap, shell, radix and comb sorts of 64-bit records, floats by their bits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t key;
    uint16_t place;
} record;

#define COUNT 40

static unsigned compared;

static int less(const record *a, const record *b) {
    compared++;
    return a->key < b->key;
}

static void swap(record *a, record *b) {
    record t = *a;
    *a = *b;
    *b = t;
}

static void insertion(record *a, int n) {
    for (int i = 1; i < n; i++) {
        record x = a[i];
        int j = i;
        for (; j > 0 && less(&x, &a[j - 1]); j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static void quick(record *a, int n) {
    while (n > 8) {
        record pivot = a[n / 2];
        int i = 0, j = n - 1;
        for (;;) {
            while (less(&a[i], &pivot)) i++;
            while (less(&pivot, &a[j])) j--;
            if (i >= j) break;
            swap(&a[i++], &a[j--]);
        }
        quick(a, i);
        a += i;
        n -= i;
    }
    insertion(a, n);
}

static void merge(record *a, int n) {
    record *spare = malloc((size_t)n * sizeof *spare);
    for (int width = 1; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            int middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
            for (int i = start, j = middle, k = start; k < end; k++)
                spare[k] = i < middle && (j >= end || !less(&a[j], &a[i])) ? a[i++] : a[j++];
        }
        memcpy(a, spare, (size_t)n * sizeof *a);
    }
    free(spare);
}

static void sift(record *a, int at, int n) {
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && less(&a[child], &a[child + 1])) child++;
        if (!less(&a[at], &a[child])) return;
        swap(&a[at], &a[child]);
    }
}

static void heap(record *a, int n) {
    for (int i = n / 2; i-- > 0;) sift(a, i, n);
    while (--n > 0) {
        swap(&a[0], &a[n]);
        sift(a, 0, n);
    }
}

static void shell(record *a, int n) {
    for (const int *gap = (const int[]){23, 10, 4, 1, 0}; *gap; gap++)
        for (int i = *gap; i < n; i++)
            for (int j = i; j >= *gap && less(&a[j], &a[j - *gap]); j -= *gap) swap(&a[j], &a[j - *gap]);
}

static void radix(record *a, int n) {
    record spare[COUNT];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        unsigned counts[257] = {0};
        for (int i = 0; i < n; i++) counts[((uint64_t)a[i].key ^ 1ULL << 63) >> shift & 255]++;
        for (unsigned d = 0, sum = 0; d < 256; d++) {
            unsigned t = counts[d];
            counts[d] = sum;
            sum += t;
        }
        for (int i = 0; i < n; i++) spare[counts[((uint64_t)a[i].key ^ 1ULL << 63) >> shift & 255]++] = a[i];
        memcpy(a, spare, (size_t)n * sizeof *a);
    }
}

static int by_key(const void *a, const void *b) {
    int64_t x = ((const record *)a)->key, y = ((const record *)b)->key;
    compared++;
    return (x > y) - (x < y);
}

static void library(record *a, int n) { qsort(a, (size_t)n, sizeof *a, by_key); }

static void sort_floats(float *x, int n) {
    uint32_t bits[16];
    memcpy(bits, x, (size_t)n * 4);
    for (int i = 0; i < n; i++) bits[i] ^= bits[i] >> 31 ? 0xFFFFFFFF : 0x80000000;
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && bits[j] < bits[j - 1]; j--) {
            uint32_t t = bits[j];
            bits[j] = bits[j - 1], bits[j - 1] = t;
        }
    for (int i = 0; i < n; i++) bits[i] ^= bits[i] >> 31 ? 0x80000000 : 0xFFFFFFFF;
    memcpy(x, bits, (size_t)n * 4);
}

int main(void) {
    static const struct {
        const char *name;
        void (*sort)(record *, int);
    } sorts[] = {{"quick", quick}, {"merge", merge}, {"heap", heap}, {"shell", shell}, {"radix", radix}, {"library", library}};
    for (size_t s = 0; s < sizeof sorts / sizeof *sorts; s++) {
        record a[COUNT];
        uint64_t x = 0x2545F4914F6CDD1DULL;
        for (int i = 0; i < COUNT; i++) {
            x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
            a[i] = (record){(int64_t)(x * 0x2545F4914F6CDD1DULL) >> (i % 4 * 15), (uint16_t)i};
        }
        compared = 0;
        sorts[s].sort(a, COUNT);
        uint64_t sum = 0;
        int wrong = 0;
        for (int i = 0; i < COUNT; i++) {
            sum = sum * 1099511628211ULL + (uint64_t)a[i].key + a[i].place;
            wrong += i > 0 && a[i - 1].key > a[i].key;
        }
        printf("%-8s%4u compared, %d wrong, sum %016llx\n", sorts[s].name, s == 5 ? 0 : compared, wrong, (unsigned long long)sum);
    }
    float x[] = {1.5f, -0.25f, 3e38f, -3e38f, 0.0f, 1e-40f, -1e-40f, 2.0f, 1.0f};
    sort_floats(x, 9);
    for (int i = 0; i < 9; i++) printf("%g ", x[i]);
    int64_t wanted = 77, table[20];
    for (int i = 0; i < 20; i++) table[i] = (int64_t)i * i * i - 500;
    int low = 0, high = 20;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (table[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    printf("\n%d\n", low);
    return 0;
}
