/* Exact signs of sums of products of doubles, for finite numbers of any size.
 *
 * Filter. For s = fl(l + r) with l = fl(fl(a-b) * fl(c-d)) and r alike, the exact l lies within
 * (1+u)^3 - 1 of the rounded one, relative to it over (1-u)^3, and the addition adds u|s|; in all
 * the error is below (3 + 16u)u (|l| + |r|), u = 2^-53 (Shewchuk 1997, section 4.3), and 2^-1072
 * for what underflows. Beyond that bound the sign of s is right. If something overflows, the bound
 * is infinite or the sum not a number, and the comparison fails.
 *
 * Within the bound, differences are as a rule exact (of whole numbers, of numbers in single precision,
 * of equal ones), and the two products are compared as pairs of doubles (Dekker). That holds for
 * *moderate* coordinates, 0 or between 2^-400 and 2^400 in size: a difference of two of them is 0 or
 * at least 2^-452, the unit in the last place of a product of two differences is at least 2^-904, and
 * no product exceeds 2^802, so nothing under- or overflows. All else is added up in wide.c.
 *
 * The C files of this folder are compiled as one; native.py has their order.
 */
static const double FILTER = 3.3306690738754716e-16; /* (3 + 16u)u, rounded up */
static const double SPLITTER = 134217729.0;          /* 2^27 + 1 */
static const double UNDERFLOW_BOUND = 0x1p-1060;     /* > 2^-1072 */
static const double LARGEST_VALUE = 0x1p900;

#define RARELY(condition) __builtin_expect(condition, 0)
#define INLINED static inline __attribute__((always_inline))

static int64_t finite_prefix(int64_t count, const double *coordinates) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(coordinates[i])) return i;
    return count;
}

static int64_t value_prefix(int64_t count, const double *values) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= LARGEST_VALUE)) return i;
    return count;
}

static void *checked(void *memory) {
    if (memory == NULL) {
        fputs("curta: out of memory in a hull cache\n", stderr);
        abort();
    }
    return memory;
}

/* high + low == a + b exactly, high == fl(a + b). */
static inline double two_sum(double a, double b, double *low) {
    double high = a + b;
    double b_part = high - a;
    double a_part = high - b_part;
    *low = (a - a_part) + (b - b_part);
    return high;
}

/* high + low == a * b exactly, high == fl(a * b). */
static inline double two_product(double a, double b, double *low) {
    double high = a * b;
    double a_scaled = SPLITTER * a, b_scaled = SPLITTER * b;
    double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
    double a_low = a - a_high, b_low = b - b_high;
    *low = a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low);
    return high;
}

static inline int sign_of(double number) { return (number > 0.0) - (number < 0.0); }

/* The sign of a*b + c*d. Rounding is monotone: if the rounded products differ, so do the exact
 * ones, in the same direction; if they are equal, the remainders decide. */
static int sign_of_two_products(double a, double b, double c, double d) {
    double first_low, second_low;
    double first = two_product(a, b, &first_low);
    double second = -two_product(c, d, &second_low);
    if (first != second) return first > second ? 1 : -1;
    return sign_of(first_low + second_low); /* equal leading parts: this sum rounds, its sign not */
}

static int all_moderate(int count, const double *numbers) {
    for (int i = 0; i < count; i++) {
        double size = fabs(numbers[i]);
        if (size != 0.0 && !(size >= 0x1p-400 && size <= 0x1p400)) return 0;
    }
    return 1;
}

static int dot_sign_exactly(double qx, double qy, double x1, double y1, double x2, double y2) {
    const double wide[8] = {qx, x1, -qx, x2, qy, y1, -qy, y2};
    double x_low, y_low;
    double dx = two_sum(x1, -x2, &x_low), dy = two_sum(y1, -y2, &y_low);
    if (x_low == 0.0 && y_low == 0.0 && all_moderate(8, wide))
        return sign_of_two_products(qx, dx, qy, dy);
    return sign_of_wide_products(4, wide);
}

/* The sign of q . (p1 - p2): which of two points scores higher. */
static inline int dot_sign(double qx, double qy, double x1, double y1, double x2, double y2) {
    double l = qx * (x1 - x2), r = qy * (y1 - y2);
    double sum = l + r, bound = FILTER * (fabs(l) + fabs(r)) + UNDERFLOW_BOUND;
    if (sum > bound) return 1;
    if (sum < -bound) return -1;
    return dot_sign_exactly(qx, qy, x1, y1, x2, y2);
}

static int orientation_exactly(double ax, double ay, double bx, double by, double cx, double cy) {
    const double wide[12] = {ax, by, -ay, bx, bx, cy, -by, cx, cx, ay, -cy, ax};
    double low[4];
    double acx = two_sum(ax, -cx, &low[0]), bcx = two_sum(bx, -cx, &low[1]);
    double acy = two_sum(ay, -cy, &low[2]), bcy = two_sum(by, -cy, &low[3]);
    if (low[0] == 0.0 && low[1] == 0.0 && low[2] == 0.0 && low[3] == 0.0 && all_moderate(12, wide))
        return sign_of_two_products(acx, bcy, -acy, bcx);
    return sign_of_wide_products(6, wide);
}

/* 1 when c lies to the left of the line from a to b (above it, when a.x < b.x), 0 on it. */
static inline int orientation(double ax, double ay, double bx, double by, double cx, double cy) {
    double l = (ax - cx) * (by - cy), r = (ay - cy) * (bx - cx);
    double determinant = l - r, bound = FILTER * (fabs(l) + fabs(r)) + UNDERFLOW_BOUND;
    if (determinant > bound) return 1;
    if (determinant < -bound) return -1;
    return orientation_exactly(ax, ay, bx, by, cx, cy);
}
