/* Which of two points scores higher, on which side of a line a third lies: exact for finite numbers.
 *
 * Both are the sign of a difference of two products of two differences.
 *
 * Filter. For s = fl(l - r) with l = fl(fl(a-b) * fl(c-d)) and r alike, the exact l lies within
 * (1+u)^3 - 1 of the rounded one, relative to it over (1-u)^3, and the subtraction adds u|s|; in all
 * the error is below (3 + 16u)u (|l| + |r|), u = 2^-53 (Shewchuk 1997, section 4.3), and 2^-1072
 * for what underflows. Beyond that bound the sign of s is right. If something overflows, the bound
 * is infinite or the difference not a number, and the comparison fails.
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

static int is_moderate(double number) {
    return number == 0.0 || (fabs(number) >= 0x1p-400 && fabs(number) <= 0x1p400);
}

/* Rounding is monotone: if the rounded products differ, so do the exact ones, in the same direction;
 * if they are equal, the remainders decide. */
static int sign_exactly(double a, double b, double c, double d, double e, double f, double g,
                        double h) {
    const double factors[16] = {a, c, -a, d, -b, c, b, d, -e, g, e, h, f, g, -f, h};
    double low[4], differences[4] = {two_sum(a, -b, &low[0]), two_sum(c, -d, &low[1]),
                                     two_sum(e, -f, &low[2]), two_sum(g, -h, &low[3])};
    int simple = 1;
    for (int i = 0; i < 4; i++) simple &= low[i] == 0.0;
    for (int i = 0; i < 16; i++) simple &= is_moderate(factors[i]);
    if (!simple) return sign_of_products(8, factors);
    double first_low, second_low;
    double first = two_product(differences[0], differences[1], &first_low);
    double second = two_product(differences[2], differences[3], &second_low);
    if (first == second) first = first_low, second = second_low;
    return (first > second) - (first < second);
}

/* The sign of (a - b) (c - d) - (e - f) (g - h). */
INLINED int sign_of_difference(double a, double b, double c, double d, double e, double f, double g,
                               double h) {
    double l = (a - b) * (c - d), r = (e - f) * (g - h);
    double difference = l - r, bound = FILTER * (fabs(l) + fabs(r)) + UNDERFLOW_BOUND;
    if (difference > bound) return 1;
    if (difference < -bound) return -1;
    return sign_exactly(a, b, c, d, e, f, g, h);
}

/* The sign of q . (p1 - p2): which of two points scores higher. */
INLINED int dot_sign(double qx, double qy, double x1, double y1, double x2, double y2) {
    return sign_of_difference(qx, 0.0, x1, x2, qy, 0.0, y2, y1);
}

/* 1 when c lies to the left of the line from a to b (above it, when a.x < b.x), 0 on it. */
INLINED int orientation(double ax, double ay, double bx, double by, double cx, double cy) {
    return sign_of_difference(ax, cx, by, cy, ay, cy, bx, cx);
}
