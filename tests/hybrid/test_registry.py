"""The modules that curta ships, beside Python: every function, on inputs that are drawn."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import math
import re
import statistics
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

from curta.hybrid.modules import Module, modules_of, registry, use_of
from tests.support.slow import draws

WHOLE = st.integers(-(10**200), 10**200)
DATES = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
WORDS = st.text("abcAB xyz", max_size=20)
U64 = st.integers(0, 2**64 - 1)
LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
NUMBERS = st.lists(st.integers(-1000, 1000).map(lambda n: n / 8), min_size=2, max_size=12)


@pytest.fixture(scope="module")
def shipped() -> dict[str, list[Module]]:
    """What is in each file."""
    return {name: modules_of([name]) for name in registry()}


@pytest.fixture(scope="module")
def call(shipped: dict[str, list[Module]]) -> Callable[..., Any]:
    tools = {module.name: module.tool for modules in shipped.values() for module in modules}

    def made(name: str, *arguments: Any) -> Any:
        names = tools[name].parameters["properties"]
        answer = tools[name].call(dict(zip(names, arguments, strict=True)))
        return answer.value if answer.error is None else ValueError(answer.text)

    return made


def trapped(value: Any) -> bool:
    """Whether a call had no result, as it should not."""
    return isinstance(value, ValueError)


few = settings(max_examples=draws(25), deadline=None)


def test_each_file_says_when_to_use_it(shipped: dict[str, list[Module]]) -> None:
    assert len(registry()) >= 12
    for name, path in registry().items():
        assert len(use_of(path)) > 20, name
        for module in shipped[name]:
            assert module.tool.description, module.name


@few
@given(a=WHOLE, b=WHOLE)
@example(a=0, b=-(10**4))
@example(a=10**200, b=1)
@pytest.mark.slow
def test_big_numbers(call: Any, a: int, b: int) -> None:
    assert int(call("big_sum", str(a), str(b))) == a + b
    assert int(call("big_difference", str(a), str(b))) == a - b
    assert int(call("big_product", str(a), str(b))) == a * b
    if b == 0:
        assert trapped(call("big_quotient", str(a), str(b)))
        return
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert int(call("big_quotient", str(a), str(b))) == quotient
    assert int(call("big_remainder", str(a), str(b))) == a - quotient * b


@few
@given(base=st.integers(-(10**9), 10**9), exponent=st.integers(0, 40))
def test_big_powers(call: Any, base: int, exponent: int) -> None:
    assert int(call("big_power", str(base), exponent)) == base**exponent


@pytest.mark.parametrize("text", ["", "-", "1.5", "x", "1" * 5000])
def test_what_is_no_big_number(call: Any, text: str) -> None:
    assert trapped(call("big_sum", text, "1"))


@few
@given(values=NUMBERS)
def test_statistics(call: Any, values: list[float]) -> None:
    found = call("describe", values)
    assert found["mean"] == pytest.approx(statistics.fmean(values))
    assert found["median"] == statistics.median(values)
    assert found["deviation"] == pytest.approx(statistics.stdev(values))
    assert (found["least"], found["largest"]) == (min(values), max(values))


@few
@given(values=NUMBERS, others=NUMBERS)
def test_correlation(call: Any, values: list[float], others: list[float]) -> None:
    pairs = list(zip(values, others, strict=False))
    xs, ys = ([pair[n] for pair in pairs] for n in (0, 1))
    assume(len(set(xs)) > 1 and len(set(ys)) > 1)
    assert call("correlation", xs, ys) == pytest.approx(statistics.correlation(xs, ys), abs=1e-9)


@few
@given(values=NUMBERS, words=WORDS)
def test_sorting(call: Any, values: list[float], words: str) -> None:
    assert call("sort_numbers", values) == sorted(values)
    assert call("sort_words", words) == " ".join(sorted(words.split(" "), key=str.lower)).strip()


@few
@given(first=DATES, second=DATES)
@example(first=datetime.date(2000, 2, 29), second=datetime.date(1900, 3, 1))
def test_dates(call: Any, first: datetime.date, second: datetime.date) -> None:
    apart = (second - first).days
    assert call("weekday", first.isoformat()) == first.strftime("%A")
    assert call("days_between", first.isoformat(), second.isoformat()) == apart
    assert call("days_later", first.isoformat(), apart) == second.isoformat()
    month = (first.replace(day=28) + datetime.timedelta(4)).replace(day=1)
    assert call("days_in_month", first.year, first.month) == (month - datetime.timedelta(1)).day


@pytest.mark.parametrize("text", ["2023-02-29", "2024-13-01", "2024-1-01", "2024-01-01x", ""])
def test_what_is_no_date(call: Any, text: str) -> None:
    assert trapped(call("weekday", text))


def distance(one: bytes, other: bytes) -> int:
    """Between two texts, by its definition."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[:], at
        for n, sign in enumerate(other, 1):
            row[n] = min(before[n - 1] + (letter != sign), before[n] + 1, row[n - 1] + 1)
    return row[-1]


@few
@given(text=LETTERS, other=LETTERS, part=st.text("ab", min_size=1, max_size=2))
def test_letters(call: Any, text: str, other: str, part: str) -> None:
    assert call("reversed", text) == text[::-1]
    assert call("edit_distance", text, other) == distance(text.encode(), other.encode())
    mixed = text + part + other + part * 2
    assert call("count_in_text", mixed, part) == mixed.count(part)


@few
@given(text=st.text("aB, b", max_size=9))
def test_palindromes(call: Any, text: str) -> None:
    own = [letter for letter in text.lower() if letter.isalnum()]
    assert call("is_palindrome", text) == (own == own[::-1])
    assert call("is_palindrome", text + text[::-1])


def product(factors: list[int]) -> int:
    return math.prod(factors)


@few
@given(number=st.one_of(U64, st.integers(0, 300), st.integers(0, 2**32 - 1).map(lambda n: n * n)))
@example(number=2**64 - 1)
@example(number=3215031751)
@example(number=341550071728321)
@example(number=4295098369)
def test_primes(call: Any, number: int) -> None:
    """Factors are primes, and make the number; small ones are tested by division."""
    assume(number)
    factors = call("prime_factors", number)
    assert product(factors) == number
    assert factors == sorted(factors)
    assert call("is_prime", number) == (len(factors) == 1)
    for factor in factors:
        assert call("is_prime", factor)
        assert all(factor % n for n in range(2, min(math.isqrt(factor), 2000) + 1))


@few
@given(a=U64, b=U64, number=st.integers(0, 5000))
def test_divisors_and_next_primes(call: Any, a: int, b: int, number: int) -> None:
    assert call("gcd", a, b) == math.gcd(a, b)
    primes = (n for n in itertools.count(number + 1) if n > 1 and all(n % d for d in range(2, n)))
    assert call("next_prime", number) == next(primes)


def in_base(number: int, base: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


@few
@given(number=st.integers(0, 10**60), one=st.integers(2, 36), other=st.integers(2, 36))
def test_bases(call: Any, number: int, one: int, other: int) -> None:
    assert call("in_base", in_base(number, one), one, other) == in_base(number, other)
    if number:
        assert call("in_base", "-" + in_base(number, one), one, 10) == str(-number)


@few
@given(number=st.integers(1, 3999))
def test_roman_numerals(call: Any, number: int) -> None:
    worth = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    said = call("roman", number)
    values = [worth[sign] for sign in said]
    signed = [-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True)]
    assert sum(signed) == number
    assert not re.search(r"(.)\1\1\1", said)


@few
@given(text=LETTERS)
@example(text="a" * 55)
@example(text="a" * 56)
@example(text="a" * 64)
@example(text="a" * 119)
def test_hashes_and_checksums(call: Any, text: str) -> None:
    content = text.encode()
    assert call("sha256", text) == hashlib.sha256(content).hexdigest()
    assert call("crc32", text) == zlib.crc32(content)
    assert call("adler32", text) == zlib.adler32(content)


PUZZLES = {
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..": "8127",
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79": "5346",
    "1" + "." * 80: "1",
}


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_sudokus(call: Any, puzzle: str) -> None:
    said = call("sudoku", puzzle)
    assert said.startswith(PUZZLES[puzzle])
    assert all(one in (".", other) for one, other in zip(puzzle, said, strict=True))
    rows = [said[n * 9 : n * 9 + 9] for n in range(9)]
    columns = ["".join(row[n] for row in rows) for n in range(9)]
    boxes = [
        "".join(rows[r + n][c : c + 3] for n in range(3)) for r in (0, 3, 6) for c in (0, 3, 6)
    ]
    assert all(set(unit) == set("123456789") for unit in rows + columns + boxes)


def test_what_is_no_sudoku(call: Any) -> None:
    assert call("sudoku", "11" + "." * 79) == "no solution"
    assert call("sudoku", "123") == "not 81 cells"
    assert call("sudoku", "." * 82) == "not 81 cells"


ROADS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=14
)


@few
@given(roads=ROADS, start=st.integers(0, 6), goal=st.integers(0, 6))
def test_shortest_paths(call: Any, roads: list[Any], start: int, goal: int) -> None:
    best = dict.fromkeys(range(7), math.inf) | {start: 0}
    for _ in range(7):
        for one, other, length in roads:
            best[one] = min(best[one], best[other] + length)
            best[other] = min(best[other], best[one] + length)
    ends, others, lengths = (list(part) for part in zip(*roads, strict=True))
    found = call("shortest_path", ends, others, lengths, start, goal)
    if best[goal] == math.inf:
        assert found == {"places": [], "length": -1}
        return
    assert found["length"] == best[goal]
    way = found["places"]
    assert (way[0], way[-1]) == (start, goal)
    steps = [
        min(length for *pair, length in roads if set(pair) == {one, other})
        for one, other in itertools.pairwise(way)
    ]
    assert sum(steps) == best[goal]


@few
@given(data=st.data(), size=st.integers(1, 5))
def test_assignments(call: Any, data: st.DataObject, size: int) -> None:
    costs = data.draw(st.lists(st.integers(-99, 99), min_size=size**2, max_size=size**2))
    found = call("cheapest_assignment", costs)
    totals = [
        sum(costs[row * size + task] for row, task in enumerate(tasks))
        for tasks in itertools.permutations(range(size))
    ]
    assert found["total"] == min(totals)
    assert sorted(found["tasks"]) == list(range(size))
    assert sum(costs[n * size + task] for n, task in enumerate(found["tasks"])) == min(totals)


ATOMS = st.sampled_from(
    ["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\W", "[a-c1]", r"\.", "^", "$"]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(st.sampled_from("abc1"), st.sampled_from(["*", "+", "?", "*?", "+?"])).map(
            "".join
        ),
        inner.map(lambda one: f"(?:x{one})*"),
    ),
    max_leaves=6,
)


def counted(pattern: re.Pattern[str], text: str) -> int:
    """Matches, each behind the one before; behind an empty one, a letter is left out."""
    count = place = 0
    while place <= len(text) and (match := pattern.search(text, place)):
        count += 1
        place = match.end() + (match.end() == match.start())
    return count


@settings(max_examples=draws(80), deadline=None)
@given(pattern=PATTERNS, text=st.text("abc1.x \n", max_size=10))
@example(pattern="a|ab|abc", text="xabc")
@example(pattern="(?:a|b|c)+1", text="abc1")
@example(pattern=r"\d+(?:\.\d+)?", text="pi is 3.14")
def test_regular_expressions(call: Any, pattern: str, text: str) -> None:
    match = re.search(pattern, text, re.ASCII)
    assert call("first_match", pattern, text) == (match and match[0])
    assert call("matches", pattern, text) == bool(re.fullmatch(pattern, text, re.ASCII))
    assert call("count_matches", pattern, text) == counted(re.compile(pattern, re.ASCII), text)


@pytest.mark.parametrize("pattern", ["(", ")", "[", "*a", "a\\"])
def test_what_is_no_pattern(call: Any, pattern: str) -> None:
    with pytest.raises(re.error):
        re.compile(pattern)
    assert trapped(call("first_match", pattern, "a"))
