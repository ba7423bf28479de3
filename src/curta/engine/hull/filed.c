/* Keys of several digits, one entry for all that share their digits.
 *
 * A head of n digits has keys (2k, p) and queries (hq, h): n digits k and q, the hardness h > 0, and a
 * last component p that is the model's own, about recency - |k|^2. A score is h (2 q . k + p). Two facts
 * about these numbers, whatever they stand for, save most of the scores:
 *
 * Of keys with the same digits the one with the largest p scores highest under every query, so each
 * group of them is one entry, the latest of equals: a record, with the key in a table beside it.
 *
 * 2 q . k + p = |q|^2 - |q - k|^2 + (p + |k|^2). If all k are whole numbers, h is a power of two, and an
 * entry's k is q, then the entry loses nothing to the distance and every other one at least 1. So it
 * wins if its excess p + |k|^2 is less than 1 below the largest that any key ever had: compared with
 * 1/2, which leaves more than rounding needs.
 *
 * Where the second one does not apply, all entries are compared. Queries that find no equal key tend to
 * be asked again and again, so the last one's answer is kept up to date.
 */
typedef struct {
    int digits;
    pool records;
    double *keys;    /* [room][digits + 1], by record */
    uint32_t *table; /* [table_size]: records, by the digits */
    uint32_t room, table_size;
    double most_excess;
    int whole;
    double *missed;  /* [digits + 1]: the query that was scanned for last */
    uint32_t answer; /* its record; NONE if there is no such query */
    double answer_score;
} filed_keys;

static void filed_open(filed_keys *f, int dimension, int width) {
    f->digits = dimension - 1;
    pool_open(&f->records, width, KEEP_LATEST);
    f->table_size = 128;
    f->table = checked(calloc(f->table_size, sizeof *f->table));
    f->missed = checked(calloc((size_t)dimension, sizeof(double)));
    f->most_excess = -INFINITY, f->whole = 1;
}

static void filed_close(filed_keys *f) {
    pool_close(&f->records);
    free(f->keys), free(f->table), free(f->missed);
}

static size_t filed_bytes(const filed_keys *f) {
    size_t key = sizeof(double) * (size_t)(f->digits + 1);
    return sizeof *f + pool_bytes(&f->records) + key * f->room + sizeof *f->table * f->table_size;
}

static double *key_of(const filed_keys *f, uint32_t id) {
    return f->keys + (size_t)id * (size_t)(f->digits + 1);
}

static uint32_t hash(const double *digits, int count, double scale) {
    uint64_t mixed = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < count; i++) {
        double digit = digits[i] * scale + 0.0; /* -0.0 and 0.0 are one number */
        uint64_t bits;
        memcpy(&bits, &digit, sizeof bits);
        mixed = (mixed ^ bits) * 0xFF51AFD7ED558CCDu;
        mixed ^= mixed >> 32;
    }
    return (uint32_t)mixed;
}

/* The place in the table of the key with these digits, times `scale`; empty if there is none. */
static uint32_t *find_filed(const filed_keys *f, const double *digits, double scale) {
    uint32_t at = hash(digits, f->digits, scale) & (f->table_size - 1);
    for (; f->table[at] != NONE; at = (at + 1) & (f->table_size - 1)) {
        const double *key = key_of(f, f->table[at]);
        int same = 0;
        while (same < f->digits && key[same] == digits[same] * scale) same++;
        if (same == f->digits) break;
    }
    return f->table + at;
}

/* Make room for one more entry. */
static void grow_filed(filed_keys *f) {
    uint32_t next = f->records.rows.used;
    if (next >= f->room) {
        f->room = f->room ? 2 * f->room : 64;
        f->keys = checked(realloc(f->keys, sizeof(double) * (size_t)(f->digits + 1) * f->room));
    }
    if (2 * next < f->table_size) return;
    f->table_size *= 4;
    free(f->table);
    f->table = checked(calloc(f->table_size, sizeof *f->table));
    for (uint32_t id = 1; id < next; id++) *find_filed(f, key_of(f, id), 1.0) = id;
}

static double filed_score(const filed_keys *f, uint32_t id, const double *query) {
    double total = 0.0;
    for (int i = 0; i <= f->digits; i++) total += key_of(f, id)[i] * query[i];
    return total;
}

/* last + the sum of (digit / 2)^2; notes whether all halves are whole and the sum is exact. */
static double excess(const double *key, int digits, int *whole) {
    double squares = 0.0;
    for (int i = 0; i < digits; i++) {
        double half = 0.5 * key[i];
        if (half != rint(half)) *whole = 0;
        squares += half * half;
    }
    if (!(squares < 0x1p50)) *whole = 0;
    return key[digits] + squares;
}

static void filed_insert(filed_keys *f, int64_t position, const double *key, const double *value) {
    grow_filed(f);
    uint32_t *place = find_filed(f, key, 1.0);
    double over = excess(key, f->digits, &f->whole);
    if (!(over <= f->most_excess)) f->most_excess = over;
    if (*place == NONE) *place = new_record(&f->records, position, key, value);
    else if (key[f->digits] < key_of(f, *place)[f->digits]) return;
    else write_record(&f->records, *place, position, key, value);
    memcpy(key_of(f, *place), key, sizeof(double) * (size_t)(f->digits + 1));
    if (f->answer == NONE) return;
    double score = filed_score(f, *place, f->missed);
    if (score >= f->answer_score) f->answer = *place, f->answer_score = score;
}

/* Does the entry, whose key is the one that the query asks for, beat all others? */
static int wins(const filed_keys *f, uint32_t id, double hardness) {
    int whole = f->whole, exponent;
    if (!whole || !(fabs(f->most_excess) < 0x1p50) || frexp(hardness, &exponent) != 0.5) return 0;
    return f->most_excess - excess(key_of(f, id), f->digits, &whole) < 0.5;
}

static uint32_t scan(filed_keys *f, const double *query) {
    size_t size = sizeof(double) * (size_t)(f->digits + 1);
    if (f->answer != NONE && memcmp(f->missed, query, size) == 0) return f->answer;
    memcpy(f->missed, query, size);
    f->answer = 1, f->answer_score = filed_score(f, 1, query);
    for (uint32_t id = 2; id < f->records.rows.used; id++) {
        double score = filed_score(f, id, query);
        if (score > f->answer_score ||
            (score == f->answer_score &&
             position_of(&f->records, id) > position_of(&f->records, f->answer)))
            f->answer = id, f->answer_score = score;
    }
    return f->answer;
}

/* The last component of a query is positive. */
static void filed_answer(filed_keys *f, const double *query, selection read, double *value,
                         int64_t *position) {
    double hardness = query[f->digits];
    uint32_t id = *find_filed(f, query, 2.0 / hardness);
    if (id == NONE || !wins(f, id, hardness)) id = scan(f, query);
    write_answer(&f->records, 1, &id, read, value, position);
}
