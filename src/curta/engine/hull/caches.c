/* The caches as Python calls them.
 *
 * A cache has keys of two or three coordinates, and answers with the key that scores highest
 * (`plane`, `space`) or with the softmax over the `k` best (`topk`).
 *
 * Arrays are checked before anything changes. The result is -1, or the index of the first number
 * that is not admitted, counted through the arrays in the order of the arguments.
 */
typedef struct {
    int dimension, width;
    policy what;
    int k; /* 0: the hard maximum */
    double scale;
    int64_t points;
    plane *plane; /* one of these three */
    space *space;
    topk *topk;
    int64_t position; /* of the last answer to a single query */
    double *exchange; /* key, value, query, answer: one step, see below */
} cache;

static void open_contents(cache *c) {
    c->points = 0;
    if (c->k > 0) topk_open(c->topk = checked(malloc(sizeof(topk))), c->width, c->k, c->scale);
    else if (c->dimension == 2)
        plane_open(c->plane = checked(malloc(sizeof(plane))), c->width, c->what);
    else space_open(c->space = checked(malloc(sizeof(space))), c->width, c->what);
}

static void close_contents(cache *c) {
    if (c->topk) topk_close(c->topk);
    if (c->plane) plane_close(c->plane);
    if (c->space) space_close(c->space);
    free(c->topk), free(c->plane), free(c->space);
}

EXPORT cache *cache_create(int dimension, int width, int average, int k, double scale) {
    cache *c = checked(calloc(1, sizeof *c));
    c->dimension = dimension;
    c->width = width;
    c->what = average ? KEEP_SUM : KEEP_LATEST;
    c->k = k;
    c->scale = scale;
    c->exchange = checked(calloc(2 * (size_t)(dimension + width), sizeof(double)));
    open_contents(c);
    return c;
}

EXPORT void cache_free(cache *c) {
    close_contents(c);
    free(c->exchange);
    free(c);
}

EXPORT void cache_reset(cache *c) {
    close_contents(c);
    open_contents(c);
}

EXPORT int64_t cache_bytes(const cache *c) {
    return (int64_t)(sizeof *c + (c->plane   ? plane_bytes(c->plane)
                                  : c->space ? space_bytes(c->space)
                                             : topk_bytes(c->topk)));
}

EXPORT int64_t cache_vertices(const cache *c) {
    return c->plane   ? plane_vertices(c->plane)
           : c->space ? space_vertices(c->space)
                      : topk_vertices(c->topk);
}

INLINED void insert(cache *c, const double *key, const double *value) {
    int64_t position = c->points++;
    if (c->plane) plane_insert(c->plane, position, key, value);
    else if (c->space) space_insert(c->space, position, key, value);
    else topk_insert(c->topk, position, key, value);
}

INLINED void answer_hard(cache *c, const double *query, selection read, double *value,
                         int64_t *position) {
    if (c->plane) plane_answer(c->plane, query, read, value, position);
    else space_answer(c->space, query, read, value, position);
}

/* The answer to query i of many. Positions and weights may be NULL. */
INLINED void answer(cache *c, int64_t i, const double *queries, double *values,
                    int64_t *positions, double *weights) {
    const double *query = queries + c->dimension * i;
    double *value = values + c->width * i;
    if (c->k > 0)
        topk_answer(c->topk, query, value, positions ? positions + c->k * i : NULL,
                    weights ? weights + c->k * i : NULL);
    else answer_hard(c, query, (selection){c->width, NULL}, value,
                     positions ? positions + i : &c->position);
}

static int64_t first_refused(int64_t keys, const double *key, int64_t values, const double *value,
                             int64_t queries, const double *query) {
    int64_t good = finite_prefix(keys, key);
    if (good < keys) return good;
    good = value_prefix(values, value);
    if (good < values) return keys + good;
    good = finite_prefix(queries, query);
    return good < queries ? keys + values + good : -1;
}

EXPORT int64_t cache_insert_many(cache *c, int64_t n, const double *keys, const double *values) {
    int64_t refused = first_refused(c->dimension * n, keys, c->width * n, values, 0, NULL);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) insert(c, keys + c->dimension * i, values + c->width * i);
    return -1;
}

/* The cache must not be empty. */
EXPORT int64_t cache_query_many(cache *c, int64_t n, const double *queries, double *values,
                                int64_t *positions, double *weights) {
    int64_t refused = first_refused(0, NULL, 0, NULL, c->dimension * n, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) answer(c, i, queries, values, positions, weights);
    return -1;
}

/* Step i inserts key i, then answers query i: how attention over a growing prefix runs. There are
 * `rows` caches of one kind, and n steps for each; the arrays are [rows][n][...]. */
EXPORT int64_t cache_step_rows(cache *const *caches, int64_t rows, int64_t n, const double *keys,
                               const double *values, const double *queries, double *answers,
                               int64_t *positions, double *weights) {
    if (rows == 0) return -1;
    int64_t steps = rows * n, dimension = caches[0]->dimension, width = caches[0]->width;
    int64_t refused = first_refused(dimension * steps, keys, width * steps, values,
                                    dimension * steps, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < steps; i++) {
        cache *c = caches[i / n];
        insert(c, keys + dimension * i, values + width * i);
        answer(c, i, queries, answers, positions, weights);
    }
    return -1;
}

/* The same for heads that share their keys, and so a cache of the hard maximum: step i inserts key
 * i, then answers the queries of all heads. Head j reads as many of the `columns` as reads[j] says. */
EXPORT int64_t cache_step_heads(cache *c, int64_t n, int64_t heads, const double *keys,
                                const double *values, const double *queries, const int32_t *reads,
                                const int32_t *columns, double *answers) {
    int64_t refused = first_refused(c->dimension * n, keys, c->width * n, values,
                                    c->dimension * n * heads, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) {
        insert(c, keys + c->dimension * i, values + c->width * i);
        selection read = {0, columns};
        for (int64_t j = 0; j < heads; j++, queries += c->dimension) {
            read.count = reads[j];
            answer_hard(c, queries, read, answers, &c->position);
            answers += read.count, read.columns += read.count;
        }
    }
    return -1;
}

/* One step of the hard maximum at a time, through the exchange: no arrays to convert, hardly an
 * argument to pass. */

EXPORT double *cache_exchange(cache *c) { return c->exchange; }

EXPORT int64_t *cache_position(cache *c) { return &c->position; }

EXPORT int64_t cache_insert(cache *c) {
    return cache_insert_many(c, 1, c->exchange, c->exchange + c->dimension);
}

EXPORT int64_t cache_query(cache *c) {
    double *query = c->exchange + c->dimension + c->width;
    return cache_query_many(c, 1, query, query + c->dimension, &c->position, NULL);
}

EXPORT int64_t cache_step(cache *c) {
    double *key = c->exchange, *value = key + c->dimension, *query = value + c->width;
    return cache_step_rows(&c, 1, 1, key, value, query, query + c->dimension, &c->position, NULL);
}
