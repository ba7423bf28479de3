/* Floating-point numbers from text, rounded to the nearest, halves to even.
 *
 * The digits are a whole number; it is multiplied by 10^9, or, with zeros put behind its bits,
 * divided by it, until the exponent is used up. The bits that come out are right, as far down as
 * there are any, and whether anything is left below them is known. */
#include "reader.h"

#include <errno.h>

#define DIGIT_LIMBS 1912u /* musl looks at 18,405 digits, too */
#define LIMBS (DIGIT_LIMBS + 800u)
#define SPARE_LIMBS 4u     /* below the number: more bits than any format has */

typedef struct Number {
    u32 limbs[LIMBS];
    u32 count;
    i32 exponent; /* times a power of ten */
    i32 binary;   /* times a power of two */
    u32 more;     /* and something less than the last bit */
    u32 negative;
} Number;

/* Where a format has its head, the word with sign and exponent, and how much of that is what. */
typedef struct Shape {
    u32 head, head_bits, infinite;
    i32 bits, least; /* of the fraction with its leading one; the exponent of the last bit */
} Shape;

/* ---- characters ---- */

/* Weak: programs that read no files do without. */
__attribute__((weak)) int getc(FILE *);
__attribute__((weak)) int ungetc(int, FILE *);

SHARED i32 curta_next(Reader *reader) {
    i32 character = END;
    if (reader->count != reader->room) {
        if (reader->file) {
            character = getc(reader->file);
        } else if (*reader->at != 0) {
            character = *reader->at++;
        }
    }
    reader->last = character;
    if (character != END) {
        reader->count += 1;
    }
    return character;
}

SHARED void curta_back(Reader *reader) {
    if (reader->last != END) {
        reader->count -= 1;
        if (reader->file) {
            ungetc(reader->last, reader->file);
        } else {
            reader->at -= 1;
        }
    }
}

SHARED i32 curta_next_mark(Reader *reader) {
    i32 character;
    do {
        character = curta_next(reader);
    } while (character == ' ' || (u32)character - '\t' < 5);
    return character;
}

/* Only `count` characters were read. */
INLINE void rewind_to(Reader *reader, u32 count) {
    reader->at -= reader->count - count;
    reader->count = count;
}

/* ---- digits ---- */

INLINE void append(Number *number, u32 factor, u32 group) {
    u32 carry = curta_multiply(number->limbs, number->limbs + number->count, factor, group);
    if (carry != 0) {
        number->limbs[number->count++] = carry;
    }
}

/* Digits and at most one point; what follows is returned. Places behind the point count down the
 * exponent. */
INLINE i32 read_digits(Reader *reader, i32 character, u32 base, Number *number, u32 *any) {
    u32 group = 0, scale = 1, has_point = 0;
    for (;; character = curta_next(reader)) {
        u32 digit = character - '0';
        if (character == '.' && !has_point) {
            has_point = 1;
            continue;
        }
        if (digit >= 10) {
            digit = (character | LOWER) - 'a' + 10;
        }
        u32 is_digit = digit < base && (digit < 10) == IS_DIGIT(character);
        if (is_digit) {
            *any = 1;
            number->exponent -= has_point;
            if (number->count >= DIGIT_LIMBS) {
                number->exponent += 1;
                number->more |= digit;
                continue;
            }
            group = group * base + digit;
            scale *= base;
        }
        if (scale >= GROUP / 10 || !is_digit) {
            append(number, scale, group);
            group = 0;
            scale = 1;
        }
        if (!is_digit) {
            return character;
        }
    }
}

/* Behind an `e` or `p`; whether there is one. Absurd ones are less than they say, and large. */
INLINE u32 read_exponent(Reader *reader, i32 *exponent) {
    i32 character = curta_next(reader), value = 0;
    u32 negative = character == '-';
    if (negative || character == '+') {
        character = curta_next(reader);
    }
    u32 any = IS_DIGIT(character);
    for (; IS_DIGIT(character); character = curta_next(reader)) {
        if (value < 100000000) {
            value = 10 * value + (character - '0');
        }
    }
    curta_back(reader);
    *exponent = negative ? -value : value;
    return any;
}

/* ---- from a whole number and exponents to bits ---- */

INLINE void put_zeros_below(Number *number, u32 zeros) {
    u32 *from = number->limbs + number->count, *to = from + zeros;
    while (from != number->limbs) {
        *--to = *--from;
    }
    while (to != number->limbs) {
        *--to = 0;
    }
    number->count += zeros;
    number->binary -= 32 * zeros;
}

/* The power of ten becomes part of the limbs. What is above all formats, or below, stays so. */
INLINE void use_up_exponent(Number *number, i32 most) {
    i32 exponent = number->exponent;
    u32 scale = 1;
    if (exponent > most || exponent + 10 * (i32)number->count < -most) {
        number->binary = exponent > 0 ? 100000 : -1000000;
        number->more = 1;
        exponent = 0;
    }
    for (; exponent % GROUP_DIGITS != 0; exponent--) {
        scale *= 10;
    }
    append(number, scale, 0);
    for (; exponent > 0; exponent -= GROUP_DIGITS) {
        append(number, GROUP, 0);
    }
    u32 rounds = -exponent / GROUP_DIGITS, zeros = SPARE_LIMBS;
    if (rounds >= number->count) {
        zeros += rounds + 1 - number->count;
    }
    put_zeros_below(number, zeros);
    for (; rounds != 0; rounds--) {
        number->more |= curta_divide(number->limbs, number->limbs + number->count);
        if (number->limbs[number->count - 1] == 0) {
            number->count -= 1;
        }
    }
}

/* The bits of the number from `drop` on, rounded. Whether that is not the number itself. */
INLINE u32 round_off(const Number *number, u32 drop, u32 *words, u32 head) {
    const u32 *limb = number->limbs, *half_limb = limb + ((drop - 1) >> 5);
    u32 half = 1u << ((drop - 1) & 31), more = number->more | (*half_limb & (half - 1));
    for (; limb != half_limb; limb++) {
        more |= *limb;
    }
    half &= *half_limb;
    limb = number->limbs + (drop >> 5);
    u32 carry = half != 0 && (more != 0 || (*limb >> (drop & 31) & 1) != 0);
    for (u32 i = 0; i <= head; i++) {
        u32 word = limb[i] >> (drop & 31) | limb[i + 1] << 1 << (~drop & 31);
        words[i] = word + carry;
        carry = words[i] < carry;
    }
    return half | more;
}

INLINE u32 is_power_of_two(const Number *number) {
    const u32 *limb = number->limbs + number->count - 1;
    u32 rest = number->more | (*limb & (*limb - 1));
    while (limb != number->limbs) {
        rest |= *--limb;
    }
    return rest == 0;
}

/* In its format. What is out of range is what musl says is. Decimal: a number that has fewer bits
 * than it should and was rounded, unless it was rounded up to a power of two. Hexadecimal: what is
 * far out, and a power of two that became zero, which loses its sign, too. (The first digit's place
 * tells how far out it is.) */
INLINE void encode(Number *number, const Shape *shape, i32 written, u32 is_decimal, u32 *words) {
    u32 *end = number->limbs + number->count;
    for (u32 i = 0; i != 6; i++) {
        end[i] = 0;
    }
    i32 length = 32 * number->count - __builtin_clz(end[-1]) + number->binary;
    i32 last = length - shape->bits, bits = length - shape->least;
    i32 place = ((length - written + 3) & ~3) + written - 32;
    u32 is_short = last < shape->least;
    if (is_short) {
        last = shape->least;
    }
    u32 drop = last - number->binary;
    if (drop > 32 * number->count + 32) {
        drop = 32 * number->count + 32;
    }
    u32 head = shape->head, any = 0, is_out = 0;
    u32 is_inexact = round_off(number, drop, words, head), exponent = last - shape->least;
    if (exponent < shape->infinite) {
        words[head] += exponent << shape->head_bits;
        exponent = words[head] >> shape->head_bits;
    }
    if (exponent >= shape->infinite) {
        for (u32 i = 0; i != head; i++) {
            words[i] = 0;
        }
        words[head] = shape->infinite << shape->head_bits;
        is_out = is_decimal || place > -shape->least;
    } else if (is_short) {
        for (u32 i = 0; i <= head; i++) {
            any |= words[i];
        }
        if (!is_decimal && place < shape->least - 226) {
            is_out = 1;
        } else if (any == 0 && is_power_of_two(number)) {
            number->negative = 0;
            is_out = 1;
        } else if (is_decimal) {
            is_out = is_inexact && (bits < 0 || words[bits >> 5] >> (bits & 31) == 0);
        }
    }
    if (is_out) {
        errno = ERANGE;
    }
}

/* ---- what is written ---- */

static u32 refuse(Reader *reader) {
    curta_back(reader);
    errno = EINVAL;
    return 0;
}

/* Infinities (1) and NaNs (2), in words; 0: it is none, or it was refused. */
INLINE u32 read_name(Reader *reader, i32 character) {
    const char *name = "infinity";
    u32 start = reader->count + 2, matched = 0, length = 8;
    if ((character | LOWER) == 'n') {
        name = "nan";
        length = 3;
    }
    while ((character | LOWER) == name[matched]) {
        matched += 1;
        if (matched == length) {
            break;
        }
        character = curta_next(reader);
    }
    if (matched < 3 || (matched != 3 && matched != 8 && !reader->rewinds)) {
        return refuse(reader);
    }
    if (length == 8) {
        if (matched == 3) {
            curta_back(reader);
        } else if (matched != 8) {
            rewind_to(reader, start);
        }
        return 1;
    }
    if (curta_next(reader) != '(') {
        curta_back(reader);
        return 2;
    }
    do {
        character = curta_next(reader);
    } while (IS_DIGIT(character) || (u32)(character | LOWER) - 'a' < 26 || character == '_');
    if (character != ')') {
        if (!reader->rewinds) {
            return refuse(reader);
        }
        rewind_to(reader, start);
    }
    return 2;
}

/* The digits, the exponent; nothing is computed yet. Whether it is a number. */
INLINE u32 read_number(Reader *reader, i32 character, Number *number, u32 *base, i32 *written) {
    u32 any = 0, start = reader->count;
    *base = 10;
    *written = 0;
    if (character == '0') {
        any = 1;
        character = curta_next(reader);
        if ((character | LOWER) == 'x') {
            any = 0;
            *base = 16;
            character = curta_next(reader);
        }
    }
    character = read_digits(reader, character, *base, number, &any);
    if (!any) {
        if (*base == 10) {
            return refuse(reader);
        }
        if (reader->rewinds) {
            rewind_to(reader, start); /* it is the zero in front of the x */
        } else {
            curta_back(reader);
        }
        return reader->rewinds;
    }
    if ((character | LOWER) != (*base == 10 ? 'e' : 'p')) {
        curta_back(reader);
        return 1;
    }
    start = reader->count - 1;
    if (read_exponent(reader, written)) {
        return 1;
    }
    *written = 0;
    if (reader->rewinds) {
        rewind_to(reader, start);
    }
    return reader->rewinds;
}

INLINE void choose(enum format format, Shape *shape) {
    shape->head = format == SINGLE ? 0 : format == DOUBLE ? 1 : 3;
    shape->head_bits = format == SINGLE ? 23 : format == DOUBLE ? 20 : 16;
    shape->infinite = format == SINGLE ? 255 : format == DOUBLE ? 2047 : 32767;
    shape->bits = 32 * shape->head + shape->head_bits + 1;
    shape->least = 2 - (i32)(shape->infinite >> 1) - shape->bits;
}

SHARED u32 curta_read_float(Reader *reader, enum format format, u32 *words) {
    Number number;
    Shape shape;
    u32 base;
    i32 written, character = curta_next_mark(reader);
    choose(format, &shape);
    for (u32 i = 0; i <= shape.head; i++) {
        words[i] = 0;
    }
    number.negative = character == '-';
    if (number.negative || character == '+') {
        character = curta_next(reader);
    }
    if ((character | LOWER) == 'i' || (character | LOWER) == 'n') {
        u32 special = read_name(reader, character);
        if (special == 0) {
            return 0;
        }
        words[shape.head] = shape.infinite << shape.head_bits;
        if (special == 2) {
            words[shape.head] |= 1u << (shape.head_bits - 1);
            number.negative = 0;
        }
    } else {
        number.count = number.more = 0;
        number.exponent = number.binary = 0;
        if (!read_number(reader, character, &number, &base, &written)) {
            return 0;
        }
        if (number.count != 0) {
            if (base == 10) {
                number.exponent += written;
                use_up_exponent(&number, format == QUADRUPLE ? 5100 : 400);
            } else {
                number.binary = 4 * number.exponent + written;
                put_zeros_below(&number, SPARE_LIMBS);
            }
            encode(&number, &shape, written, base == 10, words);
        }
    }
    words[shape.head] |= number.negative << 31;
    return 1;
}
