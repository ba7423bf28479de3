"""HullCache against its definition, in exact arithmetic."""

from __future__ import annotations

import importlib.util
import pickle
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.engine.hull import Backend, HullCache, Ties, TopKCache
from curta.engine.hull.reference import Found, hard_maximum
from curta.errors import CompilerNotFoundError, HullError
from tests.engine.hull.hull_cases import CASES, admitted, directions
from tests.support.slow import draws, some

TIES: tuple[Ties, ...] = ("latest", "average")
coordinates = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
)
vectors = st.tuples(coordinates, coordinates)


def agrees(found: Found, expected: Found) -> bool:
    return found.position == expected.position and all(
        abs(Fraction(a) - Fraction(b)) <= abs(Fraction(b)) / 2**51
        for a, b in zip(found.value, expected.value, strict=True)
    )


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("case", some(6, CASES))
def test_every_prefix_answers_by_definition(
    case: str, ties: Ties, backends: Sequence[Backend]
) -> None:
    for seed in range(2):
        rng = random.Random(f"{case} {seed}")
        points = CASES[case](rng, 24, 2)
        values = [(float(rng.randint(-9, 9)), float(i)) for i in range(len(points))]
        caches = {backend: HullCache(2, ties, backend) for backend in backends}
        for i, (point, value) in enumerate(zip(points, values, strict=True)):
            for cache in caches.values():
                cache.insert(point, value)
            for query in directions(rng, points[: i + 1], 9):
                expected = hard_maximum(points[: i + 1], values[: i + 1], query, ties)
                for backend, cache in caches.items():
                    found = cache.find(query)
                    assert agrees(found, expected), (backend, seed, i, query, found, expected)


@pytest.mark.parametrize("ties", TIES)
@given(points=st.lists(vectors, min_size=1, max_size=12), query=vectors)
@settings(max_examples=draws(150), deadline=None)
def test_arbitrary_points(
    ties: Ties, points: list[tuple[float, float]], query: tuple[float, float]
) -> None:
    values = [(float(i),) for i in range(len(points))]
    queries = [query] + [(b[1] - a[1], a[0] - b[0]) for a, b in pairwise(points)]
    queries = [q for q in queries if admitted(q)]
    for backend in ("python", "auto"):
        cache = HullCache(1, ties, backend)
        cache.insert_many(points, values)
        for q in queries:
            assert agrees(cache.find(q), hard_maximum(points, values, q, ties)), (backend, q)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("case", ["integers", "circle or sphere", "parabola shuffled", "floats"])
def test_backends_agree_to_the_bit_on_many_keys(case: str, ties: Ties) -> None:
    rng = random.Random(case)
    keys = np.array(CASES[case](rng, 1000, 2))
    values = np.random.default_rng(1).normal(size=(1000, 3))
    queries = np.array((directions(rng, keys[:100].tolist(), 1000) * 2)[:1000])
    python = HullCache(3, ties, "python").insert_and_query_many(keys, values, queries)
    found = HullCache(3, ties, "c").insert_and_query_many(keys, values, queries)
    np.testing.assert_array_equal(found.positions, python.positions)
    np.testing.assert_array_equal(found.values, python.values)


@pytest.mark.parametrize("order", ["sorted", "reversed", "shuffled", "inwards"])
def test_trees_of_several_levels(order: str, backend: Backend) -> None:
    """Every key of a parabola stays findable, then one far point hides them all."""
    n = 60_000 if backend == "c" else 6_000
    j = np.arange(n, dtype=float)
    if order == "reversed":
        j = j[::-1].copy()
    elif order == "shuffled":
        j = np.random.default_rng(0).permutation(j)
    elif order == "inwards":
        j = np.stack([j[: n // 2], j[: n // 2 - 1 : -1]], axis=1).ravel()
    cache = HullCache(1, backend=backend)
    cache.insert_many(np.stack([2 * j, -j * j], axis=1), j[:, None])
    queries = np.stack([np.arange(n), np.ones(n)], axis=1)
    np.testing.assert_array_equal(cache.query_many(queries).values[:, 0], np.arange(n))
    assert cache.hull_vertices() >= n
    cache.insert((float(n), float(4 * n * n)), (-1.0,))
    assert cache.query((3.0, 1.0)) == (-1.0,)
    assert backend == "python" or cache.hull_vertices() < 10
    for k in range(200):  # and it still grows
        cache.insert((float(n + k), float(4 * n * n - k * k)), (float(k),))
        assert cache.query((2.0 * k, 1.0)) == (float(k),)


def test_hidden_runs_between_survivors(backend: Backend) -> None:
    """Points above a parabola remove runs of its vertices, across leaves and branches."""
    n = 20_000 if backend == "c" else 3_000
    rng = np.random.default_rng(3)
    j = rng.permutation(n).astype(float)
    keys = np.stack([2 * j, -j * j], axis=1)
    bumps = np.stack([2 * j[:300], -(j[:300] ** 2) + rng.choice([1.0, 9.0, 4e4, 4e6], 300)], axis=1)
    keys = np.concatenate([keys, bumps])
    cache = HullCache(1, backend=backend)
    cache.insert_many(keys, np.zeros((len(keys), 1)))
    for i in rng.integers(0, n, 300):
        scores = keys @ np.array([float(i), 1.0])  # exact: integers below 2^53
        assert cache.find((float(i), 1.0)).position == np.flatnonzero(scores == scores.max())[-1]


numbers = st.one_of(
    st.integers(-3, 300).map(float),
    st.sampled_from(
        [-0.0, 32767.0, 32768.0, -32769.0, 2.0**24 + 1, 2.0**31 - 1, -(2.0**31), 2.0**31]
    ),
    st.sampled_from([0.5, 0.1, 1e-45, 1e-46, 3.4e38, 3.5e38, 2.0**53 - 1, -(2.0**900)]),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(-(2.0**900), 2.0**900),
)


def bits(values: Sequence[float]) -> bytes:
    return np.array(values).tobytes()


@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30),
    st.sampled_from([1, 300, 40_000]),
    st.booleans(),
)
@settings(max_examples=draws(100), deadline=None)
def test_values_come_back_bit_for_bit(
    values: list[tuple[float, float]], first: int, vary: bool
) -> None:
    """Numbers of every kind, behind many small ones, whether all keys stay or hide one another."""
    filler = [(0.0, float(j % 7)) for j in range(first)]
    x = np.arange(first + len(values), dtype=float)
    keys = np.stack([2 * x, -x * x], axis=1)
    if vary:
        keys[::3] = keys[0]
    cache = HullCache(2)
    cache.insert_many(keys[:first], filler)
    for j, value in enumerate(values, first):
        cache.insert(keys[j].tolist(), value)
    everything = filler + values
    for j in [0, first - 1, *range(first, len(everything))]:
        found = cache.find((float(j), 1.0))
        assert bits(found.value) == bits(everything[found.position])
        assert vary or found.position == j
    onion = TopKCache(3, 2)  # so hard that the others weigh nothing
    onion.insert_many(keys[first:], values)
    for j, value in enumerate(values, first):
        if not vary:
            assert onion.query((j * 2.0**40, 2.0**40)) == value


@pytest.mark.parametrize("ties", TIES)
def test_heads_that_share_their_keys(ties: Ties, backend: Backend) -> None:
    random_numbers = np.random.default_rng(4)
    keys, queries = (
        random_numbers.integers(-9, 9, (300, 2)),
        random_numbers.integers(-5, 5, (300, 6)),
    )
    values = random_numbers.integers(-400, 400, (300, 3))
    columns = [[2], [], [0, 1, 0]]
    cache = HullCache(3, ties, backend)
    parts = [
        cache.insert_and_query_heads(keys[part], values[part], queries[part], columns)
        for part in (slice(100), slice(100, 100), slice(100, None))
    ]
    expected = [
        HullCache(3, ties, backend)
        .insert_and_query_many(keys, values, queries[:, 2 * head : 2 * head + 2])
        .values[:, read]
        for head, read in enumerate(columns)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), np.concatenate(expected, axis=1))
    assert len(cache) == 300
    with pytest.raises(HullError, match=r"columns \[3\]: there are 3 values"):
        cache.insert_and_query_heads(keys, values, queries, [[0], [3], [1]])
    with pytest.raises(HullError, match="expected \\(n, 4\\)"):
        cache.insert_and_query_heads(keys, values, queries, [[0], [1]])
    for wrong in (np.full((300, 6), np.inf), np.where(queries == 4, np.nan, queries)):
        with pytest.raises(HullError, match=r"query .* has the coordinate"):
            cache.insert_and_query_heads(keys, values, wrong, columns)
    assert len(cache) == 300


def test_the_mean_of_integers_is_exact(backend: Backend) -> None:
    cache = HullCache(1, "average", backend)
    for value in (2.0**52, 1.0, -(2.0**52), 2.0):
        cache.insert((1.0, 1.0), (value,))
    assert cache.query((0.0, 1.0)) == (0.75,)


def test_one_call_per_step_equals_two(backend: Backend) -> None:
    rng = random.Random(5)
    one, two = HullCache(2, backend=backend), HullCache(2, backend=backend)
    for _ in range(50):
        key, value, query = ((rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(3))
        two.insert(key, value)
        assert one.insert_and_query(key, value, query) == two.query(query)
    assert len(one) == len(two) == 50


def test_reset_forgets_and_frees(backend: Backend) -> None:
    cache = HullCache(1, backend=backend)
    empty = cache.memory_bytes()
    cache.insert_many([(2.0 * j, -1.0 * j * j) for j in range(2000)], np.zeros((2000, 1)))
    assert cache.memory_bytes() > empty
    cache.reset()
    assert (len(cache), cache.hull_vertices(), cache.memory_bytes()) == (0, 0, empty)
    cache.insert((1.0, 1.0), (7.0,))
    assert cache.find((0.0, 1.0)) == Found((7.0,), 0)


def test_an_empty_cache_has_no_answer(backend: Backend) -> None:
    cache = HullCache(1, backend=backend)
    with pytest.raises(HullError, match="the cache is empty"):
        cache.query((1.0, 0.0))
    with pytest.raises(HullError, match="the cache is empty"):
        cache.query_many([(1.0, 0.0)])
    assert cache.query_many(np.empty((0, 2))).values.shape == (0, 1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_refused_coordinates_are_named(bad: float, backend: Backend) -> None:
    cache = HullCache(1, backend=backend)
    for key in ((bad, 1.0), (1.0, bad)):
        with pytest.raises(
            HullError, match=f"the key has the coordinate {bad!r}".replace("+", ".")
        ):
            cache.insert(key, (1.0,))
        with pytest.raises(HullError, match="key 1 has the coordinate"):
            cache.insert_many([(1.0, 1.0), key], [(1.0,), (1.0,)])
    with pytest.raises(HullError, match="the query has the coordinate"):
        cache.insert_and_query((1.0, 1.0), (1.0,), (bad, 0.0))
    assert len(cache) == 0
    cache.insert((1.0, 1.0), (1.0,))
    with pytest.raises(HullError, match="the query has the coordinate"):
        cache.query((bad, 0.0))
    with pytest.raises(HullError, match="query 0 has the coordinate"):
        cache.query_many([(bad, 0.0)])
    with pytest.raises(HullError, match="query 0 has the coordinate"):
        cache.insert_and_query_many([(1.0, 1.0)], [(1.0,)], [(bad, 0.0)])
    assert len(cache) == 1


def test_refused_values_are_named(backend: Backend) -> None:
    cache = HullCache(2, backend=backend)
    with pytest.raises(HullError, match="value holds nan"):
        cache.insert((1.0, 1.0), (0.0, float("nan")))
    with pytest.raises(HullError, match="value 1 holds inf"):
        cache.insert_many([(1, 1), (1, 1)], [(0, 0), (0, float("inf"))])
    assert len(cache) == 0


def test_wrong_shapes_are_named(backend: Backend) -> None:
    cache = HullCache(2, backend=backend)
    with pytest.raises(HullError, match=r"the key .* has 3 numbers: expected 2"):
        cache.insert((1.0, 1.0, 1.0), (1.0,))
    with pytest.raises(HullError, match=r"the value .* has 1 numbers: expected 2"):
        cache.insert((1.0, 1.0), (1.0,))
    with pytest.raises(HullError, match="the key 'ab' is not a sequence of numbers"):
        cache.insert("ab", (1.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(HullError, match=r"the key \('1', '2'\) is not a sequence of numbers"):
        cache.insert(("1", "2"), (1.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(HullError, match=r"the query .* is not a sequence of numbers"):
        cache.insert_and_query((1.0, 1.0), (1.0, 1.0), ("1", "2"))  # type: ignore[arg-type]
    with pytest.raises(HullError, match=r"the key .* is not a sequence of numbers"):
        cache.insert((10**400, 1.0), (1.0, 1.0))  # no float64 holds it
    with pytest.raises(HullError, match=r"keys are not numbers: int too large"):
        cache.insert_many([(10**400, 1.0)], [(1.0, 1.0)])
    assert len(cache) == 0
    with pytest.raises(HullError, match=r"keys have shape \(1, 3\): expected \(n, 2\)"):
        cache.insert_many([(1, 1, 1)], [(1, 1)])
    with pytest.raises(HullError, match="1 keys, 2 values"):
        cache.insert_many([(1, 1)], [(1, 1), (1, 1)])
    cache.insert((1.0, 1.0), (1.0, 2.0))
    with pytest.raises(HullError, match=r"the query .* expected 2"):
        cache.query((1.0,))
    with pytest.raises(HullError, match=r"the query .* is not a sequence of numbers"):
        cache.query((10**400, 1.0))


def test_wrong_options_are_named() -> None:
    with pytest.raises(HullError, match="value_width=0"):
        HullCache(0)
    with pytest.raises(HullError, match="ties='first'"):
        HullCache(1, "first")  # type: ignore[arg-type]
    with pytest.raises(HullError, match="backend='rust'"):
        HullCache(1, backend="rust")  # type: ignore[arg-type]


def test_auto_is_python_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    from curta.engine.hull import native

    native.native_library.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("CURTA_CC", raising=False)
    monkeypatch.setenv("PATH", "")
    assert HullCache(1).backend == "python"
    with pytest.raises(CompilerNotFoundError, match="no C compiler"):
        HullCache(1, backend="c")
    monkeypatch.setenv("CURTA_CC", "no-such-compiler")
    with pytest.raises(CompilerNotFoundError, match="CURTA_CC"):
        HullCache(1)


def test_a_cache_says_what_it_is(backend: Backend) -> None:
    cache = HullCache(3, "average", backend)
    assert repr(cache) == (f"HullCache(value_width=3, ties='average', backend={backend!r}): 0 keys")


def test_caches_are_not_copied_by_accident(backend: Backend) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(HullCache(1, backend=backend))


def test_one_unit_in_the_last_place_decides(backend: Backend) -> None:
    """Whether the third key is above the line of the others, on it or below it."""
    tiny = 2.0**-52
    ends = [(0.0, 0.0), (2.0, 2.0)]
    far_ends = [(0.0, 0.0), (2.0**400, 2.0**400)]
    farthest_ends = [(0.0, 0.0), (2.0**1023, 2.0**1023)]
    for between, third, side in [
        (ends, (1.0, 1.0 + tiny), 1),
        (ends, (1.0, 1.0 - tiny), -1),
        (far_ends, (2.0**-400, 2.0**-400), 0),
        (farthest_ends, (5e-324, 1e-323), 1),
    ]:
        points = [*between, third]
        for first in range(3):
            order = [*range(first, 3), *range(first)]
            cache = HullCache(1, backend=backend)
            cache.insert_many([points[n] for n in order], [(float(n),) for n in order])
            winners = {1: [2], 0: order, -1: [n for n in order if n < 2]}[side]
            assert cache.query((-1.0, 1.0)) == (float(winners[-1]),)
