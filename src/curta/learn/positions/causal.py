"""Whether a scheme looks ahead: what it says of a token may not depend on later ones.

An answer that is measured in one pass has its right tokens to the right of every token. A scheme
whose places depend on them would be told the answer, and its model would seem to be right.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from curta.errors import ExperimentError
from curta.learn.language import Language, Rows
from curta.learn.positions.base import Positions
from curta.learn.reading import read


def check_causal(scheme: Positions, language: Language, rows: Rows) -> None:
    """Raise an error if places behind the prompt change with the tokens behind them."""
    if bool(jax.jit(lambda rows: looks_ahead(scheme, language, rows))(rows)):
        raise ExperimentError(
            f"positions {scheme.name}: places behind the prompt depend on later tokens, which are "
            "the answer; let them depend on earlier ones only"
        )


def looks_ahead(scheme: Positions, language: Language, rows: Rows) -> Bool[Array, ""]:
    """Every row once for each of its tokens, with all tokens behind that one changed."""
    count, width = rows.tokens.shape
    shape = scheme.place_shape
    places = jnp.broadcast_to(
        scheme.places(read(rows.tokens, rows.prompt_length, language)), (count, width, *shape)
    ).reshape(count, width, -1)
    index = jnp.arange(width)
    found = jnp.array(False)
    for step in (1, language.alphabet.size // 2 + 1):
        other = (rows.tokens + step) % language.alphabet.size
        cut = index[None, :, None]
        tokens = jnp.where(index > cut, other[:, None], rows.tokens[:, None])
        changed = scheme.places(
            read(tokens.reshape(-1, width), jnp.repeat(rows.prompt_length, width), language)
        )
        changed = jnp.broadcast_to(changed, (count * width, width, *shape))
        same = (changed.reshape(count, width, width, -1) == places[:, None]).all(axis=-1)
        kept = (index <= cut) & (cut >= rows.prompt_length[:, None, None] - 1)
        found |= (kept & ~same).any()
    return found
