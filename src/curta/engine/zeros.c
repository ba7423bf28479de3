/* Zeros from the system itself: what is never written to takes no room, however much it is.

   (calloc does the same only until something as large was given back once.) */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static void *fresh_zeros(uint64_t bytes) {
#ifdef MAP_ANONYMOUS
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    return memory == MAP_FAILED ? 0 : memory;
#else
    return calloc(1, bytes);
#endif
}

static void give_back(void *memory, uint64_t bytes) {
#ifdef MAP_ANONYMOUS
    if (memory) munmap(memory, bytes);
#else
    (void)bytes;
    free(memory);
#endif
}

/* How much of it was written to, in pages; all of it where the system does not say. */
static inline int64_t touched(const void *memory, uint64_t bytes) {
#ifdef __linux__
    enum { AT_ONCE = 4096 };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = (uint64_t)memory / page * page;
    const uint64_t pages = ((uint64_t)memory + bytes - first + page - 1) / page;
    int64_t count = 0;
    for (uint64_t n = 0; n < pages; n += AT_ONCE) {
        unsigned char found[AT_ONCE];
        const uint64_t most = pages - n < AT_ONCE ? pages - n : AT_ONCE;
        if (mincore((char *)first + n * page, most * page, found)) return (int64_t)bytes;
        for (uint64_t i = 0; i < most; i++) count += found[i] & 1;
    }
    return count * (int64_t)page;
#else
    return (void)memory, (int64_t)bytes;
#endif
}
