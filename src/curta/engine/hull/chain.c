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

/* Where a point lies, and the last vertex not right of it. */
typedef struct {
    cursor last;
    verdict where;
} place;

static place place_point(const chain *c, double x, double y) {
    cursor v = locate(c, x);
    if (v.index < 0) return (place){v, ABOVE};
    const vertex *a = at(v);
    if (a->x == x) return (place){v, a->y == y ? DUPLICATE : a->y > y ? BELOW : OVER_VERTEX};
    cursor after = successor(v);
    if (after.leaf == NULL) return (place){v, ABOVE};
    int side = orientation(a->x, a->y, at(after)->x, at(after)->y, x, y);
    return (place){v, side < 0 ? BELOW : side == 0 ? ON_EDGE : ABOVE};
}

static void drop_edge(pool *p, cursor v) {
    drop(p, at(v)->edge);
    at(v)->edge = NONE;
}

/* Remove the vertices that a new one hides on one side; returns where it is then. */
static cursor clear_side(chain *c, pool *p, cursor new, int right) {
    for (;;) {
        cursor near = right ? successor(new) : predecessor(new);
        if (near.leaf == NULL) return new;
        cursor beyond = right ? successor(near) : predecessor(near);
        if (beyond.leaf == NULL) return new;
        const vertex *a = at(right ? new : beyond), *b = at(right ? beyond : new);
        int side = orientation(a->x, a->y, b->x, b->y, at(near)->x, at(near)->y);
        if (side > 0) return new;
        cursor outer = right ? near : beyond, inner = right ? new : beyond; /* whose edges */
        if (side < 0) {
            drop(p, at(near)->mass);
            drop_edge(p, outer);
        }
        at(inner)->edge = side < 0 ? NONE : combine(p, at(outer)->edge, at(near)->mass);
        new.index -= near.leaf == new.leaf && !right;
        remove_vertex(c, near);
        if (side == 0) return new;
    }
}

/* Take up a point that is not BELOW, with its record, at the place where it lies. */
static void keep_point(chain *c, pool *p, place here, double x, double y, uint32_t mass) {
    cursor left = here.last;
    if (here.where == DUPLICATE) {
        at(left)->mass = combine(p, at(left)->mass, mass);
        return;
    }
    if (here.where == ON_EDGE) {
        at(left)->edge = combine(p, at(left)->edge, mass);
        return;
    }
    cursor new = left;
    if (here.where == OVER_VERTEX) { /* whose place it takes */
        left = predecessor(new);
        drop_edge(p, new);
        drop(p, at(new)->mass);
        *at(new) = (vertex){x, y, mass, NONE};
        if (new.index <= 1) refresh(new.leaf);
    } else {
        new.index++;
        new = insert_vertex(c, new, (vertex){x, y, mass, NONE});
        left = predecessor(new);
    }
    if (left.leaf != NULL) drop_edge(p, left); /* which the point rises above */
    new = clear_side(c, p, new, 1);
    clear_side(c, p, new, 0);
}
