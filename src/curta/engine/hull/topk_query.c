/* The k best of an onion (topk.c), and the softmax over them.
 *
 * Layers are opened from the outermost inwards, and from the summit of each a walk leads to either
 * side, on which scores fall. The best of layer i comes before everything in layer i+1: what scores
 * higher than the summit of the deepest open layer, the *floor*, lies in open layers. So: open some
 * layers, collect from each walk what is above the floor, and go on until that is k points; then
 * sort them. If no layer is left there is no floor, and if one walk is long the next layer may be far
 * below: so a walk yields a quota in each round, and if that is not the end, the floor is raised to
 * the next point on it. Where many layers are needed, all that the query before needed are searched
 * for their summits together.
 *
 * Scores are compared rounded, and only where they are too close to tell are points compared exactly.
 *
 * With L <= k layers opened, summits take O(L log n), and sorting O(k log k) at most. A round looks at
 * each walk; rounds grow in size, so that as a rule this takes O(L + k).
 */
/* A query to one onion. Scores are relative to that of (x, y), which no point beats. */
typedef struct {
    topk *t;
    const onion *o;
    const double *query;
    double x, y;
    double size;       /* the largest sum of the sizes of a score's two terms */
    double doubt;      /* two scores that differ by more are in that order as real numbers, too */
    candidate deepest; /* the summit of the deepest open layer; NONE if all are open */
    candidate floor;   /* that, or higher */
    int open, walks, collected;
    int edges; /* collected without asking whether they are above the floor */
} quest;

static int scores_higher(const quest *s, uint32_t a, uint32_t b) {
    const pool *p = &s->t->records;
    return a != b && dot_sign(s->query[0], s->query[1], field(p, a, AT_X), field(p, a, AT_Y),
                              field(p, b, AT_X), field(p, b, AT_Y)) > 0;
}

static inline int is_above_floor(const quest *s, const candidate *c) {
    double difference = c->score - s->floor.score;
    if (RARELY(!(fabs(difference) > s->doubt)))
        return s->floor.id == NONE || scores_higher(s, c->id, s->floor.id);
    return difference > 0.0;
}

static inline candidate score_point(quest *s, double x, double y, uint32_t id) {
    double l = s->query[0] * (x - s->x), r = fabs(s->query[1]) * (y - s->y);
    double size = fabs(l) + fabs(r);
    if (RARELY(!(size <= s->size))) { /* each score is off by half of the doubt (predicates.c) */
        s->size = size <= DBL_MAX ? size : INFINITY;
        s->doubt = 2.0 * (FILTER * s->size + UNDERFLOW_BOUND);
    }
    return (candidate){l + r, id, 0};
}

static inline void collect(quest *s, candidate c) {
    topk *t = s->t;
    if (RARELY(s->collected == t->capacity)) make_room(t, 2 * t->capacity);
    t->found[s->collected++] = c;
    prefetch_record(&t->records, c.id);
}

/* To the next vertex away from the summit; what lies inside the edge on the way is collected. */
static inline int advance(quest *s, walk *w) {
    const leaf *l = w->leaf;
    const vertex *from = &l->at[w->index];
    w->index += w->step;
    if (RARELY((unsigned)w->index >= (unsigned)l->count)) {
        w->leaf = l = w->step < 0 ? l->previous : l->next;
        if (l == NULL) return 0;
        w->index = w->step < 0 ? l->count - 1 : 0;
    }
    const vertex *to = &l->at[w->index];
    uint32_t edge = w->step < 0 ? to->edge : from->edge;
    if (RARELY(edge != NONE)) {
        const pool *p = &s->t->records;
        s->edges++;
        collect(s, score_point(s, field(p, edge, AT_X), s->o->sign * field(p, edge, AT_Y), edge));
    }
    w->next = score_point(s, to->x, to->y, to->mass);
    return 1;
}

/* Open up to `count` layers. Two walks lead away from each summit. */
static void open_layers(quest *s, int count) {
    cursor summits[TOGETHER];
    const chain *layers = &s->o->layers[s->open];
    find_summits(layers, count, s->query[0], fabs(s->query[1]), s->t->k >= 16, summits);
    for (int i = 0; i < count; i++, s->open++) {
        cursor best = summits[i];
        if (s->open == 0) s->x = X(best), s->y = Y(best);
        candidate top = s->deepest = score_point(s, X(best), Y(best), MASS(best));
        walk *left = &s->t->walks[s->walks++], *right = left + 1;
        *left = (walk){best.leaf, best.index, -1, top};
        *right = (walk){best.leaf, best.index, 1, top};
        s->walks += advance(s, right);
    }
}

/* Collect what is above the floor. A walk that could go on for long raises the floor instead. */
static void follow_walks(quest *s, int quota) {
    for (int i = 0; i < s->walks; i++) {
        walk *w = &s->t->walks[i];
        candidate next = w->next;
        for (int left = quota; is_above_floor(s, &next); left--) {
            if (left == 0) {
                s->floor = next;
                break;
            }
            collect(s, next);
            if (!advance(s, w)) {
                *w = s->t->walks[--s->walks];
                i--;
                break;
            }
            next = w->next;
        }
    }
}

static int count_settled(const quest *s) {
    int settled = 0;
    for (int i = 0; i < s->collected; i++) settled += is_above_floor(s, &s->t->found[i]);
    return settled;
}

/* Sort what was collected by score: into buckets of equal width down to the lowest score, once or
 * twice as many as there are points, then by insertion. Returns 0 if so many share a bucket that
 * this would take long. */
static int sort_by_score(topk *t, int count, double lowest) {
    int buckets = 1;
    int64_t shared = 0;
    while (buckets < count) buckets *= 2;
    memset(t->starts, 0, sizeof *t->starts * (size_t)buckets);
    for (int i = 0; i < count; i++) {
        double place = t->found[i].score * ((buckets - 1) / lowest);
        t->found[i].bucket = place > 0.0 ? place < buckets ? (int)place : buckets - 1 : 0;
        t->starts[t->found[i].bucket]++;
    }
    for (int i = 0, start = 0; i < buckets; i++) {
        int size = t->starts[i];
        t->starts[i] = start;
        start += size;
        shared += (int64_t)size * size;
    }
    for (int i = 0; i < count; i++) {
        int place = t->starts[t->found[i].bucket]++;
        t->winners[place] = t->found[i].id;
        t->scores[place] = t->found[i].score;
    }
    if (shared > 32 * (int64_t)count) return 0;
    for (int i = 1; i < count; i++) {
        double score = t->scores[i];
        uint32_t id = t->winners[i];
        int place = i;
        for (; place > 0 && score > t->scores[place - 1]; place--) {
            t->scores[place] = t->scores[place - 1];
            t->winners[place] = t->winners[place - 1];
        }
        t->scores[place] = score;
        t->winners[place] = id;
    }
    return 1;
}

/* The k best of what was collected. Runs of scores that are too close to tell are sorted exactly. */
static int rank_found(quest *s) {
    topk *t = s->t;
    int count = s->collected, kept = count < t->k ? count : t->k;
    double lowest = s->floor.id != NONE ? s->floor.score : 0.0;
    for (int i = 0; s->floor.id == NONE && i < count; i++)
        lowest = t->found[i].score < lowest ? t->found[i].score : lowest;
    double bound = sort_by_score(t, count, lowest) ? s->doubt : INFINITY;
    for (int first = 0, last = 0; first < kept; first = ++last) {
        while (last + 1 < count && !(t->scores[last] - t->scores[last + 1] > bound)) last++;
        if (last == first) continue;
        sort_exactly(&t->records, s->query, t->winners + first, last - first + 1);
        for (int i = first; i <= last; i++) t->scores[i] = NAN;
    }
    return kept;
}

static int search_onion(topk *t, onion *o, const double *query) {
    quest s = {.t = t, .o = o, .query = query, .doubt = 2.0 * UNDERFLOW_BOUND};
    int settled = 0, more = o->expected, rounds = 0;
    do {
        for (int next; more > 0 && s.open < o->used; more -= next) {
            next = more < TOGETHER ? more : TOGETHER;
            open_layers(&s, next < o->used - s.open ? next : o->used - s.open);
        }
        if (s.open == o->used) s.deepest = (candidate){-INFINITY, NONE, 0};
        s.floor = s.deepest;
        follow_walks(&s, (t->k - settled) / s.walks + s.walks / 8 + 2);
        int raised = s.floor.id != s.deepest.id;
        settled = raised || s.edges ? count_settled(&s) : s.collected;
        if (!raised) more = 1 + s.open / 8;
        rounds++;
    } while (settled < t->k && s.floor.id != NONE);
    o->expected = s.open > 1 && rounds == 1 ? s.open - 1 : s.open;
    return rank_found(&s);
}

static int list_recent(topk *t) {
    int count = t->points < t->k ? (int)t->points : t->k;
    for (int i = 0; i < count; i++) t->winners[i] = t->recent[(t->points - 1 - i) % t->k];
    return count;
}

/* For (qx, 0) all points with one x tie. */
static int copy_ranking(topk *t, const ranking *r) {
    memcpy(t->winners, r->ids, sizeof(uint32_t) * (size_t)r->count);
    sort_exactly(&t->records, r->direction, t->winners, r->count);
    return r->count;
}

static int find_winners(topk *t, const double *query) {
    if (query[1] != 0.0) return search_onion(t, query[1] > 0.0 ? &t->upper : &t->lower, query);
    for (int i = 0; i < t->k; i++) t->scores[i] = NAN;
    if (query[0] != 0.0) return copy_ranking(t, query[0] > 0.0 ? &t->right : &t->left);
    return list_recent(t); /* all tie */
}

/* q . (key - best): the difference is taken between the keys first, so that large scores lose
 * nothing. No key scores higher than the best. */
static double score_below(const pool *p, const double *q, uint32_t id, uint32_t best) {
    double x = field(p, id, AT_X), best_x = field(p, best, AT_X);
    double y = field(p, id, AT_Y), best_y = field(p, best, AT_Y);
    double difference = q[0] * (x - best_x) + q[1] * (y - best_y);
    if (!isfinite(difference)) {
        const double wide[8] = {q[0], x, -q[0], best_x, q[1], y, -q[1], best_y};
        difference = wide_products(4, wide);
    }
    return fmax(difference, -DBL_MAX);
}

/* Softmax over the winners: weights exp(scale * score) instead of the scores. */
static void weigh(topk *t, int found, const double *query) {
    double total = 0.0;
    for (int i = 0; i < found; i++) {
        double below = t->scores[i];
        if (!isfinite(below)) below = score_below(&t->records, query, t->winners[i], t->winners[0]);
        total += t->scores[i] = exp(t->scale * below);
    }
    double share = 1.0 / total;
    for (int i = 0; i < found; i++) t->scores[i] *= share;
}

/* `positions` and `weights`, k of each, may be NULL. */
static void topk_answer(topk *t, const double *query, double *value, int64_t *positions,
                        double *weights) {
    int found = find_winners(t, query);
    const pool *p = &t->records;
    weigh(t, found, query);
    for (int j = 0; j < t->width; j++) {
        double sum = 0.0;
        for (int i = 0; i < found; i++)
            sum += t->scores[i] * field(p, t->winners[i], p->first_value + j);
        value[j] = sum;
    }
    for (int i = 0; positions != NULL && i < t->k; i++)
        positions[i] = i < found ? position_of(p, t->winners[i]) : -1;
    for (int i = 0; weights != NULL && i < t->k; i++) weights[i] = i < found ? t->scores[i] : 0.0;
}
