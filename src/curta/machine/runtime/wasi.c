/* WASI preview 1 for a program with three open files: 0 is read, 1 and 2 are written.
 *
 * The library shares the program's memory: pointers in the arguments are addresses there, and
 * nothing else is kept in memory. What must last from call to call lies in the machine's state
 * words. Runs are deterministic: the clock advances by a fixed amount per reading (and by what
 * the program sleeps), random bytes follow from the seed.
 *
 * 64-bit arguments come as two words, low word first. */
#include "wasi.h"

/* ---- native instructions ---- */

#define END_OF_BYTES 0xffffffffu

NATIVE("write") void native_write(u32 file, u32 byte);
NATIVE("read") u32 native_read(void);                /* a byte or END_OF_BYTES */
NATIVE("argument") u32 native_argument(u32 index);   /* of all arguments, each ended by NUL */
NATIVE("environ") u32 native_environment(u32 index); /* the same for NAME=VALUE */
NATIVE("exit") _Noreturn void native_exit(u32 code);
NATIVE("store_state") void store_state(u32 word, u32 value);

#define CHARACTER_DEVICE 2
#define RIGHT_READ 0x2u
#define RIGHT_WRITE 0x40u
#define RIGHT_COMMON 0x08200008u /* set flags, file status, poll */
#define NEWLINE 10

#define CLOCK_REALTIME 0
#define CLOCK_COUNT 4
#define CLOCK_STEP 1000000u /* one millisecond per reading */
/* The real-time clock starts at 2000-01-01T00:00:00Z. */
#define EPOCH_LOW 0x52430000u
#define EPOCH_HIGH 0x0d234ccfu

typedef unsigned char u8;
typedef unsigned short u16;

/* Stores are volatile only to keep the compiler from joining two of them to one of 64 bits. */

INLINE u8 load8(u32 address) {
    return *(const u8 *)address;
}

INLINE u32 load32(u32 address) {
    typedef u32 __attribute__((aligned(1), may_alias)) anywhere;
    return *(const anywhere *)address;
}

INLINE void store8(u32 address, u32 value) {
    *(u8 *)address = (u8)value;
}

INLINE void store16(u32 address, u32 value) {
    typedef u16 __attribute__((aligned(1), may_alias)) anywhere;
    *(volatile anywhere *)address = (u16)value;
}

INLINE void store32(u32 address, u32 value) {
    typedef u32 __attribute__((aligned(1), may_alias)) anywhere;
    *(volatile anywhere *)address = value;
}

INLINE void store64(u32 address, wide value) {
    store32(address, value.lo);
    store32(address + 4, value.hi);
}

INLINE void clear(u32 address, u32 bytes) {
    for (u32 i = 0; i < bytes; i += 4) {
        store32(address + i, 0);
    }
}

/* ---- arguments and environment ---- */

INLINE u32 measure_strings(u32 (*byte_at)(u32), u32 count_address, u32 bytes_address) {
    u32 count = 0, index = 0;
    for (;;) {
        u32 byte = byte_at(index);
        if (byte == END_OF_BYTES) {
            break;
        }
        index += 1;
        count += byte == 0;
    }
    store32(count_address, count);
    store32(bytes_address, index);
    return SUCCESS;
}

INLINE u32 copy_strings(u32 (*byte_at)(u32), u32 pointers, u32 buffer) {
    u32 starts = 1;
    for (u32 index = 0;; index++) {
        u32 byte = byte_at(index);
        if (byte == END_OF_BYTES) {
            return SUCCESS;
        }
        if (starts) {
            store32(pointers, buffer + index);
            pointers += 4;
        }
        store8(buffer + index, byte);
        starts = byte == 0;
    }
}

EXPORT("args_sizes_get") u32 args_sizes_get(u32 count, u32 bytes) {
    return measure_strings(native_argument, count, bytes);
}

EXPORT("args_get") u32 args_get(u32 pointers, u32 buffer) {
    return copy_strings(native_argument, pointers, buffer);
}

EXPORT("environ_sizes_get") u32 environ_sizes_get(u32 count, u32 bytes) {
    return measure_strings(native_environment, count, bytes);
}

EXPORT("environ_get") u32 environ_get(u32 pointers, u32 buffer) {
    return copy_strings(native_environment, pointers, buffer);
}

/* ---- clocks ---- */

INLINE wide read_clock(u32 clock) {
    wide now = wide_add(load_state(STATE_CLOCK), load_state(STATE_CLOCK_HIGH), CLOCK_STEP, 0);
    store_state(STATE_CLOCK, now.lo);
    store_state(STATE_CLOCK_HIGH, now.hi);
    return clock == CLOCK_REALTIME ? wide_add(now.lo, now.hi, EPOCH_LOW, EPOCH_HIGH) : now;
}

EXPORT("clock_res_get") u32 clock_res_get(u32 clock, u32 result) {
    if (clock >= CLOCK_COUNT) {
        return EINVAL;
    }
    store64(result, make_wide(CLOCK_STEP, 0));
    return SUCCESS;
}

EXPORT("clock_time_get") u32 clock_time_get(u32 clock, u32 lo, u32 hi, u32 result) {
    (void)lo, (void)hi;
    if (clock >= CLOCK_COUNT) {
        return EINVAL;
    }
    store64(result, read_clock(clock));
    return SUCCESS;
}

/* ---- reading and writing ---- */

/* Eight bytes a turn, to share the loop's own instructions among them. `file` is a constant, and
 * places behind a pointer are what loads take as offsets. */
INLINE void write_bytes(u32 file, u32 from, u32 count) {
    u32 end = from + count;
    for (u32 turns_end = from + (count & ~7u); from != turns_end; from += 8) {
        const u8 *bytes = (const u8 *)from;
        native_write(file, bytes[0]);
        native_write(file, bytes[1]);
        native_write(file, bytes[2]);
        native_write(file, bytes[3]);
        native_write(file, bytes[4]);
        native_write(file, bytes[5]);
        native_write(file, bytes[6]);
        native_write(file, bytes[7]);
    }
    for (; from != end; from += 1) {
        native_write(file, load8(from));
    }
}

EXPORT("fd_write") u32 fd_write(u32 file, u32 buffers, u32 buffer_count, u32 written) {
    if (!is_open(file) || file == 0) {
        return EBADF;
    }
    u32 total = 0;
    for (u32 end = buffers + 8 * buffer_count; buffers != end; buffers += 8) {
        u32 count = load32(buffers + 4);
        if (count != 0) {
            u32 from = load32(buffers);
            if (file == 1) {
                write_bytes(1, from, count);
            } else {
                for (u32 stop = from + count; from != stop; from += 1) {
                    native_write(2, load8(from));
                }
            }
            total += count;
        }
    }
    store32(written, total);
    return SUCCESS;
}

/* Up to the end of a line, so that a person at the keyboard is answered line by line. */
EXPORT("fd_read") u32 fd_read(u32 file, u32 buffers, u32 buffer_count, u32 count_read) {
    if (!is_open(file) || file != 0) {
        return EBADF;
    }
    u32 total = 0;
    for (u32 end = buffers + 8 * buffer_count; buffers != end; buffers += 8) {
        u32 start = load32(buffers);
        u32 to = start, stop = start + load32(buffers + 4);
        while (to != stop) {
            u32 byte = native_read();
            if (UNLIKELY((i32)byte <= NEWLINE)) { /* one check for the end and the line's end */
                if (byte != END_OF_BYTES) {
                    store8(to, byte);
                    to += 1;
                }
                if (byte == NEWLINE || byte == END_OF_BYTES) {
                    store32(count_read, total + (to - start));
                    return SUCCESS;
                }
            } else {
                store8(to, byte);
                to += 1;
            }
        }
        total += to - start;
    }
    store32(count_read, total);
    return SUCCESS;
}

EXPORT("fd_close") u32 fd_close(u32 file) {
    if (!is_open(file)) {
        return EBADF;
    }
    store_state(STATE_CLOSED, load_state(STATE_CLOSED) | 1u << file);
    return SUCCESS;
}

/* ---- what the files are ---- */

EXPORT("fd_fdstat_get") u32 fd_fdstat_get(u32 file, u32 result) {
    if (!is_open(file)) {
        return EBADF;
    }
    clear(result, 24);
    store8(result, CHARACTER_DEVICE);
    store32(result + 8, RIGHT_COMMON | (file == 0 ? RIGHT_READ : RIGHT_WRITE));
    return SUCCESS;
}

EXPORT("fd_filestat_get") u32 fd_filestat_get(u32 file, u32 result) {
    if (!is_open(file)) {
        return EBADF;
    }
    clear(result, 64);
    store32(result + 8, file);
    store8(result + 16, CHARACTER_DEVICE);
    store32(result + 24, 1);
    return SUCCESS;
}

EXPORT("fd_fdstat_set_flags") u32 fd_fdstat_set_flags(u32 file, u32 flags) {
    (void)flags;
    return is_open(file) ? SUCCESS : EBADF;
}

/* ---- randomness ---- */

/* Word number `index`: a Weyl sequence through two rounds of multiply and xor-shift. */
INLINE u32 random_word(u32 seed, u32 index) {
    u32 x = seed + index * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

EXPORT("random_get") u32 random_get(u32 buffer, u32 count) {
    u32 seed = load_state(STATE_SEED), index = load_state(STATE_RANDOM);
    u32 end = buffer + count;
    for (; end - buffer >= 4; buffer += 4) {
        index += 1;
        store32(buffer, random_word(seed, index));
    }
    if (buffer != end) {
        index += 1;
        for (u32 word = random_word(seed, index); buffer != end; buffer += 1) {
            store8(buffer, word);
            word >>= 8;
        }
    }
    store_state(STATE_RANDOM, index);
    return SUCCESS;
}

/* ---- waiting ---- */

#define SUBSCRIPTION_BYTES 48
#define EVENT_BYTES 32
#define EVENT_CLOCK 0
#define EVENT_READ 1
#define ABSOLUTE 1u

INLINE void store_event(u32 event, u32 subscription, u32 error) {
    clear(event, EVENT_BYTES);
    store32(event, load32(subscription));
    store32(event + 4, load32(subscription + 4));
    store16(event + 8, error);
    store8(event + 10, load8(subscription + 8));
}

/* The time that a clock subscription waits for, on the clock that counts from the start. */
INLINE wide wake_time(u32 subscription, wide now) {
    wide timeout = make_wide(load32(subscription + 24), load32(subscription + 28));
    if ((load8(subscription + 40) & ABSOLUTE) == 0) {
        return wide_add(now.lo, now.hi, timeout.lo, timeout.hi);
    }
    if (load32(subscription + 16) != CLOCK_REALTIME) {
        return timeout;
    }
    return wide_less(timeout.lo, timeout.hi, EPOCH_LOW, EPOCH_HIGH)
               ? make_wide(0, 0)
               : wide_subtract(timeout.lo, timeout.hi, EPOCH_LOW, EPOCH_HIGH);
}

/* Files are always ready. */
INLINE u32 report_files(u32 from, u32 end, u32 event) {
    u32 count = 0;
    for (; from != end; from += SUBSCRIPTION_BYTES) {
        u32 kind = load8(from + 8);
        if (kind == EVENT_CLOCK) {
            continue;
        }
        u32 file = load32(from + 16);
        u32 usable = is_open(file) && (kind == EVENT_READ) == (file == 0);
        store_event(event, from, usable ? SUCCESS : EBADF);
        store32(event + 16, usable);
        event += EVENT_BYTES;
        count += 1;
    }
    return count;
}

/* Let the time of the first alarm come, and report all whose time has come. */
INLINE u32 report_alarms(u32 from, u32 end, u32 event) {
    wide now = make_wide(load_state(STATE_CLOCK), load_state(STATE_CLOCK_HIGH));
    wide first = wake_time(from, now);
    for (u32 other = from + SUBSCRIPTION_BYTES; other != end; other += SUBSCRIPTION_BYTES) {
        wide time = wake_time(other, now);
        if (wide_less(time.lo, time.hi, first.lo, first.hi)) {
            first = time;
        }
    }
    wide then = wide_less(first.lo, first.hi, now.lo, now.hi) ? now : first;
    store_state(STATE_CLOCK, then.lo);
    store_state(STATE_CLOCK_HIGH, then.hi);
    u32 count = 0;
    for (; from != end; from += SUBSCRIPTION_BYTES) {
        wide time = wake_time(from, now);
        if (!wide_less(then.lo, then.hi, time.lo, time.hi)) {
            store_event(event, from, load32(from + 16) < CLOCK_COUNT ? SUCCESS : EINVAL);
            event += EVENT_BYTES;
            count += 1;
        }
    }
    return count;
}

EXPORT("poll_oneoff") u32 poll_oneoff(u32 subscriptions, u32 events, u32 count, u32 result) {
    if (count == 0) {
        return EINVAL;
    }
    u32 end = subscriptions + SUBSCRIPTION_BYTES * count;
    u32 reported = report_files(subscriptions, end, events);
    if (reported == 0) {
        reported = report_alarms(subscriptions, end, events);
    }
    store32(result, reported);
    return SUCCESS;
}

EXPORT("sched_yield") u32 sched_yield(void) {
    return SUCCESS;
}

EXPORT("proc_exit") _Noreturn void proc_exit(u32 code) {
    native_exit(code);
}
