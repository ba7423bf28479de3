"""Programs of core instructions, executed by the machine's weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from curta.engine import Engine, load
from curta.engine.model_cache import compile_cached
from curta.machine.computer import build
from curta.machine.encode import encode
from curta.machine.instructions import WORD, Instruction

TRACE = 2**26
EDGES = [0, 1, 5, 31, 255, 4095, 4096, 65537, 2**24, 2**31 - 1, 2**31, WORD - 2, WORD - 1]


@cache
def machine() -> Engine:
    return load(compile_cached(build(), TRACE), "native")


def said(program: list[Instruction]) -> list[str]:
    return list(machine().generate(encode(program), 10_000))


def test_fibonacci() -> None:
    program = [
        Instruction("copy", d=1, immediate=0),
        Instruction("copy", d=2, immediate=1),
        Instruction("copy", d=3, immediate=20),
        Instruction("jump_eq", a=3, immediate=0, target=9),
        Instruction("add", a=1, b=2, d=4),
        Instruction("copy", b=2, d=1),
        Instruction("copy", b=4, d=2),
        Instruction("sub", a=3, immediate=1, d=3),
        Instruction("jump", target=3),
        Instruction("write", a=1),
        Instruction("exit"),
    ]
    assert said(program)[-2:] == [f"out{6765 % 256}", "exit."]
    assert "M1" in said(program)  # 6765 takes two digits


def signed(x: int) -> int:
    return x - WORD * (x >= WORD // 2)


def leading_zeros(x: int) -> int:
    return 32 - x.bit_length()


RESULTS: dict[str, Callable[[int, int], int]] = {
    "copy": lambda a, b: b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "mul_high": lambda a, b: a * b >> 32,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b % 32,
    "shr_u": lambda a, b: a >> b % 32,
    "shr_s": lambda a, b: signed(a) >> b % 32,
    "rotl": lambda a, b: a << b % 32 | a >> 32 - b % 32,
    "clz": lambda a, b: leading_zeros(a),
    "ctz": lambda a, b: leading_zeros(a & -a) ^ 31 if a else 32,
    "popcnt": lambda a, b: a.bit_count(),
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt_u": lambda a, b: a < b,
    "le_u": lambda a, b: a <= b,
    "lt_s": lambda a, b: signed(a) < signed(b),
    "le_s": lambda a, b: signed(a) <= signed(b),
    "extend8": lambda a, b: a % 256 - 256 * (a % 256 >= 128),
    "extend16": lambda a, b: a % 2**16 - 2**16 * (a % 2**16 >= 2**15),
}


def digits(word: int) -> list[str]:
    """A word as the machine says it."""
    parts = [word >> 24, word >> 12 & 4095, word & 4095]
    while len(parts) > 1 and parts[0] == 0:
        parts.pop(0)
    return [*(f"M{part}" for part in parts[:-1]), f"L{parts[-1]}"]


@pytest.mark.parametrize("operation", RESULTS)
def test_every_operation_on_words(operation: str) -> None:
    """All pairs of edge values in one program, as Python computes them."""
    program, expected = [], []
    for a in EDGES:
        for b in EDGES:
            program.append(Instruction("copy", d=1, immediate=a))
            program.append(Instruction(operation, a=1, immediate=b, d=2))
            expected += digits(a) + digits(RESULTS[operation](a, b) % WORD)
    program.append(Instruction("exit"))
    assert said(program) == [*expected, "exit."]


@pytest.mark.parametrize("operation", ["eq", "ne", "lt_u", "le_u", "lt_s", "le_s"])
def test_every_jump(operation: str) -> None:
    """Each jump goes over one instruction, or does not."""
    program, expected = [], []
    for a in EDGES:
        for b in EDGES[::2]:
            start = len(program)
            program += [
                Instruction("copy", d=1, immediate=a),
                Instruction(f"jump_{operation}", a=1, immediate=b, target=start + 3),
                Instruction("write", a=1),
            ]
            taken = RESULTS[operation](a, b)
            expected += digits(a) + (["J2"] if taken else ["J1", f"out{a % 256}"])
    program.append(Instruction("exit"))
    assert said(program) == [*expected, "exit."]


def test_calls_move_the_frame_and_returns_move_it_back() -> None:
    """A function that adds its two arguments, called far away, twice deep."""
    nothing = [Instruction("trap")] * 5000
    add = 6 + len(nothing)
    program = [
        Instruction("copy", d=11, immediate=30),
        Instruction("copy", d=12, immediate=12),
        Instruction("call", immediate=10, target=add),
        Instruction("write", a=13),
        Instruction("copy", b=1, d=14),
        Instruction("exit"),
        *nothing,
        Instruction("add", a=1, b=2, d=3),
        Instruction("return", a=0),
    ]
    trace = said(program)
    assert trace[-3:] == ["out42", "L0", "exit."]
    assert [token for token in trace if token.startswith("H")] == ["H1", "H-1"]
