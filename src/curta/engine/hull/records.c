/* Records: what is known about the points that lie in one place, or inside one edge.
 *
 * Records are rows of a pool and are named by number, so that they can move between chains without
 * being copied. Number 0 is NONE.
 */
#define NONE 0u

/* What becomes of the lesser of two points in one place. */
typedef enum { KEEP_LATEST, KEEP_SUM, PASS_DOWN } policy;

typedef struct {
    uint32_t *items;
    int64_t length, capacity;
} id_list;

/* A record's columns: the position of the latest point; for PASS_DOWN its x and y, for KEEP_SUM the
 * number of points; then the value, and for KEEP_SUM the low parts of the sums. */
enum { POSITION, AT_X, AT_Y, COUNT = AT_X };

typedef struct {
    row_store rows;
    uint32_t free_head;
    int width, first_value;
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
    p->width = width;
    p->what = what;
    p->first_value = what == PASS_DOWN ? 3 : what == KEEP_SUM ? 2 : 1;
    rows_open(&p->rows, p->first_value + width * (what == KEEP_SUM ? 2 : 1));
    new_row(&p->rows); /* NONE */
}

static void pool_close(pool *p) {
    rows_close(&p->rows);
    free(p->passed.items);
}

static size_t pool_bytes(const pool *p) { return p->rows.stride * p->rows.capacity; }

static inline double field(const pool *p, uint32_t id, int column) {
    return get(&p->rows, id, column);
}

/* Ask for a record from memory, to be read soon. */
static inline void prefetch_record(const pool *p, uint32_t id) {
    const char *row = p->rows.memory + p->rows.stride * id;
    __builtin_prefetch(row);
    __builtin_prefetch(row + p->rows.stride - 1);
}

static inline int64_t position_of(const pool *p, uint32_t id) {
    return (int64_t)field(p, id, POSITION);
}

static void write_record(pool *p, uint32_t id, int64_t position, const double *key,
                         const double *value) {
    put(&p->rows, id, POSITION, (double)position);
    if (p->what == PASS_DOWN) {
        put(&p->rows, id, AT_X, key[0]);
        put(&p->rows, id, AT_Y, key[1]);
    }
    for (int i = 0; i < p->width; i++) put(&p->rows, id, p->first_value + i, value[i]);
    if (p->what == KEEP_SUM) {
        put(&p->rows, id, COUNT, 1.0);
        for (int i = 0; i < p->width; i++) put(&p->rows, id, p->first_value + p->width + i, 0.0);
    }
}

static uint32_t new_record(pool *p, int64_t position, const double *key, const double *value) {
    uint32_t id = p->free_head;
    if (id != NONE) p->free_head = (uint32_t)position_of(p, id);
    else id = new_row(&p->rows);
    write_record(p, id, position, key, value);
    return id;
}

static void free_record(pool *p, uint32_t id) {
    put(&p->rows, id, POSITION, p->free_head);
    p->free_head = id;
}

/* sum += addend, each a pair of doubles high + low; off by less than 2^-104 of the sizes. */
static void add_pair(double *sum, double high_addend, double low_addend) {
    double low;
    double high = two_sum(sum[0], high_addend, &low);
    low += sum[1] + low_addend;
    sum[0] = high + low;
    sum[1] = low - (sum[0] - high);
}

/* KEEP_SUM: the sum of number i of the value over some records, added in the order given. */
static void sum_records(const pool *p, int count, const uint32_t *ids, int i, double *sum) {
    int high = p->first_value + i, low = high + p->width;
    sum[0] = field(p, ids[0], high);
    sum[1] = field(p, ids[0], low);
    for (int n = 1; n < count; n++) add_pair(sum, field(p, ids[n], high), field(p, ids[n], low));
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
    int64_t a = position_of(p, first), b = position_of(p, second);
    if (p->what != KEEP_SUM) {
        drop(p, a > b ? second : first);
        return a > b ? first : second;
    }
    uint32_t both[2] = {first, second};
    for (int i = 0; i < p->width; i++) {
        double sum[2];
        sum_records(p, 2, both, i, sum);
        put(&p->rows, first, p->first_value + i, sum[0]);
        put(&p->rows, first, p->first_value + p->width + i, sum[1]);
    }
    put(&p->rows, first, COUNT, field(p, first, COUNT) + field(p, second, COUNT));
    if (b > a) put(&p->rows, first, POSITION, (double)b);
    free_record(p, second);
    return first;
}
