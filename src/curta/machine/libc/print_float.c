/* Floating-point numbers as decimal and hexadecimal digits, all of them exact.
 *
 * A number is m * 2^e with whole m below 2^113. In binary, with the point between two words, it
 * has at most 512 words in front of the point and 516 behind it: what is in front is divided by
 * 10^9 again and again, what is behind is multiplied by it, and what comes out are nine digits
 * each. Digits are made only as far as they are asked for; what is left then says how to round. */
#include "text.h"

#define WHOLE_DIGITS 4936u /* of the largest number, and a zero that rounding may carry into */
#define PART_DIGITS 16506u /* behind the point, of the smallest */
#define LIMBS 524u
#define NIBBLES 28          /* behind the point, of a long number */
#define NIBBLES_ROUNDED 27  /* musl rounds to fewer than these */

typedef struct Number {
    u32 words[4]; /* of m */
    i32 exponent; /* e */
    u32 is_zero;
} Number;

/* The digits from `first` on, and where there are no more; what follows are zeros. */
typedef struct Digits {
    char *first, *end;
    u32 is_inexact; /* something follows that is not zero */
} Digits;

/* ---- taking a number apart ---- */

/* 0, or which of infinities (1) and NaNs (2) it is. */
INLINE u32 take_apart(const u32 *argument, u32 is_long, Number *number) {
    u32 head = is_long ? 3 : 1, bits = is_long ? 16 : 20, most = is_long ? 32767 : 2047;
    u32 any = 0, word = argument[head], exponent = word >> bits & most;
    number->words[2] = 0;
    for (u32 i = 0; i != head; i++) {
        any |= number->words[i] = argument[i];
    }
    word &= (1u << bits) - 1;
    any |= word;
    if (exponent == most) {
        return any ? 2 : 1;
    }
    if (exponent != 0) {
        word |= 1u << bits;
    } else {
        exponent = 1;
    }
    number->words[head] = word;
    if (!is_long) {
        number->words[3] = 0;
    }
    number->is_zero = (any | word) == 0;
    number->exponent = (i32)(exponent - (most >> 1) - (32 * head + bits));
    return 0;
}

/* ---- digits ---- */

/* One is added in the last place before `end`, if what follows is more than half or half of it and
 * that place is odd. `half` is the digit that half begins with, `last` the highest digit. */
SHARED static void round_at(Digits *digits, char *end, char half, char last) {
    char *at = end;
    u32 more = digits->is_inexact;
    if (end >= digits->end) {
        return;
    }
    while (++at != digits->end) {
        more |= *at ^ '0';
    }
    digits->end = end;
    if (*end > half || (*end == half && (more || (end[-1] & 1)))) {
        for (at = end - 1; *at == last; at--) {
            *at = '0';
        }
        *at += 1;
        if (at < digits->first) {
            digits->first = at;
        }
    }
}

/* The digits of a number around `point`. They go on until `precision` of them are there, counted
 * from the point or from the first that is not zero, and the next one, or there are no more. */
INLINE void write_digits(const Number *number, char *point, u32 from_point, u32 precision,
                         Digits *digits) {
    u32 limbs[LIMBS], *bottom = limbs;
    u32 parts = number->exponent < 0 ? (u32)(31 - number->exponent) >> 5 : 0;
    u32 offset = number->exponent + 32 * parts, shift = offset & 31, carry = 0;
    u32 *limb = limbs;
    for (u32 zeros = offset >> 5; zeros != 0; zeros--) {
        *limb++ = 0;
    }
    for (u32 i = 0; i != 4; i++) {
        u32 word = number->words[i];
        *limb++ = word << shift | carry;
        carry = word >> 1 >> (31 - shift);
    }
    *limb++ = carry;
    u32 count = limb - limbs;
    u32 *parts_end = limbs + parts, *top = limb;
    char *first = point, *end = point;
    if (count > parts) {
        first = curta_decimal(parts_end, count - parts, point);
        top = parts_end;
    }
    first[-1] = '0';
    for (;;) {
        while (bottom != top && *bottom == 0) {
            bottom += 1;
        }
        if (bottom == top || (u32)(end - (from_point ? point : first)) > precision) {
            break;
        }
        u32 group = curta_multiply(bottom, top, GROUP, 0);
        if (top != parts_end && group != 0) {
            *top++ = group; /* not in front of the point yet */
            group = 0;
        }
        end += GROUP_DIGITS;
        curta_group(group, end, end - GROUP_DIGITS);
        while (first != end && *first == '0') {
            first += 1;
        }
    }
    digits->first = first;
    digits->end = end;
    digits->is_inexact = bottom != top;
}

/* One digit in front of the point, then as many nibbles as there are. The exponent of the first
 * is returned. */
INLINE i32 write_nibbles(Number *number, char *to, Digits *digits) {
    u32 *words = number->words;
    i32 exponent = number->exponent + 4 * NIBBLES;
    digits->first = to;
    digits->is_inexact = 0;
    if (number->is_zero) {
        exponent = 0;
    } else {
        for (; words[3] >> 16 == 0; exponent--) {
            words[3] = words[3] << 1 | words[2] >> 31;
            words[2] = words[2] << 1 | words[1] >> 31;
            words[1] = words[1] << 1 | words[0] >> 31;
            words[0] <<= 1;
        }
    }
    for (u32 i = 0; i != NIBBLES + 1; i++) {
        *to++ = '0' + (words[3] >> 16);
        words[3] = (words[3] & 0xffff) << 4 | words[2] >> 28;
        words[2] = words[2] << 4 | words[1] >> 28;
        words[1] = words[1] << 4 | words[0] >> 28;
        words[0] <<= 4;
    }
    digits->end = to;
    return exponent;
}

/* ---- fields ---- */

/* The exponent, with its letter and sign, behind the digits. */
INLINE void put_exponent(Field *field, i32 exponent, u32 letter, i32 least, char *end) {
    u32 size = exponent < 0 ? -exponent : exponent;
    char *start = curta_decimal(&size, 1, end);
    while (end - start < least) {
        *--start = '0';
    }
    *--start = exponent < 0 ? '-' : '+';
    *--start = letter;
    field->tail = start;
    field->tail_length = end - start;
}

/* `whole` digits from `start` on in front of the point, `precision` digits behind it. */
INLINE void put_digits(Field *field, char *start, u32 whole, char *end, u32 precision) {
    u32 more = end - start - whole;
    if (more > precision) {
        more = precision;
    }
    field->body = start;
    field->body_length = whole;
    field->point = precision != 0 || field->flags & FLAG('#');
    field->more = start + whole;
    field->more_length = more;
    field->more_zeros = precision - more;
}

INLINE void drop_zeros(Digits *digits, char *least) {
    while (digits->end > least && digits->end[-1] == '0') {
        digits->end -= 1;
    }
}

static void lay_out_hexadecimal(Field *field, Number *number, char *buffer, char *tail_end) {
    Digits digits;
    i32 precision = field->precision, exponent = write_nibbles(number, buffer, &digits);
    u32 lower = field->letter & LOWER;
    if ((u32)precision < NIBBLES_ROUNDED) {
        round_at(&digits, buffer + 1 + precision, '8', '0' + 15);
    }
    drop_zeros(&digits, buffer + 1);
    for (char *at = buffer; at != digits.end; at++) {
        if (*at > '9') {
            *at = (*at + ('A' - 10 - '0')) | lower;
        }
    }
    i32 most = digits.end - buffer - 1;
    put_digits(field, buffer, 1, digits.end, precision < most ? most : precision);
    char *prefix = field->prefix + field->prefix_length;
    prefix[0] = '0';
    prefix[1] = 'X' | lower;
    field->prefix_length += 2;
    put_exponent(field, exponent, 'P' | lower, 1, tail_end);
}

static void lay_out_decimal(Field *field, Number *number, char *point, char *tail_end) {
    Digits digits;
    u32 form = field->letter | LOWER, precision = field->has_precision ? field->precision : 6;
    u32 wanted = precision + (form == 'e');
    if (form == 'g' && wanted == 0) {
        wanted = 1;
    }
    write_digits(number, point, form == 'f', wanted, &digits);
    if (digits.first == digits.end) {
        digits.first = point - 1;
    }
    char *base = form == 'f' ? point : digits.first;
    if ((u32)(digits.end - base) > wanted) {
        round_at(&digits, base + wanted, '5', '9');
    }
    i32 exponent = point - 1 - digits.first;
    if (form == 'g') {
        form = 'e';
        precision = wanted - 1;
        base = digits.first + 1;
        if ((i32)wanted > exponent && exponent >= -4) {
            form = 'f';
            precision -= exponent;
            base = point;
        }
        if ((field->flags & FLAG('#')) == 0) {
            drop_zeros(&digits, base > digits.first ? base : digits.first + 1);
            if (precision > (u32)(digits.end - base)) {
                precision = digits.end - base;
            }
        }
    }
    if (form == 'f') {
        char *start = digits.first < point ? digits.first : point - 1;
        put_digits(field, start, point - start, digits.end, precision);
    } else {
        put_digits(field, digits.first, 1, digits.end, precision);
        put_exponent(field, exponent, 'E' | (field->letter & LOWER), 2, tail_end);
    }
}

SHARED i32 curta_float(Sink *sink, Field *field, const u32 *argument) {
    char buffer[WHOLE_DIGITS + PART_DIGITS], tail[8];
    Number number;
    u32 is_long = field->length == LONG_DOUBLE, lower = field->letter & LOWER;
    curta_sign(field, argument[is_long ? 3 : 1] >> 31);
    u32 special = take_apart(argument, is_long, &number);
    if (special) {
        field->flags &= ~FLAG('0');
        field->body = &"INFNANinfnan"[(special - 1) * 3 + (lower ? 6 : 0)];
        field->body_length = 3;
        return curta_lay(sink, field, MOST);
    }
    field->is_float = 1;
    field->tail_length = 0;
    if ((field->letter | LOWER) == 'a') {
        lay_out_hexadecimal(field, &number, buffer, tail + sizeof tail);
    } else {
        lay_out_decimal(field, &number, buffer + WHOLE_DIGITS, tail + sizeof tail);
    }
    return curta_lay(sink, field, MOST);
}
