/* Forget points that lie inside the others.
 *
 * A point strictly inside a tetrahedron of other points never has the highest score, nor ties for
 * it, whatever the query (but 0, where all points tie: that record is kept apart). It may go, even
 * if those others go later: they only ever go because others surround them in turn.
 *
 * The search for such tetrahedra is that of quickhull, without its care for facets. All share one
 * corner, the *apex*, a point near the middle. The rest of space is divided into cones: a cone is
 * what the apex sees through a triangle of points. The point of the cone farthest beyond its
 * triangle divides it into three. Points strictly inside (apex, triangle) are dropped; the others
 * go on to the cone they seem to be in. A wrong guess costs a point that could have gone, never
 * the other way round: dropping asks for signs that are certain. Where nothing goes, as on a sphere,
 * the search gives up.
 */
#define SMALLEST_CONE 16
#define LARGE_CONE 64 /* a division of so many points that drops none is hopeless */
#define DEEPEST_CONE 40
#define OCTANTS 8

/* Largest coordinate for which the filter of `side_of_plane` holds. */
#define LARGEST_PRUNED 0x1p300

typedef struct {
    const double *apex, *corner[3];
} cone;

/* Six times the volume of the tetrahedron (a, b, c, p), with sign. *error (or NULL) bounds its rounding
 * error: (7 + 56u)u times the sum of its terms' sizes (Shewchuk 1997, section 4.3), and 2^-700 because a
 * product of two differences may be off by 2^-1074 before it is multiplied by the third. */
static double side_of_plane(const double *a, const double *b, const double *c, const double *p,
                            double *error) {
    double ax = a[0] - p[0], ay = a[1] - p[1], az = a[2] - p[2];
    double bx = b[0] - p[0], by = b[1] - p[1], bz = b[2] - p[2];
    double cx = c[0] - p[0], cy = c[1] - p[1], cz = c[2] - p[2];
    double bcx = bx * cy, cbx = cx * by, cax = cx * ay, acx = ax * cy, abx = ax * by, bax = bx * ay;
    double sizes = (fabs(bcx) + fabs(cbx)) * fabs(az) + (fabs(cax) + fabs(acx)) * fabs(bz) +
                   (fabs(abx) + fabs(bax)) * fabs(cz);
    if (error != NULL) *error = 0x1p-50 * sizes + 0x1p-700;
    return az * (bcx - cbx) + bz * (cax - acx) + cz * (abx - bax);
}

static int certain_side(const double *a, const double *b, const double *c, const double *p) {
    double error, side = side_of_plane(a, b, c, p, &error);
    return (side > error) - (side < -error);
}

/* Is the point, certainly, strictly inside the tetrahedron of the apex and the triangle? */
static int is_inside(const cone *k, const double *p) {
    int side = certain_side(k->corner[0], k->corner[1], k->corner[2], p);
    return side != 0 && certain_side(k->apex, k->corner[2], k->corner[1], p) == side &&
           certain_side(k->apex, k->corner[0], k->corner[2], p) == side &&
           certain_side(k->apex, k->corner[1], k->corner[0], p) == side;
}

/* Does the apex see the point through the triangle? A guess, near the walls. */
static int seems_in_cone(const cone *k, const double *p) {
    double turn = side_of_plane(k->corner[0], k->corner[1], k->corner[2], k->apex, NULL);
    for (int i = 0; i < 3; i++) {
        const double *from = k->corner[i], *to = k->corner[(i + 1) % 3];
        if ((side_of_plane(k->apex, to, from, p, NULL) > 0.0) != (turn > 0.0)) return 0;
    }
    return 1;
}

/* Drop what is inside the cones' tetrahedra, bring the others into the order of the cones, the last
 * of which takes what seems to be in none. Writes how many each has; returns how many are left. */
static int64_t divide(pool *p, int cones, const cone *k, spot *spots, int64_t count,
                      int64_t *sizes) {
    int64_t start = 0, end = count;
    for (int g = 0; g < cones; g++) {
        int64_t first = start;
        for (int64_t i = start; i < end;) {
            if (g < cones - 1 && !seems_in_cone(&k[g], spots[i].c)) {
                i++;
            } else if (is_inside(&k[g], spots[i].c)) {
                free_record(p, spots[i].mass);
                spots[i] = spots[--end];
            } else {
                swap_spots(&spots[start++], &spots[i++]);
            }
        }
        sizes[g] = start - first;
    }
    return end;
}

static int64_t prune_cones(pool *p, int cones, const cone *k, spot *spots, int64_t count, int depth);

/* The points of one cone, none of them inside; returns how many are kept, at the front. */
static int64_t prune_cone(pool *p, const cone *k, spot *spots, int64_t count, int depth) {
    if (count < SMALLEST_CONE || depth == DEEPEST_CONE) return count;
    double turn = side_of_plane(k->corner[0], k->corner[1], k->corner[2], k->apex, NULL);
    double furthest = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double side = side_of_plane(k->corner[0], k->corner[1], k->corner[2], spots[i].c, NULL);
        double beyond = turn > 0.0 ? -side : side;
        if (beyond > furthest) {
            furthest = beyond;
            swap_spots(&spots[0], &spots[i]);
        }
    }
    if (furthest == 0.0) return count;
    double tip[3];
    memcpy(tip, spots[0].c, sizeof tip);
    const double *a = k->corner[0], *b = k->corner[1], *c = k->corner[2];
    cone parts[3] = {{k->apex, {a, b, tip}}, {k->apex, {b, c, tip}}, {k->apex, {c, a, tip}}};
    return 1 + prune_cones(p, 3, parts, spots + 1, count - 1, depth + 1);
}

static int64_t prune_cones(pool *p, int cones, const cone *k, spot *spots, int64_t count, int depth) {
    int64_t sizes[OCTANTS], kept = 0, next = 0;
    int64_t left = divide(p, cones, k, spots, count, sizes);
    if (left == count && count >= LARGE_CONE) return left;
    for (int g = 0; g < cones; g++) {
        int64_t stay = prune_cone(p, &k[g], spots + next, sizes[g], depth);
        memmove(spots + kept, spots + next, sizeof(spot) * (size_t)stay);
        kept += stay;
        next += sizes[g];
    }
    return kept;
}

/* Bring the points with the lowest and highest coordinates to the front, one for each axis and end,
 * and the point nearest to the middle of the box; they stay. */
static int bring_corners(const volume *box, spot *spots, int64_t count) {
    int fixed = 0;
    for (int end = 0; end < 6; end++, fixed++)
        for (int64_t i = fixed + 1; i < count; i++) {
            double here = spots[i].c[end / 2], best = spots[fixed].c[end / 2];
            if (end % 2 ? here > best : here < best) swap_spots(&spots[fixed], &spots[i]);
        }
    double nearest = INFINITY;
    for (int64_t i = fixed; i < count; i++) {
        double distance = 0.0;
        for (int axis = 0; axis < 3; axis++)
            distance += fabs(spots[i].c[axis] - (box->low[axis] + box->high[axis]) / 2);
        if (distance < nearest) {
            nearest = distance;
            swap_spots(&spots[fixed], &spots[i]);
        }
    }
    return fixed + 1;
}

/* Forget points that are inside the others; returns how many are kept, at the front. */
static int64_t prune_spots(pool *p, spot *spots, int64_t count) {
    volume box;
    measure_box(&box, spots, count);
    if (count < 2 * SMALLEST_CONE || !(largest_coordinate(&box) <= LARGEST_PRUNED)) return count;
    int fixed = bring_corners(&box, spots, count);
    cone octants[OCTANTS];
    for (int g = 0; g < OCTANTS; g++) {
        octants[g].apex = spots[fixed - 1].c;
        for (int axis = 0; axis < 3; axis++)
            octants[g].corner[axis] = spots[2 * axis + (g >> axis & 1)].c;
    }
    return fixed + prune_cones(p, OCTANTS, octants, spots + fixed, count - fixed, 0);
}
