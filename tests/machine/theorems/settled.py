"""Code specialised to a case: amounts of shifts that a case leaves no choice are numbers in it.

Of floats whose exponents are a known distance apart, say, the significands are shifted by that
distance, which is the difference of two terms in the code. z3 is asked whether such a term can have
but one value under the assumptions of the case; and which side of a branch cannot be reached.
"""

from __future__ import annotations

import z3
from webassembly import Condition, Executor, State
from words import ZERO, Exact, Word

from curta.machine.wasm.module import Module

SHIFTS = ("shl", "shr_u", "shr_s", "funnel_shl", "funnel_shr")


class Settled(Exact):
    """Words under assumptions."""

    def __init__(self, *assumptions: z3.BoolRef) -> None:
        self.solver = z3.Solver()
        self.solver.add(*assumptions)
        self._known: dict[int, tuple[Word, Word]] = {}

    def settle(self, term: Word) -> Word:
        """The number, if the term can have only one value; else the term."""
        term = z3.simplify(term)
        if z3.is_bv_value(term):
            return term
        if term.get_id() not in self._known:
            self._known[term.get_id()] = (term, self._settled(term))
        return self._known[term.get_id()][1]

    def _settled(self, term: Word) -> Word:
        if self.solver.check() != z3.sat:
            return term
        value = self.solver.model().eval(term, model_completion=True)
        return value if self.solver.check(term != value) == z3.unsat else term

    def value(self, name: str, a: Word, b: Word, c: Word = ZERO) -> Word:
        if name in SHIFTS:
            b = self.settle(b & 31)
        return super().value(name, a, b, c)

    def possible(self, condition: Condition) -> bool:
        return self.solver.check(condition) != z3.unsat


class CaseExecutor(Executor):
    """Leaves out what the assumptions do not let happen."""

    def __init__(self, module: Module, words: Settled) -> None:
        super().__init__(module, words)
        self.settled = words

    def split(self, state: State, condition: Condition) -> tuple[State | None, State | None]:
        then, otherwise = super().split(state, condition)
        if then is not None and not self.settled.possible(then.when):
            then = None
        if otherwise is not None and not self.settled.possible(otherwise.when):
            otherwise = None
        return then, otherwise
