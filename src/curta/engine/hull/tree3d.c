/* Points in space in a tree of bounding volumes.
 *
 * Volume: an axis-parallel box, cut by a slab: lowest and highest n . p for a direction n in which
 * the points of the node extend little. With t = q . n and r = q - t n,
 *
 *     q . p = t (n . p) + r . p  <=  max over the slab + max over the box,
 *
 * and q . p <= max over the box alone. On a smooth convex surface a patch of size d is flat to
 * within d^2, so the slab leaves only patches at an angle of O(d) from the best: a bounded number
 * per level, O(log n) nodes per query. With boxes alone it would be O(sqrt n).
 *
 * Rounding: a bound is raised by 2^-48 of the sum of the sizes of its terms (it takes fewer than 16
 * operations, each off by 2^-53 of such a term) and by 2^-1000 for what underflows; the score it is
 * compared with is lowered likewise.
 */
#define BUCKET_CAPACITY 32
#define LARGEST_WITH_SLAB 0x1p200 /* coordinate, so that no normal overflows */
#define SLACK 0x1p-48
#define UNDERFLOW_SLACK 0x1p-1000

typedef struct {
    double c[3];
    uint32_t mass;
} spot;

typedef struct {
    double low[3], high[3], normal[3], slab_low, slab_high;
    int64_t first, count; /* spots, if a bucket */
    int64_t right;        /* the left child is the next node; 0: a bucket */
} volume;

typedef struct {
    spot *spots;
    volume *volumes;
    int64_t spot_count, volume_count, volume_capacity;
} tree3d;

static int widest_axis(const volume *v) {
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (v->high[i] - v->low[i] > v->high[axis] - v->low[axis]) axis = i;
    return axis;
}

static void measure_box(volume *v, const spot *spots, int64_t count) {
    for (int i = 0; i < 3; i++) v->low[i] = v->high[i] = spots[0].c[i];
    for (int64_t s = 1; s < count; s++)
        for (int i = 0; i < 3; i++) {
            double c = spots[s].c[i];
            if (c < v->low[i]) v->low[i] = c;
            if (c > v->high[i]) v->high[i] = c;
        }
}

static double largest_coordinate(const volume *v) {
    double largest = 0.0;
    for (int i = 0; i < 3; i++) largest = fmax(largest, fmax(fabs(v->low[i]), fabs(v->high[i])));
    return largest;
}

static void swap_spots(spot *a, spot *b) {
    spot kept = *a;
    *a = *b;
    *b = kept;
}

/* The normal of a triangle, as long as twice its area. */
static void normal_of(const double *a, const double *b, const double *c, double *normal) {
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        normal[i] = (b[j] - a[j]) * (c[k] - a[k]) - (b[k] - a[k]) * (c[j] - a[j]);
    }
}

static double size_of(const double *v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* Bring three points far from each other to the front: both ends of an axis, and the one that is
 * furthest from the line between them. */
static void bring_corners(int axis, spot *spots, int64_t count) {
    for (int end = 0; end < 2; end++)
        for (int64_t i = end + 1; i < count; i++) {
            double here = spots[i].c[axis], best = spots[end].c[axis];
            if (end ? here > best : here < best) swap_spots(&spots[end], &spots[i]);
        }
    double normal[3], largest = 0.0;
    for (int64_t i = 2; i < count; i++) {
        normal_of(spots[0].c, spots[1].c, spots[i].c, normal);
        if (!(size_of(normal) > largest)) continue;
        largest = size_of(normal);
        swap_spots(&spots[i], &spots[2]);
    }
}

/* Near the direction of least spread: the normal of a large triangle. Any direction would give right
 * answers, and so does none. */
static void find_normal(volume *v, int axis, spot *spots, int64_t count) {
    double normal[3] = {0};
    if (count > 2 && largest_coordinate(v) <= LARGEST_WITH_SLAB) {
        bring_corners(axis, spots, count);
        normal_of(spots[0].c, spots[1].c, spots[2].c, normal);
    }
    double size = size_of(normal);
    for (int i = 0; i < 3; i++) {
        int counts = size > 0x1p-500 && fabs(normal[i]) >= 0x1p-60 * size;
        v->normal[i] = counts ? normal[i] / size : 0.0;
    }
}

static void measure_slab(volume *v, const spot *spots, int64_t count) {
    v->slab_low = INFINITY;
    v->slab_high = -INFINITY;
    for (int64_t s = 0; s < count; s++) {
        double along = 0.0, sizes = 0.0;
        for (int i = 0; i < 3; i++) {
            along += v->normal[i] * spots[s].c[i];
            sizes += fabs(v->normal[i] * spots[s].c[i]);
        }
        double slack = SLACK * sizes + UNDERFLOW_BOUND;
        if (along - slack < v->slab_low) v->slab_low = along - slack;
        if (along + slack > v->slab_high) v->slab_high = along + slack;
    }
}

/* Move spots with c[axis] < pivot (or <= pivot) to the front; returns how many. */
static int64_t partition_spots(spot *spots, int64_t count, int axis, double pivot, int or_equal) {
    int64_t front = 0;
    for (int64_t s = 0; s < count; s++)
        if (spots[s].c[axis] < pivot || (or_equal && spots[s].c[axis] == pivot))
            swap_spots(&spots[front++], &spots[s]);
    return front;
}

/* Halve spots that differ at the axis, about: returns how many there are before the median, or up to
 * it, if none is before. Quickselect, with pivots from the middle of three. */
static int64_t halve(spot *spots, int64_t count, int axis) {
    int64_t low = 0, high = count, wanted = count / 2;
    for (;;) {
        double a = spots[low].c[axis], b = spots[(low + high) / 2].c[axis];
        double c = spots[high - 1].c[axis];
        double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int64_t less = low + partition_spots(spots + low, high - low, axis, pivot, 0);
        int64_t most = less + partition_spots(spots + less, high - less, axis, pivot, 1);
        if (wanted < less) high = less;
        else if (wanted >= most) low = most;
        else return less > 0 ? less : most;
    }
}

/* Write a bucket to the tree; equal points become one. */
static void write_bucket(tree3d *t, pool *p, volume *v, const spot *spots, int64_t count) {
    v->first = t->spot_count;
    v->right = 0;
    for (int64_t s = 0; s < count; s++) {
        int64_t other = v->first;
        while (other < t->spot_count &&
               memcmp(t->spots[other].c, spots[s].c, sizeof spots[s].c) != 0)
            other++;
        if (other < t->spot_count)
            t->spots[other].mass = combine(p, t->spots[other].mass, spots[s].mass);
        else
            t->spots[t->spot_count++] = spots[s];
    }
    v->count = t->spot_count - v->first;
}

static void build_volume(tree3d *t, pool *p, spot *spots, int64_t count) {
    if (t->volume_count == t->volume_capacity) {
        t->volume_capacity = t->volume_capacity ? 2 * t->volume_capacity : 16;
        t->volumes =
            checked(realloc(t->volumes, sizeof(volume) * (size_t)t->volume_capacity));
    }
    int64_t here = t->volume_count++;
    volume v;
    measure_box(&v, spots, count);
    int axis = widest_axis(&v);
    find_normal(&v, axis, spots, count);
    measure_slab(&v, spots, count);
    if (count <= BUCKET_CAPACITY || v.high[axis] == v.low[axis]) {
        write_bucket(t, p, &v, spots, count);
        t->volumes[here] = v;
        return;
    }
    int64_t left = halve(spots, count, axis);
    build_volume(t, p, spots, left);
    v.first = v.count = 0;
    v.right = t->volume_count;
    build_volume(t, p, spots + left, count - left);
    t->volumes[here] = v;
}

static void close_tree(tree3d *t) {
    free(t->spots);
    free(t->volumes);
    memset(t, 0, sizeof *t);
}

static double upper_bound(const volume *v, const double *q) {
    double t = q[0] * v->normal[0] + q[1] * v->normal[1] + q[2] * v->normal[2];
    double slab = t * (t >= 0.0 ? v->slab_high : v->slab_low);
    double cut = slab, cut_sizes = fabs(slab), box = 0.0, box_sizes = 0.0;
    for (int i = 0; i < 3; i++) {
        double along = t * v->normal[i], rest = q[i] - along;
        double size = fmax(fabs(v->low[i]), fabs(v->high[i]));
        cut += rest * (rest >= 0.0 ? v->high[i] : v->low[i]);
        cut_sizes += (fabs(q[i]) + fabs(along)) * size;
        box += q[i] * (q[i] >= 0.0 ? v->high[i] : v->low[i]);
        box_sizes += fabs(q[i]) * size;
    }
    return fmin(cut + SLACK * cut_sizes, box + SLACK * box_sizes) + UNDERFLOW_SLACK;
}
