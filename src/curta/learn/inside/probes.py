"""What can be read from the residual stream, and in which shape numbers lie in it."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.errors import ExperimentError
from curta.learn.evaluation.exact import teacher_forced
from curta.learn.experiment import Setup
from curta.learn.inside.trace import trace, without_head
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.training.objective import answer_mask

RIDGE = 1e-3


def ridge(inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The linear map, with a constant, of least squares under a small penalty."""
    extended = np.hstack([inputs, np.ones((len(inputs), 1))])
    scale = RIDGE * np.trace(extended.T @ extended) / extended.shape[1]
    gram = extended.T @ extended + scale * np.eye(extended.shape[1])
    solution: np.ndarray = np.linalg.solve(gram, extended.T @ targets)
    return solution


def apply_linear(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a map of `ridge` makes of inputs."""
    applied: np.ndarray = inputs @ weights[:-1] + weights[-1]
    return applied


@dataclass(frozen=True)
class DigitProbe:
    """How well a linear map reads each token of the answer, one that is not yet said included.

    accuracy[depth, token]: on problems that the map was not fitted to. The stream is read at the
    last token of the prompt. `chance` is the share of the commonest token.
    """

    accuracy: Float[np.ndarray, "depth tokens"]
    chance: Float[np.ndarray, " tokens"]


def probe_digits(model: Transformer, setup: Setup, rows: Rows) -> DigitProbe:
    """Fit on one half of the rows, test on the other."""
    traced = trace(model, setup, rows)
    at = jnp.arange(rows.tokens.shape[0])
    states = np.asarray(traced.states[:, at, rows.prompt_length - 1], np.float64)
    answers = answer_tokens(rows)
    half = len(answers) // 2
    accuracy = np.zeros((states.shape[0], answers.shape[1]))
    chance = np.zeros(answers.shape[1])
    symbols = setup.language.alphabet.size
    for token in range(answers.shape[1]):
        targets = np.eye(symbols)[answers[:, token]]
        chance[token] = targets[half:].mean(axis=0).max()
        for depth, stream in enumerate(states):
            fitted = ridge(stream[:half], targets[:half])
            said = apply_linear(stream[half:], fitted).argmax(axis=1)
            accuracy[depth, token] = (said == answers[half:, token]).mean()
    return DigitProbe(accuracy, chance)


def answer_tokens(rows: Rows) -> Int[np.ndarray, "batch tokens"]:
    """The tokens of the answers, filled up with the end token."""
    most = int((rows.length - rows.prompt_length).max())
    index = rows.prompt_length[:, None] + jnp.arange(most)
    inside = jnp.minimum(index, rows.tokens.shape[1] - 1)
    found = jnp.take_along_axis(rows.tokens, inside, axis=1)
    return np.asarray(jnp.where(index < rows.length[:, None], found, 0))


@dataclass(frozen=True)
class HelixFit:
    """How much of the variance of number vectors lies on a helix.

    A helix with periods T: a line and a circle for each, [n, cos(2 pi n / T), sin(2 pi n / T)...].
    explained: of the leading components, by each family of the basis alone, and by all together;
    spectrum: power of each frequency, over all features.
    """

    periods: tuple[int, ...]
    explained: dict[str, float]
    spectrum: Float[np.ndarray, " frequencies"]


def fit_helix(
    vectors: Float[np.ndarray, "numbers features"], periods: tuple[int, ...] = (2, 5, 10, 100)
) -> HelixFit:
    """Regress vectors of the numbers 0, 1, 2, ... on helices."""
    numbers = np.arange(len(vectors))
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0)
    spectrum = np.square(np.abs(np.fft.rfft(centred, axis=0))).sum(axis=1)
    fits = {"line": numbers[:, None] / len(numbers)}
    for period in [period for period in periods if period <= len(numbers)]:
        angle = 2 * np.pi * numbers / period
        # Period 2 has no sine: it is zero at all whole numbers.
        waves = [np.cos(angle)] if period == 2 else [np.cos(angle), np.sin(angle)]
        fits[f"period {period}"] = np.stack(waves, axis=1)
    fits["all"] = np.hstack(list(fits.values()))
    explained = {name: variance_explained(centred, basis) for name, basis in fits.items()}
    return HelixFit(periods, explained, spectrum / max(spectrum.sum(), 1e-30))


def variance_explained(centred: np.ndarray, basis: np.ndarray) -> float:
    """The share of the variance that a linear map of the basis accounts for, adjusted for its size.

    With k columns and n numbers, chance alone explains k / (n - 1); that is taken out.
    """
    columns = basis - basis.mean(axis=0)
    fitted = columns @ np.linalg.lstsq(columns, centred, rcond=None)[0]
    total = np.square(centred).sum()
    share = 1 - np.square(centred - fitted).sum() / max(total, 1e-30)
    rest = len(centred) - 1
    free = max(rest - np.linalg.matrix_rank(columns), 1)
    return float(1 - (1 - share) * rest / free)


def ablate_heads(model: Transformer, setup: Setup, rows: Rows) -> Float[np.ndarray, "layers heads"]:
    """The share of rows answered exactly with each head silenced."""

    @eqx.filter_jit
    def exact(model: Transformer) -> Array:
        return teacher_forced(model, setup, rows).exact[0].mean()

    config = model.config
    return np.array(
        [
            [float(exact(without_head(model, layer, head))) for head in range(config.heads)]
            for layer in range(config.layers)
        ]
    )


def bilinear_spectrum(
    model: Transformer, layer: int, direction: Float[Array, " features"]
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of what a bilinear layer adds along a direction.

    The layer adds W (Ax * Bx); along u that is x' M x with M = sum over hidden units h of
    (W'u)_h A_h B_h', made symmetric. Its eigenvectors with the largest eigenvalues are the inputs
    that matter.
    """
    block = model.blocks[layer]
    if model.config.activation != "bilinear":
        raise ExperimentError(
            f"activation = {model.config.activation}: only a bilinear layer has a spectrum; "
            "train with --activation bilinear"
        )
    left, right = jnp.split(block.expand, 2, axis=1)
    along = block.contract @ direction
    product = jnp.einsum("h,ih,jh->ij", along, left, right)
    values, vectors = np.linalg.eigh(np.asarray((product + product.T) / 2, np.float64))
    order = np.argsort(-np.abs(values))
    return values[order], vectors[:, order]


def mean_attention(
    model: Transformer, setup: Setup, rows: Rows
) -> Float[np.ndarray, "depth heads queries keys"]:
    """Attention of rows that are all laid out alike, averaged."""
    return np.asarray(trace(model, setup, rows).attention.mean(axis=1))


def answer_accuracy(model: Transformer, setup: Setup, rows: Rows) -> float:
    """The share of answers' tokens that are the most likely ones."""
    mask = answer_mask(rows)
    right = teacher_forced(model, setup, rows).right[0]
    return float((right & mask).sum() / mask.sum())


def digit_vectors(model: Transformer, setup: Setup) -> Float[np.ndarray, "digits features"]:
    """The embeddings of the digits."""
    alphabet = setup.language.alphabet
    first = alphabet.first_digit
    return np.asarray(model.embedding[first : first + alphabet.base])


def operand_vectors(
    model: Transformer, setup: Setup, rows: Rows, depth: int
) -> Float[np.ndarray, "rows features"]:
    """The residual stream at the last token of each prompt, behind so many layers."""
    states = jax.jit(lambda rows: trace(model, setup, rows).states[depth])(rows)
    at = jnp.arange(rows.tokens.shape[0])
    return np.asarray(states[at, rows.prompt_length - 1])
