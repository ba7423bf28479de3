/* The caches as Python calls them: points in the plane, in space, or keys that are filed by digits. */
typedef struct {
    enum { PLANE, SPACE, FILED } kind;
    int dimension, width, k;
    int64_t points;
    union {
        plane plane;
        space space;
        filed_keys filed;
    };
} cache;

EXPORT cache *cache_create(int dimension, int width, int average, int k, double scale, int filed) {
    policy what = average ? KEEP_SUM : KEEP_LATEST;
    cache *c = checked(calloc(1, sizeof *c)); /* zeros, for all that is opened in it */
    c->kind = filed ? FILED : dimension == 2 ? PLANE : SPACE;
    c->dimension = dimension;
    c->width = width;
    c->k = k;
    if (c->kind == PLANE) plane_open(&c->plane, width, what, k, scale);
    if (c->kind == SPACE) space_open(&c->space, width, what);
    if (c->kind == FILED) filed_open(&c->filed, dimension, width);
    return c;
}

EXPORT void cache_free(cache *c) {
    if (c->kind == PLANE) plane_close(&c->plane);
    if (c->kind == SPACE) space_close(&c->space);
    if (c->kind == FILED) filed_close(&c->filed);
    free(c);
}

EXPORT int64_t cache_bytes(const cache *c) {
    return (int64_t)(c->kind == PLANE   ? plane_bytes(&c->plane)
                     : c->kind == SPACE ? space_bytes(&c->space)
                                        : filed_bytes(&c->filed));
}

/* Points kept. */
EXPORT int64_t cache_vertices(const cache *c) {
    return c->kind == PLANE   ? plane_vertices(&c->plane)
           : c->kind == SPACE ? space_vertices(&c->space)
                              : c->filed.records.rows.used - 1;
}

/* n steps of several caches of one kind: step i inserts key i, then answers query i, as attention over
 * a growing prefix does. There may be several heads that share their keys, and so a cache: all are
 * asked after each key. Head j reads as many of the `columns` as reads[j] says, or all of the value.
 *
 * Arrays are [rows][steps][heads][...]. There may be no keys, or no queries; positions and weights
 * are written if there is room for them. native.py has the same. */
typedef struct {
    cache *const *caches;
    int64_t rows, steps, heads;
    const double *keys, *values, *queries;
    const int32_t *reads, *columns;
    double *answers;
    int64_t *positions;
    double *weights;
} request;

static int are_within(double largest, int64_t count, const double *numbers) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(numbers[i]) <= largest)) return 0;
    return 1;
}

static int is_admitted(const request *r, int64_t steps, int64_t dimension, int64_t width) {
    if (r->keys && !are_within(DBL_MAX, steps * dimension, r->keys)) return 0;
    if (r->keys && !are_within(LARGEST_VALUE, steps * width, r->values)) return 0;
    return !r->queries || are_within(DBL_MAX, steps * r->heads * dimension, r->queries);
}

INLINED void insert(cache *c, int64_t position, const double *key, const double *value) {
    if (c->kind == PLANE) plane_insert(&c->plane, position, key, value);
    else if (c->kind == SPACE) space_insert(&c->space, position, key, value);
    else filed_insert(&c->filed, position, key, value);
}

INLINED void answer(cache *c, const request *r, selection read) {
    if (c->kind == PLANE)
        plane_answer(&c->plane, r->queries, read, r->answers, r->positions, r->weights);
    else if (c->kind == SPACE)
        space_answer(&c->space, r->queries, read, r->answers, r->positions);
    else filed_answer(&c->filed, r->queries, read, r->answers, r->positions);
}

/* The request begins with what this step is about, then with the next. */
INLINED void take_step(cache *c, request *r) {
    selection read = {c->width, r->columns};
    if (r->keys) {
        insert(c, c->points++, r->keys, r->values);
        r->keys += c->dimension, r->values += c->width;
    }
    for (int64_t j = 0; r->queries && j < r->heads; j++) {
        if (r->reads) read.count = r->reads[j];
        answer(c, r, read);
        r->queries += c->dimension, r->answers += read.count;
        if (read.columns) read.columns += read.count;
        if (r->positions) r->positions += c->k;
        if (r->weights) r->weights += c->k;
    }
}

/* Returns 0 if a number is not admitted; then nothing has changed. */
EXPORT int cache_run(const request *r) {
    request next = *r;
    if (r->rows == 0) return 1;
    if (!is_admitted(r, r->rows * r->steps, r->caches[0]->dimension, r->caches[0]->width)) return 0;
    for (int64_t row = 0; row < r->rows; row++)
        for (int64_t i = 0; i < r->steps; i++) take_step(r->caches[row], &next);
    return 1;
}
