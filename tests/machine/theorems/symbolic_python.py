"""Python functions on integers, run on unknown words: all of their paths, one at a time.

A `Number` is an exact integer: a signed bit vector that grows as far as an operation needs, so that
nothing is ever lost, as with Python's own. Where the function asks (`if`, `int(condition)`,
`bool`), it is run again for each answer that the ones before do not exclude. So what comes out is a
list of cases: a condition, and the number returned under it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3


class Number:
    """An integer of Python as a signed bit vector that is wide enough for it."""

    def __init__(self, bits: z3.BitVecRef, run: Run) -> None:
        self.bits = bits
        self.run = run

    # -- arithmetic ---------------------------------------------------------------------------

    def _both(self, other: Number | int, more: int = 0) -> tuple[z3.BitVecRef, z3.BitVecRef]:
        theirs = self.run.number(other).bits
        width = max(self.bits.size(), theirs.size()) + more
        return widened(self.bits, width), widened(theirs, width)

    def _made(self, bits: z3.BitVecRef) -> Number:
        return Number(bits, self.run)

    def __add__(self, other: Number | int) -> Number:
        a, b = self._both(other, 1)
        return self._made(a + b)

    def __sub__(self, other: Number | int) -> Number:
        a, b = self._both(other, 1)
        return self._made(a - b)

    def __rsub__(self, other: int) -> Number:
        return self.run.number(other) - self

    def __neg__(self) -> Number:
        return 0 - self

    def __mul__(self, other: Number | int) -> Number:
        theirs = self.run.number(other)
        width = self.bits.size() + theirs.bits.size()
        return self._made(widened(self.bits, width) * widened(theirs.bits, width))

    __radd__, __rmul__ = __add__, __mul__

    def __mod__(self, other: int) -> Number:
        """By a power of two: the lowest bits, of negative numbers too."""
        count = exponent_of(other)
        kept = z3.Extract(count - 1, 0, widened(self.bits, max(count, self.bits.size())))
        return self._made(z3.ZeroExt(1, kept))

    def __floordiv__(self, other: int) -> Number:
        count = exponent_of(other)
        return self._made(widened(self.bits, max(count + 1, self.bits.size())) >> count)

    # -- bits ---------------------------------------------------------------------------------

    def __and__(self, other: Number | int) -> Number:
        a, b = self._both(other)
        return self._made(a & b)

    def __or__(self, other: Number | int) -> Number:
        a, b = self._both(other)
        return self._made(a | b)

    def __xor__(self, other: Number | int) -> Number:
        a, b = self._both(other)
        return self._made(a ^ b)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Number:
        return self._made(~self.bits)

    def __lshift__(self, other: Number | int) -> Number:
        """By 0 to 63."""
        count = self.run.number(other).bits
        self.run.require(z3.ULT(count, 64) if count.size() > 6 else z3.BoolVal(True))
        width = self.bits.size() + 63
        return self._made(widened(self.bits, width) << widened(count, width))

    def __rlshift__(self, other: int) -> Number:
        return self.run.number(other) << self

    def __rshift__(self, other: Number | int) -> Number:
        a, count = self._both(other)
        return self._made(a >> count)

    def bit_length(self) -> Number:
        """Of a number that is not negative."""
        self.run.require(self.bits >= 0)
        size = self.bits.size()
        length = z3.BitVecVal(0, size + 1)
        for place in range(size):
            is_set = z3.Extract(place, place, self.bits) == 1
            length = z3.If(is_set, z3.BitVecVal(place + 1, size + 1), length)
        return self._made(length)

    def bit_count(self) -> Number:
        self.run.require(self.bits >= 0)
        size = self.bits.size()
        bits = [z3.Extract(place, place, self.bits) for place in range(size)]
        return self._made(sum((z3.ZeroExt(size, bit) for bit in bits), z3.BitVecVal(0, size + 1)))

    # -- conditions ---------------------------------------------------------------------------

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        a, b = self._both(other)  # type: ignore[arg-type]
        return Condition(a == b, self.run)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        a, b = self._both(other)  # type: ignore[arg-type]
        return Condition(a != b, self.run)

    def __lt__(self, other: Number | int) -> Condition:
        a, b = self._both(other)
        return Condition(a < b, self.run)

    def __le__(self, other: Number | int) -> Condition:
        a, b = self._both(other)
        return Condition(a <= b, self.run)

    def __gt__(self, other: Number | int) -> Condition:
        a, b = self._both(other)
        return Condition(a > b, self.run)

    def __ge__(self, other: Number | int) -> Condition:
        a, b = self._both(other)
        return Condition(a >= b, self.run)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self.run.decide(self.bits != 0)


@dataclass(frozen=True, eq=False)
class Condition:
    """What a comparison gives; asking for it decides the path."""

    holds: z3.BoolRef
    run: Run

    def __bool__(self) -> bool:
        return self.run.decide(self.holds)

    def __int__(self) -> int:
        return int(bool(self))


class Run:
    """One path: the answers given so far, and what they say of the unknowns."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers
        self.asked = 0
        self.path: list[z3.BoolRef] = []

    def number(self, value: Number | int) -> Number:
        if isinstance(value, Number):
            return value
        return Number(z3.BitVecVal(value, int(value).bit_length() + 1), self)

    def decide(self, condition: z3.BoolRef) -> bool:
        if self.asked == len(self.answers):
            self.answers.append(self.possible(condition))
        answer = self.answers[self.asked]
        self.asked += 1
        self.path.append(condition if answer else z3.Not(condition))
        return answer

    def possible(self, condition: z3.BoolRef) -> bool:
        solver = z3.Solver()
        solver.add(*self.path, condition)
        return bool(solver.check() != z3.unsat)

    def require(self, condition: z3.BoolRef) -> None:
        """The model of Python holds only where this does."""
        if self.possible(z3.Not(condition)):
            raise NotImplementedError(f"not for all numbers: {condition}")


@dataclass(frozen=True)
class Case:
    """What is returned under a condition."""

    when: z3.BoolRef
    result: object


def cases_of(function: Callable[..., object], *words: z3.BitVecRef) -> list[Case]:
    """All paths of a function of words that are not negative."""
    found, answers = [], []
    while True:
        run = Run(answers)
        result = function(*(Number(z3.ZeroExt(1, word), run) for word in words))
        when = z3.And(run.path) if run.path else z3.BoolVal(True)
        if run.possible(z3.BoolVal(True)):
            found.append(Case(when, run.number(result) if isinstance(result, int) else result))
        # The last question that was answered with yes: no is next.
        while answers and not answers[-1]:
            answers.pop()
        if not answers:
            return found
        answers[-1] = False


def widened(bits: z3.BitVecRef, width: int) -> z3.BitVecRef:
    return z3.SignExt(width - bits.size(), bits) if width > bits.size() else bits


def exponent_of(power: int) -> int:
    if not isinstance(power, int) or power <= 0 or power & (power - 1):
        raise NotImplementedError(f"division by {power}, which is no power of two")
    return power.bit_length() - 1
