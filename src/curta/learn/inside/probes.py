"""What can be read from the residual stream, and in which shape numbers lie in it."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.errors import ExperimentError
from curta.learn.evaluation.exact import teacher_forced
from curta.learn.experiment import Setup
from curta.learn.inside.trace import without_head
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer
from curta.learn.training.objective import answer_mask

RIDGE = 1e-3
SMALLEST = 1e-30
PERIODS = (2, 5, 10, 100)


def ridge(inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The linear map, with a constant, of least squares under a small penalty.

    With x centred, W = (X'X + s I)^-1 X'Y; the constant, in the last row, is not penalised. s is a
    thousandth of the mean variance of a feature, so the map does not depend on the scale of x.
    """
    mean_input, mean_target = inputs.mean(axis=0), targets.mean(axis=0)
    centred = inputs - mean_input
    gram = centred.T @ centred
    penalty = RIDGE * max(np.trace(gram) / len(gram), SMALLEST)
    weights = np.linalg.solve(
        gram + penalty * np.eye(len(gram)), centred.T @ (targets - mean_target)
    )
    return np.vstack([weights, mean_target - mean_input @ weights])


def apply_linear(inputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a map of `ridge` makes of inputs."""
    applied: np.ndarray = inputs @ weights[:-1] + weights[-1]
    return applied


@dataclass(frozen=True)
class DigitProbe:
    """How well a linear map reads each token of the answer before any of it is said.

    accuracy[depth, target]: on rows that the map was not fitted to
    chance:                  the share that the commonest token has among these rows
    """

    accuracy: Float[np.ndarray, "depth targets"]
    chance: Float[np.ndarray, " targets"]


def probe_digits(
    states: Float[np.ndarray, "depth rows features"], targets: Int[np.ndarray, "rows targets"]
) -> DigitProbe:
    """Fit on the first half of the rows, test on the other."""
    half = len(targets) // 2
    accuracy = np.zeros((len(states), targets.shape[1]))
    chance = np.zeros(targets.shape[1])
    for column, values in enumerate(targets.T):
        chosen = np.eye(values.max() + 1)[values]
        chance[column] = chosen[half:].mean(axis=0).max()
        for depth, stream in enumerate(np.asarray(states, np.float64)):
            said = apply_linear(stream[half:], ridge(stream[:half], chosen[:half])).argmax(axis=1)
            accuracy[depth, column] = (said == values[half:]).mean()
    return DigitProbe(accuracy, chance)


@dataclass(frozen=True)
class HelixFit:
    """How much of the variance of number vectors lies on a helix.

    A helix with periods T: a line and a circle for each, [n, cos(2 pi n / T), sin(2 pi n / T)...].

    explained: the share of the variance, by each family of the basis alone, and by all together
    spectrum:  power of each frequency, over all features; frequency k turns k times in all numbers
    """

    explained: dict[str, float]
    spectrum: Float[np.ndarray, " frequencies"]


def fit_helix(
    vectors: Float[np.ndarray, "numbers features"], periods: tuple[int, ...] = PERIODS
) -> HelixFit:
    """Regress vectors of consecutive numbers on helices."""
    numbers = np.arange(len(vectors))
    centred = np.asarray(vectors, np.float64) - np.mean(vectors, axis=0)
    spectrum = np.square(np.abs(np.fft.rfft(centred, axis=0))).sum(axis=1)
    # Every other frequency stands for two: turning forwards and backwards.
    spectrum[1 : (len(numbers) + 1) // 2] *= 2
    fits = {"line": numbers[:, None] / len(numbers)}
    for period in [period for period in periods if period <= len(numbers)]:
        angle = 2 * np.pi * numbers / period
        # Period 2 has no sine: it is zero at all whole numbers.
        waves = [np.cos(angle)] if period == 2 else [np.cos(angle), np.sin(angle)]
        fits[f"period {period}"] = np.stack(waves, axis=1)
    fits["all"] = np.hstack(list(fits.values()))
    explained = {name: variance_explained(centred, basis) for name, basis in fits.items()}
    return HelixFit(explained, spectrum / max(spectrum.sum(), SMALLEST))


def variance_explained(centred: np.ndarray, basis: np.ndarray) -> float:
    """The share of the variance that a linear map of the basis accounts for, adjusted for its size.

    With k columns and n numbers, chance alone explains k / (n - 1); that is taken out, so noise
    comes to 0 on average. Vectors that do not vary have nothing to explain: 0.
    """
    columns = basis - basis.mean(axis=0)
    fitted = columns @ np.linalg.lstsq(columns, centred, rcond=None)[0]
    total = np.square(centred).sum()
    if total <= SMALLEST:
        return 0.0
    share = 1 - np.square(centred - fitted).sum() / total
    rest = len(centred) - 1
    free = max(rest - np.linalg.matrix_rank(columns), 1)
    return float(1 - (1 - share) * rest / free)


@dataclass(frozen=True)
class Ablation:
    """What is left with each head silenced, and with all heads as they are.

    exact, token: the share of answers, and of their tokens behind right ones, that are right
    """

    whole_exact: float
    whole_token: float
    exact: Float[np.ndarray, "layers heads"]
    token: Float[np.ndarray, "layers heads"]


def ablate_heads(model: Transformer, setup: Setup, rows: Rows) -> Ablation:
    """Silence one head after the other, in all loops at once."""

    @eqx.filter_jit
    def shares(model: Transformer, rows: Rows) -> Float[Array, " 2"]:
        judged, mask = teacher_forced(model, setup, rows), answer_mask(rows)
        return jnp.stack([judged.exact[0].mean(), (judged.right[0] & mask).sum() / mask.sum()])

    config = model.config
    exact, token = np.zeros((2, config.layers, config.heads))
    for layer, head in np.ndindex(config.layers, config.heads):
        silenced = without_head(model, layer, head)
        exact[layer, head], token[layer, head] = np.asarray(shares(silenced, rows))
    whole_exact, whole_token = map(float, shares(model, rows))
    return Ablation(whole_exact, whole_token, exact, token)


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


def digit_vectors(model: Transformer, setup: Setup) -> Float[np.ndarray, "digits features"]:
    """The embeddings of the digits."""
    alphabet = setup.language.alphabet
    first = alphabet.first_digit
    return np.asarray(model.embedding[first : first + alphabet.base])


def digit_readouts(model: Transformer, setup: Setup) -> Float[Array, "digits features"]:
    """The directions along which the readout looks for each digit."""
    readout = model.embedding if model.readout is None else model.readout.T
    first = setup.language.alphabet.first_digit
    directions: Array = readout[first : first + setup.language.alphabet.base]
    return directions
