"""Sums and differences of floats, for all operands.

f32.sub and f64.sub are the sum with the opposite (of numbers). The sum, in these cases; the first
operand has the higher exponent, of floats also the second:

- exponents further apart than `fraction + 2`, an infinity or a NaN: beside z3's theory, at once
- for each smaller distance, the signs equal or not: beside `rounded_sum`
- where a difference may cancel (distance 0 or 1): for each place of its leading bit as well

`rounded_sum` itself is proved for small formats beside z3's theory.
"""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3
from float_sums import distance_is, exact_sum, leads_at, parts, rounded_at, rounded_sum
from library import arithmetic, claim_of, operand_words, prove_function
from proving import prove
from settled import CaseExecutor, Settled
from specifications import F32, F64, FORMATS, NEAREST, Format, Meaning
from webassembly import Executor

SMALL = (Format(2, 3), Format(3, 3), Format(4, 4), Format(5, 6))


def farthest(form: Format) -> int:
    """From the next distance on, the smaller operand is nothing beside the larger."""
    return form.fraction + 2


@pytest.mark.slow
@pytest.mark.parametrize("form", SMALL, ids=str)
def test_rounded_sum_is_the_sum_of_the_theory(form: Format) -> None:
    larger, smaller = z3.BitVecs("larger smaller", form.width)
    numbers = form.number(larger), form.number(smaller)
    intended = form.bits(z3.fpAdd(NEAREST, *numbers))
    for distance in range((1 << form.exponent) - 2):
        assumed = distance_is(form, larger, smaller, distance)
        prove(rounded_sum(form, larger, smaller, distance) == intended, *assumed)


def sign_of(form: Format, bits: z3.BitVecRef) -> z3.BitVecRef:
    return z3.Extract(form.width - 1, form.width - 1, bits)


def prove_near(form: Format, distance: int, same: bool, **case: object) -> None:
    """One distance; `place` is where the sum's leading bit is, `normal` whether both are."""
    kind = next(kind for kind, one in FORMATS.items() if one == form)
    arguments, (a, b) = operand_words((kind, kind))
    signs = sign_of(form, a), sign_of(form, b)
    assumed = distance_is(form, a, b, distance)
    assumed.append(signs[0] == signs[1] if same else signs[0] != signs[1])
    if "place" in case:
        total = exact_sum(form, a, b, distance)
        assumed.append(leads_at(total, case["place"]))
        intended = rounded_at(form, total, case["place"])
    elif case.get("normal"):
        leading = z3.Extract(form.fraction, form.fraction, parts(form, b).significand)
        assumed.append(leading == 1)
        top = form.fraction + distance
        places = (top, top + 1) if same else (top - 1, top)
        intended = rounded_sum(form, a, b, distance, places)
    else:
        leading = z3.Extract(form.fraction, form.fraction, parts(form, b).significand)
        assumed.append(leading == 0)
        intended = rounded_sum(form, a, b, distance)
    if case.get("swapped"):
        half = len(arguments) // 2
        arguments = arguments[half:] + arguments[:half]
    executor = CaseExecutor(arithmetic(), Settled(*assumed))
    results = executor.run(f"{kind}.add", arguments)
    prove(claim_of(executor, results, Meaning(intended)), *assumed)


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False], ids=["same", "opposite"])
def test_sum_of_near_numbers_swapped(same: bool) -> None:
    """The other order, of floats; of doubles it takes too long (docs/proofs.md)."""
    for distance in range(1 if same else 2, farthest(F32) + 1):
        prove_near(F32, distance, same, normal=True, swapped=True)
        prove_near(F32, distance, same, normal=False, swapped=True)


@pytest.mark.slow
def test_difference_that_may_cancel_swapped() -> None:
    for distance in (0, 1):
        for place in range(F32.fraction + distance + 1):
            prove_near(F32, distance, same=False, place=place, swapped=True)


@pytest.mark.slow
@pytest.mark.parametrize("form", [F32, F64], ids=str)
@pytest.mark.parametrize("same", [True, False], ids=["same", "opposite"])
@pytest.mark.parametrize("part", range(6))
def test_sum_of_near_numbers(form: Format, same: bool, part: int) -> None:
    first = 0 if same else 2
    for distance in range(first + part, farthest(form) + 1, 6):
        prove_near(form, distance, same, normal=True)
        prove_near(form, distance, same, normal=False)


@pytest.mark.slow
@pytest.mark.parametrize("form", [F32, F64], ids=str)
@pytest.mark.parametrize("distance", [0, 1])
@pytest.mark.parametrize("part", range(3))
def test_difference_that_may_cancel(form: Format, distance: int, part: int) -> None:
    for place in range(part, form.fraction + distance + 1, 3):
        prove_near(form, distance, same=False, place=place)
    if part == 0:
        prove_near_zero(form)


def prove_near_zero(form: Format) -> None:
    """x - x is +0."""
    kind = next(kind for kind, one in FORMATS.items() if one == form)
    arguments, (a, b) = operand_words((kind, kind))
    sign = 1 << form.width - 1
    assumed = [a == b ^ sign, z3.Not(form.has_top_exponent(a))]
    executor = Executor(arithmetic())
    results = executor.run(f"{kind}.add", arguments)
    zero = z3.BitVecVal(0, form.width)
    prove(claim_of(executor, results, Meaning(zero)), *assumed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_sum_with_what_is_far_or_not_finite(kind: str) -> None:
    form = FORMATS[kind]
    _, (a, b) = operand_words((kind, kind))
    x, y = (z3.ZeroExt(2, parts(form, bits).exponent) for bits in (a, b))
    top = (1 << form.exponent) - 1
    prove_function(f"{kind}.add", (kind, kind), z3.Or(x == top, y == top))
    far = farthest(form)
    prove_function(f"{kind}.add", (kind, kind), x != top, x - y > far)
    prove_function(f"{kind}.add", (kind, kind), y != top, y - x > far)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_difference_is_the_sum_with_the_opposite(kind: str) -> None:
    """Where the second operand is no NaN; what comes of a NaN is proved beside the theory."""
    form = FORMATS[kind]
    arguments, (_, b) = operand_words((kind, kind))
    difference = Executor(arithmetic()).run(f"{kind}.sub", arguments)
    opposite = [*arguments[:-1], arguments[-1] ^ (1 << 31)]
    total = Executor(arithmetic()).run(f"{kind}.add", opposite)
    same = z3.And([x == y for x, y in zip(difference, total, strict=True)])
    prove(same, z3.Not(form.is_nan(b)))
    prove_function(f"{kind}.sub", (kind, kind), form.is_nan(b))
