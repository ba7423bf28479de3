/* Memory for an engine in a page: what was never written to takes no room, as a WebAssembly memory
   is made of zeros. Nothing is given back: a run that is over goes with all of its memory. */

#include <stddef.h>
#include <stdint.h>

extern unsigned char __heap_base;

void *malloc(size_t bytes) {
    static uintptr_t top;
    const uintptr_t first = ((top ? top : (uintptr_t)&__heap_base) + 63) & ~(uintptr_t)63;
    const uintptr_t end = first + bytes, there = (uintptr_t)__builtin_wasm_memory_size(0) << 16;
    if (end < first) return 0;
    if (end > there) {
        const size_t pages = (end - there + 0xFFFF) >> 16;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return 0;
    }
    top = end;
    return (void *)first;
}

void *calloc(size_t count, size_t size) {
    const uint64_t bytes = (uint64_t)count * size;
    return bytes > SIZE_MAX ? 0 : malloc((size_t)bytes);
}

void free(void *memory) { (void)memory; }
