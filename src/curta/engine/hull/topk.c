/* The k highest scores, from nested hulls.
 *
 * An *onion* is a list of layers, each a chain as in chain.c. Call S_1 all points and S_i+1 what
 * layer i leaves over. For every direction with qy > 0, layer i holds the first of S_i by (score,
 * position): a hull vertex (of several points there, the latest), or, when a whole edge ties, the
 * latest point inside that edge, which is kept with the edge. Everything else goes on to S_i+1.
 *
 * Layers 1 to k are enough. A point p in none of them is in S_1, ..., S_k. For any query, the
 * first of S_i is in layer i and comes before p: k different points come before p, so p is not
 * among the first k. Points that fall out of layer k are therefore forgotten, and since points only
 * ever arrive, they never come back.
 *
 * Insertion. A point is BELOW layer i only if it is below every layer before, so the first layer
 * that takes it is found by binary search. The points that it pushes out go to the next layer,
 * where they push out others: the cascade. One insertion costs O(log k log n) when it stays below
 * all layers, and O(m log n) when the cascade moves m points; each point moves down at most k times,
 * so it is O(k log n) amortised.
 *
 * Directions with qy = 0, where columns tie, are answered by rankings by x, of O(log k) an insertion.
 *
 * Query. The best of layer i comes before everything in layer i+1. So: a heap of candidates; when
 * the first point of the deepest open layer is taken, open the next; when a vertex is taken, its
 * neighbour away from the summit follows. With L layers opened, O(L log n + k log k); L <= k.
 */
typedef struct {
    chain *layers; /* k of them; those beyond `used` are not open yet */
    int used;
    double sign; /* 1: upper, -1: of the mirrored points */
} onion;

/* The k points with the largest sign * x, of equals the latest: a heap, the last of them on top. */
typedef struct {
    uint32_t *ids;
    int count;
    double sign;
} ranking;

typedef enum { STOP, LEFTWARD, RIGHTWARD } heading;

typedef struct {
    double x, y;
    int64_t position;
    uint32_t id;
    int layer, on_edge;
    heading toward;
    cursor where;
} candidate;

typedef struct {
    int width, k;
    double scale;
    int64_t points;
    pool records;
    onion upper, lower;
    ranking left, right;
    uint32_t *recent; /* a ring: position modulo k */
    id_list arriving, leaving;
    candidate *heap;
    int heap_count;
    uint32_t *winners;
    double *weights; /* of the winners */
} topk;

static void onion_open(onion *o, int k, double sign) {
    o->layers = checked(malloc(sizeof(chain) * (size_t)k));
    o->used = 0;
    o->sign = sign;
}

static void onion_close(onion *o) {
    for (int i = 0; i < o->used; i++) chain_close(&o->layers[i]);
    free(o->layers);
}

static int lies_below(const onion *o, int layer, double x, double y) {
    cursor near;
    return place_point(&o->layers[layer], x, y, &near) == BELOW;
}

/* The first layer that would not have the point below it; `used` if there is none. */
static int layer_of(const onion *o, double x, double y) {
    int low = 0, high = o->used;
    while (low < high) {
        int middle = (low + high) / 2;
        if (lies_below(o, middle, x, y)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Offer the arriving points to one layer; those it does not take, and those it lets go, leave. */
static void pass_layer(topk *t, onion *o, int layer) {
    pool *p = &t->records;
    chain *c = &o->layers[layer];
    t->leaving.length = 0;
    for (int64_t i = 0; i < t->arriving.length; i++) {
        uint32_t id = t->arriving.items[i];
        double x = field(p, id, AT_X), y = o->sign * field(p, id, AT_Y);
        cursor near;
        verdict where = place_point(c, x, y, &near);
        if (where == BELOW) push_id(&t->leaving, id);
        else keep_point(c, p, where, near, x, y, id);
    }
    for (int64_t i = 0; i < p->passed.length; i++) push_id(&t->leaving, p->passed.items[i]);
    p->passed.length = 0;
    id_list swapped = t->arriving;
    t->arriving = t->leaving;
    t->leaving = swapped;
}

static void onion_insert(topk *t, onion *o, int64_t position, const double *key,
                         const double *value) {
    int layer = layer_of(o, key[0], o->sign * key[1]);
    if (layer == t->k) return;
    t->arriving.length = 0;
    push_id(&t->arriving, new_record(&t->records, position, key[0], key[1], value));
    for (; layer < t->k && t->arriving.length > 0; layer++) {
        if (layer == o->used) chain_open(&o->layers[o->used++]);
        pass_layer(t, o, layer);
    }
    for (int64_t i = 0; i < t->arriving.length; i++)
        free_record(&t->records, t->arriving.items[i]);
}

static int ranks_after(const topk *t, double sign, uint32_t first, uint32_t second) {
    const pool *p = &t->records;
    double a = field(p, first, AT_X), b = field(p, second, AT_X);
    return sign * a < sign * b || (a == b && position_of(p, first) < position_of(p, second));
}

static void sink(const topk *t, double sign, uint32_t *ids, int count) {
    uint32_t id = ids[0];
    int i = 0;
    for (int child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && ranks_after(t, sign, ids[child + 1], ids[child])) child++;
        if (!ranks_after(t, sign, ids[child], id)) break;
        ids[i] = ids[child];
    }
    ids[i] = id;
}

/* The new point, being the latest, comes before those it ties with. */
static void rank_insert(topk *t, ranking *r, int64_t position, const double *key,
                        const double *value) {
    if (r->count == t->k) {
        if (r->sign * key[0] < r->sign * field(&t->records, r->ids[0], AT_X)) return;
        free_record(&t->records, r->ids[0]);
        r->ids[0] = new_record(&t->records, position, key[0], key[1], value);
        sink(t, r->sign, r->ids, r->count);
        return;
    }
    uint32_t id = new_record(&t->records, position, key[0], key[1], value);
    int i = r->count++;
    for (; i > 0 && ranks_after(t, r->sign, id, r->ids[(i - 1) / 2]); i = (i - 1) / 2)
        r->ids[i] = r->ids[(i - 1) / 2];
    r->ids[i] = id;
}

static void keep_recent(topk *t, int64_t position, const double *key, const double *value) {
    uint32_t *place = &t->recent[position % t->k];
    if (position >= t->k) free_record(&t->records, *place);
    *place = new_record(&t->records, position, key[0], key[1], value);
}

static void topk_insert_one(topk *t, const double *key, const double *value) {
    int64_t position = t->points++;
    onion_insert(t, &t->upper, position, key, value);
    onion_insert(t, &t->lower, position, key, value);
    rank_insert(t, &t->left, position, key, value);
    rank_insert(t, &t->right, position, key, value);
    keep_recent(t, position, key, value);
}

/* ---- the search ---- */

static int comes_before(const candidate *a, const candidate *b, double qx, double up) {
    int sign = dot_sign(qx, up, a->x, a->y, b->x, b->y);
    return sign > 0 || (sign == 0 && a->position > b->position);
}

static void push_candidate(topk *t, const onion *o, int layer, cursor where, int on_edge,
                           heading toward, double qx, double up) {
    uint32_t id = on_edge ? EDGE(where) : MASS(where);
    const pool *p = &t->records;
    double x = field(p, id, AT_X), y = o->sign * field(p, id, AT_Y);
    candidate new = {x, y, position_of(p, id), id, layer, on_edge, toward, where};
    int i = t->heap_count++;
    for (; i > 0 && comes_before(&new, &t->heap[(i - 1) / 2], qx, up); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = new;
}

static candidate pop_candidate(topk *t, double qx, double up) {
    candidate *heap = t->heap, first = heap[0], last = heap[--t->heap_count];
    int i = 0;
    for (;;) {
        int child = 2 * i + 1;
        if (child >= t->heap_count) break;
        if (child + 1 < t->heap_count && comes_before(&heap[child + 1], &heap[child], qx, up))
            child++;
        if (!comes_before(&heap[child], &last, qx, up)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return first;
}

static void push_after(topk *t, const onion *o, const candidate *taken, double qx, double up) {
    if (taken->toward == STOP) return;
    if (taken->toward == RIGHTWARD) {
        cursor next = successor(taken->where);
        if (next.leaf == NULL) return;
        if (!taken->on_edge && EDGE(taken->where) != NONE)
            push_candidate(t, o, taken->layer, taken->where, 1, RIGHTWARD, qx, up);
        else
            push_candidate(t, o, taken->layer, next, 0, RIGHTWARD, qx, up);
        return;
    }
    if (taken->on_edge) { /* an edge belongs to the vertex at its left */
        push_candidate(t, o, taken->layer, taken->where, 0, LEFTWARD, qx, up);
        return;
    }
    cursor next = predecessor(taken->where);
    if (next.leaf != NULL)
        push_candidate(t, o, taken->layer, next, EDGE(next) != NONE, LEFTWARD, qx, up);
}

/* Put the best of a layer, with all that ties with it, and the first to its right on the heap. */
static void open_layer(topk *t, const onion *o, int layer, double qx, double up) {
    const chain *c = &o->layers[layer];
    if (c->vertices == 0) return;
    cursor best = summit(c, qx, up), after = successor(best);
    push_candidate(t, o, layer, best, 0, LEFTWARD, qx, up);
    if (after.leaf == NULL) return;
    int has_edge = EDGE(best) != NONE;
    if (dot_sign(qx, up, X(after), Y(after), X(best), Y(best)) != 0) {
        push_candidate(t, o, layer, has_edge ? best : after, has_edge, RIGHTWARD, qx, up);
        return;
    }
    if (has_edge) push_candidate(t, o, layer, best, 1, STOP, qx, up);
    push_candidate(t, o, layer, after, 0, RIGHTWARD, qx, up);
}

static int search_onion(topk *t, const onion *o, double qx, double up) {
    int found = 0, opened = 0;
    t->heap_count = 0;
    open_layer(t, o, opened++, qx, up);
    while (found < t->k && t->heap_count > 0) {
        candidate taken = pop_candidate(t, qx, up);
        t->winners[found++] = taken.id;
        push_after(t, o, &taken, qx, up);
        if (taken.layer == opened - 1 && opened < o->used) open_layer(t, o, opened++, qx, up);
    }
    return found;
}

/* Heapsort: the last of the rest goes to the end. */
static int sort_ranking(topk *t, const ranking *r) {
    memcpy(t->winners, r->ids, sizeof(uint32_t) * (size_t)r->count);
    for (int rest = r->count - 1; rest > 0; rest--) {
        uint32_t last = t->winners[0];
        t->winners[0] = t->winners[rest];
        t->winners[rest] = last;
        sink(t, r->sign, t->winners, rest);
    }
    return r->count;
}

static int list_recent(topk *t) {
    int count = t->points < t->k ? (int)t->points : t->k;
    for (int i = 0; i < count; i++) t->winners[i] = t->recent[(t->points - 1 - i) % t->k];
    return count;
}

static int find_winners(topk *t, const double *query) {
    double qx = query[0], qy = query[1];
    if (qy > 0.0) return search_onion(t, &t->upper, qx, qy);
    if (qy < 0.0) return search_onion(t, &t->lower, qx, -qy);
    if (qx > 0.0) return sort_ranking(t, &t->right);
    if (qx < 0.0) return sort_ranking(t, &t->left);
    return list_recent(t); /* all tie */
}

/* q . (key - best): the difference is taken between the keys first, so that large scores lose
 * nothing. No key scores higher than the best. */
static double score_below(const double *q, double x, double y, double best_x, double best_y) {
    double difference = q[0] * (x - best_x) + q[1] * (y - best_y);
    if (!isfinite(difference)) {
        const double wide[8] = {q[0], x, -q[0], best_x, q[1], y, -q[1], best_y};
        difference = wide_products(4, wide);
    }
    return fmax(difference, -DBL_MAX);
}

/* Softmax over the winners: weights exp(scale * (score - best score)), not yet normalised. */
static double weigh(topk *t, int found, const double *query) {
    const pool *p = &t->records;
    double x = field(p, t->winners[0], AT_X), y = field(p, t->winners[0], AT_Y), total = 0.0;
    for (int i = 0; i < found; i++) {
        uint32_t id = t->winners[i];
        double below = score_below(query, field(p, id, AT_X), field(p, id, AT_Y), x, y);
        t->weights[i] = exp(t->scale * below);
        total += t->weights[i];
    }
    return total;
}

/* `positions` and `weights`, k of each, may be NULL. */
static void attend(topk *t, const double *query, double *value, int64_t *positions,
                   double *weights) {
    int found = find_winners(t, query);
    double total = weigh(t, found, query);
    for (int j = 0; j < t->width; j++) value[j] = 0.0;
    for (int i = 0; i < found; i++) {
        const pool *p = &t->records;
        uint32_t id = t->winners[i];
        double weight = t->weights[i] / total;
        for (int j = 0; j < t->width; j++) value[j] += weight * field(p, id, p->first_value + j);
        if (positions != NULL) positions[i] = position_of(p, id);
        if (weights != NULL) weights[i] = weight;
    }
    for (int i = found; i < t->k; i++) {
        if (positions != NULL) positions[i] = -1;
        if (weights != NULL) weights[i] = 0.0;
    }
}

/* ---- what Python calls; results as in hull2d.c ---- */

static void open_topk_contents(topk *t) {
    t->points = 0;
    pool_open(&t->records, t->width, PASS_DOWN);
    onion_open(&t->upper, t->k, 1.0);
    onion_open(&t->lower, t->k, -1.0);
    t->left.count = t->right.count = 0;
}

static void close_topk_contents(topk *t) {
    pool_close(&t->records);
    onion_close(&t->upper);
    onion_close(&t->lower);
}

EXPORT topk *topk_create(int width, int k, double scale) {
    topk *t = checked(calloc(1, sizeof *t));
    t->width = width;
    t->k = k;
    t->scale = scale;
    t->left.sign = -1.0;
    t->right.sign = 1.0;
    t->left.ids = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->right.ids = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->recent = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->heap = checked(malloc(sizeof(candidate) * (size_t)(3 * k + 3)));
    t->winners = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->weights = checked(malloc(sizeof(double) * (size_t)k));
    open_topk_contents(t);
    return t;
}

EXPORT void topk_reset(topk *t) {
    close_topk_contents(t);
    open_topk_contents(t);
}

EXPORT void topk_free(topk *t) {
    close_topk_contents(t);
    free(t->left.ids);
    free(t->right.ids);
    free(t->recent);
    free(t->arriving.items);
    free(t->leaving.items);
    free(t->heap);
    free(t->winners);
    free(t->weights);
    free(t);
}

EXPORT int64_t topk_vertices(const topk *t) {
    int64_t vertices = 0;
    for (int i = 0; i < t->upper.used; i++) vertices += t->upper.layers[i].vertices;
    for (int i = 0; i < t->lower.used; i++) vertices += t->lower.layers[i].vertices;
    return vertices;
}

EXPORT int64_t topk_bytes(const topk *t) {
    size_t bytes = sizeof *t + pool_bytes(&t->records);
    bytes += (size_t)t->k * (2 * sizeof(chain) + 4 * sizeof(uint32_t) + sizeof(double) +
                             3 * sizeof(candidate));
    for (int i = 0; i < t->upper.used; i++) bytes += chain_bytes(&t->upper.layers[i]);
    for (int i = 0; i < t->lower.used; i++) bytes += chain_bytes(&t->lower.layers[i]);
    return (int64_t)bytes;
}

EXPORT int64_t topk_insert_many(topk *t, int64_t n, const double *keys, const double *values) {
    int64_t refused = first_refused(2 * n, keys, n * t->width, values, 0, NULL);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) topk_insert_one(t, keys + 2 * i, values + t->width * i);
    return -1;
}

EXPORT int64_t topk_query_many(topk *t, int64_t n, const double *queries, double *values,
                               int64_t *positions, double *weights) {
    int64_t refused = first_refused(0, NULL, 0, NULL, 2 * n, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++)
        attend(t, queries + 2 * i, values + t->width * i, positions + t->k * i, weights + t->k * i);
    return -1;
}

EXPORT int64_t topk_step_rows(topk *const *caches, int64_t rows, int64_t n, const double *keys,
                              const double *values, const double *queries, double *answers,
                              int64_t *positions, double *weights) {
    int64_t steps = rows * n, width = rows ? caches[0]->width : 0;
    int64_t refused = first_refused(2 * steps, keys, steps * width, values, 2 * steps, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < steps; i++) {
        topk *t = caches[i / n];
        topk_insert_one(t, keys + 2 * i, values + width * i);
        attend(t, queries + 2 * i, answers + width * i, positions ? positions + t->k * i : NULL,
               weights ? weights + t->k * i : NULL);
    }
    return -1;
}
