/* Records: what is known about the points that lie in one place, or inside one edge.
 *
 * Records live in a pool and are named by number, so that they can move between chains without
 * being copied. Number 0 is NONE.
 */
#define NONE 0u

typedef struct {
    int64_t position; /* of the latest point */
    int64_t count;    /* points in this mass */
    double x, y;      /* of the latest point */
    double value[];   /* width doubles; when averaging, width more: the low parts of the sums */
} record;

/* What becomes of the lesser of two points in one place. */
typedef enum { KEEP_LATEST, KEEP_SUM, PASS_DOWN } policy;

typedef struct {
    uint32_t *items;
    int64_t length, capacity;
} id_list;

typedef struct {
    char *memory;
    size_t stride;
    uint32_t used, capacity, free_head;
    int width;
    policy what;
    id_list passed; /* PASS_DOWN: records that the chain no longer needs */
} pool;

static void push_id(id_list *list, uint32_t id) {
    if (list->length == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->items = checked(realloc(list->items, (size_t)list->capacity * sizeof *list->items));
    }
    list->items[list->length++] = id;
}

static void pool_open(pool *p, int width, policy what) {
    memset(p, 0, sizeof *p);
    p->width = width;
    p->what = what;
    p->stride = sizeof(record) + sizeof(double) * (size_t)width * (what == KEEP_SUM ? 2 : 1);
    p->used = 1; /* record 0 is NONE */
}

static void pool_close(pool *p) {
    free(p->memory);
    free(p->passed.items);
}

static inline record *at(const pool *p, uint32_t id) {
    return (record *)(p->memory + p->stride * id);
}

static uint32_t new_record(pool *p, int64_t position, double x, double y, const double *value) {
    uint32_t id = p->free_head;
    if (id != NONE) {
        p->free_head = (uint32_t)at(p, id)->position;
    } else {
        if (p->used >= p->capacity) {
            if (p->capacity >= UINT32_MAX / 2) checked(NULL);
            p->capacity = p->capacity ? 2 * p->capacity : 64;
            p->memory = checked(realloc(p->memory, p->stride * p->capacity));
        }
        id = p->used++;
    }
    record *r = at(p, id);
    r->position = position;
    r->count = 1;
    r->x = x;
    r->y = y;
    for (int i = 0; i < p->width; i++) r->value[i] = value[i];
    if (p->what == KEEP_SUM)
        for (int i = 0; i < p->width; i++) r->value[p->width + i] = 0.0;
    return id;
}

static void free_record(pool *p, uint32_t id) {
    at(p, id)->position = p->free_head;
    p->free_head = id;
}

/* sums += addend, each a pair of doubles high + low; off by less than 2^-104 of the sizes. */
static void add_pairs(int width, double *sums, const double *addend) {
    for (int i = 0; i < width; i++) {
        double low;
        double high = two_sum(sums[i], addend[i], &low);
        low += sums[width + i] + addend[width + i];
        sums[i] = high + low;
        sums[width + i] = low - (sums[i] - high);
    }
}

static void drop(pool *p, uint32_t id) {
    if (id == NONE) return;
    if (p->what == PASS_DOWN)
        push_id(&p->passed, id);
    else
        free_record(p, id);
}

/* One record for the points of both, which lie in one place or on one edge. */
static uint32_t combine(pool *p, uint32_t first, uint32_t second) {
    if (first == NONE) return second;
    if (second == NONE) return first;
    record *a = at(p, first), *b = at(p, second);
    if (p->what == KEEP_SUM) {
        add_pairs(p->width, a->value, b->value);
        a->count += b->count;
        if (b->position > a->position) a->position = b->position;
        free_record(p, second);
        return first;
    }
    int first_is_later = a->position > b->position;
    drop(p, first_is_later ? second : first);
    return first_is_later ? first : second;
}
