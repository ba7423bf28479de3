/* Trees and other maps: a red-black tree, a treap with persistence, a skip list; all agree. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct tree {
    int key, value;
    unsigned red : 1;
    struct tree *child[2];
} tree;

static int is_red(const tree *t) { return t != NULL && t->red; }

static tree *rotate(tree *t, int way) {
    tree *up = t->child[!way];
    t->child[!way] = up->child[way];
    up->child[way] = t;
    t->red = 1;
    up->red = 0;
    return up;
}

static tree *insert(tree *t, int key, int value) {
    if (t == NULL) {
        t = calloc(1, sizeof *t);
        *t = (tree){.key = key, .value = value, .red = 1};
        return t;
    }
    if (key == t->key) {
        t->value = value;
        return t;
    }
    int way = key > t->key;
    t->child[way] = insert(t->child[way], key, value);
    if (is_red(t->child[way])) {
        if (is_red(t->child[!way])) {
            t->red = 1;
            t->child[0]->red = t->child[1]->red = 0;
        } else if (is_red(t->child[way]->child[way])) {
            t = rotate(t, !way);
        } else if (is_red(t->child[way]->child[!way])) {
            t->child[way] = rotate(t->child[way], way);
            t = rotate(t, !way);
        }
    }
    return t;
}

static int black_height(const tree *t) { /* -1 if the rules are broken */
    if (t == NULL) return 1;
    if (t->red && (is_red(t->child[0]) || is_red(t->child[1]))) return -1;
    int left = black_height(t->child[0]), right = black_height(t->child[1]);
    return left == right && left > 0 ? left + !t->red : -1;
}

static int depth(const tree *t) {
    if (t == NULL) return 0;
    int left = depth(t->child[0]), right = depth(t->child[1]);
    return 1 + (left > right ? left : right);
}

static void destroy(tree *t) {
    if (t == NULL) return;
    destroy(t->child[0]);
    destroy(t->child[1]);
    free(t);
}

typedef struct treap {
    int key;
    uint32_t priority;
    const struct treap *left, *right;
} treap;

static treap nodes[600];
static int node_count;
static uint64_t state = 99;

static uint32_t random32(void) {
    state = state * 6364136223846793005ULL + 1;
    return (uint32_t)(state >> 32);
}

static const treap *node(const treap *like, const treap *left, const treap *right) {
    nodes[node_count] = (treap){like->key, like->priority, left, right};
    return &nodes[node_count++];
}

static void split(const treap *t, int key, const treap **low, const treap **high) { /* old versions stay */
    if (t == NULL) {
        *low = *high = NULL;
    } else if (t->key < key) {
        split(t->right, key, low, high);
        *low = node(t, t->left, *low);
    } else {
        split(t->left, key, low, high);
        *high = node(t, *high, t->right);
    }
}

static const treap *merge(const treap *a, const treap *b) {
    if (a == NULL || b == NULL) return a ? a : b;
    if (a->priority > b->priority) return node(a, a->left, merge(a->right, b));
    return node(b, merge(a, b->left), b->right);
}

static int size(const treap *t) { return t ? size(t->left) + 1 + size(t->right) : 0; }

#define LEVELS 5
typedef struct skip {
    int key;
    struct skip *next[LEVELS];
} skip;

static int skip_insert(skip *head, skip *fresh) {
    skip *before[LEVELS], *at = head;
    for (int level = LEVELS - 1; level >= 0; level--) {
        while (at->next[level] && at->next[level]->key < fresh->key) at = at->next[level];
        before[level] = at;
    }
    if (at->next[0] && at->next[0]->key == fresh->key) return 0;
    int height = 1;
    for (uint32_t r = random32(); height < LEVELS && r & 1; r >>= 1) height++;
    for (int level = 0; level < height; level++) {
        fresh->next[level] = before[level]->next[level];
        before[level]->next[level] = fresh;
    }
    return 1;
}

int main(void) {
    tree *root = NULL;
    const treap *versions[4] = {NULL}, *now = NULL;
    static skip pool[60], head;
    int distinct = 0, keys[48];
    for (int i = 0; i < 48; i++) {
        int key = keys[i] = (int)(random32() % 97);
        root = insert(root, key, i);
        root->red = 0;
        pool[i].key = key;
        distinct += skip_insert(&head, &pool[i]);
        if (i < 24) {
            const treap *low, *high, one = {key, random32(), NULL, NULL};
            split(now, key, &low, &high);
            now = merge(merge(low, node(&one, NULL, NULL)), high);
            if (i % 8 == 7) versions[i / 8] = now;
        }
    }
    printf("%d keys, black height %d, depth %d\n", distinct, black_height(root), depth(root));
    const tree *t = root;
    while (t->child[0]) t = t->child[0];
    printf("smallest %d (%d), root %d\n", t->key, t->value, root->key);
    int sum = 0, place = 0;
    for (const skip *s = head.next[0]; s; s = s->next[0]) sum += s->key * ++place;
    printf("weighted %d\n", sum);
    for (int i = 0; i < 3; i++) printf("version %d has %d\n", i, size(versions[i]));
    for (int key = 0; key < 97; key += 24) {
        for (t = root; t && t->key != key;) t = t->child[key > t->key];
        printf("%d %s\n", key, t ? "is there" : "is not");
    }
    destroy(root);
    return 0;
}
