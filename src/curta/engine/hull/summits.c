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

/* It branches on every comparison: heads that look back by fixed distances take the same way again and
 * again, which processors guess. */
INLINED cursor summit(const chain *c, double qx, double qy, int neighbours) {
    node *n = c->root;
    for (;;) {
        int low = 0, high = n->count; /* rises at low, unless that is the first; not at high */
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (rises(n, middle, qx, qy)) low = middle;
            else high = middle;
        }
        if (n->height == 0) return cross_leaf((cursor){n, low}, qx, qy);
        prefetch_child(n, low, neighbours);
        n = n->entries[low].child;
    }
}
