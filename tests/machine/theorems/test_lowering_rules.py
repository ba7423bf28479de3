"""The lowering's rules are equations between words, each for all values of its names."""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3

pytest.importorskip("curta.machine.lower.rules", exc_type=ImportError)
from curta.machine.instructions import DIVISIONS
from curta.machine.lower import rules
from tests.machine.theorems.proving import RefutedError, prove
from tests.machine.theorems.symbolic_python import Number, cases_of, widened
from tests.machine.theorems.words import COMPARISONS, Exact, Word, bit, wide, word


def value_of(name: str, *sources: Word) -> Word:
    """The word that an operation gives, wide comparisons among them."""
    if name.startswith(rules.WIDE):
        al, ah, bl, bh = sources
        test = COMPARISONS[name.removeprefix(rules.WIDE)]
        return bit(z3.simplify(test(wide(al, ah), wide(bl, bh))))
    padded = [*sources, *[word(0)] * (2 - len(sources))]
    return Exact().value(name, *padded)


def word_of(term: object, names: dict[str, Word]) -> Word:
    """The word that a rule's term is."""
    if isinstance(term, int):
        return word(term)
    if isinstance(term, str):
        return names.setdefault(term, z3.BitVec(term, 32))
    name, *sources = term
    return value_of(name, *(word_of(source, names) for source in sources))


def prove_rule(rule: object) -> None:
    """A division's sides differ too much in their circuits: its divisors are taken one by one."""
    names: dict[str, Word] = {}
    before = word_of((rule.operation, *rule.sources), names)
    claim = before == word_of(rule.result, names)
    holds = word_of(rule.when, names) != 0
    if rule.operation not in DIVISIONS or "K" not in names:
        prove(claim, holds)
        return
    for place in range(32):
        known = (names["K"], word(1 << place))
        prove(z3.substitute(claim, known), z3.substitute(holds, known))
    only_powers = z3.Or([names["K"] == word(1 << place) for place in range(32)])
    prove(only_powers, holds)


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: f"{rule.operation}{rule.sources}")
def test_rule_is_an_equation(rule: object) -> None:
    prove_rule(rule)


@pytest.mark.parametrize("name", [name for name in rules.MEANINGS if name.startswith(rules.WIDE)])
def test_meaning_of_a_wide_comparison(name: str) -> None:
    words = z3.BitVecs("al ah bl bh", 32)
    intended = value_of(name, *words)
    for case in cases_of(rules.MEANINGS[name], *words):
        assert isinstance(case.result, Number)
        width = max(case.result.bits.size(), 34)
        result = widened(case.result.bits, width)
        prove(result == z3.ZeroExt(width - 32, intended), case.when)


@pytest.mark.parametrize("name", rules.SWAPPED)
def test_sources_can_be_exchanged(name: str) -> None:
    a, b = z3.BitVecs("a b", 32)
    prove(value_of(name, a, b) == value_of(rules.SWAPPED[name], b, a))


@pytest.mark.parametrize("name", rules.INVERTED)
def test_a_comparison_is_inverted(name: str) -> None:
    sources = z3.BitVecs("al ah bl bh", 32)[: 4 if name.startswith(rules.WIDE) else 2]
    prove(value_of(name, *sources) == 1 - value_of(rules.INVERTED[name], *sources))


def test_a_wrong_rule_is_refuted() -> None:
    wrong = rules.Rule("sub", ("K", "X"), ("sub", "X", "K"))
    with pytest.raises(RefutedError):
        prove_rule(wrong)
