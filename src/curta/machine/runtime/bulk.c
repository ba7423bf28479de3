/* Instructions on whole stretches of memory and of the table.
 *
 * Bounds come first: whether a stretch ends within the memory is found out by reading its last
 * byte, which traps if it does not. An empty stretch may begin right at the end, so the byte
 * before it is read. Then four bytes at a time, eight times a turn. */
#include "words.h"

NATIVE("peek8") u32 peek8(u32 address);
NATIVE("peek32") u32 peek32(u32 address);
NATIVE("poke32") void poke32(u32 address, u32 value);

typedef unsigned char u8;
typedef u32 __attribute__((aligned(1), may_alias)) anywhere;

/* Nothing wraps around once the bounds are checked, so places are pointers: then loads and
 * stores take the distances as offsets. */
#define WORD(address, place) (((anywhere *)(address))[place])
#define BYTE(address) (*(u8 *)(address))

INLINE void check_memory(u32 start, u32 count) {
    u32 last = start + count - 1;
    if (count == 0) {
        if (start == 0) {
            return;
        }
    } else if (UNLIKELY(last < start)) {
        trap(TRAP_OUT_OF_BOUNDS_MEMORY_ACCESS);
    }
    (void)*(volatile u8 *)last;
}

INLINE void check_within(u32 start, u32 count, u32 size, u32 code) {
    if (UNLIKELY(start > size) || UNLIKELY(count > size - start)) {
        trap(code);
    }
}

EXPORT("memory.fill") void memory_fill(u32 to, u32 value, u32 count) {
    check_memory(to, count);
    u32 word = (value & 0xff) * 0x01010101u;
    for (; count >= 32; count -= 32, to += 32) {
        WORD(to, 0) = word;
        WORD(to, 1) = word;
        WORD(to, 2) = word;
        WORD(to, 3) = word;
        WORD(to, 4) = word;
        WORD(to, 5) = word;
        WORD(to, 6) = word;
        WORD(to, 7) = word;
    }
    for (; count >= 4; count -= 4, to += 4) {
        WORD(to, 0) = word;
    }
    for (; count != 0; count -= 1, to += 1) {
        BYTE(to) = (u8)word;
    }
}

INLINE void copy_up(u32 to, u32 from, u32 count) {
    for (; count >= 16; count -= 16, to += 16, from += 16) {
        WORD(to, 0) = WORD(from, 0);
        WORD(to, 1) = WORD(from, 1);
        WORD(to, 2) = WORD(from, 2);
        WORD(to, 3) = WORD(from, 3);
    }
    for (; count >= 4; count -= 4, to += 4, from += 4) {
        WORD(to, 0) = WORD(from, 0);
    }
    for (; count != 0; count -= 1, to += 1, from += 1) {
        BYTE(to) = BYTE(from);
    }
}

/* From the end, so that what is overwritten has been copied. */
INLINE void copy_down(u32 to, u32 from, u32 count) {
    to += count;
    from += count;
    for (; count >= 16; count -= 16) {
        to -= 16;
        from -= 16;
        WORD(to, 3) = WORD(from, 3);
        WORD(to, 2) = WORD(from, 2);
        WORD(to, 1) = WORD(from, 1);
        WORD(to, 0) = WORD(from, 0);
    }
    for (; count >= 4; count -= 4) {
        to -= 4;
        from -= 4;
        WORD(to, 0) = WORD(from, 0);
    }
    for (; count != 0; count -= 1) {
        to -= 1;
        from -= 1;
        BYTE(to) = BYTE(from);
    }
}

/* Upwards is right unless the destination begins within the source. */
EXPORT("memory.copy") void memory_copy(u32 to, u32 from, u32 count) {
    check_memory(to, count);
    check_memory(from, count);
    if (UNLIKELY(to - from < count)) {
        copy_down(to, from, count);
    } else {
        copy_up(to, from, count);
    }
}

/* A passive segment lies at `segment` in the private memory and has `length` bytes. */
EXPORT("memory.init")
void memory_init(u32 to, u32 from, u32 count, u32 segment, u32 length) {
    check_within(from, count, length, TRAP_OUT_OF_BOUNDS_MEMORY_ACCESS);
    check_memory(to, count);
    from += segment;
    for (; count >= 4; count -= 4, to += 4, from += 4) {
        WORD(to, 0) = peek32(from);
    }
    for (; count != 0; count -= 1, to += 1, from += 1) {
        BYTE(to) = (u8)peek8(from);
    }
}

/* ---- the table, in the private memory, eight bytes to an entry ---- */

INLINE void copy_entry(u32 to, u32 from) {
    u32 signature = peek32(from), function = peek32(from + 4);
    poke32(to, signature);
    poke32(to + 4, function);
}

EXPORT("table.init")
void table_init(u32 to, u32 from, u32 count, u32 size, u32 segment, u32 length) {
    check_within(from, count, length, TRAP_OUT_OF_BOUNDS_TABLE_ACCESS);
    check_within(to, count, size, TRAP_OUT_OF_BOUNDS_TABLE_ACCESS);
    to = TABLE + 8 * to;
    from = segment + 8 * from;
    for (u32 end = to + 8 * count; to != end; to += 8, from += 8) {
        copy_entry(to, from);
    }
}

EXPORT("table.copy") void table_copy(u32 to, u32 from, u32 count, u32 size) {
    check_within(from, count, size, TRAP_OUT_OF_BOUNDS_TABLE_ACCESS);
    check_within(to, count, size, TRAP_OUT_OF_BOUNDS_TABLE_ACCESS);
    u32 step = 8, first = 0;
    if (to > from) { /* the last first */
        step = 0 - 8u;
        first = 8 * (count - 1);
    }
    to = TABLE + 8 * to + first;
    from = TABLE + 8 * from + first;
    for (; count != 0; count -= 1, to += step, from += step) {
        copy_entry(to, from);
    }
}
