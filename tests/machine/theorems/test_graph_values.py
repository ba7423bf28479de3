"""The machine's graph computes each value operation as instructions.VALUES means it, for all words,
and divides.

The sources are eight unknown hexadecimal digits each. That `word_of` makes those digits of a number
is proved layer by layer; then `results` is evaluated on them (graph_terms.py). `is_any`, which says
whether the instruction is one of those named, is 1 or 0 as the operation at hand has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

pytest.importorskip("z3")
import z3

from curta.compiler import Graph, Node
from curta.machine.instructions import COMPARISONS, DIVISIONS, VALUES, WORD
from curta.machine.parts import division
from curta.machine.parts.arithmetic import LEFT, RIGHT, comparisons, results
from curta.machine.parts.division import BASE, DIGITS, digit_at, division_parts
from curta.machine.parts.operations import Sources
from curta.machine.parts.words import Word, digits_of
from tests.machine.theorems.graph_terms import Evaluator, Term
from tests.machine.theorems.proving import prove
from tests.machine.theorems.words import Exact, low_word, word

pytestmark = pytest.mark.slow
HALF = WORD // 2


@dataclass
class Now:
    """The instruction to execute: an operation of this name."""

    graph: Graph
    operation: str

    def is_any(self, *names: str) -> Node:
        return self.graph.constant(int(self.operation in names))


@dataclass
class Setting:
    """Sources of unknown digits, and the results of one operation for them."""

    evaluator: Evaluator
    sources: dict[str, Word]
    results: dict[str, Node]

    def number(self, name: str) -> Term:
        return self.evaluator.term(self.sources[name].number)

    def digits(self, name: str) -> list[Term]:
        return [self.evaluator.term(digit) for digit in self.sources[name].digits]

    def result(self, name: str) -> Term:
        return self.evaluator.term(self.results[name])

    def check(self, claim: object) -> None:
        self.evaluator.check(claim)


def setting(
    operation: str,
    known: dict[str, int] | None = None,
    results: Callable[[Now, Sources], dict[str, Node]] = results,  # type: ignore[assignment]
) -> Setting:
    """`known` gives digits that a case knows: "b0" is the lowest one of b."""
    graph = Graph(["a token"])
    evaluator = Evaluator(graph, {})
    words = {}
    for name in "abce":
        number = graph.declare(name)
        digits = tuple(graph.declare(f"{name}{place}") for place in range(8))
        sign = graph.declare(f"sign of {name}")
        words[name] = Word(number, digits, sign)
        give(evaluator, words[name], name, known or {})
    sources = Sources(**words)
    return Setting(evaluator, words, results(Now(graph, operation), sources))


def give(evaluator: Evaluator, word: Word, name: str, known: dict[str, int]) -> None:
    """A word's number is that of its digits, its sign whether the highest is 8 or more."""
    terms: list[Term] = []
    for place, digit in enumerate(word.digits):
        term: Term = known.get(f"{name}{place}", z3.Int(f"{name}{place}"))
        if not isinstance(term, int):
            evaluator.facts += [term >= 0, term <= 15]
        evaluator.given[digit.index] = term
        terms.append(term)
    evaluator.given[word.number.index] = sum(16**place * term for place, term in enumerate(terms))
    top = terms[7]
    is_high = int(top >= 8) if isinstance(top, int) else z3.If(top >= 8, 1, 0)
    evaluator.given[word.sign.index] = is_high


def test_a_number_is_split_into_its_digits() -> None:
    """The highest digit of what is left, eight times: `rest` are the places below."""
    graph = Graph(["a token"])
    number = graph.declare("number")
    digits = digits_of(number, 8)
    facts: list[z3.BoolRef] = []
    above: Term = 0
    for place in range(7, -1, -1):
        digit, rest = z3.Int(f"d{place}"), z3.Int(f"rest {place}") if place else 0
        unit = 16**place
        facts += [digit >= 0, digit <= 15]
        left = [rest >= 0, rest < unit] if place else []
        above = above + unit * digit
        evaluator = Evaluator(graph, {number.index: above + rest}, [*facts, *left])
        evaluator.check(evaluator.term(digits[place]) == digit)


LINEAR = {
    "copy": lambda a, b, c: b,
    "add": lambda a, b, c: (a + b) % WORD,
    "sub": lambda a, b, c: (a - b) % WORD,
    "carry": lambda a, b, c: (a + b) / WORD,
    "add3": lambda a, b, c: (a + b + c) % WORD,
    "sub3": lambda a, b, c: (a - b - c) % WORD,
    "select": lambda a, b, c: z3.If(c != 0, a, b),
    "extend8": lambda a, b, c: z3.If(a % 256 >= 128, a % 256 - 256, a % 256) % WORD,
    "extend16": lambda a, b, c: z3.If(a % 65536 >= 32768, a % 65536 - 65536, a % 65536) % WORD,
}


def signed(word: z3.ArithRef) -> z3.ArithRef:
    return z3.If(word >= HALF, word - WORD, word)


TESTS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", LINEAR)
def test_sums_and_choices(name: str) -> None:
    now = setting(name)
    a, b, c = (now.number(source) for source in "abc")
    now.check(now.result(name) == LINEAR[name](a, b, c))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    now = setting(name)
    a, b = now.number("a"), now.number("b")
    test = TESTS[name[:2]]
    holds = test(signed(a), signed(b)) if name.endswith("_s") else test(a, b)
    now.check(now.result(name) == z3.If(holds, 1, 0))
    graph = now.evaluator.graph
    assert graph.node(comparisons(now.sources["a"], now.sources["b"])[name]) is now.results[name]


def test_bits_digit_by_digit() -> None:
    """The result is a sum, of which each summand depends on the two digits of one place."""
    now = setting("and")
    for place in range(8):
        for x in range(16):
            for y in range(16):
                found = results_of(now, {f"a{place}": x, f"b{place}": y}, "and", "or", "xor")
                for name, value in found.items():
                    assert value == 16**place * VALUES[name](x, y, 0)


def results_of(now: Setting, known: dict[str, int], *names: str) -> dict[str, Term]:
    """Results where some digits are known and the others are 0."""
    evaluator = Evaluator(now.evaluator.graph, {}, groups=now.evaluator.groups)
    for source in "abce":
        zeros = {f"{source}{place}": 0 for place in range(8)}
        give(evaluator, now.sources[source], source, zeros | known)
    return {name: evaluator.term(now.results[name]) for name in names}


# -- shifts and products --------------------------------------------------------------------------

SHIFTS = {
    "shl": lambda a, c, n: a * 2**n % WORD,
    "shr_u": lambda a, c, n: a / 2**n,
    "shr_s": lambda a, c, n: (signed(a) / 2**n) % WORD,
    "rotl": lambda a, c, n: a * 2**n % WORD + a / 2 ** (32 - n),
    "rotr": lambda a, c, n: a * 2 ** ((32 - n) % 32) % WORD + (a / 2**n if n else 0),
    "funnel_shl": lambda a, c, n: a * 2**n % WORD + c / 2 ** (32 - n),
    "funnel_shr": lambda a, c, n: a * 2 ** (32 - n) % WORD + c / 2**n,
}
"""By an amount. That the funnels are these sums is proved below, as bit vectors."""


@pytest.mark.parametrize("name", [*LEFT, *RIGHT])
@pytest.mark.parametrize("part", range(2))
def test_shifts(name: str, part: int) -> None:
    """By each amount; of the second digit of b only the lowest bit counts (`by`)."""
    for amount in range(part, 32, 2):
        now = setting(name, {"b0": amount % 16, "b1": amount // 16})
        intended = SHIFTS[name](now.number("a"), now.number("c"), amount)
        now.check(now.result(name) == intended)


@pytest.mark.parametrize("amount", range(32))
def test_a_funnel_is_a_sum_of_shifts(amount: int) -> None:
    a, c = z3.BitVecs("a c", 32)
    words = Exact()
    left = words.value("funnel_shl", a, word(amount), c)
    right = words.value("funnel_shr", a, word(amount), c)
    pair = z3.ZeroExt(32, a), z3.ZeroExt(32, c)
    prove(left == low_word((pair[0] << amount) + z3.LShR(pair[1], 32 - amount)))
    prove(right == low_word((pair[0] << 32 - amount) + z3.LShR(pair[1], amount)))


@pytest.mark.parametrize("name", [*LEFT, *RIGHT])
def test_amounts_count_modulo_32(name: str) -> None:
    """An example of all other digits, with each of the lowest two of b."""
    now = setting(name)
    known = {f"a{place}": (3 * place + 1) % 16 for place in range(8)}
    known |= {f"c{place}": (5 * place + 2) % 16 for place in range(8)}
    known |= {f"b{place}": 7 for place in range(2, 8)}
    a, c = (sum(16**n * known[f"{source}{n}"] for n in range(8)) for source in "ac")
    for amount in range(256):
        digits = {"b0": amount % 16, "b1": amount // 16}
        found = results_of(now, known | digits, name)
        assert found[name] == VALUES[name](a, 0x77777700 + amount, c)


def test_products_from_products_of_halves() -> None:
    """With the four products of halves whatever they are, both words are those of their sum."""
    now = setting("mul")
    low, high = now.result("mul"), now.result("mul_high")
    products = now.evaluator.products
    assert len(products) == 4
    halves = {}
    for source in "ab":
        digits = now.digits(source)
        halves[source] = [
            z3.simplify(sum(16**n * digit for n, digit in enumerate(part)), som=True)
            for part in (digits[:4], digits[4:])
        ]
    total = sum(
        2 ** (16 * (i + j)) * now.evaluator.product(x, y)
        for i, x in enumerate(halves["a"])
        for j, y in enumerate(halves["b"])
    )
    assert len(products) == 4, "the same four products"
    now.check(z3.And(low >= 0, low < WORD, low + WORD * high == total))


# -- counts ---------------------------------------------------------------------------------------


def test_leading_zeros() -> None:
    now = setting("clz")
    a, count = now.number("a"), now.result("clz")
    found = [z3.And(count == n, a >= 2 ** (31 - n), a < 2 ** (32 - n)) for n in range(32)]
    now.check(z3.Or(z3.And(a == 0, count == 32), *found))


def test_trailing_zeros() -> None:
    """The lowest digit that is not 0 has the lowest 1; the ones above may be any."""
    now = setting("ctz")
    for first in range(9):
        for digit in range(1, 16) if first < 8 else (0,):
            evaluator = Evaluator(now.evaluator.graph, {}, groups=now.evaluator.groups)
            known = {f"a{n}": 0 for n in range(first)} | {f"a{first}": digit}
            give(evaluator, now.sources["a"], "a", known)
            zeros = 4 * first + ((digit & -digit).bit_length() - 1 if digit else 0)
            evaluator.check(evaluator.term(now.results["ctz"]) == zeros)


def test_ones() -> None:
    """The sum of what stands in a table for each digit."""
    now = setting("popcnt")
    for place in range(8):
        for digit in range(16):
            assert results_of(now, {f"a{place}": digit}, "popcnt") == {"popcnt": digit.bit_count()}


# -- division -------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(DIGITS))
def test_a_digit_of_a_quotient(place: int) -> None:
    """Each divides what the ones before have left, and leaves less than the divisor in its place.

    That what is left stays a word is a promise of the graph, proved with it, whatever is divided.
    """
    graph = Graph(["a token"])
    left, divisor = graph.declare("left"), graph.declare("divisor")
    digit, rest = digit_at(place, left, divisor)
    number, by = z3.Ints("number by")
    words = [number >= 0, number < WORD, by >= 0, by < WORD]
    given: dict[int, Term] = {left.index: number, divisor.index: by}
    evaluator, unit = Evaluator(graph, given, words), BASE**place
    found = evaluator.term(digit)
    evaluator.check(z3.And(found >= 0, found < BASE))
    for said in range(BASE):
        known = Evaluator(graph, {**given, digit.index: said}, [*words, found == said])
        behind = known.term(rest)
        divides = z3.And(by > 0, number < BASE * unit * by)
        is_divided = number == said * unit * by + behind
        known.check(z3.Implies(divides, z3.And(is_divided, behind >= 0, behind < unit * by)))


@pytest.mark.parametrize("name", DIVISIONS)
def test_signs_and_traps_of_divisions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Magnitudes are divided, digit by digit; then results have the signs that they should."""
    made, asked = list[Node](), list[tuple[Node, Node]]()

    def digit(place: int, left: Node, divisor: Node) -> tuple[Node, Node]:
        assert place == DIGITS - 1 - len(asked)
        asked.append((left, divisor))
        made.extend(left.graph.declare(f"{what} {place}") for what in ("digit", "rest"))
        return made[-2], made[-1]

    monkeypatch.setattr(division, "digit_at", digit)
    parts = list[division.Division]()

    def found(now: Now, sources: Sources) -> dict[str, Node]:
        parts.append(division_parts(now, sources))  # type: ignore[arg-type]
        return parts[0].results

    now = setting(name, results=found)
    evaluator = now.evaluator
    digits, rests = made[::2], made[1::2]
    assert [left for left, _ in asked[1:]] == rests[:-1]
    assert len({divisor.index for _, divisor in asked}) == 1
    said, rest = z3.Ints(" ".join(f"digit{place}" for place in range(DIGITS))), z3.Int("rest")
    evaluator.facts += [z3.And(one >= 0, one < BASE) for one in said]
    evaluator.facts += [rest >= 0, rest < WORD]
    evaluator.given |= {one.index: term for one, term in zip(digits[::-1], said, strict=True)}
    evaluator.given[rests[-1].index] = rest
    quotient = sum(BASE**place * one for place, one in enumerate(said))
    a, b = now.number("a"), now.number("b")
    of_a, of_b = (signed(a), signed(b)) if name.endswith("_s") else (a, b)
    for node, number in zip(asked[0], (of_a, of_b), strict=True):
        now.check(evaluator.term(node) == z3.If(number < 0, -number, number))
    size, minus = (quotient, (of_a < 0) != (of_b < 0)) if name[:3] == "div" else (rest, of_a < 0)
    now.check(now.result(name) == z3.If(minus, -size, size) % WORD)
    now.check(evaluator.term(parts[0].by_zero) == z3.If(b == 0, 1, 0))
    lowest = z3.And(signed(a) == -HALF, signed(b) == -1)
    now.check(evaluator.term(parts[0].overflow) == z3.If(lowest, 1, 0))
