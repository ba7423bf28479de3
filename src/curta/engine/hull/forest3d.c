/* Points in space under insertion: which of them lies furthest in a direction?
 *
 * Not a hull: a forest of bounding-volume trees, searched by branch and bound with exact scores.
 * Facets of a hull in space are polygons; keeping what ties on them under insertion, with exact
 * answers for coplanar sets, costs more than it saves. Here ties and degenerate sets need no
 * special case: nothing is cut off that could still win or tie. Points that are certainly inside
 * the hull are forgotten (prune3d.c).
 *
 * Forest (logarithmic method): new points wait in a buffer; a full buffer is built into one tree
 * together with the smaller trees, much as in binary counting. When a point is rebuilt, either its
 * tree grows by half or points are forgotten, so that happens O(log n) times per insertion, each
 * time at O(log n): O(log^2 n) amortised, for any order. Equal points end up in one bucket, because
 * a split never separates equal coordinates, and there they become one record.
 *
 * Queries are scaled by a power of two to a size near 2^-6, so that nothing overflows. If that
 * would lose bits of a small coordinate, nothing is cut off.
 */
#define BUFFER_CAPACITY 128
#define TREES 64

typedef struct {
    double query[3]; /* scaled */
    int may_cut_off;
    spot best;
    double floor; /* no more than the best score */
    id_list ties;
} search;

typedef struct {
    pool records;
    spot buffer[BUFFER_CAPACITY];
    int buffered;
    tree3d trees[TREES]; /* each at least twice as large as the next */
    int tree_count;
    uint32_t all;
    search found;
} space;

static void space_open(space *s, int width, policy what) {
    pool_open(&s->records, width, what);
}

static void space_close(space *s) {
    pool_close(&s->records);
    for (int i = 0; i < s->tree_count; i++) close_tree(&s->trees[i]);
    free(s->found.ties.items);
}

static size_t space_bytes(const space *s) {
    size_t bytes = sizeof *s + pool_bytes(&s->records);
    for (int i = 0; i < s->tree_count; i++)
        bytes += sizeof(spot) * (size_t)s->trees[i].spot_count +
                 sizeof(volume) * (size_t)s->trees[i].volume_capacity;
    return bytes;
}

/* Points kept; equal ones in the buffer are counted apart. */
static int64_t space_vertices(const space *s) {
    int64_t count = s->buffered;
    for (int i = 0; i < s->tree_count; i++) count += s->trees[i].spot_count;
    return count;
}

/* Build one tree of the buffer and of the last trees, as long as they are less than twice as large
 * as what has been gathered. */
static void empty_buffer(space *s) {
    int64_t count = s->buffered;
    int keep = s->tree_count;
    while (keep > 0 && s->trees[keep - 1].spot_count < 2 * count)
        count += s->trees[--keep].spot_count;
    spot *gathered = checked(malloc(sizeof(spot) * (size_t)count)), *end = gathered;
    memcpy(end, s->buffer, sizeof(spot) * (size_t)s->buffered);
    end += s->buffered;
    while (s->tree_count > keep) {
        tree3d *t = &s->trees[--s->tree_count];
        memcpy(end, t->spots, sizeof(spot) * (size_t)t->spot_count);
        end += t->spot_count;
        close_tree(t);
    }
    count = prune_spots(&s->records, gathered, count);
    tree3d *t = &s->trees[s->tree_count++];
    t->spots = checked(malloc(sizeof(spot) * (size_t)count));
    build_volume(t, &s->records, gathered, count);
    free(gathered);
    s->buffered = 0;
}

static void space_insert(space *s, int64_t position, const double *key, const double *value) {
    if (s->buffered == BUFFER_CAPACITY) empty_buffer(s);
    spot *new = &s->buffer[s->buffered++];
    memcpy(new->c, key, sizeof new->c);
    new->mass = new_record(&s->records, position, key, value);
    s->all = combine(&s->records, s->all, new_record(&s->records, position, key, value));
}

/* ---- searching ---- */

/* The sign of q . (a - b). */
static int dot_sign_3d(const double *q, const double *a, const double *b) {
    double x = q[0] * (a[0] - b[0]), y = q[1] * (a[1] - b[1]), z = q[2] * (a[2] - b[2]);
    double sum = x + y + z, bound = 0x1p-50 * (fabs(x) + fabs(y) + fabs(z)); /* > (4 + ..)u */
    if (sum > bound + UNDERFLOW_BOUND) return 1;
    if (sum < -bound - UNDERFLOW_BOUND) return -1;
    const double wide[12] = {q[0], a[0],  -q[0], b[0], q[1],  a[1],
                             -q[1], b[1], q[2],  a[2], -q[2], b[2]};
    return sign_of_products(6, wide);
}

static int may_reach(const search *f, double bound) {
    return !f->may_cut_off || bound >= f->floor;
}

static void consider(search *f, const spot *candidate) {
    const double *q = f->query, *c = candidate->c;
    double x = q[0] * c[0], y = q[1] * c[1], z = q[2] * c[2];
    double score = x + y + z, slack = SLACK * (fabs(x) + fabs(y) + fabs(z)) + UNDERFLOW_SLACK;
    int sign = 1;
    if (f->ties.length > 0) {
        if (!may_reach(f, score + slack)) return;
        sign = dot_sign_3d(q, c, f->best.c);
    }
    if (sign > 0) {
        f->ties.length = 0;
        f->best = *candidate;
        f->floor = score - slack;
    }
    if (sign >= 0) push_id(&f->ties, candidate->mass);
}

static void search_volume(search *f, const tree3d *t, int64_t index) {
    const volume *v = &t->volumes[index];
    if (v->right == 0) {
        for (int64_t s = 0; s < v->count; s++) consider(f, &t->spots[v->first + s]);
        return;
    }
    int64_t children[2] = {index + 1, v->right};
    double bounds[2];
    for (int i = 0; i < 2; i++) bounds[i] = upper_bound(&t->volumes[children[i]], f->query);
    int better = bounds[1] > bounds[0];
    if (may_reach(f, bounds[better])) search_volume(f, t, children[better]);
    if (may_reach(f, bounds[!better])) search_volume(f, t, children[!better]);
}

static void scale_query(search *f, const double *query) {
    int exponent;
    frexp(fmax(fabs(query[0]), fmax(fabs(query[1]), fabs(query[2]))), &exponent);
    f->may_cut_off = 1;
    for (int i = 0; i < 3; i++) {
        f->query[i] = ldexp(query[i], -5 - exponent);
        if (ldexp(f->query[i], 5 + exponent) != query[i]) f->may_cut_off = 0;
    }
    if (!f->may_cut_off) memcpy(f->query, query, sizeof f->query);
}

static void search_space(space *s, const double *query) {
    search *f = &s->found;
    scale_query(f, query);
    f->floor = -INFINITY;
    f->ties.length = 0;
    for (int i = 0; i < s->buffered; i++) consider(f, &s->buffer[i]);
    for (int i = 0; i < s->tree_count; i++)
        if (may_reach(f, upper_bound(s->trees[i].volumes, f->query)))
            search_volume(f, &s->trees[i], 0);
}

static void space_answer(space *s, const double *query, selection read, double *value,
                         int64_t *position) {
    if (query[0] == 0.0 && query[1] == 0.0 && query[2] == 0.0) {
        s->found.ties.length = 0;
        push_id(&s->found.ties, s->all);
    } else {
        search_space(s, query);
    }
    const id_list *ties = &s->found.ties;
    write_answer(&s->records, (int)ties->length, ties->items, read, value, position);
}
