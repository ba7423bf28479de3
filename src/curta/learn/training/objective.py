"""What training minimises, and what is counted while it does."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curta.learn.experiment import Setup
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.reading import read
from curta.learn.training.config import Loss, TrainingConfig


class BatchMetrics(eqx.Module):
    """Of one batch."""

    loss: Float[Array, ""]
    exact: Float[Array, ""]
    """The share of rows of which every token of the answer was the most likely one."""
    token: Float[Array, ""]
    """The share of tokens of answers that were the most likely ones."""
    counted: Float[Array, ""]
    """The predictions that the loss is a mean of."""


def objective(
    model: Transformer, setup: Setup, rows: Rows, *, key: Array | None
) -> tuple[Float[Array, ""], BatchMetrics]:
    """The loss of a batch. A key means training: offsets, dropout, random loops."""
    config = setup.experiment.training
    place_key, drop_key, loop_key = (None,) * 3 if key is None else jax.random.split(key, 3)
    reading = read(rows.tokens, rows.prompt_length, setup.language)
    places = setup.positions.places(reading, key=place_key)
    inputs, targets = rows.tokens[:, :-1], rows.tokens[:, 1:]
    hidden = model.hidden(inputs, places[:, :-1], key=drop_key)
    logits = model.logits(hidden[-1]).astype(jnp.float32)
    weights = loss_weights(rows, config.loss)
    loss = cross_entropy(model.log_probability(logits, targets), weights)
    if config.progressive and loop_key is not None and hidden.shape[0] > 1:
        early = jax.random.randint(loop_key, (), 0, hidden.shape[0] - 1)
        earlier_logits = model.logits(hidden[early]).astype(jnp.float32)
        earlier = cross_entropy(model.log_probability(earlier_logits, targets), weights)
        loss = (1 - config.progressive) * loss + config.progressive * earlier
    counted = counts(loss, weights.sum(), model.most_likely(logits), targets, rows)
    if config.variance or config.covariance:
        collapsed, redundant = collapse(hidden.astype(jnp.float32), inside(rows))
        loss = loss + config.variance * collapsed + config.covariance * redundant
    return loss, counted


def answer_mask(rows: Rows) -> Bool[Array, "batch width-1"]:
    """Where the next token belongs to the answer or ends it."""
    index = jnp.arange(rows.tokens.shape[1] - 1)
    return (index >= rows.prompt_length[:, None] - 1) & (index < rows.length[:, None] - 1)


def loss_weights(rows: Rows, loss: Loss) -> Float[Array, "batch width-1"]:
    """Which predictions count."""
    index = jnp.arange(rows.tokens.shape[1] - 1)
    match loss:
        case "answer":
            counted = answer_mask(rows)
        case "tokens":
            counted = index < rows.length[:, None] - 1
        case "row":
            counted = jnp.broadcast_to(index >= 0, rows.tokens[:, 1:].shape)
    return (counted & rows.valid[:, None]).astype(jnp.float32)


def inside(rows: Rows) -> Float[Array, "batch width-1"]:
    """Which tokens belong to rows, rather than fill them up."""
    index = jnp.arange(rows.tokens.shape[1] - 1)
    return ((index < rows.length[:, None] - 1) & rows.valid[:, None]).astype(jnp.float32)


def cross_entropy(
    log_probability: Float[Array, "batch width"], weights: Float[Array, "batch width"]
) -> Float[Array, ""]:
    """The mean over all predictions that count."""
    return -(log_probability * weights).sum() / jnp.maximum(weights.sum(), 1)


def collapse(
    hidden: Float[Array, "loops batch width features"], present: Float[Array, "batch width"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Seq-VCR: how far features fall short of variance 1, and how much they say the same.

    C is the covariance over the rows of a batch, for each token and loop; d features. The terms are
    the means over tokens and loops of sum_k max(0, 1 - sqrt(C_kk + 1e-3)) / d and of
    sum_(k != l) C_kl^2 / d.
    """
    count = present.sum(axis=0)
    weight = present[..., None]
    mean = (hidden * weight).sum(axis=1, keepdims=True) / jnp.maximum(count, 1)[:, None]
    centred = (hidden - mean) * weight
    several = jnp.maximum(count - 1, 1)[:, None, None]
    covariance = jnp.einsum("lbtk,lbtm->ltkm", centred, centred) / several
    features = hidden.shape[-1]
    variance = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    short = jax.nn.relu(1 - jnp.sqrt(variance + 1e-3)).sum(axis=-1) / features
    others = (jnp.square(covariance).sum((-2, -1)) - jnp.square(variance).sum(-1)) / features
    # A place that only one row reaches has no variance.
    counted = (count > 1) / jnp.maximum((count > 1).sum(), 1)
    return (short * counted).sum(axis=1).mean(), (others * counted).sum(axis=1).mean()


def counts(loss: Array, counted: Array, said: Array, targets: Array, rows: Rows) -> BatchMetrics:
    """How many answers would have been generated, teacher-forced.

    Greedy decoding generates an answer exactly if each of its tokens is the most likely one after
    the right ones before it.
    """
    mask = answer_mask(rows) & rows.valid[:, None]
    right = said == targets
    exact = (right | ~mask).all(axis=1) & rows.valid
    return BatchMetrics(
        loss=loss,
        exact=exact.sum() / jnp.maximum(rows.valid.sum(), 1),
        token=(right & mask).sum() / jnp.maximum(mask.sum(), 1),
        counted=counted,
    )


def in_precision(model: Transformer, config: TrainingConfig) -> Transformer:
    """The model as it computes; gradients flow through the conversion."""
    if config.precision == "float32":
        return model
    small: Transformer = jax.tree.map(
        lambda leaf: leaf.astype(jnp.bfloat16) if eqx.is_inexact_array(leaf) else leaf, model
    )
    return small
