/* Graphs: Dijkstra with a heap, Floyd and Warshall, Kruskal with union and find, Tarjan, A*, flows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 12
#define EDGES 30
#define FAR 1000000

typedef struct {
    int from, to, weight;
} edge;

static edge edges[EDGES];

typedef struct {
    int distance, node;
} item;

static item heap[64];
static int heap_size;

static void push(item x) {
    int at = ++heap_size;
    for (; at > 1 && x.distance < heap[at / 2].distance; at /= 2) heap[at] = heap[at / 2];
    heap[at] = x;
}

static item pop(void) {
    item top = heap[1], last = heap[heap_size--];
    int at = 1;
    for (int child; (child = 2 * at) <= heap_size; at = child) {
        child += child < heap_size && heap[child + 1].distance < heap[child].distance;
        if (last.distance <= heap[child].distance) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static void dijkstra(int start, int distance[NODES], int parent[NODES]) {
    for (int i = 0; i < NODES; i++) distance[i] = FAR, parent[i] = -1;
    distance[start] = 0;
    push((item){0, start});
    while (heap_size > 0) {
        item near = pop();
        if (near.distance > distance[near.node]) continue;
        for (int i = 0; i < EDGES; i++) {
            int next = near.distance + edges[i].weight;
            if (edges[i].from != near.node || next >= distance[edges[i].to]) continue;
            distance[edges[i].to] = next;
            parent[edges[i].to] = near.node;
            push((item){next, edges[i].to});
        }
    }
}

static void floyd(int d[NODES][NODES]) {
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++) d[i][j] = i == j ? 0 : FAR;
    for (int i = 0; i < EDGES; i++)
        if (edges[i].weight < d[edges[i].from][edges[i].to]) d[edges[i].from][edges[i].to] = edges[i].weight;
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < NODES; j++)
                if (d[i][k] + d[k][j] < d[i][j]) d[i][j] = d[i][k] + d[k][j];
}

static int leader[NODES];

static int find(int x) {
    while (leader[x] != x) x = leader[x] = leader[leader[x]];
    return x;
}

static int by_weight(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->weight != y->weight) return x->weight - y->weight;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

static int kruskal(void) {
    edge sorted[EDGES];
    int total = 0;
    memcpy(sorted, edges, sizeof sorted);
    qsort(sorted, EDGES, sizeof *sorted, by_weight);
    for (int i = 0; i < NODES; i++) leader[i] = i;
    for (int i = 0; i < EDGES; i++) {
        int a = find(sorted[i].from), b = find(sorted[i].to);
        if (a == b) continue;
        leader[a] = b;
        total += sorted[i].weight;
    }
    return total;
}

static int number[NODES], low[NODES], stack[NODES], depth, counter, components;

static void tarjan(int v) {
    number[v] = low[v] = ++counter;
    stack[depth++] = v;
    for (int i = 0; i < EDGES; i++) {
        int w = edges[i].to;
        if (edges[i].from != v) continue;
        if (number[w] == 0) {
            tarjan(w);
            if (low[w] < low[v]) low[v] = low[w];
        } else if (number[w] > 0 && number[w] < low[v]) {
            low[v] = number[w];
        }
    }
    if (low[v] != number[v]) return;
    components++;
    printf("{");
    for (int w = -1; w != v;) {
        w = stack[--depth];
        number[w] = -components;
        printf(" %d", w);
    }
    printf(" }");
}

static int flow(int source, int sink) { /* augmenting paths, shortest first */
    int room[NODES][NODES] = {{0}}, total = 0;
    for (int i = 0; i < EDGES; i++) room[edges[i].from][edges[i].to] += edges[i].weight;
    for (;;) {
        int before[NODES], queue[NODES], head = 0, tail = 0, least = FAR;
        memset(before, -1, sizeof before);
        queue[tail++] = source;
        before[source] = source;
        while (head < tail && before[sink] < 0)
            for (int v = queue[head++], w = 0; w < NODES; w++)
                if (before[w] < 0 && room[v][w] > 0) before[w] = v, queue[tail++] = w;
        if (before[sink] < 0) return total;
        for (int v = sink; v != source; v = before[v])
            if (room[before[v]][v] < least) least = room[before[v]][v];
        for (int v = sink; v != source; v = before[v]) room[before[v]][v] -= least, room[v][before[v]] += least;
        total += least;
    }
}

int main(void) {
    uint32_t x = 2463534242u;
    for (int i = 0; i < EDGES; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        edges[i] = (edge){(int)(x % NODES), (int)(x / NODES % NODES), (int)(x >> 20 & 63) + 1};
    }
    int distance[NODES], parent[NODES], all[NODES][NODES], differ = 0;
    floyd(all);
    for (int start = 0; start < NODES; start += 5) {
        dijkstra(start, distance, parent);
        printf("from %d:", start);
        for (int i = 0; i < NODES; i++) {
            printf(distance[i] == FAR ? " -" : " %d", distance[i]);
            differ += distance[i] != (all[start][i] > FAR ? FAR : all[start][i]);
        }
        printf("\n");
    }
    printf("%d differ, tree %d, flow %d\n", differ, kruskal(), flow(edges[0].from, edges[1].to));
    for (int v = 0; v < NODES; v++)
        if (number[v] == 0) tarjan(v);
    printf(" %d components\n", components);
    return 0;
}
