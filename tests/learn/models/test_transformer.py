"""The transformer and its options: caches, sizes, gradients, loops, injection."""

from __future__ import annotations

import dataclasses
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.models.config import ModelConfig
from curta.learn.models.transformer import Transformer, parameter_count
from curta.learn.positions.base import Positions
from tests.support.filled_models import filled
from tests.support.slow import some

TOKENS, WIDTH, ROWS = 13, 10, 2
TINY = ModelConfig(width=8, layers=1, heads=2, feedforward=12)


def made(config: ModelConfig = TINY, positions: str = "learned") -> Transformer:
    scheme = catalogue.positions(positions)
    return filled(lambda: Transformer(config, scheme, TOKENS, 12, key=jax.random.key(0)))


def row(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Tokens, and places that rise and fall as those within numbers do."""
    random = np.random.default_rng(seed)
    tokens = random.integers(0, TOKENS, (ROWS, WIDTH), dtype=np.int32)
    return tokens, random.integers(0, 11, (ROWS, WIDTH), dtype=np.int32)


def in_pairs(model: Transformer, tokens: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The logits of rows that are read two tokens at a time."""
    cache, parts = model.empty_cache(ROWS, WIDTH + 2), []
    step = eqx.filter_jit(lambda model, *given: model.step(*given))
    for at in range(0, WIDTH, 2):
        two = slice(at, at + 2)
        start = jnp.full((ROWS,), at, jnp.int32)
        logits, cache = step(model, tokens[:, two], places[:, two], start, cache)
        parts.append(np.asarray(logits))
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize(
    ("positions", "loops"),
    some(
        5,
        [(name, 1) for name in (*sorted(catalogue.parts(Positions)), 'randomised(of="rope")')]
        + [("learned", 3), ("rope", 3), ("fire", 3)],
    ),
)
def test_a_row_in_pieces_says_what_the_whole_row_says(positions: str, loops: int) -> None:
    model = made(dataclasses.replace(TINY, loops=loops, injection=loops > 1), positions)
    tokens, places = row()
    if positions.startswith("combined"):
        places = places * (1 << 15) + np.arange(WIDTH)
    whole = eqx.filter_jit(model)(tokens, places)
    np.testing.assert_allclose(in_pairs(model, tokens, places), whole, atol=1e-4)
    assert np.abs(whole).max() > 0.1


def test_positions_change_what_is_said() -> None:
    tokens, places = row()
    # Places of compiled heads are several numbers each: test_compiled.py has them.
    for name in sorted({*catalogue.parts(Positions)} - {"none", "compiled"}):
        model = made(positions=name)
        context = model.context(places, WIDTH), model.context(places[:, ::-1], WIDTH)
        told = []
        for places_of in context:
            vectors = model.embed(tokens, places_of.query_places)
            query, held = model.blocks[0].projected(vectors, places_of)
            bias = model.positions.bias(
                model.position_parameters, places_of.query_places, places_of.key_places
            )
            told.append([query, held.keys, jnp.zeros(()) if bias is None else bias])
        same = [np.allclose(one, other, atol=1e-3) for one, other in zip(*told, strict=True)]
        assert not all(same), name


def formula(config: ModelConfig) -> int:
    """Numbers that are trained, counted by hand."""
    width, heads = config.width, config.heads * config.features_per_head
    halves = 2 if config.activation in ("gated", "bilinear") else 1
    attention = width * 3 * heads + heads * width
    inner = halves * config.feedforward
    feedforward = width * inner + inner + config.feedforward * width + width
    norms = 0 if config.norm == "none" else 2 * width
    final = width if config.norm == "pre" else 0
    embedding = TOKENS * width * (1 if config.tied else 2)
    return embedding + config.layers * (attention + feedforward + norms) + final


OPTIONS = [
    dataclasses.replace(TINY, norm=norm, activation=activation, tied=tied)
    for (activation, norm), tied in zip(
        itertools.product(("gelu", "relu", "gated", "bilinear"), ("pre", "post", "none")),
        itertools.cycle([True, False]),
        strict=False,
    )
]


@pytest.mark.parametrize("config", OPTIONS, ids=lambda c: f"{c.norm}-{c.activation}")
def test_a_model_has_the_size_of_the_formula(config: ModelConfig) -> None:
    assert parameter_count(made(config, "none")) == formula(config)


@pytest.mark.parametrize(
    "config", OPTIONS[::4] + OPTIONS[9:10], ids=lambda c: f"{c.norm}-{c.activation}"
)
def test_every_parameter_is_trained(config: ModelConfig) -> None:
    model = made(config, "none")
    tokens, places = row()

    @eqx.filter_jit
    def gradients(model: Transformer) -> Transformer:
        return eqx.filter_grad(lambda m: jnp.square(m(tokens, places)).mean())(model)

    for path, leaf in jax.tree_util.tree_leaves_with_path(gradients(model)):
        assert np.isfinite(leaf).all(), path
        assert leaf.size == 0 or np.abs(leaf).max() > 0, path


def test_two_dimensional_heads_are_independent_of_the_width() -> None:
    config = dataclasses.replace(TINY, heads=6, head_width=2)
    model = made(config, "rope")
    assert model.blocks[0].projection.shape == (8, 3 * 12)
    assert parameter_count(model) == formula(config)
    tokens, places = row()
    assert eqx.filter_eval_shape(model, tokens, places).shape == (ROWS, WIDTH, TOKENS)


def test_the_future_is_not_seen() -> None:
    tokens, places = row()
    changed = tokens.copy()
    changed[:, 6:] = (changed[:, 6:] + 1) % TOKENS
    model = made()
    one, other = model(tokens, places), model(changed, places)
    np.testing.assert_array_equal(one[:, :6], other[:, :6])
    assert not np.allclose(one[:, 6:], other[:, 6:], atol=1e-2)


def test_loops_apply_the_same_weights_to_what_they_made() -> None:
    tokens, places = row()
    for injection in (False, True):
        model = made(dataclasses.replace(TINY, loops=3, injection=injection))
        start, context = model.embed(tokens, places), model.context(places, WIDTH)
        state, expected = jnp.zeros_like(start) if injection else start, []
        for _ in range(3):
            state = model.blocks[0](state + start * injection, context, key=None)
            expected.append(state)
        found = model.hidden(tokens, places)
        np.testing.assert_allclose(found, jnp.stack(expected), rtol=1e-4, atol=1e-4)
        # Fewer loops at test time are the first of more; one is no exception.
        np.testing.assert_allclose(
            model.hidden(tokens, places, loops=1), found[:1], rtol=1e-4, atol=1e-4
        )


def test_scanned_layers_are_the_same_layers() -> None:
    config = dataclasses.replace(TINY, layers=3)
    tokens, places = row()
    one = made(config)(tokens, places)
    other = made(dataclasses.replace(config, scan_layers=True))(tokens, places)
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_dropout_happens_in_training_only() -> None:
    model = made(dataclasses.replace(TINY, dropout=0.5))
    tokens, places = row()
    said = [
        model(tokens, places, key=key) for key in (None, None, *jax.random.split(jax.random.key(0)))
    ]
    np.testing.assert_array_equal(said[0], said[1])
    assert not np.allclose(said[2], said[3], atol=1e-2)
    assert not np.allclose(said[0], said[2], atol=1e-2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"heads": 3}, "width = 8 is not a multiple of heads = 3"),
        ({"head_width": 0}, "head_width = 0: must be at least 1"),
        ({"norm": "batch"}, "norm = 'batch': one of pre, post, none"),
        ({"activation": "tanh"}, "activation = 'tanh': one of gelu"),
        ({"dropout": 1.0}, "dropout = 1.0: must be at least 0, below 1"),
        ({"loops": 0}, "loops = 0: must be at least 1"),
    ],
)
def test_a_model_that_cannot_be_says_why(options: dict[str, object], why: str) -> None:
    with pytest.raises(ExperimentError, match=why):
        dataclasses.replace(TINY, **options)
