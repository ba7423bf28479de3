/* Evaluates many postfix programs over float64.

   The operations and their numbers come from the table in operations.py, as OP_ADD and so on. What
   an operation means where it has no value is said there, too; here that is a status. */

#include <math.h>
#include <stdint.h>

enum { FINE = 0, UNDEFINED = 1, TOO_LARGE = 2 };

static double rounded(double value, double places) {
    double unit = pow(10.0, places);
    double scaled = value * unit;
    return isfinite(scaled) ? rint(scaled) / unit : value;
}

static double common_divisor(double a, double b) {
    a = fabs(a);
    b = fabs(b);
    while (b > 0) { /* never of nan, which remains of inf */
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

static double chosen(double n, double k) {
    double result = 1;
    if (k > n - k) k = n - k;
    if (k < 0) return 0;
    for (double i = 1; i <= k && isfinite(result); i++) result = result * (n - k + i) / i;
    return rint(result);
}

static double arranged(double n, double k) {
    double result = 1;
    if (k > n) return 0;
    for (double i = 0; i < k && isfinite(result); i++) result *= n - i;
    return result;
}

static int whole(double value) { return value == floor(value); }

/* One operation of one operand; the status says whether there is a result. */
static double of_one(int code, double a, uint8_t *status) {
    switch (code) {
    case OP_NEGATE: return -a;
    case OP_PERCENT: return a / 100;
    case OP_SQRT: if (a < 0) *status = UNDEFINED; return sqrt(a);
    case OP_CBRT: return cbrt(a);
    case OP_EXP: return exp(a);
    case OP_LN: case OP_LOG: if (a <= 0) *status = UNDEFINED; return log(a);
    case OP_LOG2: if (a <= 0) *status = UNDEFINED; return log2(a);
    case OP_LOG10: if (a <= 0) *status = UNDEFINED; return log10(a);
    case OP_SIN: return sin(a);
    case OP_COS: return cos(a);
    case OP_TAN: return tan(a);
    case OP_ASIN: if (fabs(a) > 1) *status = UNDEFINED; return asin(a);
    case OP_ACOS: if (fabs(a) > 1) *status = UNDEFINED; return acos(a);
    case OP_ATAN: return atan(a);
    case OP_DEGREES: return a * (180 / 3.14159265358979323846);
    case OP_RADIANS: return a * (3.14159265358979323846 / 180);
    case OP_ABS: return fabs(a);
    case OP_SIGN: return (a > 0) - (a < 0);
    case OP_FLOOR: return floor(a);
    case OP_CEIL: return ceil(a);
    case OP_TRUNC: return trunc(a);
    case OP_ROUND: return rint(a);
    case OP_FACTORIAL:
        if (a < 0 || !whole(a)) *status = UNDEFINED;
        return a < 0 || a > MOST_FACTORIAL ? INFINITY : FACTORIALS[(int)a];
    case OP_GCD: case OP_LCM: if (!whole(a)) *status = UNDEFINED; return fabs(a);
    default: return a; /* min, max, sum, mean of one */
    }
}

/* One operation of two operands. */
static double of_two(int code, double a, double b, uint8_t *status) {
    switch (code) {
    case OP_ADD: case OP_SUM: return a + b;
    case OP_SUBTRACT: return a - b;
    case OP_MULTIPLY: return a * b;
    case OP_DIVIDE: if (b == 0) *status = UNDEFINED; return a / b;
    case OP_FLOOR_DIVIDE: if (b == 0) *status = UNDEFINED; return floor(a / b);
    case OP_MODULO: {
        if (b == 0) { *status = UNDEFINED; return 0; }
        double rest = fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case OP_POWER:
        if ((a == 0 && b < 0) || (a < 0 && !whole(b))) *status = UNDEFINED;
        return pow(a, b);
    case OP_LESS: return a < b;
    case OP_AT_MOST: return a <= b;
    case OP_GREATER: return a > b;
    case OP_AT_LEAST: return a >= b;
    case OP_EQUAL: return a == b;
    case OP_UNEQUAL: return a != b;
    case OP_LOG: if (a <= 0 || b <= 0 || b == 1) *status = UNDEFINED; return log(a) / log(b);
    case OP_ROUND: if (!whole(b)) *status = UNDEFINED; return rounded(a, b);
    case OP_COMB: case OP_PERM:
        if (a < 0 || b < 0 || !whole(a) || !whole(b)) { *status = UNDEFINED; return 0; }
        return code == OP_COMB ? chosen(a, b) : arranged(a, b);
    case OP_GCD: case OP_LCM:
        if (!whole(a) || !whole(b)) { *status = UNDEFINED; return 0; }
        if (code == OP_GCD) return common_divisor(a, b);
        return a == 0 || b == 0 ? 0 : fabs(a / common_divisor(a, b) * b);
    case OP_MIN: return a < b ? a : b;
    case OP_MAX: return a > b ? a : b;
    default: return a;
    }
}

/* Any number of operands: two by two, from the left. */
static double of_many(int code, int operands, const double *given, uint8_t *status) {
    double value = given[0];
    int pairwise = code == OP_MEAN ? OP_SUM : code;
    for (int i = 1; i < operands; i++) value = of_two(pairwise, value, given[i], status);
    return code == OP_MEAN ? value / operands : value;
}

/* Whether a result is a 0 that stands for a number too small for float64. */
static int vanished(int code, int operands, const double *given, double value) {
    if (value != 0 || VANISHING[code - 1]) return 0;
    for (int i = 0; i < operands; i++) if (given[i] == 0) return 0;
    return 1;
}

void evaluate(int64_t count, const int64_t *first_step, const int64_t *first_number,
              const uint8_t *codes, const uint8_t *operands, const double *numbers,
              double *values, uint8_t *statuses) {
    for (int64_t i = 0; i < count; i++) {
        double stack[STACK];
        int height = 0;
        uint8_t status = FINE;
        const double *number = numbers + first_number[i];
        for (int64_t at = first_step[i]; at < first_step[i + 1] && status == FINE; at++) {
            int code = codes[at], taken = operands[at];
            if (code == 0) {
                if (!isfinite(*number)) status = TOO_LARGE;
                stack[height++] = *number++;
                continue;
            }
            double *last = stack + height - taken;
            double value = taken == 1 ? of_one(code, last[0], &status)
                           : taken == 2 && code != OP_MEAN
                               ? of_two(code, last[0], last[1], &status)
                               : of_many(code, taken, last, &status);
            int beyond = !isfinite(value) || vanished(code, taken, last, value);
            if (status == FINE && beyond) status = TOO_LARGE;
            *last = value;
            height += 1 - taken;
        }
        values[i] = status == FINE ? stack[0] : 0;
        statuses[i] = status;
    }
}
