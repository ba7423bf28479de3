/* A calculator of exact rationals, for the transformer to execute; it runs anywhere else, too.

   Input and output are lines of text. The first line is the budget: bits of a numerator, bits of a
   denominator, the largest exponent. Every other line is a program for a stack, and is answered by
   a line:

       input            output
       -b/2             -b/2: numbers are hexadecimal, with a sign and a denominator
       1 3 :0/2         4: an operation, by its number in operations.py, and its operands
       1 0 :3/2         undefined
       ?                inexact: what is no rational; it stays that, whatever is done with it
       !                large: a number too long to be written here

   What the operations mean is said in operations.py, which gives the same answers and says which of
   these functions an operation is: machine.py puts that table behind them (operations.h). Where
   `exact` goes on with a float, as at :sqrt of 2, the answer here is `inexact`. */

#include <stddef.h>

#define MOST_BITS 4096
#include "whole_numbers.h"

enum { STACK = 64, LONGEST_WORD = 4 * LIMBS + 4, MOST_DECIMALS = 308 };

#include "rationals.h"

/* ---- what operations do: each puts its result in the place of its first operand ---- */

static void add_or_subtract(Rational *a, const Rational *b, int minus) {
    Number left, right;
    multiply(&left, &a->above, &b->below);
    multiply(&right, &b->above, &a->below);
    combine(&a->above, &left, &right, minus);
    multiply(&a->below, &a->below, &b->below);
    reduce(a);
}

static void product(Rational *given) {
    multiply(&given->above, &given->above, &given[1].above);
    multiply(&given->below, &given->below, &given[1].below);
    reduce(given);
}

static void times(Rational *given) {
    check_bits(bits(&given[0].above) + bits(&given[1].above));
    if (status == FINE) product(given);
}

static void divided(Rational *given) {
    if (is_zero(given + 1)) return fail(UNDEFINED);
    invert(given + 1);
    product(given);
}

static void divided_by(Rational *a, uint32_t divisor) {
    scale(&a->below, divisor);
    reduce(a);
}

/* The whole quotient, rounded down, or what remains: of two fractions over one denominator. */
static void divide_whole(Rational *given, int keep_rest) {
    Number below, quotient, rest;
    if (is_zero(given + 1)) return fail(UNDEFINED);
    multiply(&below, &given[0].below, &given[1].below);
    multiply(&given->above, &given->above, &given[1].below);
    multiply(&given[1].above, &given[1].above, &given[0].below);
    divide(&quotient, &rest, &given->above, &given[1].above);
    copy(&given->above, keep_rest ? &rest : &quotient);
    if (keep_rest) copy(&given->below, &below);
    else set(&given->below, 1);
    reduce(given);
}

/* A power; the length of the result is known before there is one. */
static void whole_power(Rational *a, const Number *exponent) {
    if (is_zero(a) && exponent->negative) return fail(UNDEFINED);
    if (exponent->length == 0) return set_rational(a, 1);
    if (is_zero(a)) return;
    int longer = bits(&a->above) > bits(&a->below) ? bits(&a->above) : bits(&a->below);
    if (longer == 1) {
        if (!is_odd(exponent)) a->above.negative = 0;
        return;
    }
    uint32_t count = size(exponent);
    if (count > most_exponent || count > (most_bits + 1) / (longer - 1)) return fail(LARGE);
    raise(&a->above, &a->above, count);
    raise(&a->below, &a->below, count);
    if (exponent->negative) invert(a);
}

static void take_roots(Rational *a, const Number *degree) {
    a->inexact = !take_root(&a->above, degree) || !take_root(&a->below, degree);
}

static void power(Rational *given) {
    if (!is_whole(given + 1)) {
        if (is_negative(given)) return fail(UNDEFINED);
        take_roots(given, &given[1].below);
    }
    if (!given->inexact) whole_power(given, &given[1].above);
}

static void root(Rational *a, uint32_t degree) {
    Number number;
    set(&number, degree);
    int negative = is_negative(a);
    a->above.negative = 0;
    take_roots(a, &number);
    a->above.negative = negative;
}

static void square_root(Rational *given) {
    if (is_negative(given)) return fail(UNDEFINED);
    root(given, 2);
}

/* ---- what is exact at one operand only ---- */

static void exact_at_zero(Rational *given, uint32_t value) {
    int exact = is_zero(given);
    set_rational(given, value);
    given->inexact = !exact;
}

/* The angle of a sine or cosine, which is 0 at 0 for one of them. */
static void arc(Rational *given, int zero_at_zero) {
    if (compare_sizes(&given->above, &given->below) > 0) return fail(UNDEFINED);
    given->inexact = !zero_at_zero || !is_zero(given);
}

/* Over one if that is larger; whether it was. */
static int turn_above_one(Rational *a) {
    int is_below = compare(&a->above, &a->below) < 0;
    if (is_below) invert(a);
    return is_below;
}

/* Without a base it is the natural one, which is exact at 1 only. Euclid's algorithm for exponents
   of a common root: a stays sides[0]^a_of[0] * sides[1]^a_of[1], and the base the same. */
static void logarithm(Rational *a, const Rational *base) {
    if (is_zero(a) || is_negative(a)) return fail(UNDEFINED);
    if (base && (is_zero(base) || is_negative(base))) return fail(UNDEFINED);
    if (base && is_whole(base) && is_one(&base->above)) return fail(UNDEFINED);
    if (is_whole(a) && is_one(&a->above)) return set_rational(a, 0);
    a->inexact = 1;
    if (!base) return;
    Rational other, *sides[] = {a, &other};
    Number rest;
    uint32_t a_of[] = {1, 0}, base_of[] = {0, 1};
    copy_rational(&other, base);
    int negative = turn_above_one(a) != turn_above_one(&other);
    while (compare(&a->above, &other.above) || compare(&a->below, &other.below)) {
        int larger = compare(&a->above, &other.above) < 0, smaller = !larger;
        divide(&sides[larger]->above, &rest, &sides[larger]->above, &sides[smaller]->above);
        if (rest.length > 0) return;
        divide(&sides[larger]->below, &rest, &sides[larger]->below, &sides[smaller]->below);
        if (rest.length > 0) return;
        a_of[smaller] += a_of[larger];
        base_of[smaller] += base_of[larger];
    }
    set_rational(a, a_of[0] + a_of[1]);
    set(&a->below, base_of[0] + base_of[1]);
    a->above.negative = negative;
    reduce(a);
}

static void logarithm_to(Rational *given, uint32_t number) {
    Rational base;
    set_rational(&base, number);
    logarithm(given, &base);
}

/* ---- rounding ---- */

static void sign(Rational *given) {
    int negative = is_negative(given);
    set_rational(given, !is_zero(given));
    given->above.negative = negative;
}

static void round_down(Rational *given) {
    Number rest;
    divide(&given->above, &rest, &given->above, &given->below);
    set(&given->below, 1);
}

static void round_up(Rational *given) {
    negate(&given->above);
    round_down(given);
    negate(&given->above);
}

/* The nearest whole number; halves go to the even neighbour. */
static void round_to_even(Rational *a) {
    Number quotient, rest;
    divide(&quotient, &rest, &a->above, &a->below);
    scale(&rest, 2);
    int side = compare_sizes(&rest, &a->below);
    if (side > 0 || (side == 0 && is_odd(&quotient))) add_small(&quotient, 1);
    copy(&a->above, &quotient);
    set(&a->below, 1);
}

static void round_half_even(Rational *given, int operands) {
    if (operands == 1) return round_to_even(given);
    Rational *unit = given + 1;
    need_whole(unit, 1);
    if (status != FINE) return;
    int tens = is_negative(unit);
    uint32_t places = size(&unit->above);
    if (places > MOST_DECIMALS) return fail(LARGE);
    set(&unit->above, 10);
    raise(&unit->above, &unit->above, places);
    if (tens) invert(unit);
    product(given);
    round_to_even(given);
    divided(given);
}

/* ---- whole numbers; a product that grows beyond the budget is left at once ---- */

/* The product of so many factors, each of which is one more than the last; or how many times the
   product of 1 to `count` it is. */
static void rising(Rational *given, Number *factor, uint32_t count, int is_shared) {
    Number divisor, rest;
    set(&given->above, 1);
    for (uint32_t i = 1; i <= count && status == FINE; i++) {
        add_small(factor, 1);
        multiply(&given->above, &given->above, factor);
        if (is_shared) {
            set(&divisor, i);
            divide_sizes(&given->above, &rest, &given->above, &divisor);
        }
        check(given);
    }
}

static void factorial(Rational *given) {
    Number factor;
    need_natural(given, 1);
    set(&factor, 0);
    if (status == FINE) rising(given, &factor, size(&given->above), 0);
}

/* How many ways there are to choose so many of them. */
static void choose(Rational *given, int in_order) {
    Number rest, *factor = &rest, *count = &given[1].above;
    need_natural(given, 2);
    if (status != FINE) return;
    combine(factor, &given->above, count, 1);
    if (factor->negative) return set_rational(given, 0);
    if (!in_order && compare(factor, count) < 0) {
        factor = count;
        count = &rest;
    }
    rising(given, factor, size(count), !in_order);
}

static void greatest_common_divisor(Rational *given, int operands) {
    need_whole(given, operands);
    given->above.negative = 0;
    for (int i = 1; i < operands; i++) {
        common_divisor(&given->above, &given->above, &given[i].above);
    }
}

static void least_common_multiple(Rational *given, int operands) {
    Number common, rest;
    need_whole(given, 1);
    given->above.negative = 0;
    for (int i = 1; i < operands && status == FINE; i++) {
        need_whole(given + i, 1);
        if (is_zero(given) || is_zero(given + i)) {
            set(&given->above, 0);
            continue;
        }
        common_divisor(&common, &given->above, &given[i].above);
        divide_sizes(&given->above, &rest, &given->above, &common);
        multiply(&given->above, &given->above, &given[i].above);
        given->above.negative = 0;
        check(given);
    }
}

/* ---- several operands ---- */

/* The least or the greatest: the side says which. */
static void extreme(Rational *given, int operands, int side) {
    for (int i = 1; i < operands; i++) {
        if (compare_rationals(given + i, given) * side > 0) copy_rational(given, given + i);
    }
}

static void total(Rational *given, int operands) {
    for (int i = 1; i < operands && status == FINE; i++) {
        add_or_subtract(given, given + i, 0);
        check(given);
    }
}

#include "operations.h"
#include "machine_text.h"
