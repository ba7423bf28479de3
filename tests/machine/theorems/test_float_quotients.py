"""Quotients and roots of floats (parts/quotients.py): for all numbers, all that the digits rest on.

What the digits leave is less than a step and a little more, before a digit and behind it, and never
below 0 (`test_a_digit`): so every digit exists, and behind the last one the number is what they say
or one more, of which `told` says which. These are inequalities between whole numbers, which the
functions of the unit are run on as they are. That from digit to digit what is left is
dividend * 16**n - digits * divisor, or less the square of the digits, is how `divided` puts them
together (`test_all_digits`). As the dividend is above a quarter of the divisor, and a root's above
2**110 with all its places, the digits are at least 2**54.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import pytest

pytest.importorskip("z3")
import z3

from curta.machine.parts import quotients
from curta.machine.parts.limbs import LIMB, UNIT
from curta.machine.parts.quotients import (
    A_TOP,
    BASE,
    CARRIED,
    DIGITS,
    HIGHEST,
    LOW_OF_STEP,
    NEVER,
    TOP,
    Halves,
)
from tests.machine.theorems.float_terms import (
    LONG,
    Bits,
    Number,
    Terms,
    are_limbs,
    kind,
    of_bits,
    prove_with_debts,
    use_meanings,
    value,
)
from tests.machine.theorems.proving import RefutedError
from tests.support.slow import draws

OPERAND = 53
"""Bits that an operand's limbs have."""
PLACES = range(DIGITS)
ROOTS = (0, 1)
MORE = 1100 * UNIT
"""What is left is less than a step, a unit of the digit before if it is a root, and this."""


@pytest.fixture(autouse=True)
def _meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_meanings(monkeypatch)


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


@pytest.mark.parametrize(("top", "lower"), [(TOP, 0), (TOP - 1, 0), (TOP - 1, 1)])
def test_moved(top: int, lower: int) -> None:
    """The highest bit at `top`, or one below; by default, of some places."""
    for place in range(0, OPERAND, draws(1, 5)):
        graph = Terms()
        limbs = with_highest_bit(graph, place)
        found = quotients.aligned(limbs, graph.constant(place), top, lower)  # type: ignore[arg-type]
        moved = value(limbs) << top - lower - place
        claims = [value(found) == moved, are_limbs(found), z3.LShR(moved, top - lower) == 1]  # type: ignore[arg-type]
        prove_with_debts(graph, z3.And(claims))


def of_operands(name: str, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The unit with operands whose highest bits and whose moved limbs are unknowns."""
    graph = Terms()
    places = [graph.signed(f"place of {one}", 0, OPERAND - 1) for one in "xy"]
    exponents = [graph.signed(f"exponent of {one}", 1, 2046) for one in "xy"]
    moved = {
        TOP: of_bits(graph, "divisor", LIMB, LIMB, TOP % LIMB + 1),
        TOP - 1: of_bits(graph, "dividend", LIMB, LIMB, TOP % LIMB),
    }
    seen = SimpleNamespace(graph=graph, places=places, exponents=exponents, moved=moved)
    digits, rest = of_bits(graph, "digits", LIMB, LIMB, 10), graph.given(z3.BitVec("rest", 1))

    def aligned(limbs: object, highest: Number, top: int, low: Number) -> tuple[Number, ...]:
        assert (limbs, highest) == (("xy"[top == TOP]), places[top == TOP])
        if top == TOP - 1:
            seen.lower = low
        return moved[top]

    def divided(root: Number, left: Halves, step: Halves) -> tuple[object, Number]:
        seen.root, seen.left, seen.step = root, left, step
        return digits, rest

    found = {"x": (places[0], None), "y": (places[1], None)}
    monkeypatch.setattr(quotients, "highest_bit", lambda limbs: found[limbs])
    monkeypatch.setattr(quotients, "aligned", aligned)
    monkeypatch.setattr(quotients, "divided", divided)
    x, y = (
        SimpleNamespace(
            exponent=exponent, odd_exponent=graph.truth(exponent.bits & 1 == 1), limbs=limb
        )
        for exponent, limb in zip(exponents, "xy", strict=True)
    )
    seen.found = quotients.quotient_or_root(kind(graph, name), x, y)  # type: ignore[arg-type]
    assert seen.found.limbs[:3] == digits
    assert [limb.low for limb in seen.found.limbs[3:]] == [0, 0]
    assert seen.found.rest is rest
    return seen


def whole(number: Halves) -> Bits:
    high, low = (z3.SignExt(LONG - 64, half.bits) for half in (number.high, number.low))  # type: ignore[attr-defined]
    return (high << LIMB) + low


def test_operands_and_exponent_of_a_quotient(monkeypatch: pytest.MonkeyPatch) -> None:
    """x is a and y is b, each with a power of two, and so is the quotient of a * 2**56 and b."""
    now = of_operands("divides", monkeypatch)
    a, b = (
        exponent.bits - 1075 - (top - place.bits)
        for exponent, place, top in zip(now.exponents, now.places, (A_TOP, TOP), strict=True)
    )
    claims = [
        now.found.exponent.bits - 1075 == a - b,
        now.lower.bits == 0,
        now.root.bits == 0,
        whole(now.left) == value(now.moved[TOP - 1]),
        whole(now.step) == value(now.moved[TOP]),
    ]
    prove_with_debts(now.graph, z3.And(claims))


def test_operand_and_exponent_of_a_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """x is a * 2**n with an even n, of which half is the root's; there is no divisor."""
    now = of_operands("takes_root", monkeypatch)
    lower = now.lower.bits
    power = now.exponents[0].bits - 1075 - (A_TOP - lower - now.places[0].bits)
    claims = [
        2 * (now.found.exponent.bits - 1075) == power,
        z3.Or(lower == 0, lower == 1),
        now.root.bits == 1,
        whole(now.left) == value(now.moved[TOP - 1]),
        whole(now.step) == 0,
    ]
    prove_with_debts(now.graph, z3.And(claims))


# -- a digit --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digit:
    """A digit that is known, and gates by it."""

    number: int

    @property
    def graph(self) -> Digit:
        return self

    def gate(self, digit: Digit, half: z3.ArithRef) -> z3.ArithRef:
        assert digit is self
        return self.number * half


def total(number: Halves) -> z3.ArithRef:
    return UNIT * number.high + number.low


def carried(number: Halves) -> Halves:
    """What `carry` makes of it (test_carry)."""
    units: z3.ArithRef = number.low / UNIT  # type: ignore[operator]
    return Halves(number.high + units, number.low - UNIT * units)


@dataclass(frozen=True)
class Round:
    """What there is before a digit at some place is said, and what is known of it."""

    place: int
    root: int
    left: Halves
    step: Halves

    @classmethod
    def any(cls, place: int, root: int) -> Round:
        halves = [Halves(*z3.Ints(f"{name}.high {name}.low")) for name in ("left", "step")]
        return cls(place, root, *halves)

    @property
    def facts(self) -> list[z3.BoolRef]:
        left, step, unit = self.left, self.step, BASE**self.place
        facts = [
            z3.And(left.high >= 0, left.high <= HIGHEST),
            z3.And(left.low >= CARRIED[0] * UNIT, left.low < CARRIED[1] * UNIT),
            total(left) >= 0,
            total(left) < total(step) + BASE * unit * self.root + MORE,
            z3.And(step.high >= 0, step.low >= 0, step.low < self.most_of_low),
            total(step) < self.most_of_step,
        ]
        if not self.root or self.place < DIGITS - 1:
            return [*facts, total(step) >= 2**55]
        # The first digit of a root.
        return [*facts, total(step) == 0, step.high == 0, total(left) >= 2**54]

    @property
    def most_of_step(self) -> int:
        """Of a divisor, or of twice digits of which each is 16 at most."""
        said = range(self.place + 1, DIGITS)
        return 1 + sum(2 * BASE * BASE**n for n in said) if self.root else 2 ** (TOP + 1)

    @property
    def most_of_low(self) -> int:
        said = range(self.place + 1, DIGITS)
        low = sum(2 * BASE * BASE**n for n in said if BASE**n < UNIT)
        return 1 + low if self.root else UNIT

    def chosen(self, digit: int) -> list[z3.BoolRef]:
        """That this digit is said: of the numbers of which it is how many are not negative, each
        is below the one before.
        """
        numbers = quotients.chances(self.root, self.left, self.step, BASE**self.place)  # type: ignore[arg-type]
        said = [numbers[digit - 1] >= 0] if digit else []
        return [*said, numbers[digit] < 0] if digit < BASE else said

    def behind(self, digit: int) -> Round:
        unit, known = BASE**self.place, Digit(digit)
        of_root = digit * self.root
        left = quotients.behind(carried(self.left), self.step.plus(unit, of_root), known)  # type: ignore[arg-type]
        return Round(self.place - 1, self.root, left, self.step.plus(2 * unit, of_root))  # type: ignore[arg-type]


def prove_whole(claim: z3.BoolRef, *assumed: z3.BoolRef) -> None:
    """Of whole numbers."""
    solver = z3.Solver()
    solver.add(*assumed, z3.Not(claim))
    answer = solver.check()
    if answer == z3.sat:
        raise RefutedError(solver.model())
    assert answer == z3.unsat, solver.reason_unknown()


@pytest.fixture
def _copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotients, "copied", lambda number, least: number)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("_copies")
def test_a_digit(place: int, root: int) -> None:
    """Whichever is said, what it leaves is what it has to be, in the same bounds as before."""
    now, unit = Round.any(place, root), BASE**place
    for digit in range(BASE + 1):
        after = now.behind(digit)
        left = BASE * total(now.left) - digit * total(now.step) - digit * digit * unit * root
        facts = after.facts if place else after_the_last(after)
        claim = z3.And(total(after.left) == left, *facts)
        prove_whole(claim, *now.facts, *now.chosen(digit))


def after_the_last(now: Round) -> list[z3.BoolRef]:
    return [
        z3.And(now.left.high >= 0, now.left.high <= HIGHEST),
        z3.And(now.left.low >= CARRIED[0] * UNIT, now.left.low < CARRIED[1] * UNIT),
        total(now.left) >= 0,
        total(now.left) < 2 * (total(now.step) + now.root),
        z3.And(now.step.high >= 0, now.step.high <= HIGHEST),
        z3.And(now.step.low >= 0, now.step.low + now.root <= LOW_OF_STEP * UNIT),
    ]


@pytest.mark.parametrize("root", ROOTS)
def test_before_the_first_digit(root: int) -> None:
    """The bounds are those of operands that are moved (test_moved)."""
    now = Round.any(DIGITS - 1, root)
    moved = [
        z3.And(now.left.high >= 0, now.left.low >= 0, now.left.low < UNIT),
        z3.And(total(now.left) >= 2 ** (TOP - 1 - root), total(now.left) < 2**TOP),
        z3.And(now.step.high >= 0, now.step.low >= 0, now.step.low < UNIT),
        z3.And(now.step.high == 0, now.step.low == 0)
        if root
        else z3.And(total(now.step) >= 2**TOP, total(now.step) < 2 ** (TOP + 1)),
    ]
    prove_whole(z3.And(now.facts), *moved)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.usefixtures("_copies")
def test_a_wrong_digit_is_refuted(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotients, "SLACK", -1000)
    with pytest.raises(RefutedError):
        test_a_digit(3, root)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("place", PLACES)
def test_digits_are_told_in_order(place: int, root: int) -> None:
    """Of the numbers that are compared each is below the one before; and none of a quotient is
    taken for a root's.
    """
    now = Round.any(place, root)
    numbers = quotients.chances(root, now.left, now.step, BASE**place)  # type: ignore[arg-type]
    for one, other in pairwise(numbers):
        prove_whole(other < one, *now.facts)
    prove_whole(z3.And([one < NEVER for one in numbers]), *now.facts)


def test_carry() -> None:
    """The same number, its low half below 2**24."""
    graph = Terms()
    high = graph.signed("high", 0, HIGHEST)
    low = graph.signed("low", CARRIED[0] * UNIT, CARRIED[1] * UNIT - 1)
    found = quotients.carry(Halves(high, low))  # type: ignore[arg-type]
    kept = whole(found) == whole(Halves(high, low))  # type: ignore[arg-type]
    prove_with_debts(graph, z3.And(kept, z3.ULT(found.low.bits, UNIT)))  # type: ignore[attr-defined]


def test_all_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is said once, at its place; together, and one more where that is told, they are limbs;
    and a root's step is twice what they say.
    """
    graph = Terms()
    digits = [graph.signed(f"digit {place}", 0, BASE) for place in reversed(PLACES)]
    one_more, rest = (graph.given(z3.BitVec(name, 1)) for name in ("one more", "rest"))
    said, units, told = iter(digits), list[Number](), list[Halves]()

    def digit(numbers: object) -> Number:
        """The same for a root's and any."""
        if len(units) % 2 == 0:
            units.append(next(said))
            return units[-1]
        units.append(units[-1])
        return units[-1]

    def chances(root: Number, left: object, step: Halves, unit: int) -> tuple[()]:
        assert left == ("left", len(units) // 2)
        asked.append((step, unit))
        return ()

    def behind(left: object, step: Halves, digit: Number) -> object:
        assert left == ("carried", "left", len(units) // 2 - 1)
        assert digit is units[-1]
        taken.append((step, digit))
        return "left", len(units) // 2

    def telling(left: object, step: Halves) -> tuple[Number, Number]:
        assert left == ("carried", "left", DIGITS)
        told.append(step)
        return one_more, rest

    asked, taken = list[tuple[Halves, int]](), list[tuple[Halves, Number]]()
    monkeypatch.setattr(quotients, "sum_of_steps", digit)
    monkeypatch.setattr(quotients, "chances", chances)
    monkeypatch.setattr(quotients, "carry", lambda left: ("carried", *left))
    monkeypatch.setattr(quotients, "behind", behind)
    monkeypatch.setattr(quotients, "told", telling)
    zero = graph.constant(0)
    nothing = Halves(zero, zero)  # type: ignore[arg-type]
    limbs, has_rest = quotients.divided(graph.constant(1), ("left", 0), nothing)  # type: ignore[arg-type]
    assert has_rest is rest  # type: ignore[comparison-overlap]
    number = sum(
        (
            z3.ZeroExt(LONG - 64, one.bits) << 4 * place
            for one, place in zip(digits, reversed(PLACES), strict=True)
        ),
        z3.BitVecVal(0, LONG),
    )
    assert [unit for _, unit in asked] == [BASE**place for place in reversed(PLACES)]
    claims = [
        *(
            whole(step) == whole(before) + unit * z3.ZeroExt(LONG - 64, one.bits)
            for (step, one), (before, unit) in zip(taken, asked, strict=True)
        ),
        value(limbs) == number + z3.ZeroExt(LONG - 64, one_more.bits),  # type: ignore[arg-type]
        are_limbs(limbs),  # type: ignore[arg-type]
        whole(told[0]) == 2 * number + 1,
    ]
    prove_with_debts(graph, z3.And(claims), z3.ULT(number, 1 << TOP + 1))


# -- behind the last ------------------------------------------------------------------------------


def prove_what_is_told() -> None:
    graph = Terms()
    left = Halves(graph.signed("left high", 0, HIGHEST), graph.signed("left low", 0, UNIT - 1))  # type: ignore[arg-type]
    step = Halves(graph.signed("high", 0, HIGHEST), graph.signed("low", 0, LOW_OF_STEP * UNIT))  # type: ignore[arg-type]
    one_more, rest = quotients.told(left, step)
    beyond = whole(left) - whole(step)
    claims = [
        (one_more.bits == 1) == (beyond >= 0),  # type: ignore[attr-defined]
        (rest.bits == 0) == z3.Or(beyond == 0, whole(left) == 0),  # type: ignore[attr-defined]
        *(z3.Or(one.bits == 0, one.bits == 1) for one in (one_more, rest)),  # type: ignore[attr-defined]
    ]
    prove_with_debts(graph, z3.And(claims))


def test_what_is_told() -> None:
    """One more, if what is left is not less than the step; a rest, exactly."""
    prove_what_is_told()


def test_a_wrong_word_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = quotients.clamp  # type: ignore[attr-defined]
    monkeypatch.setattr(quotients, "clamp", lambda x, low, high: right(x, -1, 1))
    with pytest.raises(RefutedError):
        prove_what_is_told()
