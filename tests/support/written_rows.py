"""Rows of tokens from text, for tests that need rows and not how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from curta.learn.alphabet import PAUSE
from curta.learn.experiment import Setup
from curta.learn.language import Language, Rows
from curta.learn.reading import read


def written_rows(language: Language, texts: Sequence[str], width: int = 0) -> Rows:
    """Questions up to `=`, pauses, answers up to `#`; filled up to a width."""
    pauses = PAUSE * language.pauses
    given = [language.alphabet.encode(text.replace("=", "=" + pauses)) for text in texts]
    prompts = [len(language.alphabet.encode(text.split("=")[0] + "=" + pauses)) for text in texts]
    tokens = np.zeros((len(texts), max(width, *map(len, given))), np.int32)
    for row, written in zip(tokens, given, strict=True):
        row[: len(written)] = written
    lengths = np.array([len(written) for written in given], np.int32)
    present = np.ones(len(texts), bool)
    arrays = (tokens, np.array(prompts, np.int32), lengths, present)
    return Rows(*map(jnp.asarray, arrays))


def places_of(here: Setup, rows: Rows) -> jax.Array:
    """What positions say of each token; compiled as one, not operation by operation."""

    @jax.jit
    def places(rows: Rows) -> jax.Array:
        return here.positions.places(read(rows.tokens, rows.prompt_length, here.language))

    return places(rows)
