"""Quotients are said as floor(A / B), whatever A and B are.

`emit_quotient` scores token q by q (2A - B + 1) - q q B. The scores of neighbours differ by
2 (A - (q + 1) B) + 1, an odd number: positive exactly while (q + 1) B <= A. So they rise up to
floor(A / B) and fall from there on, and that token is said.
"""

from __future__ import annotations

import pytest

pytest.importorskip("z3")
import z3


def test_scores_rise_up_to_the_quotient_and_fall_from_there() -> None:
    q, a, b = z3.Ints("q A B")

    def score(number: z3.ArithRef) -> z3.ArithRef:
        return number * (2 * a - b + 1) - number * number * b

    more = score(q + 1) - score(q)
    difference = z3.simplify(more - (2 * (a - (q + 1) * b) + 1), som=True)
    assert z3.is_int_value(difference)
    assert difference.as_long() == 0
    multiple = z3.Int("multiple of B")  # whatever (q + 1) * B is
    solver = z3.Solver()
    solver.add((2 * (a - multiple) + 1 > 0) != (multiple <= a))
    assert solver.check() == z3.unsat
