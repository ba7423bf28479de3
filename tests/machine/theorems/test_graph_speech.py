"""Results are said as the digits that encode_word says, and quotients as floor(A / B).

`emit_quotient` scores token q by q (2A - B + 1) - q q B. The scores of neighbours differ by
2 (A - (q + 1) B) + 1, an odd number: positive exactly while (q + 1) B <= A. So they rise up to
floor(A / B) and fall from there on, and that token is said.

`say_word` is evaluated for an unknown word and the digits of it that have been said, none, one or
two: the token it says next is the next one of encode_word's.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

z3 = pytest.importorskip("z3")
from graph_terms import Evaluator, Term

from curta.compiler import Graph, Node
from curta.compiler.graph import Family
from curta.machine.encode import encode_word
from curta.machine.parts.speech import say_word
from curta.machine.vocabulary import DIGIT, LAST, MORE

LARGEST = {1: DIGIT, 2: DIGIT**2, 3: 1 << 32}
"""Words of so many digits are below."""


def test_scores_rise_up_to_the_quotient_and_fall_from_there() -> None:
    q, a, b = z3.Ints("q A B")

    def score(number: z3.ArithRef) -> z3.ArithRef:
        return number * (2 * a - b + 1) - number * number * b

    more = score(q + 1) - score(q)
    difference = z3.simplify(more - (2 * (a - (q + 1) * b) + 1), som=True)
    assert z3.is_int_value(difference)
    assert difference.as_long() == 0
    multiple = z3.Int("multiple of B")  # whatever (q + 1) * B is
    solver = z3.Solver()
    solver.add((2 * (a - multiple) + 1 > 0) != (multiple <= a))
    assert solver.check() == z3.unsat


@dataclass
class Digits:
    """All that say_word reads of a token."""

    digits: tuple[Node, Node]


def said_next(known: dict[str, Term], facts: list[z3.BoolRef]) -> dict[str, tuple[Term, ...]]:
    """(condition, linear, square) of the families M and L, for an evaluator of these terms."""
    graph = Graph([*LAST, *MORE])
    word, newest, before = (graph.declare(name) for name in ("word", "newest", "before"))
    say_word(graph, Digits((newest, before)), word, when=graph.constant(1))
    given = {node.index: known[node.name] for node in (word, newest, before)}
    evaluator = Evaluator(graph, given, facts)
    names = {graph.token_id(MORE[0]): "M", graph.token_id(LAST[0]): "L"}
    return {names[family.tokens[0]]: terms_of(evaluator, family) for family in graph.families}


def terms_of(evaluator: Evaluator, family: Family) -> tuple[Term, ...]:
    assert family.when is not None
    return tuple(evaluator.at(index) for index in (family.when, family.linear, family.square))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "said"), [(n, k) for n in (1, 2, 3) for k in range(n)])
def test_the_next_digit_of_a_word_is_said(count: int, said: int) -> None:
    digits = [z3.Int(f"digit {place}") for place in range(count)]  # the first one said first
    word = sum(DIGIT ** (count - 1 - place) * digit for place, digit in enumerate(digits))
    facts = [fact for digit in digits for fact in (digit >= 0, digit < DIGIT)]
    facts += [word < LARGEST[count], *([digits[0] >= 1] if count > 1 else [])]
    newest = digits[said - 1] + 1 if said else 0
    before = digits[said - 2] + 1 if said > 1 else 0
    families = said_next({"word": word, "newest": newest, "before": before}, facts)
    checker = Evaluator(Graph(["a token"]), {}, facts)
    more, linear, square = families["M"]
    last, twice, _ = families["L"]
    goes_on = said < count - 1
    checker.check(z3.And(more == int(goes_on), last == int(not goes_on)))
    if goes_on:
        # linear = 2 A - B + 1 and square = B = 4096: A / B is the digit.
        assert square == DIGIT
        a = linear + DIGIT - 1
        checker.check(z3.And(a >= 2 * DIGIT * digits[said], a < 2 * DIGIT * (digits[said] + 1)))
    else:
        checker.check(twice == 2 * digits[said])


def test_words_have_as_many_digits_as_they_need() -> None:
    for count, above in LARGEST.items():
        assert len(encode_word(above - 1)) == count
        assert count == 3 or len(encode_word(above)) == count + 1
