/* An upper hull under insertion, as a chain of vertices in a tree.
 *
 * Each inserted point is removed at most once, so an insertion costs O(log n) amortised.
 *
 * What is attached. A vertex carries a *mass*: the record of the points that lie there. So does
 * the edge to its right: the points strictly inside that edge. An edge stays as it is, or becomes
 * part of a longer one on the same line (its mass moves along), or vanishes below the hull: a mass
 * is never split, which is why one record per edge is enough.
 */

typedef enum { BELOW, DUPLICATE, ON_EDGE, OVER_VERTEX, ABOVE } verdict;

/* Where a point lies; `near` becomes the last vertex not right of it. Changes nothing. */
static verdict place_point(const chain *c, double x, double y, cursor *near) {
    cursor v = *near = locate(c, x);
    if (v.leaf == NULL) return ABOVE;
    if (X(v) == x) return Y(v) == y ? DUPLICATE : Y(v) > y ? BELOW : OVER_VERTEX;
    cursor after = successor(v);
    if (after.leaf == NULL) return ABOVE;
    int side = orientation(X(v), Y(v), X(after), Y(after), x, y);
    return side < 0 ? BELOW : side == 0 ? ON_EDGE : ABOVE;
}

/* Remove the vertices left of the new point that it hides; returns the one that stays next to it
 * and sets `edge` to the mass of points strictly between them. */
static cursor clear_left(chain *c, pool *p, cursor left, double x, double y, uint32_t *edge) {
    *edge = NONE;
    while (left.leaf != NULL) {
        cursor beyond = predecessor(left);
        if (beyond.leaf == NULL) return left;
        int side = orientation(X(beyond), Y(beyond), x, y, X(left), Y(left));
        if (side > 0) return left;
        if (side == 0) {
            *edge = combine(p, EDGE(beyond), MASS(left));
            remove_vertex(c, left);
            return beyond;
        }
        drop(p, MASS(left));
        drop(p, EDGE(beyond));
        EDGE(beyond) = NONE;
        remove_vertex(c, left);
        left = beyond;
    }
    return left;
}

/* The same to the right. `right` moves along as vertices disappear under it. */
static void clear_right(chain *c, pool *p, cursor right, double x, double y, uint32_t *edge) {
    *edge = NONE;
    while (right.leaf != NULL) {
        cursor beyond = successor(right);
        if (beyond.leaf == NULL) return;
        int side = orientation(x, y, X(beyond), Y(beyond), X(right), Y(right));
        if (side > 0) return;
        uint32_t mass = MASS(right), onward = EDGE(right);
        cursor next = beyond.leaf == right.leaf ? right : beyond;
        if (side == 0) {
            *edge = combine(p, onward, mass);
            remove_vertex(c, right);
            return;
        }
        drop(p, mass);
        drop(p, onward);
        remove_vertex(c, right);
        right = next;
    }
}

/* Take up a point that is not BELOW, with its record; `near` is from place_point. */
static void keep_point(chain *c, pool *p, verdict where, cursor near, double x, double y,
                       uint32_t mass) {
    if (where == DUPLICATE) {
        MASS(near) = combine(p, MASS(near), mass);
        return;
    }
    if (where == ON_EDGE) {
        EDGE(near) = combine(p, EDGE(near), mass);
        return;
    }
    uint32_t left_edge, right_edge;
    cursor left = near;
    if (where == OVER_VERTEX) {
        left = predecessor(near);
        drop(p, MASS(near));
        drop(p, EDGE(near));
        remove_vertex(c, near);
    }
    if (left.leaf != NULL) {
        drop(p, EDGE(left)); /* the edge that the new point rises above */
        EDGE(left) = NONE;
        left = clear_left(c, p, left, x, y, &left_edge);
        EDGE(left) = left_edge;
    }
    cursor right = left.leaf ? successor(left) : (cursor){c->first->count ? c->first : NULL, 0};
    clear_right(c, p, right, x, y, &right_edge);
    cursor place = left.leaf ? (cursor){left.leaf, left.index + 1} : (cursor){c->first, 0};
    insert_vertex(c, place, x, y, mass, right_edge);
}
