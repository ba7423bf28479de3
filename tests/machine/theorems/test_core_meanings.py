"""What each core operation means (instructions.VALUES, Python's integers) is the intended word.

The intended meanings are `words.Exact`, in z3's own terms of 32 bits; where WebAssembly has an i32
instruction of the same name, they are that instruction: the prover of library functions executes
i32 code with the same table. Each claim is proved for all three sources.
"""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3

from curta.machine.float_words import FLOATS
from curta.machine.instructions import COMPARISONS, VALUES
from curta.machine.reference import CoreMachine
from tests.machine.theorems.proving import RefutedError, prove
from tests.machine.theorems.symbolic_python import Number, cases_of, widened
from tests.machine.theorems.words import Exact

INTEGERS = [name for name in VALUES if name not in FLOATS]
"""What operations on floats mean, test_float_unit and test_float_graph compare with others."""
WIDE = ("mul", "mul_high")
"""Whose claim is one about products of 64 bits: the same product on both sides, in other words."""


def prove_meaning(name: str) -> None:
    a, b, c = z3.BitVecs("a b c", 32)
    intended = Exact().value(name, a, b, c)
    cases = cases_of(VALUES[name], a, b, c)
    for case in cases:
        assert isinstance(case.result, Number)
        bits = case.result.bits
        width = max(bits.size(), 34)
        prove(widened(bits, width) == z3.ZeroExt(width - 32, intended), case.when)
    prove(z3.Or([case.when for case in cases]))


@pytest.mark.parametrize("name", [name for name in INTEGERS if name not in WIDE])
def test_meaning_of_a_value(name: str) -> None:
    prove_meaning(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
def test_meaning_of_a_product(name: str) -> None:
    prove_meaning(name)


def test_all_values_have_an_intended_meaning() -> None:
    a, b, c = z3.BitVecs("a b c", 32)
    for name in INTEGERS:
        assert Exact().value(name, a, b, c).size() == 32
    assert set(COMPARISONS) <= set(VALUES)


@pytest.mark.parametrize("name", ["sub", "shr_s", "clz", "select", "funnel_shr", "ge_s"])
def test_a_wrong_meaning_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = VALUES[name]
    wrong = {
        "sub": lambda a, b, c: (b - a) % (1 << 32),
        "shr_s": VALUES["shr_u"],
        "clz": lambda a, b, c: 31 - a.bit_length() if a else 32,
        "select": lambda a, b, c: b if c else a,
        "funnel_shr": lambda a, b, c: right(c, b, a),
        "ge_s": VALUES["gt_s"],
    }
    monkeypatch.setitem(VALUES, name, wrong[name])
    with pytest.raises(RefutedError):
        prove_meaning(name)


def test_the_reference_machine_computes_with_these_meanings() -> None:
    """Values and jumps read the same table, which nothing replaces."""
    assert "VALUES" in CoreMachine.jump.__code__.co_names
    assert "VALUES" in CoreMachine.__init__.__code__.co_names
