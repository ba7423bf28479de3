/* The vertices of an upper hull from left to right, in a B+-tree.
 *
 * Leaves hold the vertices; each knows its neighbours. A branch holds, for every child, the first
 * vertex below it and that vertex's successor. Two searches go down the same tree:
 *
 *   by x:      the last child whose first vertex is not right of x;
 *   by slope:  the last child at whose first vertex the score still rises (q . (second - first) > 0).
 *              On a strictly concave chain the score rises, then falls: the test is true up to
 *              some child and false after it.
 *
 * Nodes split when full and disappear when empty; levels stay. A split needs half a node of insertions
 * before it, so the tree has O(log n) levels whatever the order of insertion.
 */
#define LEAF_CAPACITY 64
#define BRANCH_CAPACITY 32

typedef struct branch branch;

/* What a search reads together lies together: trees are larger than the processor's caches. */
typedef struct {
    double x, y;
    uint32_t mass, edge; /* chain.c says what they are */
} vertex;

typedef struct leaf {
    vertex at[LEAF_CAPACITY];
    branch *parent;
    struct leaf *previous, *next;
    int count;
} leaf;

typedef struct {
    double x, y, second_x, second_y;
} entry;

struct branch {
    entry at[BRANCH_CAPACITY];
    void *child[BRANCH_CAPACITY];
    branch *parent;
    int count;
};

typedef struct {
    void *root;
    leaf *first, *last;
    int height; /* levels of branches above the leaves */
    int64_t vertices, leaves, branches;
} chain;

typedef struct {
    leaf *leaf; /* NULL: no vertex */
    int index;
} cursor;

static const cursor NOWHERE = {NULL, 0};

static leaf *new_leaf(chain *c) {
    leaf *l = checked(malloc(sizeof *l));
    l->parent = NULL;
    l->previous = l->next = NULL;
    l->count = 0;
    c->leaves++;
    return l;
}

static branch *new_branch(chain *c) {
    branch *b = checked(malloc(sizeof *b));
    b->parent = NULL;
    b->count = 0;
    c->branches++;
    return b;
}

static void chain_open(chain *c) {
    memset(c, 0, sizeof *c);
    c->root = c->first = c->last = new_leaf(c);
}

static void close_subtree(void *node, int height) {
    if (height > 0) {
        branch *b = node;
        for (int i = 0; i < b->count; i++) close_subtree(b->child[i], height - 1);
    }
    free(node);
}

static void chain_close(chain *c) { close_subtree(c->root, c->height); }

static size_t chain_bytes(const chain *c) {
    return (size_t)c->leaves * sizeof(leaf) + (size_t)c->branches * sizeof(branch);
}

static inline cursor successor(cursor v) {
    if (v.index + 1 < v.leaf->count) return (cursor){v.leaf, v.index + 1};
    return (cursor){v.leaf->next, 0};
}

static inline cursor predecessor(cursor v) {
    if (v.index > 0) return (cursor){v.leaf, v.index - 1};
    leaf *before = v.leaf->previous;
    return before ? (cursor){before, before->count - 1} : NOWHERE;
}

#define X(v) ((v).leaf->at[(v).index].x)
#define Y(v) ((v).leaf->at[(v).index].y)
#define MASS(v) ((v).leaf->at[(v).index].mass)
#define EDGE(v) ((v).leaf->at[(v).index].edge)

static void set_entry(branch *b, int i, const leaf *l, void *child) {
    int has_second = l->count > 1 || l->next != NULL;
    const leaf *holder = l->count > 1 || !has_second ? l : l->next;
    int index = l->count > 1 ? 1 : 0; /* a vertex without successor is its own: nothing rises */
    const vertex *first = &l->at[0], *second = &holder->at[index];
    b->at[i] = (entry){first->x, first->y, second->x, second->y};
    b->child[i] = child;
}

static int child_index(const branch *b, const void *child) {
    int i = 0;
    while (b->child[i] != child) i++;
    return i;
}

/* Write the first two vertices of a leaf wherever branches show them. */
static void refresh_one(const leaf *l) {
    void *child = (void *)l;
    for (branch *b = l->parent; b != NULL; b = b->parent) {
        int i = child_index(b, child);
        set_entry(b, i, l, child);
        if (i > 0) return;
        child = b;
    }
}

static void refresh(const leaf *l) {
    if (l->count > 0) refresh_one(l);
    if (l->previous != NULL && l->previous->count == 1) refresh_one(l->previous);
}

static void copy_entry(branch *to, int i, const branch *from, int j) {
    to->at[i] = from->at[j];
    to->child[i] = from->child[j];
}

static void set_parent(void *node, int height, branch *parent) {
    if (height == 0)
        ((leaf *)node)->parent = parent;
    else
        ((branch *)node)->parent = parent;
}

static const leaf *leftmost_leaf(void *node, int height) {
    for (; height > 0; height--) node = ((branch *)node)->child[0];
    return node;
}

static void grow_root(chain *c) {
    branch *root = new_branch(c);
    set_parent(c->root, c->height, root);
    set_entry(root, 0, leftmost_leaf(c->root, c->height), c->root);
    root->count = 1;
    c->root = root;
    c->height++;
}

static branch *split_branch(chain *c, branch *b, int child_height, int keep) {
    branch *right = new_branch(c);
    for (int j = keep; j < b->count; j++) {
        copy_entry(right, j - keep, b, j);
        set_parent(b->child[j], child_height, right);
    }
    right->count = b->count - keep;
    b->count = keep;
    return right;
}

static void insert_entry(branch *b, int i, void *child, int child_height) {
    for (int j = b->count; j > i; j--) copy_entry(b, j, b, j - 1);
    b->count++;
    set_parent(child, child_height, b);
    set_entry(b, i, leftmost_leaf(child, child_height), child);
}

/* Make `sibling`, a filled node at `height`, the next child after `node`. `end` is -1 or 1 when
 * the tree grows at its left or right end: there nodes stay full instead of being halved. */
static void add_sibling(chain *c, void *node, void *sibling, int height, int end) {
    if (c->root == node) grow_root(c);
    branch *b = height == 0 ? ((leaf *)node)->parent : ((branch *)node)->parent;
    int i = child_index(b, node) + 1;
    if (b->count < BRANCH_CAPACITY) {
        insert_entry(b, i, sibling, height);
        return;
    }
    int keep = end > 0 ? BRANCH_CAPACITY : end < 0 ? 1 : BRANCH_CAPACITY / 2;
    branch *right = split_branch(c, b, height, keep);
    if (i > keep || end > 0)
        insert_entry(right, i - keep, sibling, height);
    else
        insert_entry(b, i, sibling, height);
    add_sibling(c, b, right, height + 1, end);
}

static leaf *split_leaf(chain *c, leaf *l, int keep) {
    leaf *right = new_leaf(c);
    int moved = l->count - keep;
    memcpy(right->at, l->at + keep, (size_t)moved * sizeof(vertex));
    right->count = moved;
    l->count = keep;
    right->previous = l;
    right->next = l->next;
    if (l->next != NULL) l->next->previous = right;
    else c->last = right;
    l->next = right;
    return right;
}

static void shift(leaf *l, int from, int by) {
    memmove(l->at + from + by, l->at + from, (size_t)(l->count - from) * sizeof(vertex));
    l->count += by;
}

static void write_vertex(leaf *l, int i, double x, double y, uint32_t mass, uint32_t edge) {
    shift(l, i, 1);
    l->at[i] = (vertex){x, y, mass, edge};
}

static void insert_vertex(chain *c, cursor place, double x, double y, uint32_t mass, uint32_t edge) {
    leaf *l = place.leaf;
    int i = place.index;
    c->vertices++;
    if (l->count < LEAF_CAPACITY) {
        write_vertex(l, i, x, y, mass, edge);
        if (i <= 1) refresh(l);
        return;
    }
    int end = i == LEAF_CAPACITY && l->next == NULL ? 1 : i == 0 && l->previous == NULL ? -1 : 0;
    int keep = end > 0 ? LEAF_CAPACITY : end < 0 ? 0 : LEAF_CAPACITY / 2;
    leaf *right = split_leaf(c, l, keep);
    if (i > keep || end > 0)
        write_vertex(right, i - keep, x, y, mass, edge);
    else
        write_vertex(l, i, x, y, mass, edge);
    add_sibling(c, l, right, 0, end);
    refresh(l);
    refresh(right);
}

/* Take an empty node out of its parent, and the parent too if that empties it. */
static void remove_child(chain *c, void *node, branch *b, int height) {
    int i = child_index(b, node);
    free(node);
    if (height == 0) c->leaves--;
    else c->branches--;
    for (int j = i + 1; j < b->count; j++) copy_entry(b, j - 1, b, j);
    b->count--;
    if (b->count == 0)
        remove_child(c, b, b->parent, height + 1);
    else if (i == 0)
        refresh_one(leftmost_leaf(b, height + 1));
}

/* Cursors to the left stay valid; to the right of it, in the same leaf, they move by one. */
static void remove_vertex(chain *c, cursor v) {
    leaf *l = v.leaf;
    c->vertices--;
    shift(l, v.index + 1, -1);
    if (l->count > 0 || c->first == c->last) { /* the last leaf stays */
        if (v.index <= 1) refresh(l);
        return;
    }
    if (l->previous != NULL) l->previous->next = l->next;
    else c->first = l->next;
    if (l->next != NULL) l->next->previous = l->previous;
    else c->last = l->previous;
    leaf *before = l->previous;
    remove_child(c, l, l->parent, 0);
    if (before != NULL && before->count == 1) refresh_one(before);
}

/* The last vertex not right of x, or NOWHERE. */
static cursor locate(const chain *c, double x) {
    void *node = c->root;
    for (int height = c->height; height > 0; height--) {
        branch *b = node;
        int low = 0, high = b->count; /* first[low] <= x or low == 0; x < first[high] */
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (b->at[middle].x <= x) low = middle;
            else high = middle;
        }
        node = b->child[low];
    }
    leaf *l = node;
    int low = -1, high = l->count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (l->at[middle].x <= x) low = middle;
        else high = middle;
    }
    return low < 0 ? NOWHERE : (cursor){l, low};
}

/* Does the second point score higher than the first? */
static inline int rises(double qx, double qy, const vertex *first, const vertex *second) {
    return dot_sign(qx, qy, second->x, second->y, first->x, first->y) > 0;
}

/* The leftmost vertex with the highest score in a direction with qy > 0; the chain has one. It branches
 * on every comparison: heads that look back by fixed distances take the same way again and again,
 * which processors guess. For other queries find_summits (summits.c) is quicker. */
static cursor summit(const chain *c, double qx, double qy) {
    void *node = c->root;
    for (int height = c->height; height > 0; height--) {
        branch *b = node;
        int low = 0, high = b->count;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            const entry *e = &b->at[middle];
            if (dot_sign(qx, qy, e->second_x, e->second_y, e->x, e->y) > 0) low = middle;
            else high = middle;
        }
        node = b->child[low];
    }
    leaf *l = node;
    int low = 0, high = l->count - 1; /* rises up to low; does not rise from high, if not last */
    while (low < high) {
        int middle = (low + high) / 2;
        if (rises(qx, qy, &l->at[middle], &l->at[middle + 1])) low = middle + 1;
        else high = middle;
    }
    if (low == l->count - 1 && l->next != NULL && rises(qx, qy, &l->at[low], &l->next->at[0]))
        return (cursor){l->next, 0};
    return (cursor){l, low};
}
