"""Programs of core instructions: the weights say what the reference machine says."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from curta.machine.encode import encode_word
from curta.machine.float_words import FLOATS
from curta.machine.instructions import (
    COMPARISONS,
    CORE,
    LARGEST_FRAME,
    MEMORY_PAGES,
    TRAPS,
    WORD,
    Instruction,
    has_fourth,
)
from curta.machine.program import PRIVATE, CoreProgram, Segment
from curta.machine.wasm.floats import F32, F64
from tests.support.conversation import assert_same, program_of, spoken
from tests.support.float_draws import numbers, pairs, powers, special, wide_singles
from tests.support.float_unit import halves, sources_of

EDGES = [0, 1, 5, 31, 255, 4095, 4096, 65537, 2**24, 2**31 - 1, 2**31, WORD - 2, WORD - 1]
EXIT = Instruction("exit")
FLOAT_PAIRS = 150
ACCESSES = [name for name, operation in CORE.items() if operation.size]


def copy(register: int, word: int) -> Instruction:
    return Instruction("copy", d=register, immediate=word)


@pytest.mark.parametrize(
    "operation", [n for n, one in CORE.items() if one.kind == "value" and n not in FLOATS]
)
def test_every_operation_on_words(operation: str) -> None:
    """All pairs of edge values, with all kinds of third sources; registers and immediates."""
    program, random_word = [], random.Random(operation)
    for a, b in product(EDGES, EDGES):
        program += [copy(1, a), copy(2, b), copy(3, random_word.choice([0, 1, *EDGES]))]
        program.append(Instruction(operation, a=1, b=2, c=3, d=4))
        program.append(Instruction(operation, a=1, immediate=b, c=3, d=5))
    assert_same(program_of(*program, EXIT))


@pytest.mark.parametrize("operation", FLOATS)
def test_every_operation_on_floats(operation: str) -> None:
    """Pairs where something happens (float_draws); the second source in a register or immediate."""
    program = []
    for a, b, c, e in float_sources(operation):
        program += [copy(1, a), copy(2, b), copy(3, c), copy(6, e)]
        program.append(Instruction(operation, a=1, b=2, c=3, d=4, target=6))
        program.append(Instruction(operation, a=1, immediate=b, c=3, d=5, target=6))
    assert_same(program_of(*program, EXIT))


def float_sources(operation: str) -> list[tuple[int, ...]]:
    """Words of meaning to an operation: a, b, c and e."""
    rng = np.random.default_rng(len(operation))
    if "pack" in operation:
        number, power = numbers(FLOAT_PAIRS, rng), powers(FLOAT_PAIRS, rng) % WORD
        high, low = halves(number)
        columns = [high, power, low, rng.integers(0, WORD, FLOAT_PAIRS)]
    elif "demote" in operation:
        x = np.where(rng.integers(0, 2, FLOAT_PAIRS) == 0, *special(F64, FLOAT_PAIRS, rng))
        x = np.where(rng.integers(0, 2, FLOAT_PAIRS) == 0, wide_singles(FLOAT_PAIRS, rng), x)
        columns = sources_of(F64, x, pairs(F64, FLOAT_PAIRS, rng)[1], rng)
    else:
        form = F64 if operation.startswith("f64") and "promote" not in operation else F32
        x, y = pairs(form, FLOAT_PAIRS, rng)
        columns = sources_of(form, x, y, rng)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("operation", ["div_u", "div_s", "rem_u", "rem_s"])
def test_every_division(operation: str) -> None:
    """Edge values, and random ones of every length; what traps is left to another test."""
    program, numbers = [], random.Random(operation)
    pairs = list(product(EDGES, EDGES))
    pairs += [(numbers.getrandbits(32), numbers.getrandbits(n % 32 + 1)) for n in range(300)]
    for a, b in pairs:
        if b and not (operation == "div_s" and (a, b) == (2**31, WORD - 1)):
            program += [copy(1, a), Instruction(operation, a=1, immediate=b, d=4)]
    assert_same(program_of(*program, EXIT))


@pytest.mark.parametrize("operation", COMPARISONS)
def test_every_jump(operation: str) -> None:
    """Each goes over an instruction, or does not."""
    program = []
    for a, b in product(EDGES, EDGES[::2]):
        over = len(program) + 3
        program += [copy(1, a), Instruction(f"jump_{operation}", a=1, immediate=b, target=over)]
        program.append(Instruction("write_out", immediate=a))
    assert_same(program_of(*program, EXIT))


@pytest.mark.parametrize("operation", ACCESSES)
def test_every_access(operation: str) -> None:
    """At every alignment, over what other accesses left there."""
    program = [copy(MEMORY_PAGES, 1)]
    for address, value in product([*range(8), 1021, 4095, 65527], [0x81F2E3D4, 0, 0x7F]):
        program += [
            copy(1, address),
            copy(2, value),
            Instruction("store32", a=1, c=2, immediate=3),
            Instruction("poke32", a=1, c=2, immediate=2),
            copy(2, value ^ 0xFFFF00FF),
            Instruction(operation, a=1, c=2, d=4, immediate=4),
            copy(3, WORD - 7),  # an index, added without a carry
            Instruction(operation, a=1, b=3, c=2, d=4, immediate=9),
        ]
        program += [Instruction("load32", a=1, d=5, immediate=n) for n in range(5)]
        program += [Instruction("peek32", a=1, d=5, immediate=n) for n in range(5)]
    assert_same(program_of(*program, EXIT))


@pytest.mark.parametrize("operation", [n for n in ACCESSES if CORE[n].has_bounds])
@pytest.mark.parametrize("pages", [0, 1, 65536])
def test_accesses_end_with_the_memory(operation: str, pages: int) -> None:
    """The last byte may be touched, the next may not; sums beyond 2**32 do not wrap."""
    size, end = CORE[operation].size, pages * 65536
    for base, offset in [(0, end - size), (end - size, 0), (end - size, 1), (end % WORD, WORD - 1)]:
        if base >= 0 and 0 <= offset < WORD:
            program = [copy(MEMORY_PAGES, pages), copy(1, base)]
            program.append(Instruction(operation, a=1, c=1, d=2, immediate=offset))
            assert_same(program_of(*program, EXIT))


def test_memory_of_the_prompt_and_of_the_conversation() -> None:
    """Segments anywhere, also beyond 2**32 and over earlier ones."""
    segments = [
        Segment(65530, b"abcdefgh"),
        Segment(65532, b"XY"),
        Segment(PRIVATE + 3, b"private"),
        Segment(2**31 + 1, b"far"),
    ]
    program = [copy(MEMORY_PAGES, 65536), Instruction("await", d=1)]
    program += [Instruction("load32", d=2, immediate=at) for at in (65530, 65531, 65534, 2**31)]
    program += [Instruction("peek32", d=2, immediate=at) for at in (0, 3, 6, 65530, WORD - 1)]
    program.append(Instruction("await", d=1))
    program += [Instruction("load8_u", d=2, immediate=at) for at in (8, 65531)]
    later = [Segment(8, b"\x2a"), Segment(65530, b"ab!")]
    assert_same(program_of(*program, EXIT, segments=segments), [5, *later, 2**32 - 1])


def test_calls_move_the_frame_and_returns_move_it_back() -> None:
    """A function that adds its two arguments, called far away, by number, and twice deep."""
    far = 5000
    program = [
        copy(11, 30),
        copy(12, 12),
        Instruction("call", immediate=11, d=13, target=far),
        Instruction("write_out", b=11),
        copy(2, far),
        copy(12, 5),
        Instruction("call_to", a=2, immediate=11, d=13),
        EXIT,
    ]
    program += [Instruction("trap")] * (far - len(program))
    program += [
        copy(4, 1),
        copy(5, 2),
        Instruction("call", immediate=4, d=6, target=far + 5),
        Instruction("add", a=0, b=1, d=0),
        Instruction("return", a=2),
        Instruction("add", a=0, b=1, d=0),
        Instruction("return", a=2),
    ]
    assert_same(program_of(*program))
    trace = spoken(program_of(*program))
    assert trace[-1] == "exit."
    assert {"out42", "H1", "H-1"} <= set(trace)


def test_jump_tables() -> None:
    table = [Instruction("jump", target=5), *[Instruction("jump", target=7 + n) for n in range(3)]]
    for index in (0, 1, 2, 3, WORD - 1):
        program = [copy(1, index), Instruction("jump_table", a=1, immediate=3), *table]
        program += [Instruction("write_out", immediate=n) for n in range(6)]
        assert_same(program_of(*program, EXIT))


def test_input_and_output() -> None:
    program = [
        Instruction("read", d=1),
        Instruction("write_out", b=1),
        Instruction("write_err", immediate=0x141),
        Instruction("jump_ne", a=1, immediate=10, target=0),
        EXIT,
    ]
    assert_same(program_of(*program), [104, 105, 300, WORD - 1, 10])


def test_traps_leave_a_machine_that_can_be_asked_again() -> None:
    """Each reason once, deep in frames; then everything is where it was at the beginning."""
    stubs = [
        *[[Instruction("trap", immediate=kind)] for kind in range(len(TRAPS))],
        [copy(1, 0), Instruction("div_u", a=1, b=1, d=2)],
        [copy(1, 0), Instruction("rem_s", a=1, b=1, d=2)],
        [copy(1, 2**31), Instruction("div_s", a=1, immediate=WORD - 1, d=2)],
        [copy(1, 2**31), Instruction("rem_s", a=1, immediate=WORD - 1, d=2), EXIT],
        [Instruction("store8", a=1)],
    ]
    program = [Instruction("await", d=0), Instruction("jump_table", a=0, immediate=len(stubs))]
    first = len(program) + len(stubs)
    bodies: list[Instruction] = []
    for stub in stubs:
        program.append(Instruction("jump", target=first + len(bodies)))
        enter = first + len(bodies) + 1
        bodies += [Instruction("call", immediate=7, d=9, target=enter), *stub]
    assert_same(program_of(*program, *bodies), [*range(len(stubs)), 0, 0])


def test_recursion_ends_with_a_trap() -> None:
    """In frames of the largest size; a machine that was reset can recurse as deep again."""
    program = [
        Instruction("await", d=0),
        Instruction("add", a=0, immediate=1, d=LARGEST_FRAME),
        Instruction("call", immediate=LARGEST_FRAME, d=1, target=1),
    ]
    assert_same(program_of(*program), [0, 0])
    assert spoken(program_of(*program), [0]).count("J-1") == 127


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    assert_same(random_program(random.Random(seed), 300))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 300))
def test_many_random_programs(seed: int) -> None:
    assert_same(random_program(random.Random(seed), 3000))


def random_program(numbers: random.Random, length: int) -> CoreProgram:
    """Any instructions on few registers; jumps go forward, so that it ends or traps."""

    def word() -> int:
        return numbers.choice(
            [numbers.choice(EDGES), numbers.getrandbits(32), numbers.randrange(99)]
        )

    names = [n for n, one in CORE.items() if one.kind not in ("end", "read")]
    names = [n for n in names if n not in ("return", "call_to", "jump_table")]
    program = [copy(MEMORY_PAGES, numbers.choice([1, 2, 65536]))]
    program += [copy(register, word()) for register in range(6)]
    while len(program) < length:
        name = numbers.choice(names)
        a, b, c, d = (numbers.randrange(6) for _ in range(4))
        if CORE[name].kind == "divide":
            program.append(Instruction("or", a=b, immediate=1, d=b))
        if name in ACCESSES:
            program.append(Instruction("and", a=a, immediate=0xFFF, d=a))
            program.append(Instruction("and", a=b, immediate=0xFFFF800F, d=b))
        immediate = numbers.randrange(4) if name in ACCESSES or name == "call" else word()
        over = len(program) + 1 + numbers.randrange(4)
        program.append(
            Instruction(
                name,
                a=a,
                b=numbers.choice([None, b]),
                c=c,
                d=d,
                immediate=immediate,
                target=numbers.randrange(6) if has_fourth(name) else over,
            )
        )
    return program_of(*program, *[EXIT] * 4)


@pytest.mark.parametrize("level", ["plain", "hull"])
def test_other_levels(level: str) -> None:
    """A short program that touches every part, through softmax over the whole prefix."""
    program = [
        Instruction("await", d=0),
        copy(MEMORY_PAGES, 1),
        Instruction("store32", a=0, c=0, immediate=5),
        Instruction("load16_s", a=0, d=1, immediate=6),
        Instruction("rem_s", a=1, immediate=10, d=2),
        Instruction("div_s", a=0, b=2, d=2),
        Instruction("call", immediate=3, d=5, target=8),
        EXIT,
        Instruction("write_out", immediate=33),
        Instruction("trap", immediate=3),
    ]
    assert_same(program_of(*program, segments=[Segment(9, b"abc")]), [54321, 1], level)


def test_words_are_given_as_the_machine_would_say_them() -> None:
    words = [*EDGES, 123456789]
    program = [
        Instruction("read", d=1),
        Instruction("copy", b=1, d=2),
        Instruction("jump", target=0),
    ]
    trace = spoken(program_of(*program), words)
    for word in words:
        digits = encode_word(word)
        assert ["read.", *digits, *digits] == trace[: 1 + 2 * len(digits)]
        trace = trace[2 + 2 * len(digits) :]
