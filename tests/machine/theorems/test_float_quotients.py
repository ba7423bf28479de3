"""Quotients and roots of floats (parts/quotients.py): for all numbers, no wrong result, and an end.

No digits, whoever said them, can lead to a wrong result: what is taken for right lies within two
steps of it, and `judged` tells which of the two it is (`test_what_is_taken_for_right`). Digits are
found, too: each that the machine says leaves so much that the next one exists, and the last one so
little that all is taken for right. There the graph's own terms are compared with lines between
bounds, and what follows of these are inequalities between real numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

pytest.importorskip("z3")
import z3

from curta.machine.parts import floats, quotients
from curta.machine.parts.limbs import LIMB
from curta.machine.parts.quotients import A_TOP, B_TOP, BASE, CUT, Attempt, Quotient
from curta.machine.parts.token import FLOAT_DIGITS, Token
from tests.machine.theorems.float_terms import (
    LONG,
    Bits,
    Number,
    Terms,
    are_limbs,
    as_bits,
    kind,
    long,
    of_bits,
    prove_with_debts,
    use_meanings,
    value,
)
from tests.machine.theorems.proving import RefutedError, UndecidedError, prove

KINDS = ("divides", "takes_root")
OPERAND = 53
"""Bits that an operand's limbs have."""


@pytest.fixture(autouse=True)
def _meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_meanings(monkeypatch)


def counts_of(graph: Terms, count: int) -> tuple[Number, ...]:
    return tuple(graph.constant(int(n == count)) for n in range(FLOAT_DIGITS))


def signed_value(limbs: Sequence[Number]) -> Bits:
    """Of numbers of any size and sign."""
    parts = (z3.SignExt(LONG - 64, limb.bits) << LIMB * n for n, limb in enumerate(limbs))
    return sum(parts, z3.BitVecVal(0, LONG))


# -- digits that are said -------------------------------------------------------------------------


def token(graph: Terms, count: int) -> Token:
    """So many digits are said, and others were in the latest scratch quotient."""
    zero = graph.constant(0)
    said = [1 + graph.given(z3.BitVec(f"digit {n}", 8)) for n in range(count)]
    scratch = [graph.given(z3.BitVec(f"scratch {n}", 8)) for n in range(FLOAT_DIGITS)]
    marks = [*said, *[zero] * (FLOAT_DIGITS - 1 - count)]
    return SimpleNamespace(quotient=tuple(marks), scratch=tuple(scratch), ends_word=zero)  # type: ignore[return-value]


def digits_said(count: int) -> list[Bits]:
    """By places, the lowest first."""
    said = [z3.BitVec(f"digit {n}", 8) for n in range(count)]
    latest = [z3.BitVec(f"scratch {n}", 8) for n in range(FLOAT_DIGITS)]
    return [*[z3.BitVecVal(0, 8)] * (FLOAT_DIGITS - count), *said] if count else latest


def number_of(digits: Sequence[Bits]) -> Bits:
    parts = (long(digit) << 7 * place for place, digit in enumerate(digits))
    return sum(parts, z3.BitVecVal(0, LONG))


@pytest.mark.parametrize("count", range(FLOAT_DIGITS))
def test_digits(count: int) -> None:
    graph = Terms()
    here = token(graph, count)
    assert [one.low for one in quotients.counted(here)] == [int(n == count) for n in range(8)]
    limbs, leading = quotients.digits_of(counts_of(graph, count), here)  # type: ignore[arg-type]
    digits = digits_said(count)
    claims = [
        value(limbs) == number_of(digits),
        long(leading.bits) == number_of(digits[FLOAT_DIGITS // 2 :]),
        are_limbs(limbs),
    ]
    prove_with_debts(graph, z3.And(claims))


# -- operands that are moved, and the exponent ----------------------------------------------------


def with_highest_bit(graph: Terms, place: int) -> tuple[Number, ...]:
    """Three limbs of any number that has its highest bit there."""
    limbs = []
    for n in range(3):
        bits = min(max(place - LIMB * n, 0), LIMB)
        here = 0 <= place - LIMB * n < LIMB
        below = z3.BitVec(f"limb{n}", LIMB) & ((1 << bits) - 1)
        term = below | (1 << bits) if here else below
        limbs.append(
            graph.given(term, (1 << bits) * here, (2 << bits) - 1 if here else (1 << bits) - 1)
        )
    return tuple(limbs)


@pytest.mark.parametrize(("top", "lower"), [(B_TOP, 0), (A_TOP, 0), (A_TOP, 1)])
def test_moved(top: int, lower: int) -> None:
    """The highest bit at `top` or one below; of the three limbs of a all below are 0."""
    for place in range(OPERAND):
        graph = Terms()
        limbs = with_highest_bit(graph, place)
        found = quotients.aligned(limbs, graph.constant(place), top, lower)  # type: ignore[arg-type]
        moved = value(limbs) << top - lower - place
        claims = [
            value(found) << top // LIMB * LIMB - 2 * LIMB == moved,
            are_limbs(found),
            z3.LShR(moved, top - lower) == 1,
        ]
        prove_with_debts(graph, z3.And(claims))


def tried(name: str, monkeypatch: pytest.MonkeyPatch, count: int) -> SimpleNamespace:
    """An attempt with operands whose highest bits and whose moved limbs are unknowns."""
    graph = Terms()
    places = [graph.signed(f"place of {one}", 0, OPERAND - 1) for one in "xy"]
    exponents = [graph.signed(f"exponent of {one}", 1, 2046) for one in "xy"]
    moved = {
        B_TOP: of_bits(graph, "divisor", LIMB, LIMB, B_TOP % LIMB + 1),
        A_TOP: of_bits(graph, "dividend", LIMB, LIMB, A_TOP % LIMB + 1),
    }
    lower = []

    def aligned(limbs: object, highest: Number, top: int, low: Number) -> tuple[Number, ...]:
        assert (limbs, highest) == (("xy"[top == B_TOP]), places[top == B_TOP])
        lower.append(low)
        return moved[top]

    found = {"x": (places[0], None), "y": (places[1], None)}
    monkeypatch.setattr(quotients, "highest_bit", lambda limbs: found[limbs])
    monkeypatch.setattr(quotients, "aligned", aligned)
    x, y = (
        SimpleNamespace(
            exponent=exponent,
            odd_exponent=graph.truth(exponent.bits & 1 == 1),
            limbs=limb,
        )
        for exponent, limb in zip(exponents, "xy", strict=True)
    )
    attempt = quotients.attempt(kind(graph, name), x, y, token(graph, count))  # type: ignore[arg-type]
    return SimpleNamespace(
        graph=graph, places=places, exponents=exponents, moved=moved, lower=lower[-1], found=attempt
    )


def test_exponent_of_a_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    """x is a and y is b, each with a power of two, and so is the quotient."""
    now = tried("divides", monkeypatch, 0)
    a, b = (
        exponent.bits - 1075 - (top - place.bits)
        for exponent, place, top in zip(now.exponents, now.places, (A_TOP, B_TOP), strict=True)
    )
    claim = z3.And(now.found.exponent.bits - 1075 == a - b, as_term(now.lower) == 0)
    prove_with_debts(now.graph, claim)


def test_exponent_of_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """x is a * 2**n with an even n, of which half is the root's."""
    now = tried("takes_root", monkeypatch, 0)
    lower = as_term(now.lower)
    power = now.exponents[0].bits - 1075 - (A_TOP - lower - now.places[0].bits)
    exact = 2 * (now.found.exponent.bits - 1075) == power
    prove_with_debts(now.graph, z3.And(exact, z3.Or(lower == 0, lower == 1)))


def as_term(number: Number | int) -> Bits:
    return z3.BitVecVal(number, 64) if isinstance(number, int) else number.bits


# -- what is taken for right ----------------------------------------------------------------------


def judgement(
    name: str, graph: Terms, count: int, product: Sequence[Number], step: Number | int = 1
) -> tuple[Attempt, Quotient]:
    digits = of_bits(graph, "digits", LIMB, LIMB, 10)
    divisor = of_bits(graph, "divisor", LIMB, LIMB, B_TOP % LIMB + 1)
    dividend = of_bits(graph, "dividend", LIMB, LIMB, A_TOP % LIMB + 1)
    attempt = Attempt(
        counts_of(graph, count),  # type: ignore[arg-type]
        digits,  # type: ignore[arg-type]
        divisor,  # type: ignore[arg-type]
        dividend,  # type: ignore[arg-type]
        graph.node(step),  # type: ignore[arg-type]
        graph.constant(0),  # type: ignore[arg-type]
    )
    found = quotients.judged(kind(graph, name), attempt, product, graph.constant(1))  # type: ignore[arg-type]
    return attempt, found


def product_limbs(graph: Terms) -> list[Number]:
    """What `multiplied` may give of limbs of 24, 24 and 10 bits: the lowest part of a column and
    the highest of the one below, of which two are sums of three products."""
    bounds = [2**LIMB, 2 ** (LIMB + 1), 3 * 2**LIMB, 3 * 2**LIMB, 2**20 + 2**11]
    return [graph.signed(f"product {n}", 0, most - 1) for n, most in enumerate(bounds)]


def step_of(name: str, attempt: Attempt) -> Bits:
    if name == "divides":
        return value(attempt.divisor)  # type: ignore[arg-type]
    return 2 * value(attempt.digits) + 1  # type: ignore[arg-type]


def size_facts(name: str, attempt: Attempt, product: Bits) -> list[z3.BoolRef]:
    """Of operands that are moved; and that a root's product is a square, so that of a number below
    2**55 it is below 2**110."""
    a, b, q = (long_value(limbs) for limbs in (attempt.dividend, attempt.divisor, attempt.digits))
    facts = [z3.UGE(a << 2 * LIMB, 1 << A_TOP - 1), z3.UGE(b, 1 << B_TOP)]
    if name == "takes_root":
        facts.append(z3.Or(z3.UGE(q, 1 << 55), z3.ULT(product, 1 << 110)))
    return facts


def long_value(limbs: object) -> Bits:
    return value(limbs)  # type: ignore[arg-type]


def prove_what_is_taken_for_right(name: str) -> None:
    graph = Terms()
    limbs = product_limbs(graph)
    attempt, found = judgement(name, graph, 0, limbs)
    product, step = signed_value(limbs), step_of(name, attempt)
    left = (long_value(attempt.dividend) << 2 * LIMB) - product
    told = z3.And(
        left >= 0,
        left < 2 * step,
        (found.one_more.bits == 1) == (left >= step),
        (found.rest.bits == 0) == z3.Or(left == 0, left == step),
        *(z3.Or(one.bits == 0, one.bits == 1) for one in (found.one_more, found.rest)),
    )
    right = found.wanted.bits == 0
    prove_with_debts(graph, told, right, *size_facts(name, attempt, product))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_is_taken_for_right(name: str) -> None:
    """With any digits: then it is q or q + 1, whichever is told, and a rest is told exactly."""
    prove_what_is_taken_for_right(name)


def test_a_wrong_judgement_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = quotients.at_most
    monkeypatch.setattr(quotients, "at_most", lambda x, n: right(x, 2**36 if n == 0 else n))
    with pytest.raises(RefutedError):
        prove_what_is_taken_for_right("divides")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("count", range(1, FLOAT_DIGITS))
def test_a_digit_is_wanted_while_digits_are_said(name: str, count: int) -> None:
    graph = Terms()
    _, found = judgement(name, graph, count, product_limbs(graph))
    last = int(count == FLOAT_DIGITS - 1)
    assert (found.wanted.low, found.is_last.low, found.is_last.high) == (1, last, last)


def test_both_numbers_that_it_can_be() -> None:
    """q and q + 1, with the exponent and the rest that are told."""
    graph = Terms()
    digits = of_bits(graph, "digits", LIMB, LIMB, 10)
    one_more, rest = (graph.given(z3.BitVec(name, 1)) for name in ("one more", "rest"))
    exponent = graph.signed("exponent", -3000, 3000)
    nothing = graph.constant(0)
    quotient = Quotient(digits, one_more, rest, exponent, *[nothing] * 4)  # type: ignore[arg-type]
    for more, (when, number) in enumerate(floats.results_of(quotient)):
        claims = [
            value(number.limbs) == value(digits) + more,  # type: ignore[arg-type]
            are_limbs(number.limbs),  # type: ignore[arg-type]
            when.bits == as_bits(one_more.bits == more, 64),
            number.exponent.bits == exponent.bits,
            number.rest.bits == rest.bits,
        ]
        prove_with_debts(graph, z3.And(claims))


# -- digits are found -----------------------------------------------------------------------------

PLACE = [BASE ** (FLOAT_DIGITS - 1 - count) for count in range(FLOAT_DIGITS)]
"""What the next digit stands for."""
LOST = [7 * (FLOAT_DIGITS - 1 - count) + CUT for count in range(FLOAT_DIGITS)]
CUT_OFF = [2 ** (-(-lost // LIMB) * LIMB) for lost in LOST]
"""What is left out of the rest is less than this: limbs."""
MOST = {"divides": (256, *[132] * 7), "takes_root": (256, 128, *[194] * 6)}
"""What is left divided by the step, or what is missing of a root: below this in places of the next
digit. Behind the last one `ENOUGH` of the last place."""
ENOUGH = z3.Q(33, 32)

SOME_SLOW = [pytest.param(n, marks=[pytest.mark.slow] * (n not in (0, 7))) for n in range(8)]


@pytest.mark.parametrize("count", SOME_SLOW)
@pytest.mark.parametrize("name", KINDS)
def test_what_is_divided(name: str, count: int) -> None:
    """`left` is the rest without its lowest limbs, wherever the bounds are kept."""
    if (name, count) == ("takes_root", 0):
        pytest.skip("that digit has a test of its own")
    graph = Terms()
    limbs = product_limbs(graph)
    attempt, found = judgement(name, graph, count, limbs)
    product = signed_value(limbs) if count else z3.BitVecVal(0, LONG)
    rest = (long_value(attempt.dividend) << 2 * LIMB) - product
    most = MOST[name][count] * PLACE[count] * 2 ** (B_TOP + 1)
    cut = long(found.left.bits) << LOST[count]
    none = [limb.bits == 0 for limb in limbs] if count == 0 else []
    claim = z3.And(cut <= rest, rest - cut < CUT_OFF[count])
    prove_with_debts(graph, claim, rest >= 0, rest < most, *none)


@pytest.mark.parametrize("count", range(FLOAT_DIGITS))
def test_step_of_a_quotient(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now = tried("divides", monkeypatch, count)
    step, divisor = long(now.found.step.bits) << CUT, value(now.moved[B_TOP])
    between = z3.And(z3.UGE(step, divisor), z3.ULE(step, divisor + (1 << CUT)))
    prove_with_debts(now.graph, between)


@pytest.mark.parametrize("count", range(1, FLOAT_DIGITS))
def test_step_of_a_root(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 q and 256 of the next place, or a little more."""
    now = tried("takes_root", monkeypatch, count)
    step, twice = long(now.found.step.bits) << CUT, 2 * number_of(digits_said(count))
    least = twice + 256 * PLACE[count]
    prove_with_debts(now.graph, z3.And(z3.UGE(step, least), z3.ULE(step, least + (9 << CUT))))


@pytest.mark.parametrize("name", KINDS)
def test_divisor_of_the_next_digit(name: str) -> None:
    """The step, which no bound of the table of tokens cuts."""
    for count in range(int(name == "takes_root"), FLOAT_DIGITS):
        graph = Terms()
        step = graph.signed("step", 1, 2**quotients.STEP_BITS - 1)
        _, found = judgement(name, graph, count, product_limbs(graph), step)
        prove(found.divisor.bits == step.bits, *graph.facts)


def test_first_digit_of_a_root() -> None:
    """The largest k with k * k * 2**98 <= a: then what is missing is less than the next place 128
    times. It is 128 or more, so that the root is 2**56 at least."""
    graph = Terms()
    attempt, found = judgement("takes_root", graph, 0, product_limbs(graph))
    a, k = long_value(attempt.dividend), long(found.left.bits)
    assert found.divisor.low == found.divisor.high == 1
    claims = [
        z3.ULE(k * k << 2, z3.LShR(a, 2 * LIMB)),
        z3.UGT((k + 1) * (k + 1) << 2, z3.LShR(a, 2 * LIMB)),
        z3.UGE(k, 128),
        z3.ULE(k, 255),
    ]
    prove_with_debts(graph, z3.And(claims), z3.UGE(a, 1 << A_TOP - 1 - 2 * LIMB))


def prove_real(claim: z3.BoolRef, *assumed: z3.BoolRef) -> None:
    solver = z3.SolverFor("QF_NRA")
    solver.set("timeout", 120_000)
    solver.add(*assumed, z3.Not(claim))
    answer = solver.check()
    if answer == z3.sat:
        raise RefutedError(str(solver.model()))
    if answer != z3.unsat:
        raise UndecidedError("no answer")


def prove_recurrence(name: str, count: int, beside: int = 256) -> None:
    """The digit that floor(left / step) is; x is the number that would leave nothing."""
    place = PLACE[count]
    q, b, x, digit, step, left = z3.Reals("q b x digit step left")
    rest, least, most = x * place * b, b, b + 2**CUT
    sizes = [b >= 2**B_TOP, b < 2 ** (B_TOP + 1)]
    if name == "takes_root":
        rest, least = 2 * q * x * place + x * x * place * place, 2 * q + beside * place
        sizes, most = [q >= 2**56, q < 2**58], least + 9 * 2**CUT
    enough = z3.Q(MOST[name][count + 1], BASE) if count + 1 < FLOAT_DIGITS else ENOUGH
    assumed = [
        *sizes,
        *(x >= 0, x < MOST[name][count], step >= least, step <= most, digit >= 0),
        *(left <= rest, left > rest - CUT_OFF[count]),
        *(digit * place * step <= left, left < (digit + 1) * place * step),
    ]
    prove_real(z3.And(digit <= x, x - digit < enough), *assumed)


@pytest.mark.parametrize("name", KINDS)
def test_digits_are_never_too_large_and_what_they_lack_is_little(name: str) -> None:
    for count in range(int(name == "takes_root"), FLOAT_DIGITS):
        prove_recurrence(name, count)


def test_a_step_that_is_too_small_is_refuted() -> None:
    """One place more is not enough where the digit before was too small."""
    with pytest.raises(RefutedError):
        prove_recurrence("takes_root", 2, beside=128)


@pytest.mark.slow  # half a minute of z3
@pytest.mark.parametrize("name", KINDS)
def test_after_eight_digits_none_is_wanted(name: str) -> None:
    """Then the rest is below `ENOUGH` steps: of a root r it is (r - q) * (r + q)."""
    graph = Terms()
    limbs = product_limbs(graph)
    attempt, found = judgement(name, graph, 0, limbs)
    left = (long_value(attempt.dividend) << 2 * LIMB) - signed_value(limbs)
    if name == "divides":
        little = 32 * left < 33 * long_value(attempt.divisor)
        least = z3.UGE(long_value(attempt.divisor), 1 << B_TOP)
    else:
        little = 32 * 32 * left < 33 * (64 * long_value(attempt.digits) + 33)
        least = z3.UGE(long_value(attempt.digits), 1 << 55)
    prove_with_debts(graph, found.wanted.bits == 0, left >= 0, little, least)
