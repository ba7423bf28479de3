"""Which of its parts the float unit rounds for each operation, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

pytest.importorskip("z3")
import z3

from curta.machine.parts import floats
from curta.machine.parts.float_operands import Magnitude, Unpacked
from curta.machine.parts.limbs import LIMB
from tests.machine.theorems.float_terms import (
    WIDTH,
    Bits,
    Number,
    Terms,
    kind,
    of_bits,
    operands,
    prove_with_debts,
    sources_of,
    use_meanings,
    word_of,
)
from tests.machine.theorems.specifications import FORMATS

NUMBERS = ("sum", "product", "q", "packed", "x")
KINDS = ("adds", "subtracts", "multiplies", "divides", "takes_root", "packs", "converts")
Parts = SimpleNamespace
Seen = dict[str, Sequence[object]]


@pytest.fixture(autouse=True)
def _meanings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_meanings(monkeypatch)


def magnitude(graph: Terms, name: str) -> Magnitude:
    rest = graph.given(z3.BitVec(f"{name} rest", 1))
    limbs = of_bits(graph, f"{name} limb", *[LIMB] * floats.LIMBS)
    return Magnitude(limbs, graph.signed(f"{name} exponent", -9000, 9000), rest)  # type: ignore[arg-type]


def unknown_parts(graph: Terms) -> Parts:
    sign = graph.given(z3.BitVec("sum's sign", 1))
    return Parts(sign=sign, numbers={name: magnitude(graph, name) for name in NUMBERS})


def patched(monkeypatch: pytest.MonkeyPatch, graph: Terms, parts: Parts) -> Seen:
    """What is rounded."""
    numbers, seen = parts.numbers, Seen()

    def rounded(*given: object) -> list[Number]:
        seen["rounded"] = given
        return [graph.given(z3.BitVec(f"word {n}", 32)) for n in range(3)]

    for name, by in {
        "total": lambda *_: (numbers["sum"], parts.sign),
        "times": lambda *_: numbers["product"],
        "quotient_or_root": lambda *_: numbers["q"],
        "given": lambda _: numbers["packed"],
        "itself": lambda _: numbers["x"],
        "rounded": rounded,
    }.items():
        monkeypatch.setattr(floats, name, by)
    return seen


def same(one: Sequence[Number], other: Sequence[Number]) -> z3.BoolRef:
    return z3.And([a.bits == b.bits for a, b in zip(one, other, strict=True)])


def fields(number: Magnitude) -> Sequence[Number]:
    return (*number.limbs, number.exponent, number.rest)  # type: ignore[return-value]


def choice(name: str, parts: Parts, x: Unpacked, y: Unpacked, e: Bits) -> tuple[str, Bits]:
    """The number, and its sign."""
    of_x, of_y = x.sign.bits, y.sign.bits  # type: ignore[attr-defined]
    return {
        "adds": ("sum", parts.sign.bits),
        "subtracts": ("sum", parts.sign.bits),
        "multiplies": ("product", of_x ^ of_y),
        "divides": ("q", of_x ^ of_y),
        "takes_root": ("q", z3.BitVecVal(0, WIDTH)),
        "packs": ("packed", z3.ZeroExt(WIDTH - 1, z3.Extract(31, 31, e))),
        "converts": ("x", of_x),
    }[name]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("of", FORMATS)
def test_what_is_rounded(of: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, words, _ = operands(of)
    parts = unknown_parts(graph)
    seen = patched(monkeypatch, graph, parts)
    x, y = (
        floats.unpacked(graph.constant(int(of == "f32")), *(word_of(graph, one) for one in pair))  # type: ignore[arg-type]
        for pair in (words[::2], words[1::2])
    )
    kinds = kind(graph, name, *["of_singles"] * (of == "f32"))
    floats.floats(kinds, sources_of(graph, *words))  # type: ignore[arg-type]
    number, sign, _ = seen["rounded"]
    wanted, wanted_sign = choice(name, parts, x, y, words[3])
    claim = same(fields(number), fields(parts.numbers[wanted]))  # type: ignore[arg-type]
    graph.debts = []  # of payloads
    prove_with_debts(graph, z3.And(claim, sign.bits == wanted_sign))  # type: ignore[attr-defined]
