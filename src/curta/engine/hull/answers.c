/* What a query finds: the record with the highest score, or the softmax over the k best.
 *
 * The k best of an onion (plane.c). From the summit of each open layer a walk leads to either side, on
 * which scores fall. The best point that is ahead of any walk is the next winner: a tournament, in
 * which a walk that has moved on plays again, O(log k) games. The best of layer i comes before
 * everything in layer i+1, so before a point of the deepest open layer wins, the next one is opened.
 * As many layers as the query before needed are searched for their summits together.
 *
 * Scores are compared rounded, and only where they are too close to tell are points compared exactly.
 * With L <= k layers opened, summits take O(L log n), the rest O(k log k).
 */
#define TOGETHER 24 /* layers whose summits are searched for together, at most */

/* What is read of an answer: `count` columns of the value, or all of it in order. */
typedef struct {
    int count;
    const int32_t *columns;
} selection;

/* -- the hard maximum -- */

/* The value of the latest of some records, and its position, which may be NULL; or the mean of all: the
 * sums over the number of points. */
static void write_answer(const pool *p, int count, const uint32_t *ids, selection s, double *value,
                         int64_t *position) {
    double points = 0.0, sum[2];
    uint32_t latest = ids[0];
    for (int i = 0; i < count; i++) {
        if (p->what == KEEP_SUM) points += field(p, ids[i], COUNT);
        if (position_of(p, ids[i]) > position_of(p, latest)) latest = ids[i];
    }
    if (position != NULL) *position = position_of(p, latest);
    for (int i = 0; i < s.count; i++) {
        int column = s.columns ? s.columns[i] : i;
        if (p->what == KEEP_SUM) {
            sum_records(p, count, ids, column, sum);
            value[i] = sum[0] / points;
        } else {
            value[i] = field(p, latest, p->first_value + column);
        }
    }
}

/* For a query (qx, 0) all points with one x tie, for (0, 0) all points. */
static const ranking *ranking_for(const plane *h, double qx) {
    return &h->rankings[1 + (qx > 0.0) - (qx < 0.0)];
}

/* The records that tie for the highest score: at most a vertex, its edge and the next vertex. */
static int tied_records(const plane *h, double qx, double qy, uint32_t *ids) {
    if (qy == 0.0) {
        ids[0] = ranked_at(h, ranking_for(h, qx), 0)->id;
        return 1;
    }
    double up = fabs(qy);
    cursor best = summit(h->onions[qy < 0.0].layers, qx, up);
    cursor after = successor(best);
    ids[0] = at(best)->mass;
    if (after.leaf == NULL ||
        dot_sign(qx, up, at(after)->x, at(after)->y, at(best)->x, at(best)->y) != 0)
        return 1;
    int count = 1;
    if (at(best)->edge != NONE) ids[count++] = at(best)->edge;
    ids[count++] = at(after)->mass;
    return count;
}

/* -- the k best -- */

/* A query to one onion. Scores are relative to that of (x, y), which no point beats. */
typedef struct {
    plane *h;
    const onion *o;
    const double *query;
    double x, y;
    double size;  /* the largest sum of the sizes of a score's two terms */
    double doubt; /* two scores that differ by more are in that order as real numbers, too */
    int open;
    uint64_t walks;
    uint64_t best; /* of all walks */
} quest;

INLINED double score_point(quest *s, double x, double y) {
    double l = s->query[0] * (x - s->x), r = fabs(s->query[1]) * (y - s->y);
    double size = fabs(l) + fabs(r);
    if (RARELY(!(size <= s->size))) { /* each score is off by half of the doubt (predicates.c) */
        s->size = size <= DBL_MAX ? size : INFINITY;
        s->doubt = 2.0 * (FILTER * s->size + UNDERFLOW_BOUND);
    }
    return l + r;
}

static int compare_exactly(const quest *s, uint32_t a, uint32_t b) {
    const pool *p = &s->h->records;
    return dot_sign(s->query[0], s->query[1], field(p, a, AT_X), field(p, a, AT_Y),
                    field(p, b, AT_X), field(p, b, AT_Y));
}

/* By (score, position). */
static int precedes_exactly(const quest *s, uint32_t a, uint32_t b) {
    if (a == NONE || b == NONE) return a != NONE;
    int sign = compare_exactly(s, a, b);
    return sign > 0 || (sign == 0 && position_of(&s->h->records, a) > position_of(&s->h->records, b));
}

INLINED void look_at(quest *s, walk *w, uint32_t id) {
    const pool *p = &s->h->records;
    w->ahead = id;
    w->ahead_score = score_point(s, field(p, id, AT_X), s->o->sign * field(p, id, AT_Y));
}

INLINED void move_on(walk *w) { w->next = w->ahead, w->score = w->ahead_score; }

/* At the next point but one, away from the summit. Inside an edge lies at most one. Only the edge right
 * of the summit may tie with the vertex behind it. */
INLINED void look_ahead(quest *s, walk *w) {
    if (RARELY(w->behind != NONE)) {
        look_at(s, w, w->behind);
        w->behind = NONE;
        return;
    }
    const vertex *from = &w->leaf->vertices[w->index];
    w->index += w->step;
    if (RARELY((unsigned)w->index >= (unsigned)w->leaf->count)) {
        const node *leaf = w->step < 0 ? w->leaf->previous : w->leaf->next;
        if (leaf == NULL) {
            w->ahead = NONE, w->ahead_score = -INFINITY;
            return;
        }
        w->leaf = leaf;
        w->index = w->step < 0 ? leaf->count - 1 : 0;
    }
    const vertex *to = &w->leaf->vertices[w->index];
    uint32_t edge = w->step < 0 ? to->edge : from->edge;
    w->ahead = to->mass;
    w->ahead_score = score_point(s, to->x, to->y);
    if (RARELY(edge != NONE)) {
        w->behind = edge;
        if (!precedes_exactly(s, edge, to->mass)) return;
        look_at(s, w, edge);
        w->behind = to->mass;
    }
}

/* A walk that has moved on plays again on its way up, against those who lost there. The first to come
 * to a place waits for the second. No game branches on its outcome: half of them would be guessed
 * wrong. */
INLINED void play(quest *s, uint64_t number) {
    const walk *walks = s->h->walks;
    entrant up = {walks[number].score, number};
    for (uint64_t place = (s->walks + number) / 2; place > 0; place /= 2) {
        entrant *lost = &s->h->games[place], other = *lost;
        double difference = other.score - up.score;
        if (RARELY(!(fabs(difference) > s->doubt))) {
            int waits = other.walk == NOBODY;
            if (waits || precedes_exactly(s, walks[other.walk].next, walks[up.walk].next)) {
                *lost = up;
                up = other;
            }
            if (waits) return;
            continue;
        }
        uint64_t both = up.walk ^ other.walk, winner = up.walk ^ (both & -(uint64_t)(difference > 0.0));
        double low = other.score < up.score ? other.score : up.score;
        double high = other.score > up.score ? other.score : up.score;
        *lost = (entrant){low, both ^ winner};
        up = (entrant){high, winner};
    }
    s->best = up.walk;
}

/* Two walks lead away from a summit, the left one from the summit itself. */
static void open_layer_at(quest *s, cursor summit) {
    const vertex *top = at(summit);
    if (s->open == 0) s->x = top->x, s->y = top->y;
    double score = score_point(s, top->x, top->y);
    walk *left = &s->h->walks[s->walks++], *right = &s->h->walks[s->walks++];
    *left = (walk){score, 0.0, top->mass, NONE, NONE, summit.leaf, summit.index, -1, s->open};
    *right = (walk){score, 0.0, top->mass, NONE, NONE, summit.leaf, summit.index, 1, s->open++};
    look_ahead(s, left);
    look_ahead(s, right);
    move_on(right);
    if (right->next != NONE) look_ahead(s, right);
}

/* Open up to `count` more layers, if there are any. All walks play anew. */
static void open_layers(quest *s, int count) {
    cursor summits[TOGETHER];
    count = count < s->o->used - s->open ? count : s->o->used - s->open;
    for (int next; count > 0; count -= next) {
        next = count < TOGETHER ? count : TOGETHER;
        find_summits(&s->o->layers[s->open], next, s->query[0], fabs(s->query[1]), s->h->k >= 16,
                     summits);
        for (int i = 0; i < next; i++) open_layer_at(s, summits[i]);
    }
    for (uint64_t i = 0; i < s->walks; i++) s->h->games[i] = (entrant){NAN, NOBODY};
    for (uint64_t i = 0; i < s->walks; i++) play(s, i);
}

/* Winners and their scores; returns how many. */
static int search_onion(plane *h, onion *o, const double *query) {
    quest s = {.h = h, .o = o, .query = query, .doubt = 2.0 * UNDERFLOW_BOUND};
    int found = 0, deepest = 0;
    open_layers(&s, o->expected);
    for (walk *w; found < h->k && (w = &h->walks[s.best])->next != NONE;) {
        deepest = w->layer > deepest ? w->layer : deepest;
        if (RARELY(w->layer == s.open - 1) && s.open < o->used) {
            open_layers(&s, 1 + s.open / 8);
            continue;
        }
        prefetch_record(&h->records, w->next);
        h->winners[found] = w->next;
        h->scores[found++] = w->score;
        move_on(w);
        play(&s, s.best);
        if (w->next != NONE) look_ahead(&s, w);
    }
    o->expected = deepest + 2;
    for (int i = 0; i < found; i++)
        if (RARELY(!isfinite(h->scores[i]))) /* too large to tell, but for ties */
            h->scores[i] = compare_exactly(&s, h->winners[i], h->winners[0]) ? -DBL_MAX : 0.0;
    return found;
}

static int copy_ranking(plane *h, const ranking *r, double qx) {
    double best = ranked_at(h, r, r->count - 1)->score;
    for (int i = 0; i < r->count; i++) {
        const ranked *here = ranked_at(h, r, r->count - 1 - i);
        h->winners[i] = here->id;
        h->scores[i] = fmax(fabs(qx) * (here->score - best), -DBL_MAX);
    }
    return r->count;
}

/* The softmax over the k best. `positions` and `weights`, k of each, may be NULL. */
static void attend(plane *h, const double *query, double *value, int64_t *positions,
                   double *weights) {
    const pool *p = &h->records;
    int found = query[1] == 0.0 ? copy_ranking(h, ranking_for(h, query[0]), query[0])
                                : search_onion(h, &h->onions[query[1] < 0.0], query);
    double total = 0.0;
    for (int i = 0; i < found; i++) total += h->scores[i] = exp(h->scale * h->scores[i]);
    double share = 1.0 / total;
    for (int i = 0; i < found; i++) h->scores[i] *= share;
    for (int j = 0; j < p->width; j++) {
        double sum = 0.0;
        for (int i = 0; i < found; i++)
            sum += h->scores[i] * field(p, h->winners[i], p->first_value + j);
        value[j] = sum;
    }
    for (int i = 0; positions != NULL && i < h->k; i++)
        positions[i] = i < found ? position_of(p, h->winners[i]) : -1;
    for (int i = 0; weights != NULL && i < h->k; i++) weights[i] = i < found ? h->scores[i] : 0.0;
}

static void plane_answer(plane *h, const double *query, selection read, double *value,
                         int64_t *positions, double *weights) {
    if (h->k > 1) {
        attend(h, query, value, positions, weights);
        return;
    }
    uint32_t ids[3];
    int count = tied_records(h, query[0], query[1], ids);
    write_answer(&h->records, count, ids, read, value, positions);
}
