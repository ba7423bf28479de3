/* Zeros from the system itself: what is never written to takes no room, however much it is.

   (calloc does the same only until something as large was given back once.) */

#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

static void *fresh_zeros(uint64_t bytes) {
#ifdef MAP_ANONYMOUS
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
