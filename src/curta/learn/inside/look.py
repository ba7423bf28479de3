"""Everything that is looked at inside of a model, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.learn.experiment import Setup
from curta.learn.inside.probes import (
    Ablation,
    DigitProbe,
    HelixFit,
    ablate_heads,
    bilinear_spectrum,
    digit_readouts,
    digit_vectors,
    fit_helix,
    probe_digits,
)
from curta.learn.inside.rows import (
    Alike,
    NumberRows,
    answer_targets,
    number_rows,
    rows_alike,
    taken,
)
from curta.learn.inside.trace import trace
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer

FEWEST_ROWS = 40
"""A probe is fitted to half of the rows, and tested on the other half."""

ATTENTION_NUMBERS = 2**24
"""So many weights of attention are held at once, at most."""


@dataclass(frozen=True)
class Inside:
    """What was found. Where something does not apply, a string says why."""

    alike: Alike
    attention: Float[np.ndarray, "depth heads queries keys"]
    probe: DigitProbe | str
    targets: tuple[str, ...]
    """What the columns of the probe are."""
    digits: HelixFit
    """Of the embeddings of digits; of numbers, where these are tokens."""
    numbers: tuple[HelixFit, ...] | str
    """Of the residual stream at the last token of a number, at each depth."""
    first_number: int
    ablation: Ablation
    spectra: Float[np.ndarray, "layers digits eigenvalues"] | str
    """Eigenvalues of what each layer adds along the readout of each digit."""


def look(
    model: Transformer,
    setup: Setup,
    *,
    samples: int,
    key: Array,
    done: Callable[[str], None] = lambda what: None,
) -> Inside:
    """Look at one model."""
    alike = rows_alike(setup, samples, key=key)
    done("rows")
    attention, states = seen(model, setup, alike.rows, np.asarray(alike.rows.prompt_length) - 1)
    done("attention")
    targets, names = answer_targets(setup, alike)
    probe: DigitProbe | str = f"{alike.count} different problems are too few to fit probes to"
    if alike.count >= FEWEST_ROWS:
        probe = probe_digits(states, targets)
    done("probes")
    asked = number_rows(setup)
    numbers: tuple[HelixFit, ...] | str = asked if isinstance(asked, str) else ()
    if isinstance(asked, NumberRows):
        _, streams = seen(model, setup, asked.rows, asked.at)
        numbers = tuple(fit_helix(stream) for stream in streams)
    done("numbers")
    ablation = ablate_heads(model, setup, alike.rows)
    done("ablation")
    return Inside(
        alike=alike,
        attention=attention,
        probe=probe,
        targets=tuple(names),
        digits=fit_helix(embedded_numbers(model, setup)),
        numbers=numbers,
        first_number=asked.first if isinstance(asked, NumberRows) else 0,
        ablation=ablation,
        spectra=spectra(model, setup),
    )


def seen(
    model: Transformer, setup: Setup, rows: Rows, at: Int[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, "depth heads queries keys"], Float[np.ndarray, "depth rows features"]]:
    """Mean attention, and the residual stream at one place of each row, a few rows at a time."""

    @eqx.filter_jit
    def some(model: Transformer, rows: Rows, at: Array) -> tuple[Array, Array]:
        traced = trace(model, setup, rows)
        return traced.attention.sum(axis=1), traced.states[:, jnp.arange(at.shape[0]), at]

    count, width = rows.tokens.shape
    config = model.config
    each = config.loops * config.layers * config.heads * width * width
    size = int(np.clip(ATTENTION_NUMBERS // each, 1, count))
    attention, streams = np.zeros(()), []
    for start in range(0, count, size):
        chosen = np.arange(start, min(start + size, count))
        weights, stream = jax.device_get(some(model, taken(rows, chosen), jnp.asarray(at[chosen])))
        attention = attention + np.asarray(weights, np.float64)
        streams.append(stream)
    return attention / count, np.concatenate(streams, axis=1)


def embedded_numbers(model: Transformer, setup: Setup) -> Float[np.ndarray, "numbers features"]:
    """Vectors of the digits, or of the first numbers where numbers are tokens."""
    alphabet = setup.language.alphabet
    if model.numbers is None:
        return digit_vectors(model, setup)
    count = min(100, alphabet.base**alphabet.number_places)
    return np.asarray(model.numbers.embed(alphabet.first_number + jnp.arange(count)))


def spectra(
    model: Transformer, setup: Setup
) -> Float[np.ndarray, "layers digits eigenvalues"] | str:
    """Of all layers, along the readout of each digit."""
    if model.config.activation != "bilinear":
        return f"activation {model.config.activation}: only bilinear layers have a spectrum"
    if model.numbers is not None:
        return "numbers are tokens: no direction of the readout belongs to a digit"
    return np.array(
        [
            [bilinear_spectrum(model, layer, along)[0] for along in digit_readouts(model, setup)]
            for layer in range(model.config.layers)
        ]
    )
