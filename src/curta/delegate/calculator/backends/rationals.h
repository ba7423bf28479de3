/* Rationals, whether a calculation goes well, and what the budget says of it. */

typedef enum { FINE, INEXACT, UNDEFINED, LARGE } Status;

typedef struct {
    Number above, below; /* without a common divisor; the one below is at least 1 */
    int inexact;
} Rational;

static Status status;
static uint32_t most_bits, most_below_bits, most_exponent; /* the budget */

static void fail(Status why) {
    if (status == FINE) status = why;
}

static void set_rational(Rational *a, uint32_t value) {
    set(&a->above, value);
    set(&a->below, 1);
    a->inexact = 0;
}

/* One over it. */
static void invert(Rational *a) {
    Number above;
    copy(&above, &a->above);
    copy(&a->above, &a->below);
    copy(&a->below, &above);
    a->above.negative = a->below.negative;
    a->below.negative = 0;
}

static void copy_rational(Rational *to, const Rational *from) {
    copy(&to->above, &from->above);
    copy(&to->below, &from->below);
    to->inexact = from->inexact;
}

static int is_whole(const Rational *a) { return is_one(&a->below); }
static int is_zero(const Rational *a) { return a->above.length == 0; }
static int is_negative(const Rational *a) { return a->above.negative; }

static void reduce(Rational *a) {
    Number common, rest;
    if (is_whole(a)) return;
    common_divisor(&common, &a->above, &a->below);
    if (is_one(&common)) return;
    divide(&a->above, &rest, &a->above, &common);
    divide(&a->below, &rest, &a->below, &common);
}

static void check_bits(uint32_t count) {
    if (count > most_bits + 1) fail(LARGE);
}

static void check(const Rational *a) {
    if (overflown || (uint32_t)bits(&a->above) > most_bits) fail(LARGE);
    if (!is_whole(a) && (uint32_t)bits(&a->below) > most_below_bits) fail(LARGE);
}

static int compare_rationals(const Rational *a, const Rational *b) {
    Number left, right;
    multiply(&left, &a->above, &b->below);
    multiply(&right, &b->above, &a->below);
    return compare(&left, &right);
}

static void need_whole(const Rational *given, int operands) {
    for (int i = 0; i < operands; i++) {
        if (!is_whole(&given[i])) fail(UNDEFINED);
    }
}

static void need_natural(const Rational *given, int operands) {
    need_whole(given, operands);
    for (int i = 0; i < operands; i++) {
        if (is_negative(&given[i])) fail(UNDEFINED);
    }
}
