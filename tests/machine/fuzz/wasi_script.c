/* Does what a script says with the functions of WASI themselves, and reports what came of it.
 *
 * The script is a row of numbers: an operation and three operands each. What may differ between
 * hosts is evened out: a host may write or read less than it was asked for, so both are repeated
 * until all is done; of clocks only the order counts, of random bytes only where they are. */
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
#define IMPORT(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))

typedef struct {
    u32 at, count;
} piece;

IMPORT("fd_write") u32 fd_write(u32 file, piece *pieces, u32 count, u32 *written);
IMPORT("fd_read") u32 fd_read(u32 file, piece *pieces, u32 count, u32 *taken);
IMPORT("args_sizes_get") u32 args_sizes_get(u32 *count, u32 *bytes);
IMPORT("args_get") u32 args_get(u32 *starts, uint8_t *bytes);
IMPORT("environ_sizes_get") u32 environ_sizes_get(u32 *count, u32 *bytes);
IMPORT("environ_get") u32 environ_get(u32 *starts, uint8_t *bytes);
IMPORT("clock_time_get") u32 clock_time_get(u32 clock, u64 precision, u64 *now);
IMPORT("clock_res_get") u32 clock_res_get(u32 clock, u64 *step);
IMPORT("random_get") u32 random_get(uint8_t *bytes, u32 count);
IMPORT("sched_yield") u32 sched_yield(void);
IMPORT("fd_close") u32 fd_close(u32 file);
IMPORT("fd_tell") u32 fd_tell(u32 file, u64 *at);
IMPORT("fd_seek") u32 fd_seek(u32 file, u64 by, u32 from, u64 *at);
IMPORT("fd_fdstat_get") u32 fd_fdstat_get(u32 file, u64 *state);
IMPORT("fd_filestat_get") u32 fd_filestat_get(u32 file, u64 *state);
IMPORT("fd_prestat_get") u32 fd_prestat_get(u32 file, u64 *state);
IMPORT("fd_prestat_dir_name") u32 fd_prestat_dir_name(u32 file, uint8_t *name, u32 count);
IMPORT("fd_sync") u32 fd_sync(u32 file);
IMPORT("fd_readdir") u32 fd_readdir(u32 file, uint8_t *to, u32 count, u64 cookie, u32 *taken);
IMPORT("fd_pread") u32 fd_pread(u32 file, piece *pieces, u32 count, u64 at, u32 *taken);
IMPORT("path_unlink_file") u32 path_unlink_file(u32 file, const char *name, u32 count);
IMPORT("path_create_directory") u32 path_create_directory(u32 file, const char *name, u32 count);
IMPORT("path_open")
u32 path_open(u32 folder, u32 follow, const char *name, u32 count, u32 how, u64 rights, u64 more,
              u32 flags, u32 *file);
IMPORT("proc_exit") _Noreturn void proc_exit(u32 code);

enum { WRITE, READ, ARGUMENTS, VARIABLES, CLOCK, RANDOM, NO_FILE, STREAM, CLOSE, END };

static const struct {
    u32 operation, a, b, c;
} script[] = {
#include "script.inc"
};

static uint8_t pattern[256], buffer[512];
static char report[1 << 16];
static u32 reported;

static void say(u32 number) {
    for (int shift = 28; shift >= 0; shift -= 4)
        if (number >> shift != 0 || shift == 0)
            report[reported++] = "0123456789abcdef"[number >> shift & 15];
    report[reported++] = ' ';
}

static void say_bytes(const uint8_t *bytes, u32 count) {
    for (u32 i = 0; i < count; i++) say(bytes[i]);
    report[reported++] = '\n';
}

/* What is left of some pieces behind so many bytes of them. */
static u32 behind(const piece *pieces, u32 count, u32 bytes, piece *rest) {
    u32 kept = 0;
    for (u32 i = 0; i < count; i++) {
        u32 done = bytes < pieces[i].count ? bytes : pieces[i].count;
        bytes -= done;
        rest[kept++] = (piece){pieces[i].at + done, pieces[i].count - done};
    }
    return kept;
}

static u32 write_all(u32 file, const piece *pieces, u32 count) {
    u32 size = 0, done = 0, written, error;
    piece rest[8];
    for (u32 i = 0; i < count; i++) size += pieces[i].count;
    do {
        error = fd_write(file, rest, behind(pieces, count, done, rest), &written);
        if (error != 0) return error;
        done += written;
    } while (done < size);
    return done << 8;
}

static void read_all(u32 a, u32 b, u32 c) {
    u32 first = a % 200 + 1, second = b % 100, third = c % 50, done = 0, taken, error;
    piece pieces[] = {
        {(u32)buffer, first}, {(u32)buffer + first, second}, {(u32)buffer + first + second, third}};
    piece rest[3];
    do {
        error = fd_read(0, rest, behind(pieces, 3, done, rest), &taken);
        say(error);
        if (error != 0) return;
        done += taken;
    } while (taken != 0 && done < first + second + third);
    reported = reported >= 2 ? reported - 2 : reported; /* how many turns it took differs */
    while (reported >= 2 && report[reported - 2] == '0' && report[reported - 1] == ' ') reported -= 2;
    say_bytes(buffer, done);
}

static void strings(u32 (*sizes)(u32 *, u32 *), u32 (*get)(u32 *, uint8_t *)) {
    u32 count, bytes, starts[32];
    say(sizes(&count, &bytes));
    say(count);
    say(get(starts, buffer));
    for (u32 i = 0; i < count; i++) say(starts[i] - (u32)buffer);
    say_bytes(buffer, bytes);
}

static void clock(u32 which) {
    static u64 before[2];
    u64 now = 0, step = 0;
    which %= 2;
    say(clock_time_get(which, 1000, &now));
    say(now >= before[which]);
    before[which] = now;
    say(clock_res_get(which, &step));
    say(step > 0);
}

static void random_bytes(u32 at, u32 count) {
    at = at % 64 + 1;
    count %= 64;
    for (u32 i = 0; i < 256; i++) buffer[i] = 7;
    say(random_get(buffer + at, count));
    u32 other = 0;
    for (u32 i = 0; i < 256; i++) other += (i < at || i >= at + count) && buffer[i] != 7;
    say(other);
}

static u32 without_file(u32 which, u32 file) {
    static u64 space[8];
    u32 *words = (u32 *)space;
    piece pieces[] = {{(u32)buffer, 5}};
    switch (which % 14) {
        case 0: return fd_write(file, pieces, 1, words);
        case 1: return fd_read(file, pieces, 1, words);
        case 2: return fd_tell(file, space);
        case 3: return fd_seek(file, 3, 1, space);
        case 4: return fd_fdstat_get(file, space);
        case 5: return fd_filestat_get(file, space);
        case 6: return fd_prestat_get(file, space);
        case 7: return fd_prestat_dir_name(file, buffer, 4);
        case 8: return fd_sync(file);
        case 9: return fd_readdir(file, buffer, 40, 0, words);
        case 10: return fd_pread(file, pieces, 1, 0, words);
        case 11: return path_unlink_file(file, "a", 1);
        case 12: return path_create_directory(file, "a", 1);
        default: return path_open(file, 0, "a", 1, 0, 2, 0, 0, words);
    }
}

static u32 on_stream(u32 which, u32 file) {
    static u64 space[8];
    piece pieces[] = {{(u32)buffer, 5}};
    u32 count;
    switch (which % 7) {
        case 0: return fd_tell(file, space);
        case 1: return fd_seek(file, 3, which % 3, space);
        case 2: return fd_fdstat_get(file, space);
        case 3: return fd_filestat_get(file, space);
        case 4: return fd_prestat_get(file, space);
        case 5: return file == 0 ? fd_write(file, pieces, 1, &count) : fd_read(file, pieces, 1, &count);
        default: return sched_yield();
    }
}

static void perform(u32 operation, u32 a, u32 b, u32 c) {
    piece pieces[] = {{(u32)pattern + b % 100, a % 90}, {(u32)pattern, c % 9}, {(u32)pattern + 7, b % 40}};
    switch (operation) {
        case WRITE: say(write_all(1 + c % 2, pieces, a % 4)); break;
        case READ: read_all(a, b, c); break;
        case ARGUMENTS: strings(args_sizes_get, args_get); break;
        case VARIABLES: strings(environ_sizes_get, environ_get); break;
        case CLOCK: clock(a); break;
        case RANDOM: random_bytes(a, b); break;
        case NO_FILE: say(without_file(a, c % 2 ? 3 + b % 5 : b | 1u << 31)); break;
        case STREAM: say(on_stream(a, b % 3)); break;
        case CLOSE: say(fd_close(a % 9)); break;
    }
}

int main(void) {
    u32 code = 0;
    for (u32 i = 0; i < 256; i++) pattern[i] = (uint8_t)(i * 37 + 11);
    for (u32 i = 0; i < sizeof script / sizeof *script; i++) {
        say(script[i].operation);
        perform(script[i].operation, script[i].a, script[i].b, script[i].c);
        report[reported++] = '\n';
        if (script[i].operation == END) code = script[i].a;
    }
    piece all = {(u32)report, reported};
    write_all(1, &all, 1);
    write_all(2, &all, 1);
    proc_exit(code);
}
