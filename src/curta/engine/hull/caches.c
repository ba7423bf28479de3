/* The caches as Python calls them.
 *
 * A cache has keys of two or three coordinates, and answers with the key that scores highest, or with
 * the softmax over the k best.
 */
typedef struct {
    int dimension, width, k;
    int64_t points;
    plane *plane; /* one of these two */
    space *space;
} cache;

EXPORT cache *cache_create(int dimension, int width, int average, int k, double scale) {
    policy what = average ? KEEP_SUM : KEEP_LATEST;
    cache *c = checked(calloc(1, sizeof *c));
    c->dimension = dimension;
    c->width = width;
    c->k = k;
    if (dimension == 2)
        plane_open(c->plane = checked(malloc(sizeof(plane))), width, what, k, scale);
    else space_open(c->space = checked(malloc(sizeof(space))), width, what);
    return c;
}

EXPORT void cache_free(cache *c) {
    if (c->plane) plane_close(c->plane);
    else space_close(c->space);
    free(c->plane), free(c->space), free(c);
}

EXPORT int64_t cache_bytes(const cache *c) {
    return (int64_t)(sizeof *c + (c->plane ? plane_bytes(c->plane) : space_bytes(c->space)));
}

EXPORT int64_t cache_vertices(const cache *c) {
    return c->plane ? plane_vertices(c->plane) : space_vertices(c->space);
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

INLINED void take_step(cache *c, request *r) {
    selection read = {c->width, r->columns};
    if (r->keys) {
        int64_t position = c->points++;
        if (c->plane) plane_insert(c->plane, position, r->keys, r->values);
        else space_insert(c->space, position, r->keys, r->values);
        r->keys += c->dimension, r->values += c->width;
    }
    for (int64_t j = 0; r->queries && j < r->heads; j++) {
        if (r->reads) read.count = r->reads[j];
        if (c->plane)
            plane_answer(c->plane, r->queries, read, r->answers, r->positions, r->weights);
        else space_answer(c->space, r->queries, read, r->answers, r->positions);
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
