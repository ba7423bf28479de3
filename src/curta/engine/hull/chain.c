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

/* Is there this vertex, and does a point left of it hide it? */
static int is_hidden(cursor v, double x, double y) {
    if (v.leaf == NULL) return 0;
    cursor after = successor(v);
    return after.leaf != NULL &&
           orientation(x, y, at(after)->x, at(after)->y, at(v)->x, at(v)->y) < 0;
}

/* Take up a point that is not BELOW, with its record, at the place where it lies. As a rule it hides
 * one vertex, and takes its place. */
static void keep_point(chain *c, pool *p, place here, double x, double y, uint32_t mass) {
    cursor left = here.last, hidden = left;
    if (here.where == DUPLICATE) {
        at(left)->mass = combine(p, at(left)->mass, mass);
        return;
    }
    if (here.where == ON_EDGE) {
        at(left)->edge = combine(p, at(left)->edge, mass);
        return;
    }
    if (here.where == OVER_VERTEX) left = predecessor(hidden);
    else hidden = successor(left);
    if (left.leaf != NULL && left.index >= 0) drop_edge(p, left); /* which the point rises above */
    cursor new = hidden;
    if (here.where == OVER_VERTEX || is_hidden(hidden, x, y)) {
        drop_edge(p, hidden);
        drop(p, at(hidden)->mass);
        *at(hidden) = (vertex){x, y, mass, NONE};
        if (hidden.index <= 1) refresh(hidden.leaf);
    } else {
        left.index++;
        new = insert_vertex(c, left, (vertex){x, y, mass, NONE});
    }
    new = clear_side(c, p, new, 1);
    clear_side(c, p, new, 0);
}
