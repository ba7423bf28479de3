"""Whether answers are exactly right.

The definition is `generated_right`: decode greedily, compare. The fast path is `teacher_forced`:
greedy decoding says the right answer exactly if every token of the answer is the most likely one
behind the right tokens before it, so one forward pass over whole rows tells the same.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curta.errors import ExperimentError
from curta.learn.evaluation.decode import generate
from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.reading import read
from curta.learn.training.objective import answer_mask, loss_weights


class Verdicts(eqx.Module):
    """What a model made of rows, for each number of loops that was asked for."""

    right: Bool[Array, "loops batch width-1"]
    """Whether the next token was the most likely one; true outside of answers."""
    logprob: Float[Array, "loops batch"]
    """The logarithm of the probability of the whole answer."""
    loss: Float[Array, "loops batch"]
    """What training minimises, summed over the tokens that count there."""
    counted: Float[Array, " batch"]
    """How many tokens those are."""
    fit: Bool[Array, ""]
    """Whether the model has parameters for all places of the rows."""

    @property
    def exact(self) -> Bool[Array, "loops batch"]:
        """Whether the whole answer was right."""
        return self.right.all(axis=-1)


def generated_right(
    model: Transformer, setup: Setup, rows: Rows, *, loops: int | None = None
) -> Bool[Array, " batch"]:
    """Decode and compare."""
    said = generate(model, setup, rows, loops=loops)
    index = jnp.arange(rows.tokens.shape[1])
    return ((said == rows.tokens) | (index >= rows.length[:, None])).all(axis=1)


@eqx.filter_jit
def teacher_forced(
    model: Transformer, setup: Setup, rows: Rows, loops: tuple[int, ...] = ()
) -> Verdicts:
    """Judge every token of the answers behind the right ones before it."""
    reading = read(rows.tokens, rows.prompt_length, setup.language)
    places = setup.positions.places(reading)[:, :-1]
    fit = setup.positions.fit(model.position_parameters, places)
    wanted = loops or (model.config.loops,)
    hidden = model.hidden(rows.tokens[:, :-1], places, loops=max(wanted))
    mask, targets = answer_mask(rows), rows.tokens[:, 1:]
    weights = loss_weights(rows, setup.experiment.training.loss)

    def judge(state: Array) -> tuple[Array, Array, Array]:
        logits = model.logits(state).astype(jnp.float32)
        chosen = model.log_probability(logits, targets)
        right = (model.most_likely(logits) == targets) | ~mask
        return right, (chosen * mask).sum(axis=1), -(chosen * weights).sum(axis=1)

    right, logprob, loss = jax.lax.map(judge, hidden[jnp.array(wanted) - 1])
    return Verdicts(right, logprob, loss, weights.sum(axis=1), fit)


def check_length(model: Transformer, setup: Setup, width: int) -> None:
    """Raise an error if rows are longer than the model has indices for.

    Places within numbers are not known before there are rows: `Verdicts.fit` tells.
    """
    most = setup.positions.longest_place(model.position_parameters)
    if setup.positions.of_index and most is not None and width > most + 1:
        raise ExperimentError(
            f"rows of {width} tokens, but positions {setup.positions.name} has places up to "
            f"{most}: train with evaluation digits that long, or ask for shorter ones"
        )
