"""The hull level: C and NumPy say what native code says, and heads find the arg-max."""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.compiler import Graph, compile
from curta.engine import Level, load
from curta.engine.hull import Backend
from curta.engine.hull.reference import hard_maximum
from curta.engine.hull_level import HullLevel, KeyBlocks, LayerMaps, attended, layer_matrices
from curta.engine.model_cache import compile_cached
from curta.errors import HullError, RegionError
from curta.gallery import PROGRAMS
from tests.support.slow import draws

BACKENDS: list[Backend] = ["c", "python"]
steps = st.tuples(
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)),  # a key's digits, doubled or not
    st.tuples(st.integers(-1, 1), st.integers(-1, 1)),  # a query's
    st.integers(-2, 2),  # what its last component has in addition
)


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    st.lists(steps, min_size=1, max_size=40),
    st.sampled_from([1.0, 2.0]),
    st.sampled_from([0.0, 0.015625, 0.25, 1.0]),
    st.sampled_from([1.0, 3.0, 1024.0]),
    st.sampled_from([0.0, 0.0009765625]),
)
@settings(deadline=None, max_examples=draws(400))
def test_filed_keys_find_the_arg_max(
    backend: Backend,
    given_steps: list[tuple[tuple[int, int], tuple[int, int], int]],
    double: float,
    unit: float,
    hardness: float,
    recency: float,
) -> None:
    """Whatever the last components are: nothing is taken for granted about them."""
    digits = double * np.array([key for key, _, _ in given_steps], dtype=float)
    extra = unit * np.array([more for _, _, more in given_steps])
    last = recency * np.arange(len(digits)) - (digits**2).sum(axis=1) / 4 + extra
    keys = np.column_stack([digits, last])
    asked = np.array([query for _, query, _ in given_steps], dtype=float)
    queries = hardness * np.column_stack([asked, np.ones(len(asked))])
    values = np.arange(len(keys), dtype=float)[:, None]

    head = KeyBlocks(2, 1, [[0]], backend)
    half = len(keys) // 2
    found = np.concatenate(
        [head.steps(queries[b], keys[b], values[b]) for b in (slice(half), slice(half, None))]
    )
    expected = [
        hard_maximum(keys[: n + 1].tolist(), values.tolist(), queries[n].tolist()).value[0]
        for n in range(len(keys))
    ]
    assert found[:, 0].tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("more", [0.25, 0.3, 0.2])
def test_a_key_that_is_asked_for_may_lose(backend: Backend, more: float) -> None:
    """Half a step away, another key has more than the quarter that the distance costs."""
    keys = np.array([[2.0, 0.0, -1.0], [3.0, 0.0, -2.25 + more], [8.0, 0.0, -16.0]])
    queries = np.array([[1.0, 0.0, 1.0]] * 3)
    found = KeyBlocks(2, 1, [[0]], backend).steps(queries, keys, np.array([[10.0], [20.0], [30.0]]))
    assert found[:, 0].tolist() == ([10.0] * 3 if more < 0.25 else [10.0, 20.0, 20.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_keys_and_a_query_without_hardness(backend: Backend) -> None:
    rng = np.random.default_rng(5)
    digits = rng.integers(-400, 400, (3_000, 3)).astype(float)
    last = np.arange(3_000) / 2**20 - (digits**2).sum(axis=1)
    asked = np.where(rng.random((3_000, 1)) < 0.5, digits[rng.permutation(3_000)], digits + 1)
    keys = np.column_stack([2 * digits, last])
    queries = 64 * np.column_stack([asked, np.ones(3_000)])
    values = rng.integers(0, 9, (3_000, 2)).astype(float)
    found = KeyBlocks(3, 2, [[0, 1]], backend).steps(queries, keys, values)
    scores = np.where(np.tri(3_000, dtype=bool), queries @ keys.T, -np.inf)
    latest = len(keys) - 1 - scores[:, ::-1].argmax(axis=1)
    np.testing.assert_array_equal(found, values[latest])

    head = KeyBlocks(3, 2, [[0, 1]], backend)
    queries[7, 3] = 0.0
    with pytest.raises(HullError, match="last component that is not positive"):
        head.steps(queries, keys, values)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["addition", "prefix_fractions", "sort_records", "subleq"])
def test_sessions_and_blocks_say_what_native_code_says(name: str, backend: Backend) -> None:
    program = PROGRAMS[name]
    model = compile_cached(program.build(), program.max_tokens)
    native, engine = load(model, "native"), HullLevel(model, backend)
    prompt = native.encode(program.encode(program.cases[0].input))
    ids = np.array([*prompt, *native.run(prompt, 200)], dtype=np.int32)
    defined, session = native.session(), engine.session()
    expected = [defined.feed(token) for token in ids.tolist()]
    assert [session.feed(token) for token in ids.tolist()] == expected
    asked = np.ones(len(ids), dtype=bool)
    assert np.concatenate(list(engine.replay(ids, asked))).tolist() == expected

    blocks, parts = engine.session(), []
    for start in range(0, len(ids), 7):
        block = slice(start, start + 7)
        parts += blocks.read(ids[block], asked[block])
    assert np.concatenate(parts).tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS)
@given(
    st.lists(
        st.sampled_from([1.0, 0.0, -3.0, 2.0**-10, 2.0**16, 2.0**30]), min_size=1, max_size=48
    ),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=draws(60))
def test_heads_with_the_same_keys_share_a_hull(
    backend: Backend, sizes: list[float], seed: int
) -> None:
    """Whatever the residual stream holds, from one size to the next."""
    program = PROGRAMS["addition"]
    engine = HullLevel(compile_cached(program.build(), program.max_tokens), backend)
    blocks = engine.session()
    assert (len(blocks.memories[2]), len(engine.model.plan["layers"][2]["heads"])) == (1, 3)
    x = np.random.default_rng(seed).integers(-9, 9, (engine.model.plan["width"], len(sizes)))
    x = x * np.array(sizes)
    found = attended(blocks.memories[2], engine.maps[2], x)
    expected = layer_matrices(engine.model, 2)["output"] @ by_definition(engine, 2, x)
    np.testing.assert_array_equal(found, expected)


def by_definition(engine: HullLevel, number: int, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What 2D heads find, head by head, by comparing all scores as exact numbers."""
    plan, matrices = engine.model.plan["layers"][number], layer_matrices(engine.model, number)
    queries, keys, values = (matrices[part] @ x for part in ("query", "key", "value"))
    found = np.zeros_like(values)
    for place, head in enumerate(plan["heads"]):
        rows = [place * plan["head_width"] + row for row in range(len(head["key"]) + 1)]
        exact = [[Fraction(number) for number in column] for column in keys[rows].T]
        for position, query in enumerate(queries[rows].T):
            scores = [sum(map(mul, map(Fraction, query), key)) for key in exact[: position + 1]]
            best = max(range(position + 1), key=lambda earlier: (scores[earlier], earlier))
            first = place * plan["head_width"]
            filed = slice(first, first + len(head["values"]))
            found[filed, position] = values[filed, best]
    return found


def test_the_maps_are_the_matrices() -> None:
    model = compile_cached(PROGRAMS["subleq"].build(), PROGRAMS["subleq"].max_tokens)
    x = np.random.default_rng(2).integers(-50, 50, (model.plan["width"], 64)).astype(float)
    for number in range(len(model.plan["layers"])):
        matrices = layer_matrices(model, number)
        maps = LayerMaps(matrices)
        asked = [matrices[part] @ x for part in ("query", "key", "value")]
        np.testing.assert_array_equal(maps.asking @ x, np.concatenate(asked))
        changed = x.copy()
        maps.add_gates(changed)
        hidden = np.maximum(matrices["gate"] @ x, 0) * (matrices["expand"] @ x)
        np.testing.assert_array_equal(changed, x + matrices["contract"] @ hidden)


@pytest.mark.parametrize("level", ["plain", "hull"])
def test_a_broken_promise_comes_after_what_was_said_before_it(level: Level) -> None:
    if level == "plain":
        pytest.importorskip("torch")
    graph = Graph(["low", "high"])
    count = graph.assume(graph.running_sum(graph.is_token("high")).named("count"), 0, 2)
    graph.score("low", count)
    graph.score("high", 1)
    engine = load(compile(graph, max_tokens=64), level)
    blocks = engine.replay(np.array([0, 1, 0, 1, 0, 1, 0], dtype=np.int32))
    assert len(next(blocks)) == 5
    with pytest.raises(RegionError, match="position 5: count is 3, promised"):
        next(blocks)
