"""The validator's terms and its table of meanings are right for all words.

Terms: building one gives a normal form, which has to be the plain operation. The words are unknown,
so each proof is one for all of them; which shapes operands can have is not bounded, so shapes are
drawn: symbols, constants at the edges, every operation of symbols and constants, and what is built
from those. Meanings: each row, in words, beside the instruction in z3's own terms.
"""

from __future__ import annotations

import random

import pytest

pytest.importorskip("z3")
import z3

pytest.importorskip("curta.machine.proof.terms", exc_type=ImportError)
from curta.machine.proof import terms

pytest.importorskip("curta.machine.proof.meanings", exc_type=ImportError)
from curta.machine.float_words import FLOATS
from curta.machine.instructions import COMPARISONS, VALUES, has_fourth
from curta.machine.proof import meanings
from tests.machine.theorems.proving import RefutedError, prove
from tests.machine.theorems.specifications import INTEGERS, float_word, meaning
from tests.machine.theorems.words import (
    Exact,
    Word,
    bit,
    choose,
    high_word,
    low_word,
    truth,
    wide,
    word,
)
from tests.support.slow import all_but

EDGES = (0, 1, 2, 3, 5, 31, 32, 33, 255, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1)
UNARY = ("clz", "ctz", "popcnt", "extend8", "extend16")


class Reader:
    """What nodes stand for."""

    def __init__(self, built: object) -> None:
        self.built = built
        self.words: dict[int, Word] = {}

    def word(self, term: int) -> Word:
        if term < 0:
            return word(~term)
        if term not in self.words:
            self.words[term] = self.read(*self.built.nodes[term])
        return self.words[term]

    def read(self, name: str, *parts: object) -> Word:
        if name == "symbol":
            return z3.BitVec(parts[0], 32)
        if name == "sum":
            total, summands = parts
            return sum((n * self.word(one) for one, n in summands), word(total))
        if name == "opaque":
            return opaque(parts[0], *map(self.word, parts[1:]))
        sources = [self.word(part) for part in parts]
        if name == "not":
            return 1 - sources[0]
        if name == "ite":
            return choose(truth(sources[0]), *sources[1:])
        return Exact().value(name, *sources, *[word(0)] * (2 - len(sources)))


def opaque(name: str, *sources: Word) -> Word:
    """An operation of which nothing is known."""
    return z3.Function(name, *[z3.BitVecSort(32)] * (len(sources) + 1))(*sources)


def expected(name: str, sources: list[int], words: list[Word]) -> Word:
    """Of an operation on floats nothing is known, but what it gives of numbers."""
    if name not in FLOATS:
        return Exact().value(name, *words)
    if max(sources) < 0:
        return word(VALUES[name](*(~one for one in sources)))
    return opaque(name, *words)


def operand_pool(built: object) -> list[int]:
    """Symbols, constants, and each operation of some of them."""
    symbols = [built.node("symbol", name) for name in "xyz"]
    constants = [terms.constant(edge) for edge in EDGES]
    x, y, z = symbols
    pool = [*symbols, *constants]
    for name in VALUES:
        more = [x] if has_fourth(name) else []
        pool.append(built.value(name, x, y, z, *more))
        pool.append(built.value(name, x, terms.constant(5), y, *more))
    truths = [term for term in pool if term >= 0 and built.is_truth(term)]
    pool += [built.negate(one) for one in truths]
    return sorted(set(pool))


def prove_shapes(count: int, seed: int, with_facts: bool = False) -> None:
    built = terms.Terms()
    rng = random.Random(seed)
    pool = operand_pool(built)
    reader = Reader(built)
    truths = [term for term in pool if term >= 0 and built.is_truth(term)]
    atoms = [term for term in truths if built.nodes[term][0] != "not"]
    for _ in range(count):
        name = rng.choice(sorted(VALUES))
        sources = [rng.choice(pool) for _ in range(3 + has_fourth(name))]
        known = {}
        if with_facts:
            known = {rng.choice(atoms): rng.random() < 0.5 for _ in range(2)}
        before = [reader.word(term) for term in sources]
        built.facts = known
        result = built.value(name, *sources)
        built.facts = {}
        assumed = [reader.word(atom) == int(holds) for atom, holds in known.items()]
        try:
            prove(reader.word(result) == expected(name, sources, before), *assumed)
        except RefutedError as error:
            shapes = [term if term < 0 else built.nodes[term] for term in sources]
            raise RefutedError(f"{name} of {shapes}: {error}") from error
        if rng.random() < 0.1 and len(pool) < 400:
            pool.append(result)


@pytest.mark.parametrize("with_facts", [False, True])
def test_building_a_term_is_the_operation(with_facts: bool) -> None:
    prove_shapes(300, 1, with_facts)


@pytest.mark.slow
@pytest.mark.parametrize("with_facts", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_building_a_term_is_the_operation_in_full(seed: int, with_facts: bool) -> None:
    prove_shapes(1000, 10 + seed, with_facts)


# -- meanings -------------------------------------------------------------------------------------


class Ways:
    """The algebra that meanings are written in, on unknown words; `decide` takes a given way."""

    def __init__(self, way: bool, replaced: dict[str, list[Word]]) -> None:
        self.way = way
        self.assumed: list[z3.BoolRef] = []
        self.replaced = replaced
        self.terms: list[Word] = []

    def new(self, found: Word) -> int:
        """Terms are numbers for the table, as in the validator; constants are negative."""
        self.terms.append(found)
        return len(self.terms) - 1

    def read(self, term: int) -> Word:
        return word(~term) if term < 0 else self.terms[term]

    def value(self, operation: str, a: int, b: int = ~0, c: int = ~0, *fourth: int) -> int:
        words = [self.read(term) for term in (a, b, c, *fourth)]
        make = float_word if operation in FLOATS else Exact().value
        return self.new(make(operation, *words))

    divide = value

    def choose(self, condition: int, a: int, b: int) -> int:
        return self.new(choose(truth(self.read(condition)), self.read(a), self.read(b)))

    def is_true(self, term: int) -> int:
        return self.new(bit(truth(self.read(term))))

    def is_called(self) -> bool:
        return False

    def decide(self, condition: int) -> bool:
        self.assumed.append((self.read(condition) != 0) == self.way)
        return self.way

    def library(self, name: str, arguments: tuple[int, ...], results: int) -> tuple[int, ...]:
        return tuple(self.new(one) for one in self.replaced[name][:results])


def operand(ways: Ways, name: str, kind: str) -> tuple[tuple[int, ...], z3.BitVecRef]:
    """An unknown operand: its words for the table, and itself."""
    low = z3.BitVec(f"{name}_low", 32)
    if kind.endswith("32"):
        return (ways.new(low),), low
    high = z3.BitVec(f"{name}_high", 32)
    return (ways.new(low), ways.new(high)), wide(low, high)


def joined(ways: Ways, words: tuple[int, ...]) -> z3.BitVecRef:
    found = [ways.read(one) for one in words]
    return found[0] if len(found) == 1 else wide(*found)


def in_words() -> list[str]:
    """Rows that say what an instruction is in words, without the library; divisions apart."""
    return [
        name
        for name in meanings._IN_WORDS
        if "reinterpret" not in name and not name.split(".")[1].startswith(("div_", "rem_"))
    ]


def intended(name: str, *operands: z3.BitVecRef) -> z3.BitVecRef:
    kind, short = name.split(".")
    if kind[0] == "f":
        return meaning(name, *operands).result
    if kind == "i64" or short == "wrap_i64":
        found = INTEGERS[short](*operands)
        return bit(found) if z3.is_bool(found) else found
    if short == "eqz":
        return bit(operands[0] == 0)
    return Exact().value(
        short.removesuffix("_s") if "extend" in short else short,
        *operands,
        *[word(0)][: 2 - len(operands)],
    )


LONG = {"f32.convert_i64_s", "f64.convert_i64_s"}
"""Proofs of seconds. Shorter ones are of numbers of 64 bits, too, or of numbers with a sign."""


@pytest.mark.parametrize("name", all_but({*in_words()} - LONG, in_words()))
def test_meaning_of_an_instruction(name: str) -> None:
    signature = meanings.OPCODES[name].signature
    ways = Ways(True, {})
    operands = [operand(ways, n, kind) for n, kind in zip("ab", signature.parameters, strict=False)]
    result = meanings.MEANINGS[name](ways, *(words for words, _ in operands))
    prove_result(ways, result, name, [whole for _, whole in operands])


def prove_result(
    ways: Ways, result: tuple[int, ...], name: str, operands: list[z3.BitVecRef]
) -> None:
    right = intended(name, *operands)
    if name == "i64.mul":
        prove_product(ways, result, operands)
    else:
        prove(joined(ways, result) == right, *ways.assumed)


def prove_product(ways: Ways, result: tuple[int, ...], operands: list[z3.BitVecRef]) -> None:
    """A product of 64 bits is that of the words (a + a' W)(b + b' W) modulo W^2: multiplied out."""
    a, b = operands
    al, ah, bl, bh = low_word(a), high_word(a), low_word(b), high_word(b)
    low, high = (ways.read(one) for one in result)
    top = Exact().mul_high(al, bl)
    prove(low == al * bl)
    prove(high == top + al * bh + ah * bl)


@pytest.mark.parametrize("name", [name for name in COMPARISONS if name[:2] not in ("eq", "ne")])
def test_comparison_with_a_constant_looks_at_the_sign(name: str) -> None:
    for constant in (0, -1):
        for first in (False, True):
            ways = Ways(True, {})
            words, a = operand(ways, "a", "i64")
            edge = (terms.constant(constant), terms.constant(constant))
            both = (edge, words) if first else (words, edge)
            result = meanings.MEANINGS[f"i64.{name}"](ways, *both)
            number = z3.BitVecVal(constant, 64)
            right = INTEGERS[name](*((number, a) if first else (a, number)))
            prove(ways.read(result[0]) == bit(right))


@pytest.mark.parametrize("name", ["div_u", "rem_u", "div_s", "rem_s"])
@pytest.mark.parametrize("divisor", [1, 3, 10, 2**31 - 1, 2**31, 2**32 - 1])
def test_division_of_a_small_number_by_a_constant(name: str, divisor: int) -> None:
    """Of a number whose high word is 0, the quotient is that of words."""
    if name.endswith("_s") and divisor >= 2**31:
        pytest.skip("goes to the library")
    ways = Ways(True, {})
    words, _ = operand(ways, "a", "i64")
    result = meanings.MEANINGS[f"i64.{name}"](
        ways, words, (terms.constant(divisor), terms.constant(0))
    )
    low = ways.read(words[0])
    whole = z3.ZeroExt(32, low)
    make = {"div_u": z3.UDiv, "rem_u": z3.URem, "div_s": lambda a, b: a / b, "rem_s": z3.SRem}[name]
    known = z3.BitVecVal(divisor, 64)
    quotient = (z3.UDiv if name.startswith("div") else z3.URem)(low, word(divisor))
    prove(joined(ways, result) == z3.ZeroExt(32, quotient), *ways.assumed)
    # Neither side is negative: the signed quotient is the unsigned one.
    if name.endswith("_s"):
        unsigned = (z3.UDiv if name == "div_s" else z3.URem)(whole, known)
        prove(make(whole, known) == unsigned)
