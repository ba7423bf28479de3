/* Big whole numbers and decimal digits. */
#include "digits.h"

SHARED u32 curta_multiply(u32 *limb, u32 *end, u32 factor, u32 carry) {
    for (; limb != end; limb++) {
        u64 product = (u64)*limb * factor + carry;
        *limb = (u32)product;
        carry = product >> 32;
    }
    return carry;
}

SHARED void curta_group(u32 group, char *end, char *start) {
    do {
        *--end = '0' + group % 10;
        group /= 10;
    } while (end != start);
}

/* From the highest limb down: what is left of one is in front of the next. Both times four, so that the divisor has its highest bit set, a quotient is at most one away from
 * what the divisor's reciprocal says (Moeller and Granlund, Improved division by invariant
 * integers, algorithm 4). */
#define DIVISOR (4 * GROUP)
#define RECIPROCAL ((u32)(0xffffffffffffffffull / DIVISOR - 0x100000000ull))

SHARED u32 curta_divide(u32 *limbs, u32 *limb) {
    u32 rest = 0;
    do {
        limb -= 1;
        u32 high = rest | *limb >> 30, low = *limb << 2;
        u64 estimate = (u64)high * RECIPROCAL + low;
        u32 quotient = (u32)(estimate >> 32) + high + 1;
        rest = low - quotient * DIVISOR;
        if (rest > (u32)estimate) {
            quotient -= 1;
            rest += DIVISOR;
        }
        if (rest >= DIVISOR) {
            quotient += 1;
            rest -= DIVISOR;
        }
        *limb = quotient;
    } while (limb != limbs);
    return rest >> 2;
}

SHARED char *curta_decimal(u32 *limbs, u32 count, char *end) {
    for (;;) {
        if (count == 0) {
            return end;
        }
        if (limbs[count - 1] == 0) {
            count -= 1;
            continue;
        }
        if (count == 1) {
            break;
        }
        char *start = end - GROUP_DIGITS;
        curta_group(curta_divide(limbs, limbs + count), end, start);
        end = start;
    }
    for (u32 rest = limbs[0]; rest != 0; rest /= 10) {
        *--end = '0' + rest % 10;
    }
    return end;
}
