"""One table of point sets for every hull cache and backend, in two and three dimensions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

Points = list[tuple[float, ...]]
ULP = 2.0**-52


def _integers(rng: random.Random, n: int, width: int) -> Points:
    size = rng.choice((1, 2, 4, 10, 1000))
    return [tuple(float(rng.randint(-size, size)) for _ in range(width)) for _ in range(n)]


def _floats(rng: random.Random, n: int, width: int) -> Points:
    return [tuple(rng.gauss(0, 1) for _ in range(width)) for _ in range(n)]


def _duplicates(rng: random.Random, n: int, width: int) -> Points:
    few = _floats(rng, 3, width)
    return [rng.choice(few) for _ in range(n)]


def _line(rng: random.Random, n: int, width: int) -> Points:
    direction = [float(rng.randint(-3, 3)) for _ in range(width)]
    start = [float(rng.randint(-3, 3)) for _ in range(width)]
    steps = [rng.randint(-8, 8) for _ in range(n)]
    return [tuple(s + t * d for s, d in zip(start, direction, strict=True)) for t in steps]


def _almost_line(rng: random.Random, n: int, width: int) -> Points:
    """Collinear but for a unit in the last place."""
    direction = [rng.uniform(-1, 1) for _ in range(width)]
    steps = [rng.randint(1, 16) / 8 for _ in range(n)]
    return [tuple(t * d * (1 + rng.randint(-1, 1) * ULP) for d in direction) for t in steps]


def _almost_point(rng: random.Random, n: int, width: int) -> Points:
    return [tuple(1 + rng.randint(0, 3) * ULP for _ in range(width)) for _ in range(n)]


def _sphere(rng: random.Random, n: int, width: int) -> Points:
    points = _floats(rng, n, width)
    return [tuple(c / math.hypot(*point) for c in point) for point in points]


def _parabola(rng: random.Random, n: int, width: int) -> Points:
    if width == 2:
        return [(2.0 * j, -1.0 * j * j) for j in range(n)]
    side = math.isqrt(n) + 1
    return [
        (2.0 * a, 2.0 * b, -1.0 * (a * a + b * b))
        for a, b in ((j // side, j % side) for j in range(n))
    ]


def _parabola_reversed(rng: random.Random, n: int, width: int) -> Points:
    return _parabola(rng, n, width)[::-1]


def _parabola_shuffled(rng: random.Random, n: int, width: int) -> Points:
    points = _parabola(rng, n, width)
    rng.shuffle(points)
    return points


def _huge_and_tiny(rng: random.Random, n: int, width: int) -> Points:
    def coordinate() -> float:
        return rng.choice((0.0, rng.uniform(-1, 1) * 2.0 ** rng.randint(-390, 399)))

    return [tuple(coordinate() for _ in range(width)) for _ in range(n)]


def _as_large_as_they_come(rng: random.Random, n: int, width: int) -> Points:
    """Products of these over- and underflow."""
    sizes = [
        rng.choice((5e-324, 2.0**-1022, 1e-300, 1e-160, 1.0, 1e160, 1e300, 2.0**1023)) for _ in "ab"
    ]

    def coordinate() -> float:
        size = rng.choice(sizes)
        factor = rng.choice((rng.uniform(-1, 1), rng.randint(-1, 1)))
        return factor * size if rng.random() < 0.9 else -0.0

    return [tuple(coordinate() for _ in range(width)) for _ in range(n)]


def _one_axis_fixed(axis: int) -> Callable[[random.Random, int, int], Points]:
    def build(rng: random.Random, n: int, width: int) -> Points:
        points = _integers(rng, n, width)
        return [(*point[:axis], 2.0, *point[axis + 1 :]) for point in points]

    return build


def _one_point(rng: random.Random, n: int, width: int) -> Points:
    return _floats(rng, 1, width)


CASES: dict[str, Callable[[random.Random, int, int], Points]] = {
    "integers": _integers,
    "floats": _floats,
    "duplicates": _duplicates,
    "collinear": _line,
    "almost collinear": _almost_line,
    "almost one point": _almost_point,
    "circle or sphere": _sphere,
    "parabola": _parabola,
    "parabola reversed": _parabola_reversed,
    "parabola shuffled": _parabola_shuffled,
    "huge and tiny": _huge_and_tiny,
    "as large as they come": _as_large_as_they_come,
    "all the same x": _one_axis_fixed(0),
    "all the same y": _one_axis_fixed(1),
    "one point": _one_point,
}


def admitted(vector: tuple[float, ...]) -> bool:
    return all(map(math.isfinite, vector))


def directions(rng: random.Random, points: Points, count: int) -> Points:
    """Axes, zero, arbitrary directions, and ones perpendicular to lines and planes of points."""
    width = len(points[0])
    axes = [
        tuple(float(sign * (i == axis)) for i in range(width))
        for axis in range(width)
        for sign in (1, -1)
    ]
    found: Points = [(0.0,) * width, *axes]
    while len(found) < count + len(axes) + 1:
        a, b, c = (rng.choice(points) for _ in range(3))
        u = tuple(p - q for p, q in zip(a, b, strict=True))
        v = tuple(p - q for p, q in zip(a, c, strict=True))
        if width == 2:
            normal: tuple[float, ...] = (-u[1], u[0])
        else:
            normal = (
                u[1] * v[2] - u[2] * v[1],
                u[2] * v[0] - u[0] * v[2],
                u[0] * v[1] - u[1] * v[0],
            )
        sign = rng.choice((1.0, -1.0))
        found.append(tuple(sign * component for component in normal))
        found.append(tuple(rng.gauss(0, 1) for _ in range(width)))
        found.append(tuple(float(rng.randint(-3, 3)) for _ in range(width)))
        found += _as_large_as_they_come(rng, 1, width)
    return [query for query in found if admitted(query)]
