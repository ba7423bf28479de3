"""The float unit as a graph whose features are the words and the kind; and what is to come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.compiler import Graph
from curta.machine.parts.floats import Kind, floats
from curta.machine.parts.operations import Sources
from curta.machine.parts.words import word_of
from curta.machine.wasm.floats import F32, F64, Format
from tests.support.float_draws import Words
from tests.support.graph_values import GraphValues, Numbers

FloatArray = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Compute = Callable[[FloatArray, FloatArray], FloatArray]
Truths = npt.NDArray[np.bool_]
KINDS = tuple(Kind.__dataclass_fields__)
ARITHMETIC: dict[str, tuple[str, Compute]] = {
    "add": ("adds", np.add),
    "sub": ("subtracts", np.subtract),
    "mul": ("multiplies", np.multiply),
}
BY_DIGITS: dict[str, tuple[str, Compute]] = {
    "div": ("divides", np.divide),
    "sqrt": ("takes_root", lambda x, _: np.sqrt(x)),
}
INTEGERS, FLOATING = {32: np.uint32, 64: np.uint64}, {32: np.float32, 64: np.float64}


@dataclass(frozen=True)
class FloatUnit:
    """Results that the graph gives for arrays of sources."""

    values: GraphValues
    names: tuple[str, ...]

    @classmethod
    def built(cls, *names: str) -> FloatUnit:
        """Names are those of results."""
        graph = Graph(["a token"])
        words = [graph.declare(name) for name in "abce"]
        kinds = [graph.declare(name) for name in KINDS]
        found = floats(Kind(*kinds), Sources(*(word_of(word) for word in words)))
        results = [getattr(found, name) for name in names]
        return cls(GraphValues(graph, [*words, *kinds], results), names)

    def of(self, sources: list[Numbers], *kinds: str) -> dict[str, Numbers]:
        """The sources are a, b, c and e; the kinds are those that the instruction is of."""
        assert set(kinds) <= set(KINDS)
        chosen = [np.array(int(name in kinds), np.int64) for name in KINDS]
        numbers = self.values.of(*sources, *chosen)
        return dict(zip(self.names, numbers, strict=True))

    def double(self, sources: list[Numbers], *kinds: str) -> Words:
        found = self.of(sources, *kinds)
        return joined(found["high"], found["low"])

    def single(self, sources: list[Numbers], *kinds: str) -> Words:
        return as_words(self.of(sources, *kinds, "gives_single")["single"])


def halves(pattern: Words) -> tuple[Numbers, Numbers]:
    """The high word and the low one."""
    return (pattern >> np.uint64(32)).astype(np.int64), (pattern & np.uint64(2**32 - 1)).astype(
        np.int64
    )


def as_words(numbers: Numbers) -> Words:
    assert int(numbers.min()) >= 0
    assert int(numbers.max()) < 2**32
    return numbers.astype(np.uint64)


def joined(high: Numbers, low: Numbers) -> Words:
    return as_words(high) << np.uint64(32) | as_words(low)


def sources_of(form: Format, x: Words, y: Words, rng: np.random.Generator) -> list[Numbers]:
    """Of floats of 32 bits the low words are anything."""
    if form is F64:
        (a, c), (b, e) = halves(x), halves(y)
        return [a, b, c, e]
    anything = [rng.integers(0, 2**32, len(x)) for _ in range(2)]
    return [x.astype(np.int64), y.astype(np.int64), *anything]


# -- what is to come out --------------------------------------------------------------------------


def numbers_of(form: Format, pattern: Words) -> FloatArray:
    found: FloatArray = pattern.astype(INTEGERS[form.bits]).view(FLOATING[form.bits])
    return found


def are_nan(form: Format, pattern: Words) -> Truths:
    return (pattern & np.uint64(form.sign - 1)) > np.uint64(form.infinity)


def computed(form: Format, compute: Compute, x: Words, y: Words) -> Words:
    """NumPy's result, and the NaNs of float_words."""
    with np.errstate(all="ignore"):
        result = compute(numbers_of(form, x), numbers_of(form, y))
    bits = result.view(INTEGERS[form.bits]).astype(np.uint64)
    invalid = np.uint64(form.sign | form.quiet_nan)
    bits = np.where(are_nan(form, bits), invalid, bits)
    for operand in (y, x):
        bits = np.where(are_nan(form, operand), operand | np.uint64(form.quiet_nan), bits)
    return bits


def packed(form: Format, number: Words, power: Numbers, sign: Numbers) -> Words:
    """By way of x86's format of 64 bits of precision, in which all of these are exact."""
    with np.errstate(all="ignore"):
        exact = np.ldexp(number.astype(np.longdouble), np.clip(power - 1075, -4000, 4000))
        size = exact.astype(FLOATING[form.bits]).view(INTEGERS[form.bits]).astype(np.uint64)
    return size | (sign >> 31).astype(np.uint64) << np.uint64(form.bits - 1)


def converted(form: Format, to: Format, pattern: Words) -> Words:
    """NumPy's conversion; of a NaN, as much of the payload as there is room for."""
    with np.errstate(all="ignore"):
        result = numbers_of(form, pattern).astype(FLOATING[to.bits])
    bits = result.view(INTEGERS[to.bits]).astype(np.uint64)
    moved = to.precision - form.precision
    payload = pattern & np.uint64((1 << form.precision - 2) - 1)
    payload = payload << np.uint64(moved) if moved > 0 else payload >> np.uint64(-moved)
    sign = pattern >> np.uint64(form.bits - 1) << np.uint64(to.bits - 1)
    nan = sign | np.uint64(to.quiet_nan) | payload
    return np.where(are_nan(form, pattern), nan, bits)


FORMATS = {"f32": F32, "f64": F64}
