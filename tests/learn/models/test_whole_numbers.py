"""Numbers as single tokens: features in, digits out, and the same evaluation as for digits."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError, TokenError
from curta.learn.config import Sampling
from curta.learn.evaluation.decode import generate
from curta.learn.evaluation.exact import generated_right, teacher_forced
from curta.learn.evaluation.measure import evaluate
from curta.learn.experiment import EvaluationConfig, Experiment, Setup
from curta.learn.language import Rows
from curta.learn.models.config import ModelConfig
from curta.learn.models.fourier import FourierNumbers, Numbers
from curta.learn.training.config import TrainingConfig
from curta.learn.training.loop import train
from curta.learn.training.state import new_model, new_state, of_seed
from tests.support.filled_models import filled
from tests.support.written_rows import written_rows

PLACES = 4


def setup(task: str = "addition", **options: object) -> Setup:
    experiment = Experiment(
        task=task,
        format=f"whole(places={PLACES})",
        positions="learned",
        model=ModelConfig(width=16, layers=1, heads=2, feedforward=16),
        sampling=Sampling(digits=(1, 3), test_share=0.0),
    )
    return Setup(experiment.with_(**options))


def test_features_are_hands_of_clocks() -> None:
    numbers = Numbers(first=5, base=10, places=PLACES)
    values = np.array([0, 7, 1234, 9999])
    features = np.asarray(numbers.features(jnp.array(values + 5)))
    assert features.shape == (4, 2 * PLACES)
    for place in range(PLACES):
        angle = 2 * np.pi * values / 10 ** (place + 1)
        np.testing.assert_allclose(features[:, 2 * place], np.cos(angle), atol=1e-5)
        np.testing.assert_allclose(features[:, 2 * place + 1], np.sin(angle), atol=1e-5)
    assert not np.asarray(numbers.features(jnp.arange(5))).any()
    digits = numbers.digits(jnp.array([5 + 1234, 3]))
    assert digits.tolist() == [[4, 3, 2, 1], [0, 0, 0, 0]]


def test_the_largest_numbers_keep_their_last_digit() -> None:
    numbers = Numbers(first=13, base=10, places=9)
    value = 987_654_321
    features = np.asarray(numbers.features(jnp.array([13 + value])))[0]
    np.testing.assert_allclose(features[:2], [np.cos(np.pi / 5), np.sin(np.pi / 5)], atol=1e-6)
    assert numbers.digits(jnp.array(13 + value)).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_probabilities_of_all_tokens_add_up_to_one() -> None:
    numbers = Numbers(first=5, base=3, places=3)
    model = FourierNumbers(numbers, 8, key=jax.random.key(0))
    random = np.random.default_rng(0)
    symbols, hidden = random.normal(size=6), random.normal(size=8)

    @jax.jit
    def of_all(symbols: jax.Array, hidden: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = jnp.concatenate([symbols, 4 * model.logits(hidden)])
        repeated = jnp.tile(logits, (5 + 27, 1))
        return logits, model.log_probability(repeated, jnp.arange(5 + 27))

    logits, each = of_all(symbols, hidden)
    assert np.exp(each).sum() == pytest.approx(1, abs=1e-5)
    # The likeliest token is of the likeliest kind; among numbers, it is the likeliest one.
    assert model.most_likely(logits.at[5].set(9.0)) == 5 + each[5:].argmax()
    assert model.most_likely(logits.at[2].set(9.0)) == 2


def test_rows_hold_one_token_a_number() -> None:
    for task, sign in (("addition", "+"), ("subtraction", "-")):
        here = setup(task)
        rows = jax.jit(lambda key, here=here: here.sampler.rows(50, key=key))(jax.random.key(0))
        alphabet = here.language.alphabet
        for tokens, prompt in zip(rows.tokens.tolist(), rows.prompt_length.tolist(), strict=True):
            assert prompt == 4
            text = alphabet.decode(tokens)
            question, answer = text.split("=")
            assert int(answer.removesuffix("#")) == eval(question)
            assert sign in question
            assert alphabet.encode(text) == tokens[: len(alphabet.encode(text))]
    with pytest.raises(TokenError, match="12345 cannot be one token"):
        alphabet.encode("12345+1=")


@pytest.mark.slow
def test_a_trained_model_says_whole_numbers() -> None:
    """Sums up to 18, so that a tiny model has learnt them after seconds."""
    here = setup(
        values=(0, 9),
        test_share=0.0,
        training=TrainingConfig(
            steps=250, batch=64, learning_rate=1e-2, warmup=10, seeds=1, weight_decay=0.0
        ),
    )
    model = of_seed(train(here), 0)
    rows = jax.jit(lambda key: here.sampler.rows(40, key=key, split="all"))(jax.random.key(9))
    judged = eqx.filter_jit(teacher_forced)(model, here, rows)
    decoded = generated_right(model, here, rows)
    np.testing.assert_array_equal(judged.exact[0], decoded)
    assert decoded.mean() > 0.5, "chance is below 1/10"
    assert (judged.logprob <= 0).all()


@pytest.mark.slow
def test_exactness_is_judged_by_the_same_functions() -> None:
    """Of rows that say what the model says all are right, of others none."""
    here = setup()
    model = filled(lambda: new_model(here, key=jax.random.key(0)))
    nothing = jnp.zeros((1, 1), jnp.int32)
    logits = eqx.filter_eval_shape(model, nothing, nothing)
    assert logits.shape[-1] == here.language.alphabet.size + 10 * PLACES
    texts = ("1+2=3#", "99+1=100#", "123+456=579#", "0+0=0#", "999+999=1998#", "40+2=42#")
    asked = written_rows(here.language, texts, width=here.sampler.width)
    said = generate(model, here, asked)
    ends = np.asarray((said == 0).argmax(axis=1))
    lengths = np.where(ends > 0, ends + 1, said.shape[1])
    changed = said.at[::2, 4].add(1)
    rows = Rows(changed, asked.prompt_length, jnp.asarray(lengths), asked.valid)
    expected = [False, True] * 3
    assert generated_right(model, here, rows).tolist() == expected
    judged = eqx.filter_jit(teacher_forced)(model, here, rows)
    assert judged.exact[0].tolist() == expected
    assert (judged.logprob < 0).all()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"format": "whole(places=10)"}, "below 2000000000"),
        ({"format": "whole(places=3)"}, "numbers with 4 digits; train with fewer"),
        ({"positions": "coupled"}, "a number is one token"),
    ],
)
def test_what_does_not_fit_says_why(options: dict[str, object], why: str) -> None:
    with pytest.raises(ExperimentError, match=why):
        setup(**options)


@pytest.mark.slow
def test_carries_are_counted_though_rows_are_shorter_than_their_numbers() -> None:
    whole = setup(format="whole(places=7)", digits=(1, 6), carries=True, test_share=0.1, seeds=2)
    config = EvaluationConfig(digits=(6, 6), samples=256, test=16)
    assert whole.sampler.width == 6
    found = evaluate(whole, new_state(whole).model, config, key=jax.random.key(0))
    counted = found.errors["trained"].carries_samples
    assert counted.sum() == found.cells[0][1].samples
    assert (counted[:7] > 0).all()
