/* A cache of points in the plane: which of them lies furthest in a direction?
 *
 * Directions that point up are answered by an upper hull, those that point down by the upper hull
 * of the points mirrored at the x axis. For (qx, 0) every point with the largest (smallest) x ties:
 * their records are the two columns. For (0, 0) all points tie: their record is `all`.
 */
typedef struct {
    double x;
    uint32_t mass; /* NONE while there are no points */
} column;

typedef struct {
    int width;
    policy what;
    int64_t points;
    pool records;
    chain upper, lower;
    column left, right;
    uint32_t all;
    int64_t position; /* answer to hull2d_query and hull2d_step */
    double *exchange; /* key[2], value[width], query[2], answer[width]: one step, see below */
} hull2d;

static void open_contents(hull2d *h) {
    h->points = 0;
    pool_open(&h->records, h->width, h->what);
    chain_open(&h->upper);
    chain_open(&h->lower);
    h->left = h->right = (column){0.0, NONE};
    h->all = NONE;
}

static void close_contents(hull2d *h) {
    pool_close(&h->records);
    chain_close(&h->upper);
    chain_close(&h->lower);
}

EXPORT hull2d *hull2d_create(int width, int average) {
    hull2d *h = checked(malloc(sizeof *h));
    h->width = width;
    h->what = average ? KEEP_SUM : KEEP_LATEST;
    h->exchange = checked(calloc((size_t)(4 + 2 * width), sizeof(double)));
    open_contents(h);
    return h;
}

EXPORT void hull2d_free(hull2d *h) {
    close_contents(h);
    free(h->exchange);
    free(h);
}

EXPORT void hull2d_reset(hull2d *h) {
    close_contents(h);
    open_contents(h);
}

EXPORT int64_t hull2d_bytes(const hull2d *h) {
    return (int64_t)(sizeof *h + chain_bytes(&h->upper) + chain_bytes(&h->lower) +
                     pool_bytes(&h->records));
}

EXPORT int64_t hull2d_vertices(const hull2d *h) { return h->upper.vertices + h->lower.vertices; }

/* Add a point to the record of those it ties with; in place, as nothing refers to the sum but us. */
static void add_to(pool *p, uint32_t *mass, int64_t position, double x, double y,
                   const double *value) {
    if (*mass == NONE) {
        *mass = new_record(p, position, x, y, value);
    } else if (p->what == KEEP_SUM) {
        uint32_t addend = new_record(p, position, x, y, value);
        *mass = combine(p, *mass, addend);
    } else {
        put(&p->rows, *mass, POSITION, (double)position);
        write_value(p, *mass, value);
    }
}

/* `sign` is 1 for the column of largest x, -1 for that of the smallest. */
static void add_to_column(pool *p, column *c, double sign, int64_t position, double x, double y,
                          const double *value) {
    if (c->mass != NONE && sign * x < sign * c->x) return;
    if (c->mass != NONE && x != c->x) {
        free_record(p, c->mass);
        c->mass = NONE;
    }
    c->x = x;
    add_to(p, &c->mass, position, x, y, value);
}

static void add_to_chain(chain *c, pool *p, int64_t position, double x, double y,
                         const double *value) {
    cursor near;
    verdict where = place_point(c, x, y, &near);
    if (where == BELOW) return;
    keep_point(c, p, where, near, x, y, new_record(p, position, x, y, value));
}

static void insert(hull2d *h, const double *key, const double *value) {
    int64_t position = h->points++;
    double x = key[0], y = key[1];
    add_to_chain(&h->upper, &h->records, position, x, y, value);
    add_to_chain(&h->lower, &h->records, position, x, -y, value);
    add_to_column(&h->records, &h->left, -1.0, position, x, y, value);
    add_to_column(&h->records, &h->right, 1.0, position, x, y, value);
    add_to(&h->records, &h->all, position, x, y, value);
}

/* The records that tie for the highest score: at most a vertex, its edge and the next vertex. */
static int winners(const hull2d *h, double qx, double qy, uint32_t *ids) {
    if (qy == 0.0) {
        ids[0] = qx > 0.0 ? h->right.mass : qx < 0.0 ? h->left.mass : h->all;
        return 1;
    }
    const chain *c = qy > 0.0 ? &h->upper : &h->lower;
    double up = fabs(qy);
    cursor best = summit(c, qx, up), after = successor(best);
    ids[0] = MASS(best);
    if (after.leaf == NULL || dot_sign(qx, up, X(after), Y(after), X(best), Y(best)) != 0) return 1;
    int count = 1;
    if (EDGE(best) != NONE) ids[count++] = EDGE(best);
    ids[count++] = MASS(after);
    return count;
}

/* What is read of an answer: `count` columns of the value, or all of it in order. */
typedef struct {
    int count;
    const int32_t *columns;
} selection;

static selection all_of(int64_t width) { return (selection){(int)width, NULL}; }

static void write_latest(const pool *p, int count, const uint32_t *ids, selection s, double *value,
                         int64_t *position) {
    uint32_t latest = ids[0];
    for (int i = 1; i < count; i++)
        if (position_of(p, ids[i]) > position_of(p, latest)) latest = ids[i];
    for (int i = 0; i < s.count; i++)
        value[i] = field(p, latest, p->first_value + (s.columns ? s.columns[i] : i));
    *position = position_of(p, latest);
}

/* The mean: the sums of the records over the number of points. */
static void write_mean(const pool *p, int count, const uint32_t *ids, selection s, double *value,
                       int64_t *position) {
    double points = 0.0, sum[2];
    *position = -1;
    for (int i = 0; i < count; i++) {
        points += field(p, ids[i], COUNT);
        if (position_of(p, ids[i]) > *position) *position = position_of(p, ids[i]);
    }
    for (int i = 0; i < s.count; i++) {
        sum_records(p, count, ids, s.columns ? s.columns[i] : i, sum);
        value[i] = sum[0] / points;
    }
}

static void write_answer(const pool *p, int count, const uint32_t *ids, selection s, double *value,
                         int64_t *position) {
    if (p->what == KEEP_SUM) write_mean(p, count, ids, s, value, position);
    else write_latest(p, count, ids, s, value, position);
}

static void answer(const hull2d *h, const double *query, selection s, double *value,
                   int64_t *position) {
    uint32_t ids[3];
    int count = winners(h, query[0], query[1], ids);
    write_answer(&h->records, count, ids, s, value, position);
}

/* ---- what Python calls ----
 *
 * Arrays are checked before anything changes. The result is -1, or the index of the first number
 * that is not admitted, counted through the arrays in the order of the arguments. */

static int64_t first_refused(int64_t keys, const double *key, int64_t values, const double *value,
                             int64_t queries, const double *query) {
    int64_t good = finite_prefix(keys, key);
    if (good < keys) return good;
    good = value_prefix(values, value);
    if (good < values) return keys + good;
    good = finite_prefix(queries, query);
    return good < queries ? keys + values + good : -1;
}

EXPORT int64_t hull2d_insert_many(hull2d *h, int64_t n, const double *keys, const double *values) {
    int64_t refused = first_refused(2 * n, keys, n * h->width, values, 0, NULL);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) insert(h, keys + 2 * i, values + h->width * i);
    return -1;
}

/* The cache must not be empty. */
EXPORT int64_t hull2d_query_many(const hull2d *h, int64_t n, const double *queries, double *values,
                                 int64_t *positions) {
    int64_t refused = first_refused(0, NULL, 0, NULL, 2 * n, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++)
        answer(h, queries + 2 * i, all_of(h->width), values + h->width * i, positions + i);
    return -1;
}

/* Step i inserts key i, then answers query i: how attention over a growing prefix runs. There are
 * `rows` caches of one width, and n steps for each; the arrays are [rows][n][...]. */
EXPORT int64_t hull2d_step_rows(hull2d *const *caches, int64_t rows, int64_t n, const double *keys,
                                const double *values, const double *queries, double *answers,
                                int64_t *positions) {
    int64_t steps = rows * n, width = rows ? caches[0]->width : 0;
    int64_t refused = first_refused(2 * steps, keys, steps * width, values, 2 * steps, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < steps; i++) {
        hull2d *h = caches[i / n];
        insert(h, keys + 2 * i, values + width * i);
        answer(h, queries + 2 * i, all_of(width), answers + width * i, positions + i);
    }
    return -1;
}

/* The same for heads that share their keys: step i inserts key i, then answers the queries of all
 * heads. Head j reads as many of the `columns` as reads[j] says. */
EXPORT int64_t hull2d_step_heads(hull2d *h, int64_t n, int64_t heads, const double *keys,
                                 const double *values, const double *queries, const int32_t *reads,
                                 const int32_t *columns, double *answers) {
    int64_t refused = first_refused(2 * n, keys, n * h->width, values, 2 * n * heads, queries);
    if (refused >= 0) return refused;
    for (int64_t i = 0; i < n; i++) {
        insert(h, keys + 2 * i, values + h->width * i);
        selection s = {0, columns};
        for (int64_t j = 0; j < heads; j++, queries += 2) {
            s.count = reads[j];
            answer(h, queries, s, answers, &h->position);
            answers += s.count, s.columns += s.count;
        }
    }
    return -1;
}

/* One step at a time through the exchange: no arrays to convert, hardly an argument to pass. */

EXPORT double *hull2d_exchange(hull2d *h) { return h->exchange; }

EXPORT int64_t *hull2d_position(hull2d *h) { return &h->position; }

EXPORT int64_t hull2d_insert(hull2d *h) {
    return hull2d_insert_many(h, 1, h->exchange, h->exchange + 2);
}

EXPORT int64_t hull2d_query(hull2d *h) {
    double *query = h->exchange + 2 + h->width;
    return hull2d_query_many(h, 1, query, query + 2, &h->position);
}

EXPORT int64_t hull2d_step(hull2d *h) {
    double *key = h->exchange, *value = key + 2, *query = value + h->width;
    return hull2d_step_rows(&h, 1, 1, key, value, query, query + 2, &h->position);
}
