"""The graph of the float unit, node by node on arrays, beside NumPy's own arithmetic.

So it is the graph that is tested, by as many operands as NumPy computes; that the weights compute
the graph is another claim (test_computer.py). NaNs are those that float_words says. The draws are
measured: which distances, places and rounding decisions occur among them is asserted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from curta.machine.float_words import FLOATS
from curta.machine.wasm.floats import F32, F64, Format
from tests.support import float_cases
from tests.support.float_cases import DECISIONS
from tests.support.float_draws import Words, numbers, pairs, powers, singly, special, wide_singles
from tests.support.float_quotient_draws import quotients, roots
from tests.support.float_unit import (
    ARITHMETIC,
    BY_DIGITS,
    FORMATS,
    FloatUnit,
    computed,
    converted,
    halves,
    numbers_of,
    packed,
    sources_of,
)
from tests.support.graph_values import Numbers
from tests.support.slow import draws

COUNT = draws(8000, 800)
"""Of every operation by default."""
BATCH = 16384
SLOW = 64
"""Batches: a million pairs of every operation."""
MEASURED = 40_000
"""Pairs whose cases are counted."""


@cache
def unit() -> FloatUnit:
    return FloatUnit.built("high", "low", "single", "less", "equal")


def batches(count: int | None) -> Iterator[tuple[int, np.random.Generator]]:
    """Their sizes: one of the default suite, or all."""
    if count is not None:
        yield count, np.random.default_rng(20261124)
        return
    for seed in range(SLOW):
        yield BATCH, np.random.default_rng((20261125, seed))


def assert_same(found: Words, intended: Words, *operands: Words | Numbers) -> None:
    wrong = np.flatnonzero(found != intended)
    if wrong.size:
        at = int(wrong[0])
        shown = ", ".join(hex(int(column[at])) for column in operands)
        found_bits, bits = hex(int(found[at])), hex(int(intended[at]))
        pytest.fail(f"{wrong.size} wrong; of {shown}: {found_bits}, not {bits}")


ALL = [pytest.param(COUNT, id="some"), pytest.param(None, id="many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", ALL)
@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("of", FORMATS)
def test_arithmetic(of: str, name: str, count: int | None) -> None:
    form, (kind, compute) = FORMATS[of], ARITHMETIC[name]
    for size, rng in batches(count):
        x, y = pairs(form, size, rng)
        sources = sources_of(form, x, y, rng)
        if form is F64:
            found = unit().double(sources, kind)
        else:
            found = unit().single(sources, kind, "of_singles")
        assert_same(found, computed(form, compute, x, y), x, y)


@pytest.mark.parametrize("count", ALL)
@pytest.mark.parametrize("of", FORMATS)
def test_comparisons(of: str, count: int | None) -> None:
    form = FORMATS[of]
    for size, rng in batches(count):
        x, y = pairs(form, size, rng)
        a, b = numbers_of(form, x), numbers_of(form, y)
        found = unit().of(sources_of(form, x, y, rng), *["of_singles"] * (form is F32))
        assert_same(found["less"].astype(np.uint64), (a < b).astype(np.uint64), x, y)
        assert_same(found["equal"].astype(np.uint64), (a == b).astype(np.uint64), x, y)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no floats of 64 bits precision")
@pytest.mark.parametrize("count", ALL)
@pytest.mark.parametrize("of", FORMATS)
def test_pack(of: str, count: int | None) -> None:
    form = FORMATS[of]
    for size, rng in batches(count):
        number, power, sign = numbers(size, rng), powers(size, rng), rng.integers(0, 2**32, size)
        high, low = halves(number)
        sources = [high, power % 2**32, low, sign]
        found = (unit().double if form is F64 else unit().single)(sources, "packs")
        assert_same(found, packed(form, number, power, sign), number, power, sign)


@pytest.mark.parametrize("count", ALL)
def test_demote(count: int | None) -> None:
    for size, rng in batches(count):
        others = np.where(rng.integers(0, 2, size) == 0, *special(F64, size, rng))
        x = np.where(rng.integers(0, 4, size) == 0, others, wide_singles(size, rng))
        found = unit().single(sources_of(F64, x, x, rng), "converts")
        assert_same(found, converted(F64, F32, x), x)


@pytest.mark.parametrize("count", ALL)
def test_promote(count: int | None) -> None:
    for size, rng in batches(count):
        others = np.where(rng.integers(0, 2, size) == 0, *special(F32, size, rng))
        x = np.where(rng.integers(0, 2, size) == 0, others, singly(F32, size, rng))
        found = unit().double(sources_of(F32, x, x, rng), "converts", "of_singles")
        assert_same(found, converted(F32, F64, x), x)


def quotient_operands(
    of: str, name: str, size: int, rng: np.random.Generator
) -> tuple[Words, Words, list[Numbers], list[str]]:
    """A root's operand is there twice; and the sources and kinds of the instruction."""
    form = FORMATS[of]
    x, y = quotients(form, size, rng)
    if name == "sqrt":
        x = y = roots(form, size, rng)
    return x, y, sources_of(form, x, y, rng), [BY_DIGITS[name][0], *["of_singles"] * (form is F32)]


@pytest.mark.parametrize("count", ALL)
@pytest.mark.parametrize("name", BY_DIGITS)
@pytest.mark.parametrize("of", FORMATS)
def test_quotients_and_roots(of: str, name: str, count: int | None) -> None:
    for size, rng in batches(count):
        x, y, sources, kinds = quotient_operands(of, name, size, rng)
        found = (unit().double if of == "f64" else unit().single)(sources, *kinds)
        assert_same(found, computed(FORMATS[of], BY_DIGITS[name][1], x, y), x, y)


def test_a_wrong_result_is_seen() -> None:
    rng = np.random.default_rng(1)
    x, y = pairs(F64, 500, rng)
    found = unit().double(sources_of(F64, x, y, rng), "subtracts")
    with pytest.raises(pytest.fail.Exception, match="wrong; of 0x"):
        assert_same(found, computed(F64, np.add, x, y), x, y)


# -- NumPy beside the meaning of the operations ---------------------------------------------------


@pytest.mark.parametrize("name", [*ARITHMETIC, *BY_DIGITS])
@pytest.mark.parametrize("of", FORMATS)
def test_meaning_of_arithmetic(of: str, name: str) -> None:
    rng, form = np.random.default_rng(2), FORMATS[of]
    if name in ARITHMETIC:
        (x, y), compute = pairs(form, 3000, rng), ARITHMETIC[name][1]
    else:
        (x, y, *_), compute = quotient_operands(of, name, 3000, rng), BY_DIGITS[name][1]
    intended = computed(form, compute, x, y).tolist()
    for one, other, bits in zip(x.tolist(), y.tolist(), intended, strict=True):
        assert meant(of, name, one, other) == bits


def meant(of: str, name: str, one: int, other: int) -> int:
    """An operation of two floats, by its meaning."""
    if of == "f32":
        return FLOATS[f"f32_{name}"][1](one, other, 7)
    words = one >> 32, other >> 32, one % 2**32, other % 2**32
    if f"f64_{name}" in FLOATS:
        return FLOATS[f"f64_{name}"][1](*words)
    high, low = (FLOATS[f"f64_{name}_{half}"][1](*words) for half in ("high", "low"))
    return high << 32 | low


@pytest.mark.parametrize("of", FORMATS)
def test_meaning_of_comparisons(of: str) -> None:
    x, y = pairs(FORMATS[of], 3000, np.random.default_rng(3))
    a, b = numbers_of(FORMATS[of], x), numbers_of(FORMATS[of], y)
    for name, truths in {"lt": a < b, "le": a <= b, "eq": a == b}.items():
        for one, other, truth in zip(x.tolist(), y.tolist(), truths.tolist(), strict=True):
            assert meant(of, name, one, other) == truth


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no floats of 64 bits precision")
def test_meaning_of_pack_and_conversions() -> None:
    rng = np.random.default_rng(4)
    number, power, sign = numbers(3000, rng), powers(3000, rng), rng.integers(0, 2**32, 3000)
    double, single = (packed(form, number, power, sign).tolist() for form in (F64, F32))
    narrow = converted(F64, F32, number).tolist()
    wide = converted(F32, F64, number & np.uint64(2**32 - 1)).tolist()
    columns = [column.tolist() for column in (number, power % 2**32, sign)]
    for n, (whole, exponent, last) in enumerate(zip(*columns, strict=True)):
        high, low = whole >> 32, whole % 2**32
        words = FLOATS["f64_pack_high"][1], FLOATS["f64_pack_low"][1]
        parts = [word(high, exponent, low, last) for word in words]
        assert parts[0] << 32 | parts[1] == double[n]
        assert FLOATS["f32_pack"][1](high, exponent, low, last) == single[n]
        assert FLOATS["f32_demote"][1](high, high, low, low) == narrow[n]
        parts = [FLOATS[f"f64_promote_{half}"][1](low, low, 0) for half in ("high", "low")]
        assert parts[0] << 32 | parts[1] == wide[n]


# -- what the draws cover -------------------------------------------------------------------------


def drawn_pairs(form: Format) -> tuple[list[int], list[int]]:
    x, y = pairs(form, MEASURED, np.random.default_rng(5))
    return x.tolist(), y.tolist()


def assert_covers(found: set[float_cases.Case], wanted: set[float_cases.Case]) -> None:
    assert not wanted - found, sorted(wanted - found, key=str)


@pytest.mark.parametrize("of", FORMATS)
def test_sums_that_are_drawn(of: str) -> None:
    """Each distance; cancellation to each place; each way of rounding, also at both ends."""
    form = FORMATS[of]
    found = set(float_cases.of_sums(form, *drawn_pairs(form)))
    both = (True, False)
    wanted: set[float_cases.Case] = set()
    for same in both:
        wanted |= {("distance", same, n) for n in range(form.precision + 4)}
        limbs = range(form.precision // 24 + 1)
        wanted |= {("limbs", same, larger, n) for larger in both for n in limbs}
        wanted |= {("rounded", same, decision, "normal") for decision in DECISIONS}
        wanted |= {("rounded", same, "exact", "subnormal")}
    wanted |= {("moved", False, -n) for n in range(form.precision)}
    wanted |= {("moved", True, n) for n in (0, 1)}
    wanted |= {("zero", True, True), ("zero", True, False), ("zero", False, False)}
    for decision in ("tie to even above", "above half"):
        wanted |= {("rounded", True, decision, end) for end in ("too large", _CARRIED)}
        wanted |= {("rounded", False, decision, _CARRIED)}
    assert_covers(found, wanted)


_CARRIED = "carried to the next power"


@pytest.mark.parametrize("of", FORMATS)
def test_products_that_are_drawn(of: str) -> None:
    """Each length of product; subnormal results with each number of bits, and each way of rounding
    these; too large by rounding alone."""
    form = FORMATS[of]
    found = set(float_cases.of_products(form, *drawn_pairs(form)))
    wanted: set[float_cases.Case] = {("zero", True), ("zero", False)}
    for decision in DECISIONS:
        wanted |= {("rounded", decision, end) for end in ("normal", "subnormal", "too large")}
    wanted |= {("rounded", decision, "zero") for decision in DECISIONS[1:3]}
    wanted |= {("rounded", decision, _CARRIED) for decision in DECISIONS[3:]}
    wanted |= {("subnormal operands", n) for n in range(3)}
    wanted |= {("length", n) for n in range(form.precision, 2 * form.precision + 1)}
    wanted |= {("lost", n) for n in range(1, form.precision)}
    assert_covers(found, wanted)


@pytest.mark.parametrize("of", FORMATS)
@pytest.mark.slow
def test_quotients_that_are_drawn(of: str) -> None:
    """Each way of rounding; next to the middle on both sides, at both ends too; subnormal results
    with each number of bits. A quotient that is no subnormal number is never halfway."""
    form, rng = FORMATS[of], np.random.default_rng(8)
    drawn = quotients(form, MEASURED, rng)
    found = set(float_cases.of_quotients(form, *(column.tolist() for column in drawn)))
    wanted: set[float_cases.Case] = {("rounded", one, "subnormal") for one in DECISIONS}
    for end in ("normal", "too large"):
        wanted |= {("rounded", DECISIONS[n], end) for n in (0, 1, 4)}
    wanted |= {("rounded", one, "zero") for one in DECISIONS[1:3]}
    for end in ("normal", "subnormal", "too large"):
        wanted |= {("next to the middle", above, end) for above in (True, False)}
    wanted |= {("next to a power", side) for side in ("above", "below")}
    wanted |= {("subnormal operands", n) for n in range(4)}
    wanted |= {("lost", n) for n in range(1, form.precision + 1)}
    assert_covers(found, wanted)
    assert not {("rounded", one, "normal") for one in DECISIONS[2:4]} & found


@pytest.mark.parametrize("of", FORMATS)
@pytest.mark.slow
def test_roots_that_are_drawn(of: str) -> None:
    form, rng = FORMATS[of], np.random.default_rng(9)
    found = set(float_cases.of_roots(form, roots(form, MEASURED, rng).tolist()))
    wanted: set[float_cases.Case] = {("rounded", DECISIONS[n], "normal") for n in (0, 1, 4)}
    wanted |= {("next to the middle", above, "normal") for above in (True, False)}
    wanted |= {("next to a power", side) for side in ("above", "below")}
    wanted |= {("subnormal operands", some) for some in (True, False)}
    wanted |= {("odd exponent", odd) for odd in range(2)}
    assert_covers(found, wanted)


@pytest.mark.parametrize("of", FORMATS)
def test_packed_numbers_that_are_drawn(of: str) -> None:
    """Each length, normal, subnormal and too large; each power, and each way of rounding."""
    form, rng = FORMATS[of], np.random.default_rng(6)
    drawn = numbers(MEASURED, rng), powers(MEASURED, rng)
    found = set(float_cases.of_packs(form, *(column.tolist() for column in drawn)))
    wanted: set[float_cases.Case] = set()
    for decision in DECISIONS:
        wanted |= {("rounded", decision, end) for end in ("normal", "subnormal")}
    wanted |= {("rounded", decision, _CARRIED) for decision in DECISIONS[3:]}
    for end in ("normal", "subnormal", "too large"):
        wanted |= {("length", n, end) for n in range(1, 65)}
    powers_seen = {case[1] for case in found if case[0] == "power"}
    assert len(powers_seen & set(range(-70, 2110))) > 2000
    assert_covers(found, wanted)
