/* Dynamic programming: knapsacks, common subsequences, partitions, matrix chains, coins, Catalan. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int knapsack(const int *weight, const int *value, int n, int room, uint32_t *taken) {
    int best[64] = {0};
    uint32_t which[64] = {0};
    for (int i = 0; i < n; i++)
        for (int r = room; r >= weight[i]; r--)
            if (best[r - weight[i]] + value[i] > best[r]) {
                best[r] = best[r - weight[i]] + value[i];
                which[r] = which[r - weight[i]] | 1u << i;
            }
    *taken = which[room];
    return best[room];
}

static void common(const char *a, const char *b) {
    static uint8_t length[32][32];
    int n = (int)strlen(a), m = (int)strlen(b);
    memset(length, 0, sizeof length);
    for (int i = n - 1; i >= 0; i--)
        for (int j = m - 1; j >= 0; j--)
            length[i][j] = a[i] == b[j]                         ? (uint8_t)(length[i + 1][j + 1] + 1)
                           : length[i + 1][j] > length[i][j + 1] ? length[i + 1][j]
                                                                 : length[i][j + 1];
    printf("%d: ", length[0][0]);
    for (int i = 0, j = 0; i < n && j < m;) {
        if (a[i] == b[j])
            putchar(a[i]), i++, j++;
        else if (length[i + 1][j] >= length[i][j + 1])
            i++;
        else
            j++;
    }
    printf("\n");
}

static uint64_t partitions(int n) {
    static uint64_t p[130];
    p[0] = 1;
    for (int i = 1; i <= n; i++) {
        p[i] = 0;
        for (int k = 1; k * (3 * k - 1) / 2 <= i; k++) {
            uint64_t term = p[i - k * (3 * k - 1) / 2];
            if (k * (3 * k + 1) / 2 <= i) term += p[i - k * (3 * k + 1) / 2];
            p[i] += k % 2 ? term : -term;
        }
    }
    return p[n];
}

static uint64_t cost[10][10];
static int cut[10][10];

static uint64_t chain(const int *sizes, int from, int to) {
    if (from == to) return 0;
    if (cost[from][to]) return cost[from][to];
    uint64_t best = UINT64_MAX;
    for (int k = from; k < to; k++) {
        uint64_t c = chain(sizes, from, k) + chain(sizes, k + 1, to) + (uint64_t)sizes[from] * sizes[k + 1] * sizes[to + 1];
        if (c < best) best = c, cut[from][to] = k;
    }
    return cost[from][to] = best;
}

static void brackets(int from, int to) {
    if (from == to) {
        putchar('A' + from);
        return;
    }
    putchar('(');
    brackets(from, cut[from][to]);
    brackets(cut[from][to] + 1, to);
    putchar(')');
}

static int rising(const int *x, int n, int *out) { /* the longest rising subsequence, by patience */
    int tops[32], before[32], count = 0;
    for (int i = 0; i < n; i++) {
        int low = 0, high = count;
        while (low < high) {
            int middle = (low + high) / 2;
            if (x[tops[middle]] < x[i])
                low = middle + 1;
            else
                high = middle;
        }
        before[i] = low ? tops[low - 1] : -1;
        tops[low] = i;
        if (low == count) count++;
    }
    for (int k = count - 1, i = tops[k]; k >= 0; k--, i = before[i]) out[k] = x[i];
    return count;
}

static int64_t best_sum(const int *x, int n) {
    int64_t best = INT64_MIN, here = 0;
    for (int i = 0; i < n; i++) {
        here = here > 0 ? here + x[i] : x[i];
        if (here > best) best = here;
    }
    return best;
}

int main(void) {
    const int weight[] = {12, 7, 11, 8, 9, 6, 5, 14}, value[] = {24, 13, 23, 15, 16, 11, 9, 28};
    uint32_t taken;
    int best = knapsack(weight, value, 8, 40, &taken);
    printf("knapsack %d, things %02x\n", best, taken);
    common("nematode knowledge", "empty bottle");
    common("AGGTABCXYAB", "GXTXAYBAB");
    printf("%" PRIu64 " %" PRIu64 "\n", partitions(60), partitions(125));
    uint64_t ways[101] = {1};
    for (const int *coin = (const int[]){1, 2, 5, 10, 20, 50, 100, 0}; *coin; coin++)
        for (int sum = *coin; sum <= 100; sum++) ways[sum] += ways[sum - *coin];
    printf("%" PRIu64 " ways\n", ways[100]);
    const int sizes[] = {30, 35, 15, 5, 10, 20, 25};
    printf("%" PRIu64 " ", chain(sizes, 0, 5));
    brackets(0, 5);
    printf("\n");
    int x[24], longest[24];
    for (int i = 0; i < 24; i++) x[i] = (i * 37 + i * i * 11) % 101 - 40;
    int count = rising(x, 24, longest);
    for (int i = 0; i < count; i++) printf("%d ", longest[i]);
    printf("\n%" PRId64 "\n", best_sum(x, 24));
    uint64_t catalan = 1, stirling[12][12] = {{1}};
    for (unsigned n = 0; n < 33; n++) catalan = catalan * 2 * (2 * n + 1) / (n + 2);
    for (int n = 1; n < 12; n++)
        for (int k = 1; k <= n; k++) stirling[n][k] = (uint64_t)k * stirling[n - 1][k] + stirling[n - 1][k - 1];
    printf("%" PRIu64 " %" PRIu64 "\n", catalan, stirling[11][4]);
    return 0;
}
