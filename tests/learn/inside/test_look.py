"""Looking inside: the trace is what the model does; a model built by hand is understood."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.learn.config import Sampling
from curta.learn.experiment import Experiment, Setup
from curta.learn.inside.look import look, seen
from curta.learn.inside.probes import ablate_heads
from curta.learn.inside.rows import answer_targets, number_rows, rows_alike
from curta.learn.inside.trace import Trace, trace, without_head
from curta.learn.language import Rows
from curta.learn.models.config import ModelConfig
from curta.learn.models.transformer import Transformer
from curta.learn.reading import read
from curta.learn.training.state import new_model


def drawn(setup: Setup, count: int) -> Rows:
    return jax.device_get(
        jax.jit(lambda key: setup.sampler.rows(count, key=key))(jax.random.key(1))
    )


def made(setup: Setup) -> Transformer:
    return eqx.filter_jit(lambda key: new_model(setup, key=key))(jax.random.key(0))


SMALL = Experiment(
    model=ModelConfig(width=16, layers=2, heads=2, feedforward=16),
    sampling=Sampling(digits=(1, 2)),
)


@pytest.mark.parametrize(
    "changes",
    [
        {
            "norm": "post",
            "positions": "rope",
            "format": "whole(places=3)",
            "activation": "bilinear",
        },
        pytest.param(
            {"norm": "post", "positions": "rope", "format": "plain"}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"loops": 3, "injection": True, "layers": 1, "scan_layers": True, "pauses": 2},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"format": "whole(places=3)", "positions": "learned", "activation": "bilinear"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_trace_ends_in_the_logits_of_the_model(changes):
    setup = Setup(SMALL.with_(**changes))
    model = made(setup)
    rows = drawn(setup, 3)

    @eqx.filter_jit
    def both(model: Transformer) -> tuple[Trace, Array]:
        places = setup.positions.places(read(rows.tokens, rows.prompt_length, setup.language))
        return trace(model, setup, rows), model(rows.tokens, places)

    traced, logits = both(model)
    np.testing.assert_allclose(traced.logits, logits, atol=1e-5)
    config = setup.experiment.model
    depth, width = config.loops * config.layers, rows.tokens.shape[1]
    assert traced.attention.shape == (depth, 3, 2, width, width)
    assert traced.states.shape == (depth + 1, 3, width, 16)
    np.testing.assert_allclose(traced.attention.sum(axis=-1), 1, atol=1e-5)
    assert not np.triu(np.asarray(traced.attention), 1).any()


def copying() -> tuple[Setup, Transformer]:
    """A model of 7:7 by hand. Head 0 copies the mean of digits so far, head 1 adds nothing.

    A token is one-hot in the first half of the stream, head 0 adds its digits to the second half;
    the readout says what is in the second half, and the end behind a digit.
    """
    experiment = Experiment(
        task="copy",
        format="plain",
        positions="none",
        model=ModelConfig(
            width=24, layers=1, heads=2, head_width=12, feedforward=4, norm="none", tied=False
        ),
        sampling=Sampling(digits=(1, 1), test_share=0.0),
    )
    setup = Setup(experiment)
    tokens = setup.language.alphabet.size
    assert tokens == 12
    model = jax.tree.map(jnp.zeros_like, made(setup))
    block, digits = model.blocks[0], jnp.arange(1, 11)
    # Columns of the projection: queries, keys, values; 12 of head 0, then 12 of head 1.
    projection = block.projection.at[digits, 2 * 24 + digits].set(1.0)
    output = block.output.at[digits, 12 + digits].set(1.0)
    readout = model.readout.at[12 + digits, digits].set(5.0).at[digits, 0].set(50.0)
    by_hand = eqx.tree_at(
        lambda m: (m.embedding, m.readout, m.blocks[0].projection, m.blocks[0].output),
        model,
        (jnp.eye(12, 24), readout, projection, output),
    )
    return setup, by_hand


def test_a_head_on_which_everything_depends():
    setup, model = copying()
    rows = drawn(setup, 20)
    found = ablate_heads(model, setup, rows)
    assert (found.whole_exact, found.whole_token) == (1.0, 1.0)
    assert found.exact.tolist() == [[0.0, 1.0]]
    # The end behind the digit is still said.
    assert found.token.tolist() == [[0.5, 1.0]]


def test_a_head_that_adds_nothing_can_go():
    setup, model = copying()
    rows = drawn(setup, 5)
    traced = eqx.filter_jit(lambda model: trace(model, setup, rows).logits)
    whole, without, other = (
        traced(one) for one in (model, without_head(model, 0, 1), without_head(model, 0, 0))
    )
    np.testing.assert_array_equal(whole, without)
    assert np.abs(np.asarray(whole - other)).max() > 1


def test_what_is_found_in_the_model_made_by_hand():
    setup, model = copying()
    told: list[str] = []
    found = look(model, setup, samples=50, key=jax.random.key(0), done=told.append)
    assert told == ["rows", "attention", "probes", "numbers", "ablation"]
    assert found.alike.labels == ("a1", ":", "b1", "#")
    # Queries are zero: every token looks at all before it alike.
    uniform = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    np.testing.assert_allclose(found.attention[0, 0], uniform, atol=1e-6)
    assert found.probe == "10 different problems are too few to fit probes to"
    assert "activation gelu" in found.spectra
    # One-hot digits have nine dimensions: two of each frequency, one of alternation.
    assert found.digits.spectrum == pytest.approx(np.array([0, 2, 2, 2, 2, 1]) / 9, abs=1e-6)
    assert len(found.numbers) == 2


@pytest.mark.slow
def test_attention_and_states_do_not_depend_on_how_many_rows_fit(monkeypatch):
    setup = Setup(SMALL.with_(layers=1))
    model = made(setup)
    rows = drawn(setup, 6)
    at = np.arange(6) % 4
    whole = seen(model, setup, rows, at)
    each = 2 * rows.tokens.shape[1] ** 2
    monkeypatch.setattr("curta.learn.inside.look.ATTENTION_NUMBERS", 3 * each)
    for first, again in zip(whole, seen(model, setup, rows, at), strict=True):
        np.testing.assert_allclose(first, again, atol=1e-5)
    traced = eqx.filter_jit(lambda model: trace(model, setup, rows))(model)
    np.testing.assert_allclose(whole[1][:, 5], traced.states[:, 5, at[5]], atol=1e-5)
    np.testing.assert_allclose(whole[0], traced.attention.mean(axis=1), atol=1e-5)


def test_rows_are_different_and_laid_out_alike():
    setup = Setup(SMALL.with_(format="reversed"))
    alike = rows_alike(setup, 60, key=jax.random.key(0))
    tokens = np.asarray(alike.rows.tokens)
    assert alike.count == len(np.unique(tokens, axis=0)) == 60
    assert alike.labels[:6] == ("a2", "a1", "+", "b2", "b1", "=")
    assert alike.labels[6:] in (("c1", "c2", "#"), ("c1", "c2", "c3", "#"))
    targets, names = answer_targets(setup, alike)
    assert tuple(names) == alike.labels[6:-1]
    decoded = [setup.language.alphabet.decode(row) for row in tokens]
    assert all(
        text.split("=")[1] == "".join(map(str, row - 1)) + "#"
        for text, row in zip(decoded, targets, strict=True)
    )
    whole = Setup(SMALL.with_(format="whole(places=3)", positions="learned"))
    alike = rows_alike(whole, 60, key=jax.random.key(0))
    targets, names = answer_targets(whole, alike)
    assert names[:2] == ["digit 1", "digit 2"]
    text = whole.language.alphabet.decode(np.asarray(alike.rows.tokens[0]))
    assert int(text.split("=")[1][:-1]) == (targets[0] * 10 ** np.arange(len(names))).sum()


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, ["0+1=", "37+1=", "99+1="]),
        ({"format": "reversed_operands"}, ["0+1=", "73+1=", "99+1="]),
        ({"digits": (3, 4)}, ["100+111=", "137+111=", "199+111="]),
        ({"values": (5, 50)}, ["5+1=", "42+1=", "50+1="]),
        ({"format": "whole(places=3)", "positions": "learned"}, ["0+1=", "37+1=", "99+1="]),
    ],
)
@pytest.mark.slow
def test_questions_about_each_number(changes, texts):
    setup = Setup(SMALL.with_(**changes))
    asked = number_rows(setup)
    count = len(asked.at)
    decoded = [
        setup.language.alphabet.decode(np.asarray(asked.rows.tokens[row, : int(length)]))
        for row, length in enumerate(asked.rows.prompt_length)
    ]
    assert [decoded[row] for row in (0, min(37, count - 1), count - 1)] == texts
    ends = [text.index("+") - 1 for text in decoded]
    assert asked.at.tolist() == ([0] * count if "whole" in str(changes) else ends)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"task": "digit_step", "format": "plain", "test_share": 0.0}, "do not begin with"),
        ({"values": (3, 8), "test_share": 0.0}, "only 6 numbers were trained"),
    ],
)
def test_where_numbers_cannot_be_asked_about_it_says_why(changes, why):
    assert why in number_rows(Setup(SMALL.with_(**changes)))
