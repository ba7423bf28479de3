/* Rows of numbers, every column as narrow as the numbers in it allow.
 *
 * Values are often whole numbers of a byte or two, or were computed in single precision. A number
 * is written as its column is, and read back. If other bits come back, the column takes the next
 * kind that holds this number and all before it, and the rows are laid out anew: four times a
 * column, at most. So nothing is ever rounded, and -0.0 stays what it is.
 */
typedef enum { BYTE, SHORT, WHOLE, SINGLE, DOUBLE } kind;

static const int SIZE[] = {1, 2, 4, 4, 8};

typedef struct {
    kind as;
    int offset;
} column_layout;

typedef struct {
    char *memory;
    size_t stride;
    uint32_t used, capacity;
    int columns;
    column_layout *layout; /* one more than there are columns: its offset is the stride */
} row_store;

static void rows_open(row_store *s, int columns) {
    s->columns = columns;
    s->layout = checked(calloc((size_t)columns + 1, sizeof *s->layout));
    for (int i = 0; i <= columns; i++) s->layout[i] = (column_layout){BYTE, i};
    s->stride = (size_t)columns;
}

static void rows_close(row_store *s) {
    free(s->memory);
    free(s->layout);
}

static inline double read_as(kind as, const char *from) {
    int16_t few;
    int32_t whole;
    float single;
    double number;
    switch (as) {
        case BYTE: return (double)*(const uint8_t *)from;
        case SHORT: return memcpy(&few, from, sizeof few), (double)few;
        case WHOLE: return memcpy(&whole, from, sizeof whole), (double)whole;
        case SINGLE: return memcpy(&single, from, sizeof single), (double)single;
        default: return memcpy(&number, from, sizeof number), number;
    }
}

/* Returns whether the number can be read again, bit for bit. */
static inline int write_as(kind as, char *to, double number) {
    if (as == DOUBLE) return memcpy(to, &number, sizeof number), 1;
    if (as == SINGLE) {
        float single = fabs(number) <= FLT_MAX ? (float)number : 0.0f;
        memcpy(to, &single, sizeof single);
    } else {
        int32_t whole = fabs(number) < 0x1p31 ? (int32_t)number : 0;
        int16_t few = (int16_t)whole;
        if (as == WHOLE) memcpy(to, &whole, sizeof whole);
        else if (as == SHORT) memcpy(to, &few, sizeof few);
        else *(uint8_t *)to = (uint8_t)whole;
    }
    double again = read_as(as, to);
    return memcmp(&again, &number, sizeof number) == 0;
}

static inline double get(const row_store *s, uint32_t row, int column) {
    column_layout l = s->layout[column];
    return read_as(l.as, s->memory + s->stride * row + l.offset);
}

static void set_capacity(row_store *s, uint32_t capacity, size_t stride) {
    s->memory = checked(realloc(s->memory, stride * capacity));
    s->capacity = capacity;
}

/* From the last row to the first: rows only get longer. */
static void lay_out_anew(row_store *s, int column, kind as) {
    int wider = SIZE[as] - SIZE[s->layout[column].as];
    size_t stride = s->stride + (size_t)wider;
    size_t before = (size_t)s->layout[column].offset, behind = (size_t)s->layout[column + 1].offset;
    set_capacity(s, s->capacity, stride);
    for (uint32_t row = s->used; row-- > 0;) {
        char *from = s->memory + s->stride * row, *to = s->memory + stride * row;
        double number = read_as(s->layout[column].as, from + before);
        memmove(to + behind + wider, from + behind, s->stride - behind);
        memmove(to, from, before);
        write_as(as, to + before, number);
    }
    s->layout[column].as = as;
    for (int i = column + 1; i <= s->columns; i++) s->layout[i].offset += wider;
    s->stride = stride;
}

/* For a number that its column cannot hold yet. */
static void widen(row_store *s, uint32_t row, int column, double number) {
    kind as = s->layout[column].as, wider = as + 1;
    char tried[sizeof(double)];
    while (!write_as(wider, tried, number) || (as == WHOLE && wider == SINGLE)) wider++;
    lay_out_anew(s, column, wider);
    write_as(wider, s->memory + s->stride * row + s->layout[column].offset, number);
}

static inline void put(row_store *s, uint32_t row, int column, double number) {
    column_layout l = s->layout[column];
    char *to = s->memory + s->stride * row + l.offset;
    if (!write_as(l.as, to, number)) widen(s, row, column, number);
}

static uint32_t new_row(row_store *s) {
    if (s->used >= s->capacity) {
        if (s->capacity >= UINT32_MAX / 2) checked(NULL);
        set_capacity(s, s->capacity ? 2 * s->capacity : 64, s->stride);
    }
    return s->used++;
}
