/* Words, big whole numbers of them ("limbs", the lowest first), and decimal digits.
 *
 * The C library's own pieces are written for few core instructions: words of 32 bits instead of the
 * 64 and 128 of a usual library, one loop for what could be several. */
#ifndef CURTA_LIBC_DIGITS_H
#define CURTA_LIBC_DIGITS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;

/* Called once within its file: part of its caller. */
#define INLINE static inline __attribute__((always_inline))
/* Called from several places: one copy of it in the prompt. */
#define SHARED __attribute__((noinline))
/* What a program defines itself goes before it. */
#define WEAK __attribute__((weak, visibility("default")))

#define IS_DIGIT(c) ((u32)(c) - '0' < 10)
#define LOWER 32u /* the bit that small letters have and capitals lack */

/* Digits that are made or read at a time: as many as a word holds. */
#define GROUP 1000000000u
#define GROUP_DIGITS 9

/* Limbs up to `end` times a factor, plus what is carried in, which is less than the factor; what
 * is carried out is returned. */
u32 curta_multiply(u32 *limb, u32 *end, u32 factor, u32 carry);

/* Limbs up to `end` divided by 10^9; what is left is returned. */
u32 curta_divide(u32 *limbs, u32 *end);

/* All digits from `start` to `end`. */
void curta_group(u32 group, char *end, char *start);

/* Decimal digits backwards from `end`, leading zeros left out; `limbs` are used up. Where they
 * begin is returned. */
char *curta_decimal(u32 *limbs, u32 count, char *end);

#endif
