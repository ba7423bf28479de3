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
    pool records;
    chain upper, lower;
    column left, right;
    uint32_t all;
} plane;

static void plane_open(plane *h, int width, policy what) {
    pool_open(&h->records, width, what);
    chain_open(&h->upper);
    chain_open(&h->lower);
    h->left = h->right = (column){0.0, NONE};
    h->all = NONE;
}

static void plane_close(plane *h) {
    pool_close(&h->records);
    chain_close(&h->upper);
    chain_close(&h->lower);
}

static size_t plane_bytes(const plane *h) {
    return sizeof *h + chain_bytes(&h->upper) + chain_bytes(&h->lower) + pool_bytes(&h->records);
}

static int64_t plane_vertices(const plane *h) { return h->upper.vertices + h->lower.vertices; }

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

static void plane_insert(plane *h, int64_t position, const double *key, const double *value) {
    double x = key[0], y = key[1];
    add_to_chain(&h->upper, &h->records, position, x, y, value);
    add_to_chain(&h->lower, &h->records, position, x, -y, value);
    add_to_column(&h->records, &h->left, -1.0, position, x, y, value);
    add_to_column(&h->records, &h->right, 1.0, position, x, y, value);
    add_to(&h->records, &h->all, position, x, y, value);
}

/* The records that tie for the highest score: at most a vertex, its edge and the next vertex. */
static int winners(const plane *h, double qx, double qy, uint32_t *ids) {
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

static void plane_answer(const plane *h, const double *query, selection s, double *value,
                         int64_t *position) {
    uint32_t ids[3];
    int count = winners(h, query[0], query[1], ids);
    write_answer(&h->records, count, ids, s, value, position);
}
