"""One question looked at: all attention, the residual stream and what was nearly said.

What comes out is the data of a page (`curta explore RUN QUESTION`), to be written as JSON.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from curta.learn.evaluation.decode import generate
from curta.learn.evaluation.samples import asked
from curta.learn.experiment import Setup
from curta.learn.folder import RunFolder
from curta.learn.inside.trace import Trace, trace
from curta.learn.language import Rows
from curta.learn.models.transformer import Transformer

SCORES_SHOWN = 8
DIGITS = 4
"""Of each number."""


def explored_question(
    folder: RunFolder, model: Transformer, seed: int, question: str
) -> dict[str, Any]:
    """The question, what the model says behind it, and everything on the way there."""
    setup = folder.setup
    rows = asked(model, setup, question)
    alphabet, given = setup.language.alphabet, int(rows.prompt_length[0])
    tokens, seen, early = jax.device_get(walked(model, setup, rows))
    said = list(tokens[0, given:])
    answer = said[: said.index(alphabet.end)] if alphabet.end in said else said
    count = min(given + len(answer) + 1, len(tokens[0]))
    streams, attention = seen.states[:, 0, :count], seen.attention[:, 0, :, :count, :count]
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    return {
        "kind": "graph",
        "title": folder.name,
        "about": "a trained model",
        "answer": alphabet.decode(answer),
        "certificate": f"{weights:,} weights, {folder.experiment.training.steps:,} updates, "
        f"seed {seed}: trained, not proved",
        "vocabulary": list(alphabet.symbols),
        "tokens": [int(token) for token in tokens[0, :count]],
        "given": given,
        "heads": [
            {
                "layer": layer,
                "kind": "soft",
                "name": f"head {head}",
                "weights": [shown(row[: at + 1]) for at, row in enumerate(matrix)],
            }
            for layer, heads in enumerate(attention)
            for head, matrix in enumerate(heads)
        ],
        "periods": ["embedding", *(f"layer {layer}" for layer in range(len(attention)))],
        "streams": [[shown(row) for row in period] for period in streams],
        "slots": [
            {"slot": n, "name": f"feature {n}", "first": 0, "last": len(attention), "owners": ""}
            for n in range(streams.shape[-1])
        ],
        "early": [[likeliest(row)[0] for row in logits[0, :count]] for logits in early],
        "scores": [likeliest(row) for row in seen.logits[0, :count]],
    }


@eqx.filter_jit
def walked(model: Transformer, setup: Setup, rows: Rows) -> tuple[Array, Trace, Array]:
    """What was said, everything on the way, and the logits if the model ended at each depth."""
    tokens = generate(model, setup, rows)
    seen = trace(model, setup, eqx.tree_at(lambda r: r.tokens, rows, tokens))
    return tokens, seen, jax.vmap(model.logits)(seen.states)


def likeliest(logits: np.ndarray) -> list[list[Any]]:
    """The most probable tokens, and their probabilities; the first of equals first."""
    shares = np.exp(logits.astype(np.float64) - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")[:SCORES_SHOWN]
    return [[int(token), shown(shares[token : token + 1])[0]] for token in order]


def shown(numbers: np.ndarray) -> list[float]:
    return [float(f"{number:.{DIGITS}g}") for number in numbers.tolist()]
