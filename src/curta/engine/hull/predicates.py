"""Exact signs: a float filter, then rational arithmetic. The bounds are those of predicates.c.

A sum or difference of two products of differences is off by less than (3 + 16u)u times the sum of
their sizes, u = 2^-53, and 2^-1072 for what underflows. Beyond that bound the rounded sign is
right; where something overflows, the comparison fails. Within it the sign is computed with
`fractions`, which are exact by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

FILTER = 3.3306690738754716e-16
"""(3 + 16u)u, rounded up."""

UNDERFLOW_BOUND = 2.0**-1060


def _sign(number: Fraction | float) -> int:
    return (number > 0) - (number < 0)


def dot_sign(qx: float, qy: float, x1: float, y1: float, x2: float, y2: float) -> int:
    """The sign of q . (p1 - p2): 1 when the first point scores higher, 0 for an exact tie."""
    along_x, along_y = qx * (x1 - x2), qy * (y1 - y2)
    total = along_x + along_y
    bound = FILTER * (abs(along_x) + abs(along_y)) + UNDERFLOW_BOUND
    if total > bound:
        return 1
    if total < -bound:
        return -1
    return exact_dot_sign((qx, qy), (x1, y1), (x2, y2))


def exact_dot_sign(query: Sequence[float], p1: Sequence[float], p2: Sequence[float]) -> int:
    """The same in any number of dimensions, without the filter."""
    return _sign(
        sum(
            (
                Fraction(q) * (Fraction(a) - Fraction(b))
                for q, a, b in zip(query, p1, p2, strict=True)
            ),
            Fraction(0),
        )
    )


def orientation(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> int:
    """1 when c lies to the left of the line from a to b, 0 on it, -1 to the right."""
    left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
    determinant = left - right
    bound = FILTER * (abs(left) + abs(right)) + UNDERFLOW_BOUND
    if determinant > bound:
        return 1
    if determinant < -bound:
        return -1
    fax, fay, fbx, fby, fcx, fcy = map(Fraction, (ax, ay, bx, by, cx, cy))
    return _sign((fax - fcx) * (fby - fcy) - (fay - fcy) * (fbx - fcx))
