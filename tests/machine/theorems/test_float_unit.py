"""The parts of the float unit (parts/floats.py), each for all numbers; float_terms.py says how.

An operation on finite numbers is: unpack both (`unpacked`), add, multiply or take the number as it
is (`total`, `times`, `itself`, `given`: each gives limbs, an exponent and whether bits are left
out), look for the highest bit and round (`highest_bit`, `rounded`). What these parts give is an
equation between whole numbers, proved in cases: of sums each distance of the exponents, of rounding
each place of the highest bit, and each exponent below the smallest. Products of limbs are unknowns.
Comparisons, and results of infinities and NaNs, are compared with z3's theory of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("z3")
import z3

from curta.machine.parts import floats
from curta.machine.parts.float_operands import Magnitude
from curta.machine.parts.limbs import LIMB, highest_bit
from tests.machine.theorems.float_terms import (
    LONG,
    MEANINGS,
    WIDTH,
    Bits,
    Terms,
    are_limbs,
    as_bits,
    joined,
    kind,
    long,
    of_bits,
    operand,
    operands,
    prove_with_debts,
    sources_of,
    use_meanings,
    value,
    word,
    word_of,
)
from tests.machine.theorems.proving import RefutedError, prove
from tests.machine.theorems.specifications import FORMATS, Format, meaning

LIMBS = floats.LIMBS
FRACTION = {"f64": 52, "f32": 23}


@pytest.fixture(autouse=True)
def _meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_meanings(monkeypatch)


# -- operands, comparisons, what is not finite ----------------------------------------------------


@pytest.mark.parametrize("of", FORMATS)
def test_operand(of: str) -> None:
    form = FORMATS[of]
    graph, words, (pattern, _) = operands(of)
    single = graph.constant(int(of == "f32"))
    found = floats.unpacked(single, word_of(graph, words[0]), word_of(graph, words[2]))
    fields = z3.Extract(form.width - 2, form.fraction, pattern)
    normal = fields != 0
    significand = z3.Concat(as_bits(normal, 1), z3.Extract(form.fraction - 1, 0, pattern))
    exponent = z3.ZeroExt(WIDTH - form.exponent, fields) + as_bits(z3.Not(normal), WIDTH)
    up = LIMB if of == "f32" else 0
    special = form.has_top_exponent(pattern)
    claims = [
        found.sign.bits
        == z3.ZeroExt(WIDTH - 1, z3.Extract(form.width - 1, form.width - 1, pattern)),
        found.infinite.bits == as_bits(special, WIDTH),
        found.is_nan.bits == as_bits(form.is_nan(pattern), WIDTH),
        z3.Or(special, value(found.limbs) == long(significand) << up),
        z3.Or(special, are_limbs(found.limbs)),
        # significand * 2**(exponent - bias - fraction), as with the exponent of the unit
        z3.Or(special, found.odd_exponent.bits == found.exponent.bits & 1),
        z3.Or(special, found.exponent.bits == exponent + (1075 - up - FRACTION[of] - bias(of))),
    ]
    # The payload is asked for where the operand is no number.
    graph.debts = [z3.Or(z3.Not(form.is_nan(pattern)), debt) for debt in graph.debts]
    prove_with_debts(graph, z3.And(claims))


def bias(of: str) -> int:
    return (1 << FORMATS[of].exponent - 1) - 1


@pytest.mark.parametrize("name", ["lt", "le", "eq"])
@pytest.mark.parametrize("of", FORMATS)
def test_comparison(of: str, name: str) -> None:
    graph, words, (x, y) = operands(of)
    single = graph.constant(int(of == "f32"))
    a, b = (
        floats.unpacked(single, word_of(graph, words[n]), word_of(graph, words[n + 2]))
        for n in range(2)
    )
    found = floats.compared(a, b, floats.ordered(a, b))
    result = {"lt": found["less"], "eq": found["equal"], "le": found["less"] + found["equal"]}
    graph.debts = []  # of payloads
    claim = z3.Extract(31, 0, result[name].bits) == meaning(f"{of}.{name}", x, y).result
    prove_with_debts(graph, claim)


OPERATIONS = {
    "add": "adds",
    "sub": "subtracts",
    "mul": "multiplies",
    "div": "divides",
    "sqrt": "takes_root",
    "demote_f64": "converts",
    "promote_f32": "converts",
}
OF_ONE = ("sqrt", "demote_f64", "promote_f32")
"""Their operand is there twice."""


def strange_words_alone(monkeypatch: pytest.MonkeyPatch, graph: Terms, given: list[Bits]) -> None:
    """With what `rounded` gives whatever it is."""
    replaced = {
        "total": lambda *_: (None, graph.constant(0)),
        "merged": lambda _: (None, None),
        "rounded": lambda *_: [graph.given(one) for one in given],
        **dict.fromkeys(("times", "quotient_or_root"), lambda *_: None),
    }
    for name, by in replaced.items():
        monkeypatch.setattr(floats, name, by)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("of", FORMATS)
def test_what_is_not_finite(of: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of operands one of which is infinite or no number; of quotients and roots, zero or negative
    ones too. Others have what `rounded` gives."""
    if name in ("demote_f64", "promote_f32") and (of == "f32") != (name == "demote_f64"):
        pytest.skip("of is what an operation gives")
    takes = {"demote_f64": "f64", "promote_f32": "f32"}.get(name, of)
    graph, words, (x, y) = operands(takes)
    given = [z3.BitVec(f"rounded{n}", 32) for n in range(3)]
    strange_words_alone(monkeypatch, graph, given)
    if name in OF_ONE:
        words, y = [words[0], words[0], words[2], words[2]], x
    names = [OPERATIONS[name], *["of_singles"] * (takes == "f32")]
    found = floats.floats(kind(graph, *names), sources_of(graph, *words))  # type: ignore[arg-type]
    form = FORMATS[takes]
    special = is_special(takes, name, x, y)
    other = given[2] if of == "f32" else z3.Concat(given[0], given[1])
    result = word(found.single) if of == "f32" else joined(found.high, found.low)
    intended = meaning(f"{of}.{name}", *((x,) if name in OF_ONE else (x, y))).result
    graph.debts = [z3.Or(z3.Not(special), debt) for debt in graph.debts]
    nans = z3.Or(form.is_nan(x), form.is_nan(y))
    graph.debts = [z3.Or(z3.Not(nans), debt) for debt in graph.debts[:-2]] + graph.debts[-2:]
    by_digits = name in ("div", "sqrt")
    prove_with_debts(graph, z3.Or(special, result == other))
    same = z3.Implies(special, result == intended)
    if by_digits:
        prove_by_cases(same, form, words, x, y)
    else:
        prove(same)


def is_special(of: str, name: str, x: Bits, y: Bits) -> z3.BoolRef:
    form = FORMATS[of]
    cases = [form.has_top_exponent(x), form.has_top_exponent(y)]
    if name in ("div", "sqrt"):
        cases += [x << 1 == 0, y << 1 == 0]
    if name == "sqrt":
        cases.append(x < 0)
    return z3.Or(cases)


def prove_by_cases(claim: z3.BoolRef, form: Format, words: list[Bits], x: Bits, y: Bits) -> None:
    """Of quotients and roots: operands that are no numbers, whatever the quotient of such is; each
    zero and infinity beside all others; and negative ones."""
    number = next(one for one in parts_of(claim) if one.decl().name() in ("fp.div", "fp.sqrt"))
    prove(z3.substitute(claim, (number, z3.FP("any", form.sort))), either_is(form.is_nan, x, y))
    for operand_words in (words[::2], words[1::2]):
        for pattern in (0, form.infinity):
            for sign in (0, 1 << form.width - 1):
                known = z3.BitVecVal((pattern | sign) << 64 - form.width, 64)
                pair = z3.Extract(63, 32, known), z3.Extract(31, 0, known)
                # Of floats of 32 bits the low words stay what they are: anything.
                fixed = list(zip(operand_words, map(z3.simplify, pair), strict=True))
                fixed = fixed[: form.width // 32]
                prove(z3.simplify(z3.substitute(claim, *fixed)))
    if number.decl().name() == "fp.sqrt":
        prove(claim, x < 0, z3.Not(form.is_nan(x)), x << 1 != 0)


def either_is(what: Callable[[Bits], z3.BoolRef], x: Bits, y: Bits) -> z3.BoolRef:
    return z3.Or(what(x), what(y))


def parts_of(term: z3.ExprRef) -> Iterator[z3.ExprRef]:
    yield term
    for part in term.children():
        yield from parts_of(part)


def test_what_is_packed() -> None:
    graph, words, _ = operands("f64")
    found = floats.given(sources_of(graph, *words))
    a, b, c, _ = words
    power = z3.SignExt(WIDTH - 32, b)
    cut = z3.If(power > 4096, 4096, z3.If(power < -4096, z3.BitVecVal(-4096, WIDTH), power))
    exact = value(found.limbs) == long(z3.Concat(a, c))
    prove_with_debts(graph, z3.And(exact, are_limbs(found.limbs), found.exponent.bits == cut))


# -- sums and products ----------------------------------------------------------------------------


ALL_LOST, FAR = 72, 95
"""From the first distance on all of the smaller operand counts as left out, though that may be up
to 31 units: the larger one has its last place at bit 24, so that half of a last place of the result
is 2**22 at least, and any number from 0 to 31 is as little. From the other on it is shifted by the
same."""


def prove_sum(distance: int, swapped: bool, subtracts: bool) -> None:
    """The large operand with a limb below it, and the other one cut off there; and whether that
    left anything out, which counts as 1 if it is taken away."""
    graph = Terms()
    large, small = (of_bits(graph, name, LIMB, LIMB, 5) for name in ("large", "small"))
    sign = graph.given(z3.BitVec("sign", 1))
    signs = sign, 1 - sign if subtracts else sign
    opposite = graph.constant(int(subtracts))
    far = graph.signed("distance", FAR, 5000)
    exponents = far if distance == FAR else graph.constant(distance), graph.constant(0)
    x = operand(large, exponents[0], signs[0])
    y = operand(small, exponents[1], signs[1])
    pair = (y, x) if swapped else (x, y)
    found, _ = floats.total(*pair, graph.constant(int(swapped)), opposite, pair[1].sign)
    above, below = value(large) << LIMB, value(small) << LIMB
    shifted = distance if distance < ALL_LOST else LONG
    rest = as_bits((below if shifted == LONG else below & ((1 << distance) - 1)) != 0)
    moved = z3.LShR(below, shifted)
    exact = above - moved - rest if subtracts else above + moved
    claims = [
        value(found.limbs) == exact,
        are_limbs(found.limbs),
        long(found.rest.bits) == rest,
        found.exponent.bits == exponents[0].bits - LIMB,
    ]
    in_order = z3.UGE(value(large) << distance, value(small))
    if distance == FAR:
        in_order = z3.UGE(value(large), 1 << LIMB)
    prove_with_debts(graph, z3.And(claims), in_order)


QUICK_DISTANCES = (0, 1, 25, 53, FAR)


@pytest.mark.parametrize("subtracts", [False, True])
@pytest.mark.parametrize("distance", QUICK_DISTANCES)
def test_sum_quick(distance: int, subtracts: bool) -> None:
    prove_sum(distance, swapped=True, subtracts=subtracts)


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("subtracts", [False, True])
def test_sum(swapped: bool, subtracts: bool) -> None:
    for distance in range(FAR + 1):
        prove_sum(distance, swapped, subtracts)


def test_sign_of_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the larger operand; +0 where nothing is left of numbers of opposite signs."""
    graph = Terms()
    limbs = of_bits(graph, "limb", *[LIMB] * LIMBS)
    lost, *signs = (graph.given(z3.BitVec(name, 1)) for name in ("lost", "sign0", "sign1"))
    zero = graph.constant(0)
    monkeypatch.setattr(floats, "moved_right", lambda *_: ([zero] * 4, lost))
    monkeypatch.setattr(floats, "carried", lambda *_, **__: limbs)
    x, y = (operand((zero, zero, zero), zero, sign) for sign in signs)
    for swapped in range(2):
        opposite = MEANINGS["differ"](*signs)
        _, result = floats.total(x, y, graph.constant(swapped), opposite, y.sign)
        nothing = z3.And(value(limbs) == 0, lost.bits == 0, opposite.bits == 1)
        prove_with_debts(graph, result.bits == z3.If(nothing, 0, signs[swapped].bits))


@pytest.mark.slow
def test_bits_are_left_out_of_sums_far_above_the_last_place() -> None:
    """So that `rounded` may take them for a little more: the sum is 2**48 or more in units of the
    lowest limb, of floats of 32 bits 2**70, and the last place that is kept is above it."""
    for distance, fraction in ((25, 52), (25, 47)):
        large, small = (z3.BitVec(name, LONG) for name in ("large", "small"))
        normal = z3.And(z3.UGE(large, 1 << fraction), z3.ULT(small, 1 << fraction + 1))
        exact = (large << LIMB) - z3.LShR(small << LIMB, distance) - 1
        assumed = normal, z3.ULT(large, 1 << fraction + 1)
        prove(z3.UGE(exact, 1 << fraction + LIMB - 1), *assumed)


@pytest.mark.slow
def test_product() -> None:
    """With the products of limbs whatever they are, the limbs are those of their sum."""
    graph = Terms()
    x, y = (of_bits(graph, name, LIMB, LIMB, 5) for name in "xy")
    sign = graph.constant(0)
    powers = [graph.signed(f"power {name}", -3000, 3000) for name in "xy"]
    found = floats.times(operand(x, powers[0], sign), operand(y, powers[1], sign))
    assert len(graph.products) == 9
    total: Bits = z3.BitVecVal(0, LONG)
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            total += long(graph.product(one, other).bits) << LIMB * (i + j)
    assert len(graph.products) == 9, "the same nine products"
    exponent = powers[0].bits + powers[1].bits - 1075
    same = z3.And(value(found.limbs) == total, found.exponent.bits == exponent)
    prove_with_debts(graph, z3.And(same, are_limbs(found.limbs)))


# -- rounding -------------------------------------------------------------------------------------


def test_highest_bit() -> None:
    graph = Terms()
    limbs = of_bits(graph, "limb", *[LIMB] * LIMBS)
    highest, some = highest_bit(limbs)
    whole = value(limbs)
    places = [
        z3.Implies(z3.LShR(whole, n) == 1, z3.And(some.bits == 1, highest.bits == n))
        for n in range(LIMB * LIMBS)
    ]
    zero = z3.Implies(whole == 0, z3.And(some.bits == 0, highest.bits == -1))
    prove_with_debts(graph, z3.And(*places, zero))


def prove_rounding(of: str, place: int, exponent: int | None, monkeypatch: object) -> None:
    """The highest bit at `place`, the exponent such that the result is normal, or too large. Or an
    exponent so small that the hidden bit is at `place`, and the highest one is below; a place of
    FARTHEST + 1 stands for all beyond.
    """
    graph, single = Terms(), int(of == "f32")
    least = 53 + floats.LOWER * single
    limbs = of_bits(graph, "limb", *[LIMB] * LIMBS)
    rest, sign = (graph.given(z3.BitVec(name, 1)) for name in ("rest", "sign"))
    whole = value(limbs)
    if exponent is None:
        power = graph.signed("power", least - place, 6000)
        highest, some = graph.constant(place), graph.constant(1)
        case = z3.LShR(whole, place) == 1
    else:
        power = graph.constant(exponent)
        if place > floats.FARTHEST:
            power = graph.signed("power", -6000, exponent)
        highest = graph.signed("highest", -1, min(place - 1, LIMB * LIMBS - 1))
        some = graph.truth(whole != 0)
        case = z3.LShR(whole, place) == 0
    monkeypatch.setattr(floats, "highest_bit", lambda _: (highest, some))  # type: ignore[attr-defined]
    number = Magnitude(limbs, power, rest)  # type: ignore[arg-type]
    high, low, one = floats.rounded(number, sign, graph.constant(single))  # type: ignore[arg-type]
    fraction = FRACTION[of]
    below = place - fraction
    if below > 0:
        kept, lost = z3.LShR(whole, below), whole & ((1 << below) - 1)
        half, odd = 1 << below - 1, z3.Extract(0, 0, kept) == 1
        more = z3.Or(z3.UGT(lost, half), z3.And(lost == half, z3.Or(rest.bits == 1, odd)))
        kept += as_bits(more)
    else:
        kept = whole << -below
    steps = power.bits + (place - least) if exponent is None else z3.BitVecVal(0, WIDTH)
    packed = (long(steps) << fraction) + kept
    infinity = ((1 << FORMATS[of].exponent) - 1) << fraction
    size = z3.If(z3.UGE(packed, infinity), z3.BitVecVal(infinity, LONG), packed)
    result = word(one) if single else joined(high, low)
    pattern = z3.Concat(z3.Extract(0, 0, sign.bits), z3.Extract(FORMATS[of].width - 2, 0, size))
    told = [rest.bits == 0] if below < 1 else []
    prove_with_debts(graph, result == pattern, case, *told)


def places_and_exponents(of: str) -> Iterator[tuple[int, int | None]]:
    """All: a normal number's highest bit is that of a limb, a subnormal one's hidden bit higher, as
    far as `rounded` looks at where it is."""
    least = 53 + floats.LOWER * (of == "f32")
    yield from ((place, None) for place in range(LIMB * LIMBS))
    yield from ((place, least - place) for place in range(floats.FARTHEST + 2))


@pytest.mark.parametrize("of", FORMATS)
@pytest.mark.parametrize("place", [0, 30, 76, 119])
def test_rounding_quick(of: str, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    least = 53 + floats.LOWER * (of == "f32")
    prove_rounding(of, place, None, monkeypatch)
    prove_rounding(of, place, least - place, monkeypatch)
    prove_rounding(of, floats.FARTHEST + 1, least - floats.FARTHEST - 1, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("of", FORMATS)
@pytest.mark.parametrize("part", range(4))
def test_rounding(of: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, exponent in list(places_and_exponents(of))[part::4]:
        prove_rounding(of, place, exponent, monkeypatch)


def test_wrong_rounding_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    right = floats.at_least
    monkeypatch.setattr(floats, "at_least", lambda x, n: right(x, n - 1 if n == 2**16 + 1 else n))
    with pytest.raises(RefutedError):
        prove_rounding("f64", 76, None, monkeypatch)
