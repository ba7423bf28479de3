"""The programs in examples/ print what is written down, and that is what Python computes."""

from __future__ import annotations

import hashlib
import itertools
import math
import re

import pytest

from bench.count_instructions import Counted, run_in_wasmtime
from curta.machine.toolchain import read_program
from tests.examples.example_cases import CASES, EXAMPLES, HELLO, INKALA, SUMS, Case


def ran(case: Case) -> Counted:
    return run_in_wasmtime(read_program(case.path), case.stdin.encode(), case.args)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_prints_what_is_written_down(case: Case) -> None:
    result = ran(case)
    assert result.stdout.decode() == case.expected.decode()
    assert result.exit_code == case.exit_code


def test_every_program_has_a_case() -> None:
    assert {case.path for case in CASES} == set(EXAMPLES.glob("*.c"))


def expected(name: str) -> list[str]:
    (case,) = [case for case in CASES if case.id == name]
    return case.expected.decode().splitlines()


# -- the same, computed by other means -------------------------------------------------------------


def test_the_sudoku_is_solved() -> None:
    grid = [line.split() for line in expected("sudoku-inkala")[-9:]]
    columns = [list(column) for column in zip(*grid, strict=True)]
    boxes = [
        [grid[row + i][column + j] for i in range(3) for j in range(3)]
        for row in (0, 3, 6)
        for column in (0, 3, 6)
    ]
    assert all(sorted(unit) == list("123456789") for unit in (*grid, *columns, *boxes))
    cells = itertools.chain(*grid)
    assert all(clue in (".", cell) for clue, cell in zip(INKALA, cells, strict=True))


def test_the_sudoku_is_solved_in_less_than_three_million_instructions() -> None:
    assert ran(CASES[0]).instructions < 3_000_000


def test_the_assignment_is_the_cheapest() -> None:
    source = (EXAMPLES / "hungarian.c").read_text()
    matrix = [
        [int(n) for n in row.split(",")] for row in re.findall(r"\{(\d+(?:, \d+)+)\}", source)
    ]
    assert len(matrix) == 10
    best = {0: 0}  # columns that are taken, and the least that this costs
    for row in matrix:
        following: dict[int, int] = {}
        for taken, cost in best.items():
            for column in range(10):
                if not taken >> column & 1:
                    key, total = taken | 1 << column, cost + row[column]
                    following[key] = min(total, following.get(key, total))
        best = following
    (least,) = best.values()
    last = expected("hungarian")[-1]
    assert last.startswith(f"The cheapest assignment costs {least}: ")
    pairs = re.findall(r"(\d+)-(\d+)", last)
    assert sum(matrix[int(row) - 1][int(column) - 1] for row, column in pairs) == least
    assert len({column for _, column in pairs}) == 10


def test_sums_are_pythons() -> None:
    assert expected("bigcalc") == [str(eval(text.replace("^", "**"))) for text in SUMS]


def test_numbers_are_sorted() -> None:
    (case,) = [case for case in CASES if case.id == "quicksort-arguments"]
    assert expected(case.id) == [str(n) for n in sorted(map(int, case.args))]
    state, numbers = 1, []
    for _ in range(1000):
        state = (state * 1664525 + 1013904223) % 2**32
        signed = state - 2**32 * (state >> 31)
        numbers.append(int(signed / 1024))
    assert expected("quicksort") == [str(n) for n in sorted(numbers)[::125]]


def test_hashes_are_hashlibs() -> None:
    own = bytes((7 * i + i // 256) % 256 for i in range(4096))
    for name, messages in (
        ("words", [(b"abc", "abc"), (b"", ""), (b"hello world", "hello world")]),
        ("input", [(b"x" * 1000, "-")]),
        ("own", [(own, "own message")]),
    ):
        digests = [f"{hashlib.sha256(text).hexdigest()}  {label}" for text, label in messages]
        assert expected(f"sha256-{name}") == digests


def test_brainfuck_programs_do_what_they_do() -> None:
    assert expected("brainfuck") == [brainfuck(HELLO).rstrip("\n")] == ["Hello"]
    assert expected("brainfuck-echo") == ["an echo"]


def brainfuck(program: str) -> str:
    tape, cell, at, said = [0] * 100, 0, 0, ""
    while at < len(program):
        match program[at]:
            case "+" | "-" as sign:
                tape[cell] = (tape[cell] + (1 if sign == "+" else -1)) % 256
            case ">" | "<" as way:
                cell += 1 if way == ">" else -1
            case ".":
                said += chr(tape[cell])
            case "[" | "]" as bracket if (tape[cell] == 0) == (bracket == "["):
                step, depth = (1, 1) if bracket == "[" else (-1, -1)
                while depth:
                    at += step
                    depth += {"[": 1, "]": -1}.get(program[at], 0)
        at += 1
    return said


@pytest.mark.parametrize(("name", "generations"), [("life", 10), ("life-sixty", 60)])
def test_life_goes_on_like_this(name: str, generations: int) -> None:
    lines = expected(name)
    alive = {(y, x) for y, line in enumerate(lines[1:17]) for x, c in enumerate(line) if c == "#"}
    for _ in range(generations):
        near = [
            ((y + i) % 16, (x + j) % 32)
            for y, x in alive
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if i or j
        ]
        alive = {
            cell
            for cell in set(near)
            if near.count(cell) == 3 or (near.count(cell) == 2 and cell in alive)
        }
    assert lines[17] == f"generation {generations}, {len(alive)} cells"
    grid = ["".join("#" if (y, x) in alive else "." for x in range(32)) for y in range(16)]
    assert lines[18:] == grid


@pytest.mark.parametrize(("name", "n"), [("queens", 8), ("queens-six", 6)])
def test_queens_are_counted(name: str, n: int) -> None:
    boards = [
        columns
        for columns in itertools.permutations(range(n))
        if len({row + c for row, c in enumerate(columns)}) == n
        and len({row - c for row, c in enumerate(columns)}) == n
    ]
    *board, last = expected(name)
    assert last == f"{n} queens: {len(boards)} solutions"
    assert tuple(line.split().index("Q") for line in board) in boards


def escape(real: float, imaginary: float) -> int:
    x = y = 0.0
    for step in range(50):
        if x * x + y * y > 4:
            return step
        x, y = x * x - y * y + real, 2 * x * y + imaginary
    return 50


def test_the_set_is_where_points_stay() -> None:
    points = [[escape(1.5 * c / 24 - 2, 2 * r / 24 - 1) for c in range(48)] for r in range(24)]
    lines = ["".join(" .:-=+*#%@"[one * 9 // 50] for one in row) for row in points]
    inside = sum(row.count(50) for row in points)
    assert expected("mandelbrot") == [*lines, f"{inside} of 1152 points"]


def test_the_norm_is_that_of_the_matrix() -> None:
    numpy = pytest.importorskip("numpy")
    row, column = numpy.indices((20, 20))
    matrix = 1 / ((row + column) * (row + column + 1) // 2 + row + 1)
    (norm,) = expected("spectral_norm")
    assert float(norm) == pytest.approx(numpy.linalg.norm(matrix, 2), abs=1e-8)


def test_bodies_move_like_this() -> None:
    source = (EXAMPLES / "nbody.c").read_text()
    numbers = re.search(r"bodies\[BODIES\] = \{(.*?)\n\};", source, re.DOTALL)
    assert numbers
    text = numbers[1].replace("{", "[").replace("}", "]")
    names = {"SUN": 4 * 3.141592653589793 * 3.141592653589793, "YEAR": 365.24}
    bodies = eval(f"[{text}]", names)
    for axis in range(3):
        momentum = 0.0
        for _, speed, mass in bodies:
            momentum += speed[axis] * mass
        bodies[0][1][axis] = -momentum / names["SUN"]
    energies = [energy(bodies)]
    for _ in range(100):
        advance(bodies, 0.01)
    energies.append(energy(bodies))
    assert expected("nbody") == [f"{number:.9f}" for number in energies]


def energy(bodies: list) -> float:
    total = 0.0
    for i, (place, speed, mass) in enumerate(bodies):
        square = 0.0
        for axis in range(3):
            square += speed[axis] * speed[axis]
        total += 0.5 * mass * square
        for other, _, mass_of_other in bodies[i + 1 :]:
            total -= mass * mass_of_other / math.dist(place, other)
    return total


def advance(bodies: list, time: float) -> None:
    for i, (place, speed, mass) in enumerate(bodies):
        for other, speed_of_other, mass_of_other in bodies[i + 1 :]:
            away = [place[axis] - other[axis] for axis in range(3)]
            square = sum(part * part for part in away)
            pull = time / (square * math.sqrt(square))
            for axis in range(3):
                speed[axis] -= away[axis] * mass_of_other * pull
                speed_of_other[axis] += away[axis] * mass * pull
    for place, speed, _ in bodies:
        for axis in range(3):
            place[axis] += time * speed[axis]


def test_collatz_goes_down_to_one() -> None:
    for line in expected("collatz64"):
        start = number = peak = int(line.split(":")[0])
        steps = 0
        while number > 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            peak, steps = max(peak, number), steps + 1
        assert line == f"{start}: {steps} steps, peak {peak}"


def test_floats_print_as_in_python() -> None:
    for text, line in zip(
        ("0.1", "1e100", "-inf", "123456789"), expected("floats-arguments"), strict=True
    ):
        x = float(text)
        general, fixed, exact, scientific, _ = line.split()
        assert (general, fixed, scientific) == (f"{x:g}", f"{x:.3f}", f"{x:e}")
        assert exact == f"{x:.17g}"
    lines = expected("floats")
    for line, x in zip(
        [line for line in lines if line.startswith("x=")], (0.5, 1, 2, 10), strict=True
    ):
        said = dict(word.split("=") for word in line.split())
        for name in ("sqrt", "exp", "log", "sin", "cos"):
            assert math.isclose(float(said[name]), getattr(math, name)(x), rel_tol=1e-14)
    pi = 0.0
    for i in range(1000):
        pi += (-4.0 if i % 2 else 4.0) / (2 * i + 1)
    assert f"pi is about {pi:.12f}," in lines[-1]


def test_lines_are_answered() -> None:
    first, second = "hello world", "  two\twords "
    assert expected("lines") == [
        "Say something, or nothing to end.",
        f"1: 2 words, 10 letters; backwards: {first[::-1]}",
        f"2: 2 words, 8 letters; backwards: {second[::-1]}",
        "2 lines, 4 words. Goodbye.",
    ]


def test_the_lisp_computes() -> None:
    lines = expected("lisp")
    primes = [n for n in range(2, 40) if all(n % d for d in range(2, n))]
    assert lines[:4] == [str(math.factorial(20)), "15", "(1 4 9 16)", str(sum(range(501)))]
    assert f"({' '.join(map(str, primes))})" in lines
