"""Long calculations as functions: what is left of a template computes the same."""

from __future__ import annotations

import ctypes
import random

import pytest

from curta.engine.native.outline import LEAST, functions_to_c, outlined
from curta.engine.toolchain import build_library

HEAD = """#include <stdint.h>
typedef struct { int64_t field; } Row;
static inline int64_t rectified(int64_t x) { return x > 0 ? x : 0; }
"""
GIVEN = 4


def calculation(numbers: random.Random, length: int) -> list[str]:
    """Lines that compute numbers of numbers, and now and then fetch one."""
    lines = [f"const int64_t v{n} = given[{n}];" for n in range(GIVEN)]
    for n in range(GIVEN, GIVEN + length):
        a, b = numbers.randrange(n), numbers.randrange(max(0, n - 5), n)
        if numbers.random() < 0.03:
            lines.append(f"const Row *row{n} = &rows[v{a} & 7];")
            lines.append(f"const int64_t v{n} = row{n}->field; /* fetched */")
        else:
            form = numbers.choice(["{a} - 3 * {b}", "rectified({a} + {b})", "({a} >> 3) & 1023"])
            lines.append(f"const int64_t v{n} = {form.format(a=f'v{a}', b=f'v{b}')};")
    return lines


def function(name: str, body: list[str], results: list[str]) -> str:
    head = f"void {name}(const Row *rows, const int64_t *given, int64_t *result) {{"
    ends = [f"result[{n}] = {value};" for n, value in enumerate(results)]
    return "\n".join([head, *body, *ends, "}"])


@pytest.mark.parametrize("seed", range(8))
def test_computes_the_same(seed: int) -> None:
    numbers = random.Random(seed)
    length = 3 * LEAST
    lines = calculation(numbers, length)
    results = [f"v{numbers.randrange(GIVEN + length)}" for _ in range(5)]
    functions = dict[str, str]()
    shorter = outlined([*lines, "//@say 0", *results], functions)
    assert functions
    assert outlined([*lines, "//@say 0", *results], functions) == shorter
    body = shorter[: shorter.index("//@say 0")]
    assert len(body) < len(lines)
    source = [HEAD, functions_to_c(functions), function("long_way", lines, results)]
    source.append(function("calls", body, results))
    library = ctypes.CDLL(str(build_library("\n".join(source), name="outline", flags=("-fwrapv",))))
    for _ in range(50):
        rows = (ctypes.c_int64 * 8)(*(numbers.getrandbits(40) for _ in range(8)))
        given = (ctypes.c_int64 * GIVEN)(*(numbers.getrandbits(32) for _ in range(GIVEN)))
        answers = []
        for name in ("long_way", "calls"):
            result = (ctypes.c_int64 * len(results))()
            getattr(library, name)(rows, given, result)
            answers.append(list(result))
        assert answers[0] == answers[1]


def test_short_ones_stay() -> None:
    lines = calculation(random.Random(1), LEAST // 2)
    assert outlined(lines, {}) == lines


def test_what_is_not_a_number_stays() -> None:
    """Only names that are known to be numbers, and functions that are known, go along."""
    lines = [f"const int64_t v{n} = unknown(v{n - 1});" for n in range(1, 2 * LEAST)]
    functions = dict[str, str]()
    assert outlined(lines, functions) == lines
    assert not functions
