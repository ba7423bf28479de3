"""HullCache3D against its definition, in exact arithmetic."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.engine.hull import Backend, HullCache3D, Ties
from curta.engine.hull.reference import Found, hard_maximum
from curta.errors import HullError
from tests.engine.hull.hull_cases import CASES, directions
from tests.engine.hull.test_hull_cache import agrees
from tests.support.slow import draws, some

TIES: tuple[Ties, ...] = ("latest", "average")
small = st.integers(-2, 2).map(float)
small_vectors = st.tuples(small, small, small)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("case", some(6, CASES))
def test_prefixes_answer_by_definition(case: str, ties: Ties, backends: Sequence[Backend]) -> None:
    """Past the buffer of the C implementation, so that buffer and trees both answer."""
    rng = random.Random(case)
    points = CASES[case](rng, 300, 3)
    values = [(float(rng.randint(-9, 9)), float(i)) for i in range(len(points))]
    caches = {backend: HullCache3D(2, ties, backend) for backend in backends}
    done = 0
    for size in (1, 2, 5, 20, 128, 129, 300):
        more = (
            np.array(points[done:size]).reshape(-1, 3),
            np.array(values[done:size]).reshape(-1, 2),
        )
        for cache in caches.values():
            cache.insert_many(*more)
        done = max(done, min(size, len(points)))
        for query in directions(rng, points[:done], 6):
            expected = hard_maximum(points[:done], values[:done], query, ties)
            for backend, cache in caches.items():
                found = cache.find(query)
                assert agrees(found, expected), (backend, size, query, found, expected)


@pytest.mark.parametrize("ties", TIES)
@given(
    points=st.lists(small_vectors, min_size=1, max_size=20),
    query=small_vectors,
    copies=st.sampled_from([1, 30]),
)
@settings(max_examples=draws(80), deadline=None)
def test_many_ties(
    ties: Ties,
    points: list[tuple[float, float, float]],
    query: tuple[float, float, float],
    copies: int,
) -> None:
    points = points * copies
    values = [(float(i),) for i in range(len(points))]
    for backend in ("python", "auto"):
        cache = HullCache3D(1, ties, backend)
        cache.insert_many(points, values)
        assert agrees(cache.find(query), hard_maximum(points, values, query, ties)), backend


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_many_keys_on_a_paraboloid(order: str, backend: Backend) -> None:
    """Keys (2a, 2b, -a^2 - b^2): the query (i, j, 1) finds exactly (i, j)."""
    side = 150 if backend == "c" else 20
    a, b = np.divmod(np.arange(side * side, dtype=float), side)
    shuffled = np.random.default_rng(0).permutation(side * side)
    arrival = shuffled if order == "shuffled" else np.arange(side * side)
    keys = np.stack([2 * a, 2 * b, -(a * a + b * b)], axis=1)[arrival]
    cache = HullCache3D(1, backend=backend)
    cache.insert_many(keys, arrival[:, None])
    queries = np.stack([a, b, np.ones(side * side)], axis=1)
    np.testing.assert_array_equal(cache.query_many(queries).values[:, 0], np.arange(side * side))


def test_backends_find_the_same_in_a_ball(backend: Backend) -> None:
    random_numbers = np.random.default_rng(7)
    keys, queries = random_numbers.normal(size=(2, 2000, 3))
    values = random_numbers.normal(size=(2000, 1))
    python = HullCache3D(1, backend="python").insert_and_query_many(keys, values, queries)
    found = HullCache3D(1, backend=backend).insert_and_query_many(keys, values, queries)
    np.testing.assert_array_equal(found.positions, python.positions)
    np.testing.assert_array_equal(found.values, python.values)


def test_queries_that_no_scaling_brings_into_range(backend: Backend) -> None:
    """Every bound of a volume overflows to infinity minus infinity."""
    keys = np.random.default_rng(5).uniform(10, 20, size=(400, 3)).tolist()
    values = [(float(i),) for i in range(400)]
    cache = HullCache3D(1, backend=backend)
    cache.insert_many(keys, values)
    for query in ((1.7e308, -1.7e308, 5e-324), (-1.7e308, 1e308, 1e308), (1e308, 1e-308, -1e308)):
        assert cache.find(query) == hard_maximum(keys, values, query)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("shape", ["grid", "ball", "rising"])
def test_keys_inside_are_forgotten_and_no_others(shape: str, ties: Ties, backend: Backend) -> None:
    """Integer keys, so that a scan in float64 is exact; faces, edges and duplicates that tie."""
    random_numbers = np.random.default_rng(11)
    keys = random_numbers.integers(-9, 10, size=(6000, 3)).astype(float)
    if shape == "ball":
        keys = np.round(random_numbers.normal(size=(6000, 3)) * 40)
    elif shape == "rising":
        keys[:, 0] += np.arange(6000) // 50
    values = random_numbers.integers(-9, 10, size=(6000, 1)).astype(float)
    cache = HullCache3D(1, ties, backend)
    queries = [*np.eye(3), *-np.eye(3), *random_numbers.integers(-4, 5, size=(40, 3)).astype(float)]
    for part in np.array_split(np.arange(6000), 3):
        cache.insert_many(keys[part], values[part])
        for query in queries:
            scores = keys[: part[-1] + 1] @ query
            winners = np.flatnonzero(scores == scores.max())
            expected = values[winners[-1:] if ties == "latest" else winners].mean()
            assert cache.find(query.tolist()) == Found((pytest.approx(expected),), winners[-1])
    assert backend == "python" or shape == "rising" or cache.hull_vertices() < 3000


def test_equal_keys_become_one(backend: Backend) -> None:
    cache = HullCache3D(1, "average", backend)
    cache.insert_many(np.ones((1000, 3)), np.arange(1000.0)[:, None])
    assert cache.find((1.0, 2.0, 3.0)) == Found((499.5,), 999)
    assert backend == "python" or cache.hull_vertices() < 200


def test_reset_forgets(backend: Backend) -> None:
    cache = HullCache3D(1, backend=backend)
    cache.insert_many(np.random.default_rng(0).normal(size=(500, 3)), np.zeros((500, 1)))
    cache.reset()
    assert (len(cache), cache.hull_vertices()) == (0, 0)
    with pytest.raises(HullError, match="the cache is empty"):
        cache.query((1.0, 0.0, 0.0))
    assert cache.insert_and_query((1.0, 1.0, 1.0), (4.0,), (0.0, 0.0, 0.0)) == (4.0,)


def test_mistakes_are_named(backend: Backend) -> None:
    cache = HullCache3D(1, backend=backend)
    with pytest.raises(HullError, match=r"the key .* has 2 numbers: expected 3"):
        cache.insert((1.0, 1.0), (1.0,))
    with pytest.raises(HullError, match="the key has the coordinate inf"):
        cache.insert((1.0, 1.0, float("inf")), (1.0,))
    with pytest.raises(HullError, match=r"queries have shape \(1, 2\): expected \(n, 3\)"):
        cache.query_many([(1, 1)])
    assert repr(cache).startswith("HullCache3D(")


def test_heads_that_share_their_keys(backend: Backend) -> None:
    drawn = np.random.default_rng(1).integers(-5, 5, (200, 11))
    keys, values, queries = drawn[:, :3], drawn[:, 3:5], drawn[:, 5:]
    found = HullCache3D(2, backend=backend).insert_and_query_heads(
        keys, values, queries, [[1], [0, 1]]
    )
    first, second = (
        HullCache3D(2, backend=backend).insert_and_query_many(keys, values, asked).values
        for asked in (queries[:, :3], queries[:, 3:])
    )
    np.testing.assert_array_equal(found, np.concatenate([first[:, [1]], second], axis=1))
