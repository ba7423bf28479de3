"""Small C programs, and what clang (from the ziglang package) makes of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from curta.machine.flags import COMMON
from curta.machine.libc.archives import unpacked

FREESTANDING = r"""
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(name)))

static u32 cells[256];

EXPORT("hash") u32 hash(u32 n) {
    u32 h = 2166136261u;
    for (u32 i = 0; i < 256; i++) cells[i] = i * n + (cells[(i * 7) & 255] >> 3);
    for (u32 i = 0; i < 256; i++) h = (h ^ cells[(i * 13) & 255]) * 16777619u;
    return h;
}

EXPORT("mean") double mean(int n) {
    double total = 0;
    for (int i = 1; i <= n; i++) total += 1.0 / i;
    return total / n;
}

typedef int (*function)(int);
static int increment(int x) { return x + 1; }
static int triple(int x) { return x * 3; }
static int negate(int x) { return -x; }
static function volatile functions[3] = {increment, triple, negate};

EXPORT("apply") int apply(int i, int x) { return functions[(u32)i % 3](x); }

EXPORT("choose") long long choose(int x) {
    switch (x) {
        case 1: return 5;
        case 2: return 70000000000ll;
        case 3: return -9;
        case 4: return x << 20;
        case 5: return hash(x);
        case 7: return mean(x) * 1000;
        default: return (signed char)x;
    }
}

static u64 state;

EXPORT("random") u64 random(void) {
    state += 0x9E3779B97F4A7C15ull;
    u64 z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

struct point { float x, y; };

static void move(struct point *p, float by) { p->x += by; p->y = p->x / (p->y + by); }

EXPORT("walk") float walk(int n, float by) {
    struct point points[8] = {{0}};
    for (int i = 0; i < n; i++) move(&points[i & 7], by);
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += points[i].x * points[i].y;
    return __builtin_sqrtf(sum * sum);
}

EXPORT("sieve") int sieve(int n) {
    static unsigned char composite[4096];
    if (n > 4096) n = 4096;
    __builtin_memset(composite, 0, sizeof composite);
    int count = 0;
    for (int i = 2; i < n; i++) {
        if (composite[i]) continue;
        count++;
        for (int j = 2 * i; j < n; j += i) composite[j] = 1;
    }
    return count;
}
"""

CALLS = [
    ("hash", (12345,)),
    ("hash", (0,)),
    ("mean", (50,)),
    *(("apply", (i, 1000)) for i in range(3)),
    *(("choose", (x,)) for x in (0, 1, 2, 3, 4, 5, 7, 200)),
    ("random", ()),
    ("random", ()),
    ("walk", (20, 0x3F000000)),
    ("sieve", (300,)),
]

HOSTED = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b) {
    return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

int main(void) {
    const char *words[] = {"transformer", "curta", "a", "residual"};
    qsort(words, 4, sizeof *words, by_length);
    for (int i = 0; i < 4; i++) printf("%s %.6f %lld\n", words[i], sqrt(i + 2.0), 1ll << (i * 20));
    char *copy = malloc(100);
    snprintf(copy, 100, "%08.3e|%-5d|%x", 12345.678, 42, 0xbeefu);
    puts(copy);
    free(copy);
    return 3;
}
"""


def compile_c(source: str, *flags: str) -> bytes:
    """A WebAssembly binary, or an object."""
    with tempfile.TemporaryDirectory() as name:
        written, made = Path(name) / "program.c", Path(name) / "program.wasm"
        written.write_text(source)
        run_zig("cc", "-O2", *flags, "-o", str(made), str(written))
        return made.read_bytes()


def compile_wasi(source: str, *flags: str, linked: Sequence[str] = ()) -> bytes:
    """The same of a program with WASI, linked with the C library that comes with curta if it is of
    this zig: to compile its own takes zig half a minute.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archives = unpacked(("c",), COMMON, folder)
        if archives is None:
            return compile_c(source, *flags, *(f"-Wl,{word}" for word in linked))
        (folder / "program.o").write_bytes(compile_c(source, *flags, "-c"))
        words = archives.link("command", [str(folder / "program.o")], linked)
        run_zig("wasm-ld", *words, "-o", str(folder / "program.wasm"))
        return (folder / "program.wasm").read_bytes()


def run_zig(*words: str) -> None:
    """Its caches stay in a folder of the tests."""
    cache = str(Path(os.environ["CURTA_CACHE"]) / "zig")
    caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    command = [sys.executable, "-m", "ziglang", *words]
    subprocess.run(command, check=True, env=os.environ | caches, capture_output=True)


def compile_freestanding(*flags: str) -> bytes:
    return compile_c(
        FREESTANDING,
        *("--target=wasm32-freestanding", "-nostdlib", "-Wl,--no-entry", *flags),
    )


def compile_hosted(*flags: str) -> bytes:
    return compile_c(HOSTED, "--target=wasm32-wasi", *flags)
