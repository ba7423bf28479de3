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
 * Queries are in topk_query.c.
 */
typedef struct {
    chain *layers; /* k of them; those beyond `used` are not open yet */
    int used;
    double sign;  /* 1: upper, -1: of the mirrored points */
    int expected; /* how many layers a query like the last opens */
} onion;

/* The k points that come first in direction (1, 0) or (-1, 0): a heap, the last of them on top. */
typedef struct {
    uint32_t *ids;
    int count;
    double direction[2];
} ranking;

/* A point that is kept, and its score under the query of the moment. */
typedef struct {
    double score;
    uint32_t id;
    int bucket;
} candidate;

/* Along one layer, away from its summit: scores fall. */
typedef struct {
    const leaf *leaf;
    int index, step;
    candidate next;
} walk;

typedef struct {
    int width, k;
    double scale;
    int64_t points;
    pool records;
    onion upper, lower;
    ranking left, right;
    uint32_t *recent; /* a ring: position modulo k */
    id_list arriving, leaving;
    walk *walks; /* this and what follows is for queries */
    int capacity;
    candidate *found;
    int *starts; /* of buckets */
    uint32_t *winners;
    double *scores; /* of the winners, relative to the first; NAN where not known */
} topk;

/* For what a query finds before it knows the k best. */
static void make_room(topk *t, int capacity) {
    size_t n = (size_t)(t->capacity = capacity);
    t->found = checked(realloc(t->found, n * sizeof *t->found));
    t->starts = checked(realloc(t->starts, 2 * n * sizeof *t->starts));
    t->winners = checked(realloc(t->winners, n * sizeof *t->winners));
    t->scores = checked(realloc(t->scores, n * sizeof *t->scores));
}

static void onion_open(onion *o, int k, double sign) {
    o->layers = checked(malloc(sizeof(chain) * (size_t)k));
    o->used = 0;
    o->expected = 1;
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

/* Does the first come after the second by (score, position)? Exact. */
static int comes_after(const pool *p, const double *query, uint32_t first, uint32_t second) {
    int sign = dot_sign(query[0], query[1], field(p, first, AT_X), field(p, first, AT_Y),
                        field(p, second, AT_X), field(p, second, AT_Y));
    return sign < 0 || (sign == 0 && position_of(p, first) < position_of(p, second));
}

static void sink(const pool *p, const double *query, uint32_t *ids, int count, int i) {
    uint32_t id = ids[i];
    for (int child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && comes_after(p, query, ids[child + 1], ids[child])) child++;
        if (!comes_after(p, query, ids[child], id)) break;
        ids[i] = ids[child];
    }
    ids[i] = id;
}

/* Heapsort, the best first: the last of the rest goes to the end. */
static void sort_exactly(const pool *p, const double *query, uint32_t *ids, int count) {
    for (int i = count / 2; i-- > 0;) sink(p, query, ids, count, i);
    for (int rest = count - 1; rest > 0; rest--) {
        uint32_t last = ids[0];
        ids[0] = ids[rest];
        ids[rest] = last;
        sink(p, query, ids, rest, 0);
    }
}

/* The new point, being the latest, comes before those it ties with. */
static void rank_insert(topk *t, ranking *r, int64_t position, const double *key,
                        const double *value) {
    pool *p = &t->records;
    if (r->count == t->k) {
        if (r->direction[0] * key[0] < r->direction[0] * field(p, r->ids[0], AT_X)) return;
        free_record(p, r->ids[0]);
        r->ids[0] = new_record(p, position, key[0], key[1], value);
        sink(p, r->direction, r->ids, r->count, 0);
        return;
    }
    uint32_t id = new_record(p, position, key[0], key[1], value);
    int i = r->count++;
    for (; i > 0 && comes_after(p, r->direction, id, r->ids[(i - 1) / 2]); i = (i - 1) / 2)
        r->ids[i] = r->ids[(i - 1) / 2];
    r->ids[i] = id;
}

static void keep_recent(topk *t, int64_t position, const double *key, const double *value) {
    uint32_t *place = &t->recent[position % t->k];
    if (position >= t->k) free_record(&t->records, *place);
    *place = new_record(&t->records, position, key[0], key[1], value);
}

static void topk_insert(topk *t, int64_t position, const double *key, const double *value) {
    t->points = position + 1;
    onion_insert(t, &t->upper, position, key, value);
    onion_insert(t, &t->lower, position, key, value);
    rank_insert(t, &t->left, position, key, value);
    rank_insert(t, &t->right, position, key, value);
    keep_recent(t, position, key, value);
}

static void topk_open(topk *t, int width, int k, double scale) {
    memset(t, 0, sizeof *t);
    t->width = width;
    t->k = k;
    t->scale = scale;
    pool_open(&t->records, width, PASS_DOWN);
    onion_open(&t->upper, k, 1.0);
    onion_open(&t->lower, k, -1.0);
    t->left.direction[0] = -1.0;
    t->right.direction[0] = 1.0;
    t->left.ids = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->right.ids = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->recent = checked(malloc(sizeof(uint32_t) * (size_t)k));
    t->walks = checked(malloc(sizeof(walk) * 2 * (size_t)k));
    make_room(t, 4 * k);
}

static void topk_close(topk *t) {
    pool_close(&t->records);
    onion_close(&t->upper);
    onion_close(&t->lower);
    void *parts[] = {t->left.ids,        t->right.ids, t->recent, t->arriving.items,
                     t->leaving.items,   t->walks,     t->found,  t->starts,
                     t->winners,         t->scores};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
}

static int64_t topk_vertices(const topk *t) {
    int64_t vertices = 0;
    for (int i = 0; i < t->upper.used; i++) vertices += t->upper.layers[i].vertices;
    for (int i = 0; i < t->lower.used; i++) vertices += t->lower.layers[i].vertices;
    return vertices;
}

static size_t topk_bytes(const topk *t) {
    size_t bytes = sizeof *t + pool_bytes(&t->records);
    bytes += (size_t)t->k * (2 * (sizeof(chain) + sizeof(walk)) + 3 * sizeof(uint32_t));
    bytes += (size_t)t->capacity * (sizeof(candidate) + 3 * sizeof(uint32_t) + sizeof(double));
    for (int i = 0; i < t->upper.used; i++) bytes += chain_bytes(&t->upper.layers[i]);
    for (int i = 0; i < t->lower.used; i++) bytes += chain_bytes(&t->lower.layers[i]);
    return bytes;
}
