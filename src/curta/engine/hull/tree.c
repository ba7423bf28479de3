/* The vertices of an upper hull from left to right, in a B+-tree.
 *
 * Leaves hold the vertices. A branch holds, for every child, the first vertex below it and that
 * vertex's successor, so two searches go down the same tree:
 *
 *   by x:      the last child whose first vertex is not right of x;
 *   by slope:  the last child at whose first vertex the score still rises (q . (second - first) > 0).
 *              On a strictly concave chain the score rises, then falls: the test is true up to
 *              some child and false after it.
 *
 * Nodes split when full and disappear when empty; levels stay. A split needs half a node of insertions
 * before it, so the tree has O(log n) levels whatever the order of insertion. What a search reads
 * together lies together: trees are larger than the processor's caches.
 */
#define LEAF_CAPACITY 64
#define BRANCH_CAPACITY 38 /* as much memory */

typedef struct node node;

typedef struct {
    double x, y;
    uint32_t mass, edge; /* chain.c says what they are */
} vertex;

typedef struct {
    double x, y, second_x, second_y;
    node *child;
} entry;

struct node {
    union {
        vertex vertices[LEAF_CAPACITY];
        entry entries[BRANCH_CAPACITY];
    };
    node *parent, *previous, *next; /* neighbours at the same height */
    int count, height;              /* leaves are at height 0 */
};

typedef struct {
    node *root;
    int64_t vertices, nodes;
} chain;

/* A vertex; with index -1 the place before the first one. */
typedef struct {
    node *leaf; /* NULL: no vertex */
    int index;
} cursor;

static inline vertex *at(cursor v) { return &v.leaf->vertices[v.index]; }

static inline cursor successor(cursor v) {
    if (v.index + 1 < v.leaf->count) return (cursor){v.leaf, v.index + 1};
    return (cursor){v.leaf->next, 0};
}

static inline cursor predecessor(cursor v) {
    if (v.index > 0) return (cursor){v.leaf, v.index - 1};
    node *before = v.leaf->previous;
    return (cursor){before, before ? before->count - 1 : 0};
}

static node *new_node(chain *c, int height) {
    node *n = checked(calloc(1, sizeof *n));
    n->height = height;
    c->nodes++;
    return n;
}

static void free_tree(node *n) {
    for (int i = 0; n->height > 0 && i < n->count; i++) free_tree(n->entries[i].child);
    free(n);
}

static size_t chain_bytes(const chain *c) { return (size_t)c->nodes * sizeof(node); }

/* -- items: vertices of a leaf, or entries of a branch -- */

static size_t item_size(const node *n) { return n->height > 0 ? sizeof(entry) : sizeof(vertex); }

static void *item(node *n, int i) { return (char *)n + item_size(n) * (size_t)i; }

/* Move the items from `from` on. */
static void shift(node *n, int from, int by) {
    memmove(item(n, from + by), item(n, from), item_size(n) * (size_t)(n->count - from));
    n->count += by;
}

static int place_in_parent(const node *n) {
    int i = 0;
    while (n->parent->entries[i].child != n) i++;
    return i;
}

/* Write the first two vertices of a leaf wherever branches show them. The last vertex of all is its
 * own successor: nothing rises. */
static void show(node *leaf) {
    const vertex *first = leaf->vertices, *second = first;
    if (leaf->count > 1) second = first + 1;
    else if (leaf->next != NULL) second = leaf->next->vertices;
    for (node *n = leaf; n->parent != NULL; n = n->parent) {
        int i = place_in_parent(n);
        n->parent->entries[i] = (entry){first->x, first->y, second->x, second->y, n};
        if (i > 0) return;
    }
}

/* The first two vertices of a leaf have changed. */
static void refresh(node *leaf) {
    if (leaf->count > 0) show(leaf);
    if (leaf->previous != NULL && leaf->previous->count == 1) show(leaf->previous);
}

static cursor insert_item(chain *c, node *n, int i, const void *new);

/* Move the items from `keep` on to a new node behind this one. */
static node *split(chain *c, node *n, int keep) {
    if (n == c->root) {
        c->root = n->parent = new_node(c, n->height + 1);
        n->parent->entries[n->parent->count++].child = n;
    }
    node *right = new_node(c, n->height);
    right->count = n->count - keep;
    n->count = keep;
    memcpy(right, item(n, keep), item_size(n) * (size_t)right->count);
    for (int i = 0; n->height > 0 && i < right->count; i++) right->entries[i].child->parent = right;
    right->previous = n;
    right->next = n->next;
    if (n->next != NULL) n->next->previous = right;
    n->next = right;
    entry first = {0};
    if (n->height > 0 && right->count > 0) first = right->entries[0];
    first.child = right;
    insert_item(c, n->parent, place_in_parent(n) + 1, &first);
    if (n->height == 0 && right->count > 0) show(right);
    return right;
}

/* Returns where the item is then. Full nodes are halved, but stay full at the ends of the tree if it
 * grows there. */
static cursor insert_item(chain *c, node *n, int i, const void *new) {
    int capacity = n->height > 0 ? BRANCH_CAPACITY : LEAF_CAPACITY;
    if (n->count == capacity) {
        int grows_right = n->next == NULL && i == capacity;
        int grows_left = n->previous == NULL && i <= (n->height > 0);
        int keep = grows_right || grows_left ? i : capacity / 2;
        node *right = split(c, n, keep);
        if (i > keep || grows_right) n = right, i -= keep;
    }
    shift(n, i, 1);
    if (n->height == 0) {
        n->vertices[i] = *(const vertex *)new;
    } else {
        n->entries[i] = *(const entry *)new;
        n->entries[i].child->parent = n;
    }
    return (cursor){n, i};
}

static cursor insert_vertex(chain *c, cursor place, vertex new) {
    cursor v = insert_item(c, place.leaf, place.index, &new);
    c->vertices++;
    if (v.index <= 1) refresh(v.leaf);
    return v;
}

/* A node that this empties is taken out of its parent. */
static void remove_item(chain *c, node *n, int i) {
    shift(n, i + 1, -1);
    if (n->count > 0) return;
    if (n->previous != NULL) n->previous->next = n->next;
    if (n->next != NULL) n->next->previous = n->previous;
    remove_item(c, n->parent, place_in_parent(n));
    free(n);
    c->nodes--;
}

/* One that is not the only one. Cursors to others in its leaf may have to move by one. */
static void remove_vertex(chain *c, cursor v) {
    node *leaf = v.leaf, *previous = leaf->previous, *next = leaf->next;
    c->vertices--;
    int emptied = leaf->count == 1;
    remove_item(c, leaf, v.index);
    if (!emptied && v.index <= 1) refresh(leaf);
    if (emptied && previous != NULL) show(previous);
    if (emptied && next != NULL) show(next);
}

/* The last vertex not right of x, or the place before the first. How many steps that takes depends on
 * how full nodes are, and on nothing that a processor would guess wrong. */
static cursor locate(const chain *c, double x) {
    for (node *n = c->root;;) {
        const char *found = (const char *)n;
        for (int rest = n->count, half; rest > 1; rest -= half) {
            half = rest / 2;
            const char *middle = found + item_size(n) * (size_t)half;
            found = *(const double *)middle <= x ? middle : found; /* items begin with their x */
        }
        if (n->height == 0) {
            int index = (int)((const vertex *)found - n->vertices);
            return (cursor){n, n->count > 0 && n->vertices[index].x <= x ? index : index - 1};
        }
        n = ((const entry *)found)->child;
    }
}
