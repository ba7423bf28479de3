/* The forest of forest3d.c as Python calls it; results as in hull2d.c. */
typedef struct {
    space contents;
    search found;
    int64_t position;
    double *exchange; /* key[3], value[width], query[3], answer[width] */
} hull3d;

static void open_space(space *s, int width, policy what) {
    memset(s, 0, sizeof *s);
    s->width = width;
    s->what = what;
    pool_open(&s->records, width, what);
}

static void close_space(space *s) {
    pool_close(&s->records);
    for (int i = 0; i < s->tree_count; i++) close_tree(&s->trees[i]);
}

EXPORT hull3d *hull3d_create(int width, int average) {
    hull3d *h = checked(calloc(1, sizeof *h));
    h->exchange = checked(calloc((size_t)(6 + 2 * width), sizeof(double)));
    open_space(&h->contents, width, average ? KEEP_SUM : KEEP_LATEST);
    return h;
}

EXPORT void hull3d_free(hull3d *h) {
    close_space(&h->contents);
    free(h->found.ties.items);
    free(h->exchange);
    free(h);
}

EXPORT void hull3d_reset(hull3d *h) {
    int width = h->contents.width;
    policy what = h->contents.what;
    close_space(&h->contents);
    open_space(&h->contents, width, what);
}

EXPORT int64_t hull3d_bytes(const hull3d *h) {
    const space *s = &h->contents;
    size_t bytes = sizeof *h + pool_bytes(&s->records);
    for (int i = 0; i < s->tree_count; i++)
        bytes += sizeof(spot) * (size_t)s->trees[i].spot_count +
                 sizeof(volume) * (size_t)s->trees[i].volume_capacity;
    return (int64_t)bytes;
}

/* Points kept; equal ones in the buffer are counted apart. */
EXPORT int64_t hull3d_vertices(const hull3d *h) {
    const space *s = &h->contents;
    int64_t count = s->buffered;
    for (int i = 0; i < s->tree_count; i++) count += s->trees[i].spot_count;
    return count;
}

static void answer_3d(hull3d *h, const double *query, double *value, int64_t *position) {
    space *s = &h->contents;
    search *f = &h->found;
    if (query[0] == 0.0 && query[1] == 0.0 && query[2] == 0.0) {
        f->ties.length = 0;
        push_id(&f->ties, s->all);
    } else {
        search_space(s, f, query);
    }
    write_answer(&s->records, (int)f->ties.length, f->ties.items, all_of(s->width), value, position);
}

EXPORT int64_t hull3d_insert_many(hull3d *h, int64_t n, const double *keys, const double *values) {
    int width = h->contents.width;
    int64_t refused = first_refused(3 * n, keys, n * width, values, 0, NULL);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++)
        space_insert_one(&h->contents, keys + 3 * i, values + width * i);
    return -1;
}

EXPORT int64_t hull3d_query_many(hull3d *h, int64_t n, const double *queries, double *values,
                                 int64_t *positions) {
    int64_t refused = first_refused(0, NULL, 0, NULL, 3 * n, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++)
        answer_3d(h, queries + 3 * i, values + h->contents.width * i, positions + i);
    return -1;
}

EXPORT int64_t hull3d_step_rows(hull3d *const *caches, int64_t rows, int64_t n, const double *keys,
                                const double *values, const double *queries, double *answers,
                                int64_t *positions) {
    int64_t steps = rows * n, width = rows ? caches[0]->contents.width : 0;
    int64_t refused = first_refused(3 * steps, keys, steps * width, values, 3 * steps, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < steps; i++) {
        hull3d *h = caches[i / n];
        space_insert_one(&h->contents, keys + 3 * i, values + width * i);
        answer_3d(h, queries + 3 * i, answers + width * i, positions + i);
    }
    return -1;
}

EXPORT double *hull3d_exchange(hull3d *h) { return h->exchange; }

EXPORT int64_t *hull3d_position(hull3d *h) { return &h->position; }

EXPORT int64_t hull3d_insert(hull3d *h) {
    return hull3d_insert_many(h, 1, h->exchange, h->exchange + 3);
}

EXPORT int64_t hull3d_query(hull3d *h) {
    double *query = h->exchange + 3 + h->contents.width;
    return hull3d_query_many(h, 1, query, query + 3, &h->position);
}

EXPORT int64_t hull3d_step(hull3d *h) {
    double *key = h->exchange, *value = key + 3, *query = value + h->contents.width;
    return hull3d_step_rows(&h, 1, 1, key, value, query, query + 3, &h->position);
}
