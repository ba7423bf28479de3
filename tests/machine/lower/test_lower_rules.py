"""Every row of the table of rules is an equation: it holds for words at edges, and at random."""

from __future__ import annotations

from random import Random

import pytest

from curta.machine.instructions import WORD
from curta.machine.lower.rules import MEANINGS, RULES, Rule, Term
from curta.machine.reference import divided

EDGES = (0, 1, 2, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, WORD - 2, WORD - 1)
DRAWS = 400


def names_in(term: Term) -> set[str]:
    if isinstance(term, tuple):
        return set().union(*(names_in(source) for source in term[1:]))
    return {term} if isinstance(term, str) else set()


def evaluate(term: Term, words: dict[str, int]) -> int:
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return words[term]
    name, *sources = term
    found = [evaluate(source, words) for source in sources]
    if str(name)[:4] in ("div_", "rem_"):
        return divided(str(name), found[0], found[1])
    return MEANINGS[str(name)](*found, *[0] * (3 - len(found)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.operation}{rule.sources}")
def test_a_rule_is_an_equation(rule: Rule) -> None:
    random = Random(0)
    pattern: Term = (rule.operation, *rule.sources)
    names = sorted(names_in(pattern))
    assert names_in(rule.result) <= set(names)
    held = 0
    for _ in range(DRAWS):
        draws = (random.choice(EDGES), random.getrandbits(32), 1 << random.randrange(32))
        words = {name: random.choice(draws) for name in names}
        if evaluate(rule.when, words):
            held += 1
            assert evaluate(pattern, words) == evaluate(rule.result, words), words
    assert held


def test_rules_come_to_an_end() -> None:
    """No row gives what a row before it was made from."""
    for rule in RULES:
        if isinstance(rule.result, tuple):
            assert rule.result != (rule.operation, *rule.sources)
