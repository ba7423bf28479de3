/* Forget points that lie inside the others.
 *
 * A point strictly inside a tetrahedron of other points never has the highest score, nor ties for
 * it, whatever the query (but 0, where all points tie: that record is kept apart). It may go, even
 * if those others go later: they only ever go because others surround them in turn.
 *
 * The search for such tetrahedra is that of quickhull, without its care for facets. A *face* is a
 * triangle of points, and has points beyond it. The furthest of them, its *tip*, makes a
 * tetrahedron with it. Points strictly inside are dropped; each of the others goes on to one of the
 * three faces at the tip, as a rule one that it is beyond. The first two faces are both sides of one
 * triangle. A wrong guess costs a point that could have gone, never the other way round: dropping
 * asks for signs that are certain. Where nothing goes, as on a sphere, the search gives up.
 */
#define FEWEST_BEYOND 16
#define MANY_BEYOND 64 /* a tip that drops none of so many points is hopeless */
#define DEEPEST_FACE 40

/* Largest coordinate for which the filter of `beyond` holds. */
#define LARGEST_PRUNED 0x1p300

/* Points beyond it are those from which the corners are seen clockwise. */
typedef struct {
    const double *corner[3];
} face;

/* By how much a point seems to be beyond a face, negative if it is behind it: six times the volume of
 * their tetrahedron. *error (or NULL) bounds its rounding error: (7 + 56u)u times the sum of its terms'
 * sizes (Shewchuk 1997, section 4.3), and 2^-700 because a product of two differences may be off by
 * 2^-1074 before it is multiplied by the third. */
static double beyond(const face *f, const double *p, double *error) {
    const double *a = f->corner[0], *b = f->corner[1], *c = f->corner[2];
    double ax = a[0] - p[0], ay = a[1] - p[1], az = a[2] - p[2];
    double bx = b[0] - p[0], by = b[1] - p[1], bz = b[2] - p[2];
    double cx = c[0] - p[0], cy = c[1] - p[1], cz = c[2] - p[2];
    double bcx = bx * cy, cbx = cx * by, cax = cx * ay, acx = ax * cy, abx = ax * by, bax = bx * ay;
    double sizes = (fabs(bcx) + fabs(cbx)) * fabs(az) + (fabs(cax) + fabs(acx)) * fabs(bz) +
                   (fabs(abx) + fabs(bax)) * fabs(cz);
    if (error != NULL) *error = 0x1p-50 * sizes + 0x1p-700;
    return az * (bcx - cbx) + bz * (cax - acx) + cz * (abx - bax);
}

/* Is the point, certainly, strictly inside the tetrahedron of a face and its tip? */
static int is_inside(const face *base, const face *at_tip, const double *p) {
    double error;
    if (!(beyond(base, p, &error) > error)) return 0;
    for (int i = 0; i < 3; i++)
        if (!(beyond(&at_tip[i], p, &error) < -error)) return 0;
    return 1;
}

/* Bring the points that seem to be beyond a face to the front; returns how many. */
static int64_t bring_beyond(const face *f, spot *spots, int64_t count) {
    int64_t front = 0;
    for (int64_t i = 0; i < count; i++)
        if (beyond(f, spots[i].c, NULL) > 0.0) swap_spots(&spots[front++], &spots[i]);
    return front;
}

static int64_t prune_faces(pool *p, int faces, const face *f, spot *spots, int64_t count, int depth);

/* The points beyond one face; returns how many are kept, at the front. */
static int64_t prune_beyond(pool *p, const face *f, spot *spots, int64_t count, int depth) {
    if (count < FEWEST_BEYOND || depth == DEEPEST_FACE) return count;
    double furthest = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double distance = beyond(f, spots[i].c, NULL);
        if (!(distance > furthest)) continue;
        furthest = distance;
        swap_spots(&spots[0], &spots[i]);
    }
    if (furthest == 0.0) return count;
    double tip[3];
    memcpy(tip, spots[0].c, sizeof tip);
    const double *a = f->corner[0], *b = f->corner[1], *c = f->corner[2];
    const face at_tip[3] = {{{a, b, tip}}, {{b, c, tip}}, {{c, a, tip}}};
    int64_t left = count;
    for (int64_t i = 1; i < left;)
        if (is_inside(f, at_tip, spots[i].c)) {
            free_record(p, spots[i].mass);
            spots[i] = spots[--left];
        } else {
            i++;
        }
    if (left == count && count >= MANY_BEYOND) return count;
    return 1 + prune_faces(p, 3, at_tip, spots + 1, left - 1, depth + 1);
}

/* The last face takes what seems to be beyond none. */
static int64_t prune_faces(pool *p, int faces, const face *f, spot *spots, int64_t count, int depth) {
    int64_t kept = 0, next = 0;
    for (int i = 0; i < faces; i++) {
        int64_t rest = count - next;
        int64_t here = i < faces - 1 ? bring_beyond(&f[i], spots + next, rest) : rest;
        int64_t stay = prune_beyond(p, &f[i], spots + next, here, depth);
        memmove(spots + kept, spots + next, sizeof(spot) * (size_t)stay);
        kept += stay;
        next += here;
    }
    return kept;
}

/* Forget points that are inside the others; returns how many are kept, at the front. */
static int64_t prune_spots(pool *p, spot *spots, int64_t count) {
    volume box;
    measure_box(&box, spots, count);
    if (count < FEWEST_BEYOND || !(largest_coordinate(&box) <= LARGEST_PRUNED)) return count;
    bring_corners(widest_axis(&box), spots, count);
    const double *a = spots[0].c, *b = spots[1].c, *c = spots[2].c;
    const face sides[2] = {{{a, b, c}}, {{a, c, b}}};
    return 3 + prune_faces(p, 2, sides, spots + 3, count - 3, 0);
}
