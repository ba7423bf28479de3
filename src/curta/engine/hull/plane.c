/* Points in the plane: those that can be among the k furthest in some direction.
 *
 * An *onion* is a list of layers, each a chain as in chain.c. Call S_1 all points and S_i+1 what
 * layer i leaves over. For every direction with qy > 0, layer i holds the first of S_i by (score,
 * position): a hull vertex (of several points there, the latest), or, when a whole edge ties, the
 * latest point inside that edge, which is kept with the edge. Everything else goes on to S_i+1.
 * Directions with qy < 0 are answered by the onion of the points mirrored at the x axis.
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
 * Directions with qy = 0, where columns tie, are answered by *rankings*: by x, and for the query 0,
 * where all points tie, by position alone.
 *
 * The hard maximum is the case k = 1. There the values of points that tie can be added up (KEEP_SUM).
 */
typedef struct {
    chain *layers; /* k of them; those beyond `used` are not open yet */
    int used;
    double sign;  /* 1: upper, -1: of the mirrored points */
    int expected; /* how many layers a query like the last opens */
} onion;

typedef struct {
    double score;
    uint32_t id;
} ranked;

/* The first k points in one direction: a ring, the last of them first. */
typedef struct {
    ranked *ring;
    int start, count;
} ranking;

/* Along one layer, away from its summit: scores fall. The next point is known, and the one ahead of it,
 * so that nobody waits for it. */
typedef struct {
    double score, ahead_score;
    uint32_t next, ahead;
    uint32_t behind; /* the edge on the way to `ahead`, or the vertex: the second of both */
    const node *leaf;
    int index, step, layer;
} walk;

/* A walk, in the tournament of all. */
typedef struct {
    double score;
    uint64_t walk;
} entrant;

#define NOBODY UINT64_MAX

typedef struct {
    int k;
    double scale;
    pool records;
    onion onions[2];     /* the upper one, and that of the mirrored points */
    ranking rankings[3]; /* by -x, by position alone, by x */
    id_list arriving;
    walk *walks;       /* this and what follows is for queries */
    entrant *games;    /* who lost where */
    uint32_t *winners;
    double *scores;    /* of the winners, relative to the first */
} plane;

static void plane_open(plane *h, int width, policy what, int k, double scale) {
    size_t room = (size_t)k;
    h->k = k;
    h->scale = scale;
    pool_open(&h->records, width, k > 1 ? PASS_DOWN : what);
    for (int i = 0; i < 2; i++) {
        chain *layers = checked(calloc(room, sizeof(chain)));
        h->onions[i] = (onion){layers, .sign = i ? -1.0 : 1.0, .expected = 1};
    }
    for (int i = 0; i < 3; i++) h->rankings[i].ring = checked(malloc(room * sizeof(ranked)));
    h->walks = checked(malloc(2 * room * sizeof(walk)));
    h->games = checked(malloc(2 * room * sizeof(entrant)));
    h->winners = checked(malloc(room * sizeof(uint32_t)));
    h->scores = checked(malloc(room * sizeof(double)));
}

static void plane_close(plane *h) {
    pool_close(&h->records);
    for (onion *o = h->onions; o < h->onions + 2; o++) {
        for (int i = 0; i < o->used; i++) free_tree(o->layers[i].root);
        free(o->layers);
    }
    for (int i = 0; i < 3; i++) free(h->rankings[i].ring);
    void *parts[] = {h->arriving.items, h->walks, h->games, h->winners, h->scores};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) free(parts[i]);
}

static int64_t plane_vertices(const plane *h) {
    int64_t vertices = 0;
    for (const onion *o = h->onions; o < h->onions + 2; o++)
        for (int i = 0; i < o->used; i++) vertices += o->layers[i].vertices;
    return vertices;
}

static size_t plane_bytes(const plane *h) {
    size_t each = 2 * sizeof(chain) + 3 * sizeof(ranked) + 2 * sizeof(walk) + 2 * sizeof(entrant) +
                  sizeof(uint32_t) + sizeof(double);
    size_t bytes = sizeof *h + pool_bytes(&h->records) + each * (size_t)h->k;
    for (const onion *o = h->onions; o < h->onions + 2; o++)
        for (int i = 0; i < o->used; i++) bytes += chain_bytes(&o->layers[i]);
    return bytes;
}

/* -- insertion -- */

/* The next layer, and the place of its first point. */
static place open_layer(onion *o, double x, double y) {
    chain *c = &o->layers[o->used++];
    c->root = new_node(c, 0);
    return place_point(c, x, y);
}

/* The first layer that would not have the point below it, k if there is none, and its place there. Most
 * points are below all layers: the last one is asked first. */
static int layer_of(onion *o, int k, double x, double y, place *found) {
    int low = 0, high = o->used;
    for (int asked = high - 1; low < high; asked = (low + high) / 2) {
        place here = place_point(&o->layers[asked], x, y);
        if (here.where == BELOW) low = asked + 1;
        else high = asked, *found = here;
    }
    if (low == o->used && low < k) *found = open_layer(o, x, y);
    return low;
}

/* Offer what has fallen out of the layer before to this one; what it does not take, and what it lets
 * go, is passed on. */
static void pass_layer(plane *h, onion *o, int layer) {
    pool *p = &h->records;
    id_list arriving = p->passed;
    p->passed = h->arriving;
    p->passed.length = 0;
    h->arriving = arriving;
    for (int64_t i = 0; i < arriving.length; i++) {
        uint32_t id = arriving.items[i];
        double x = field(p, id, AT_X), y = o->sign * field(p, id, AT_Y);
        place here = layer == o->used ? open_layer(o, x, y) : place_point(&o->layers[layer], x, y);
        if (here.where == BELOW) push_id(&p->passed, id);
        else keep_point(&o->layers[layer], p, here, x, y, id);
    }
}

static void onion_insert(plane *h, onion *o, int64_t position, const double *key,
                         const double *value) {
    pool *p = &h->records;
    double x = key[0], y = o->sign * key[1];
    place here;
    int layer = layer_of(o, h->k, x, y, &here);
    if (layer == h->k) return;
    uint32_t id = new_record(p, position, key, value);
    keep_point(&o->layers[layer], p, here, x, y, id);
    while (p->passed.length > 0 && ++layer < h->k) pass_layer(h, o, layer);
    for (int64_t i = 0; i < p->passed.length; i++) free_record(p, p->passed.items[i]);
    p->passed.length = 0;
}

static ranked *ranked_at(const plane *h, const ranking *r, int i) {
    return &r->ring[r->start + i < h->k ? r->start + i : r->start + i - h->k];
}

/* The new point, being the latest, comes before those it ties with. */
static void rank(plane *h, ranking *r, double score, int64_t position, const double *key,
                 const double *value) {
    pool *p = &h->records;
    ranked *last = ranked_at(h, r, 0);
    uint32_t id;
    if (r->count < h->k) {
        id = new_record(p, position, key, value);
    } else if (score < last->score) {
        return;
    } else if (p->what == KEEP_SUM && score == last->score) {
        last->id = combine(p, last->id, new_record(p, position, key, value));
        return;
    } else {
        write_record(p, id = last->id, position, key, value);
        r->start = r->start + 1 < h->k ? r->start + 1 : 0;
        r->count--;
    }
    int i = r->count++;
    for (; i > 0 && ranked_at(h, r, i - 1)->score > score; i--)
        *ranked_at(h, r, i) = *ranked_at(h, r, i - 1);
    *ranked_at(h, r, i) = (ranked){score, id};
}

static void plane_insert(plane *h, int64_t position, const double *key, const double *value) {
    for (int i = 0; i < 2; i++) onion_insert(h, &h->onions[i], position, key, value);
    for (int i = 0; i < 3; i++) rank(h, &h->rankings[i], (i - 1) * key[0], position, key, value);
}
