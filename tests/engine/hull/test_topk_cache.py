"""TopKCache against its definition, and its softmax against the full one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.engine.hull import Backend, TopKCache
from curta.engine.hull.reference import top_k
from curta.errors import HullError
from tests.engine.hull.hull_cases import CASES, directions
from tests.support.slow import draws, some

small_vectors = st.tuples(st.integers(-3, 3).map(float), st.integers(-3, 3).map(float))


@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("case", some(6, CASES))
def test_every_prefix_ranks_by_definition(case: str, k: int, backends: Sequence[Backend]) -> None:
    rng = random.Random(f"{case} {k}")
    points = CASES[case](rng, 24, 2)
    caches = {backend: TopKCache(k, 1, scale=0.0, backend=backend) for backend in backends}
    for i, point in enumerate(points):
        for cache in caches.values():
            cache.insert(point, (float(i),))
        for query in directions(rng, points[: i + 1], 9):
            expected = top_k(points[: i + 1], query, k)
            for backend, cache in caches.items():
                found = cache.find(query)
                assert list(found.positions) == expected, (backend, i, query)
                assert found.value[0] == pytest.approx(np.mean(expected))


@given(
    points=st.lists(small_vectors, min_size=1, max_size=20),
    query=small_vectors,
    k=st.integers(1, 5),
)
@settings(max_examples=draws(200), deadline=None)
def test_many_ties(points: list[tuple[float, float]], query: tuple[float, float], k: int) -> None:
    for backend in ("python", "auto"):
        cache = TopKCache(k, 1, backend=backend)
        cache.insert_many(points, np.zeros((len(points), 1)))
        assert list(cache.find(query).positions) == top_k(points, query, k), backend


@pytest.mark.parametrize("n", [1, 7, 300])
def test_k_keys_or_fewer_are_full_softmax(n: int, backend: Backend) -> None:
    random_numbers = np.random.default_rng(n)
    keys, queries = random_numbers.normal(size=(2, n, 2))
    values = random_numbers.normal(size=(n, 3))
    cache = TopKCache(n, 3, scale=0.7, backend=backend)
    found = cache.insert_and_query_many(keys, values, queries)
    for i in range(n):
        weights = np.exp(0.7 * keys[: i + 1] @ queries[i])
        expected = weights @ values[: i + 1] / weights.sum()
        np.testing.assert_allclose(found.values[i], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("case", ["floats", "parabola shuffled", "circle or sphere", "integers"])
def test_backends_rank_alike_on_many_keys(case: str) -> None:
    rng = random.Random(case)
    keys = np.array(CASES[case](rng, 800, 2))
    queries = np.array((directions(rng, keys[:50].tolist(), 800) * 2)[:800])
    values = np.arange(800.0)[:, None]
    python = TopKCache(10, 1, backend="python").insert_and_query_many(keys, values, queries)
    found = TopKCache(10, 1, backend="c").insert_and_query_many(keys, values, queries)
    np.testing.assert_array_equal(found.positions, python.positions)
    np.testing.assert_allclose(found.values, python.values, rtol=1e-12)


def test_many_layers_of_many_keys(backend: Backend) -> None:
    n, k = (20_000, 64) if backend == "c" else (1_000, 16)
    keys = np.random.default_rng(2).integers(-200, 200, (n, 2)).astype(float)
    cache = TopKCache(k, 1, backend=backend)
    cache.insert_many(keys, np.zeros((n, 1)))
    queries = np.random.default_rng(3).integers(-9, 10, (60, 2)).astype(float)
    for query, positions in zip(queries, cache.query_many(queries).positions, strict=True):
        expected = np.lexsort((-np.arange(n), -(keys @ query)))[:k]
        np.testing.assert_array_equal(positions, expected)


def test_only_k_layers_are_kept(backend: Backend) -> None:
    keys = np.random.default_rng(0).normal(size=(3000, 2))
    sizes = []
    for k in (1, 4):
        cache = TopKCache(k, 1, backend=backend)
        cache.insert_many(keys, np.zeros((3000, 1)))
        sizes.append(cache.hull_vertices())
    assert backend == "python" or sizes[0] < sizes[1] < 300


def test_reset_forgets(backend: Backend) -> None:
    cache = TopKCache(2, 1, backend=backend)
    cache.insert_many([(1, 1), (2, 2), (3, 3)], [[1], [2], [3]])
    assert cache.memory_bytes() > 0
    cache.reset()
    assert len(cache) == 0
    with pytest.raises(HullError, match="the cache is empty"):
        cache.query((1.0, 0.0))
    assert cache.insert_and_query((1.0, 1.0), (5.0,), (1.0, 0.0)) == (5.0,)
    assert repr(cache).startswith("TopKCache(k=2, value_width=1, scale=1.0")


def test_mistakes_are_named(backend: Backend) -> None:
    with pytest.raises(HullError, match="k=0"):
        TopKCache(0, 1)
    with pytest.raises(HullError, match="scale=nan"):
        TopKCache(1, 1, scale=float("nan"))
    cache = TopKCache(1, 1, backend=backend)
    with pytest.raises(HullError, match="the key has the coordinate nan"):
        cache.insert((float("nan"), 0.0), (1.0,))
    with pytest.raises(HullError, match="the value holds inf"):
        cache.insert((0.0, 0.0), (float("inf"),))
    with pytest.raises(HullError, match="1 keys, 2 queries"):
        cache.insert_and_query_many([(0, 0)], [[1]], [(0, 0), (0, 0)])
    assert len(cache) == 0


wide_numbers = st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, -3e-300, 1.0 + 2**-52, 7.5])
wide_vectors = st.tuples(wide_numbers, wide_numbers)
lines = st.builds(
    lambda slope, steps: [(float(i), float(slope * i)) for i in steps],
    st.integers(-2, 2),
    st.lists(st.integers(-6, 6), max_size=30),
)


@given(
    points=st.one_of(
        st.lists(wide_vectors, min_size=1, max_size=30),
        st.builds(
            lambda *parts: [*chain(*parts)], lines, lines, st.lists(small_vectors, min_size=1)
        ),
    ),
    queries=st.lists(st.one_of(small_vectors, wide_vectors), min_size=1, max_size=4),
)
@settings(max_examples=draws(200), deadline=None)
def test_any_k_with_ties_duplicates_lines_and_extremes(
    points: list[tuple[float, float]], queries: list[tuple[float, float]]
) -> None:
    """One cache for all queries: how many layers one needed is where the next begins."""
    for k in (1, 2, 9, 40):
        cache = TopKCache(k, 1, scale=0.0)
        cache.insert_many(points, np.zeros((len(points), 1)))
        for query in queries:
            assert list(cache.find(query).positions) == top_k(points, query, k), (k, query)


@pytest.mark.parametrize("shape", ["one long layer", "layer upon layer", "one place", "far apart"])
def test_few_and_many_layers_in_turn(shape: str) -> None:
    """Walks that outlast their quota, more layers than are searched at once, crowded scores."""
    n, k = 600, 150
    j = np.arange(n, dtype=float)
    keys = {
        "one long layer": np.stack([2 * j, -j * j], axis=1),
        "layer upon layer": np.stack([j % 2, j], axis=1),
        "one place": np.ones((n, 2)),
        "far apart": np.stack([np.zeros(n), -(2.0**j)], axis=1),
    }[shape]
    cache = TopKCache(k, 1)
    cache.insert_many(keys, np.zeros((n, 1)))
    points = [(float(x), float(y)) for x, y in keys]
    for query in [(0.0, 1.0), (300.25, 1.0), (-1.0, 1e-3), (1.0, -1.0), (0.5, 1.0), (0.0, -1.0)]:
        assert list(cache.find(query).positions) == top_k(points, query, k), query
