/* The summits of chains: the leftmost vertices with the highest score in a direction with qy > 0. */

/* Does the score still rise at this entry, or to this vertex from the one before? */
INLINED int rises(const node *n, int i, double qx, double qy) {
    const entry *e = &n->entries[i];
    const vertex *v = &n->vertices[i];
    if (n->height > 0) return dot_sign(qx, qy, e->second_x, e->second_y, e->x, e->y) > 0;
    return dot_sign(qx, qy, v->x, v->y, v[-1].x, v[-1].y) > 0;
}

/* The summit may be the first vertex of the next leaf. */
INLINED cursor cross_leaf(cursor v, double qx, double qy) {
    cursor next = successor(v);
    if (next.index > 0 || next.leaf == NULL) return v;
    return dot_sign(qx, qy, at(next)->x, at(next)->y, at(v)->x, at(v)->y) > 0 ? next : v;
}

/* It branches on every comparison: heads that look back by fixed distances take the same way again and
 * again, which processors guess. */
static cursor summit(const chain *c, double qx, double qy) {
    node *n = c->root;
    for (;;) {
        int low = 0, high = n->count; /* rises at low, unless that is the first; not at high */
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (rises(n, middle, qx, qy)) low = middle;
            else high = middle;
        }
        if (n->height == 0) return cross_leaf((cursor){n, low}, qx, qy);
        n = n->entries[low].child;
    }
}

/* -- many at once --
 *
 * One search is a row of comparisons, each of which waits for the one before and, where the processor
 * guesses, is guessed wrong half of the time. Here many searches take their steps in turn and no step
 * branches on a comparison, so that their waiting overlaps.
 */

/* `rises`, without branching. */
INLINED int rises_unguessed(const node *n, int i, double qx, double qy) {
    const entry *e = &n->entries[i];
    const vertex *v = &n->vertices[i];
    double dx = n->height > 0 ? e->second_x - e->x : v->x - v[-1].x;
    double dy = n->height > 0 ? e->second_y - e->y : v->y - v[-1].y;
    double l = qx * dx, r = qy * dy, sum = l + r;
    if (RARELY(!(fabs(sum) > FILTER * (fabs(l) + fabs(r)) + UNDERFLOW_BOUND)))
        return rises(n, i, qx, qy);
    return sum > 0.0;
}

/* Some compilers drop calls of functions that only prefetch: these are always inlined. */
INLINED void prefetch_bytes(const void *start, size_t size) {
    for (size_t i = 0; i < size; i += 64) __builtin_prefetch((const char *)start + i);
}

/* A large tree is in no cache: one wait for all of a node is better than many. Who will walk on from
 * the summit also reads the near halves of the leaves beside it. */
INLINED void prefetch_child(const node *n, int i, int neighbours) {
    prefetch_bytes(n->entries[i].child, sizeof(node));
    if (n->height > 1 || !neighbours) return;
    size_t half = sizeof(vertex) * LEAF_CAPACITY / 2, third = half * 2 / 3;
    if (i > 0) prefetch_bytes((const char *)n->entries[i - 1].child + third, sizeof(node) - third);
    if (i + 1 < n->count) prefetch_bytes(n->entries[i + 1].child, half);
}

/* In each node at this height, go to the last item at which the score rises, or the first. */
INLINED void choose_items(cursor *found, int count, int height, double qx, double qy) {
    int most = 1, half = 1;
    for (int i = 0; i < count; i++)
        if (found[i].leaf->height == height && found[i].leaf->count > most)
            most = found[i].leaf->count;
    while (2 * half < most) half *= 2;
    for (; half > 0; half /= 2)
        for (int i = 0; i < count; i++) {
            const node *n = found[i].leaf;
            int here = found[i].index, next = here + half < n->count ? here + half : n->count - 1;
            if (RARELY(n->height != height || next == 0)) continue;
            found[i].index += (next - here) & -rises_unguessed(n, next, qx, qy);
        }
}

static void find_summits(const chain *c, int count, double qx, double qy, int neighbours,
                          cursor *found) {
    int height = 0;
    for (int i = 0; i < count; i++) {
        found[i] = (cursor){c[i].root, 0};
        height = c[i].root->height > height ? c[i].root->height : height;
    }
    for (; height >= 0; height--) {
        choose_items(found, count, height, qx, qy);
        for (int i = 0; height > 0 && i < count; i++) {
            const node *n = found[i].leaf;
            if (n->height != height) continue;
            if (c[i].root->height > 1) prefetch_child(n, found[i].index, neighbours);
            found[i] = (cursor){n->entries[found[i].index].child, 0};
        }
    }
    for (int i = 0; i < count; i++) found[i] = cross_leaf(found[i], qx, qy);
}
