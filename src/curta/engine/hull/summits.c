/* The summits of many chains at once.
 *
 * One search is a row of comparisons, each of which waits for the one before and, where the processor
 * guesses, is guessed wrong half of the time. Here many searches take their steps in turn and no step
 * branches on a comparison, so that their waiting overlaps.
 */
#define TOGETHER 24 /* chains, at most */

/* 1 if the second point scores higher than the first, else 0. */
static inline int scores_more(double qx, double qy, double x1, double y1, double x2, double y2) {
    double l = qx * (x2 - x1), r = qy * (y2 - y1), sum = l + r;
    if (RARELY(!(fabs(sum) > FILTER * (fabs(l) + fabs(r)) + UNDERFLOW_BOUND)))
        return dot_sign_exactly(qx, qy, x2, y2, x1, y1) > 0;
    return sum > 0.0;
}

/* Some compilers drop calls of functions that only prefetch: these are always inlined. */
INLINED void prefetch_bytes(const void *start, size_t size) {
    for (size_t i = 0; i < size; i += 64) __builtin_prefetch((const char *)start + i);
}

/* A large tree is in no cache: one wait for all of a node is better than many. Who will walk on from
 * the summit (`around`) also reads the near halves of the leaves beside it. */
INLINED void prefetch_child(const branch *b, int i, int height, int around) {
    prefetch_bytes(b->child[i], height > 1 ? sizeof(branch) : sizeof(leaf));
    if (height > 1 || !around) return;
    size_t half = sizeof(vertex) * LEAF_CAPACITY / 2, third = half * 2 / 3;
    if (i > 0) prefetch_bytes((const char *)b->child[i - 1] + third, sizeof(leaf) - third);
    if (i + 1 < b->count) prefetch_bytes(b->child[i + 1], half);
}

/* The first step of a search among this many. */
static int half_of(int count) {
    int half = 1;
    while (2 * half < count) half *= 2;
    return half;
}

/* In each branch, the last child at whose first vertex the score still rises. */
static void choose_children(int count, branch *const *b, double qx, double qy, int *chosen) {
    int most = 0;
    for (int i = 0; i < count; i++) {
        chosen[i] = 0;
        most = b[i]->count > most ? b[i]->count : most;
    }
    for (int half = half_of(most); half > 0; half /= 2)
        for (int i = 0; i < count; i++) {
            int last = b[i]->count - 1, next = chosen[i] + half < last ? chosen[i] + half : last;
            const entry *e = &b[i]->at[next];
            chosen[i] += (next - chosen[i]) & -scores_more(qx, qy, e->x, e->y, e->second_x, e->second_y);
        }
}

/* In each chain, the leaf in which the score stops rising, or to whose end it rises. */
static void find_leaves(const chain *c, int count, double qx, double qy, int around, leaf **found) {
    branch *node[TOGETHER];
    int chosen[TOGETHER], chain_of[TOGETHER], height = 0;
    for (int i = 0; i < count; i++) {
        found[i] = c[i].root;
        height = c[i].height > height ? c[i].height : height;
    }
    for (; height > 0; height--) {
        int nodes = 0;
        for (int i = 0; i < count; i++)
            if (c[i].height >= height) node[nodes] = (branch *)found[i], chain_of[nodes++] = i;
        choose_children(nodes, node, qx, qy, chosen);
        for (int i = 0; i < nodes; i++) {
            found[chain_of[i]] = node[i]->child[chosen[i]];
            if (c[chain_of[i]].height > 1) prefetch_child(node[i], chosen[i], height, around);
        }
    }
}

/* The leftmost vertices with the highest score in a direction with qy > 0; each chain has one. */
static void find_summits(const chain *c, int count, double qx, double qy, int around,
                         cursor *found) {
    leaf *l[TOGETHER];
    int low[TOGETHER] = {0}, most = 0;
    find_leaves(c, count, qx, qy, around, l);
    for (int i = 0; i < count; i++) most = l[i]->count > most ? l[i]->count : most;
    for (int half = half_of(most); half > 0; half /= 2)
        for (int i = 0; i < count; i++) {
            int last = l[i]->count - 1, next = low[i] + half < last ? low[i] + half : last;
            if (RARELY(last == 0)) continue;
            const vertex *v = &l[i]->at[next];
            low[i] += (next - low[i]) & -scores_more(qx, qy, v[-1].x, v[-1].y, v->x, v->y);
        }
    for (int i = 0; i < count; i++) {
        found[i] = (cursor){l[i], low[i]};
        if (low[i] < l[i]->count - 1 || l[i]->next == NULL) continue;
        const vertex *last = &l[i]->at[low[i]], *next = &l[i]->next->at[0];
        if (scores_more(qx, qy, last->x, last->y, next->x, next->y)) found[i] = (cursor){l[i]->next, 0};
    }
}
