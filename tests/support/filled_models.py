"""Models with parameters at random, without compiling how they are initialised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from curta.learn.models.transformer import Transformer


def filled(make: Callable[..., Transformer], *given: Any, spread: float = 0.4) -> Transformer:
    """What `make(*given)` would make, each parameter drawn anew: as training might leave it."""
    shapes = eqx.filter_eval_shape(make, *given)
    random = np.random.default_rng(0)

    def drawn(path: tuple[Any, ...], leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        # So that there are places on both sides of it.
        level = 5.0 if "threshold" in jax.tree_util.keystr(path) else 0.0
        values = level + spread * random.normal(size=leaf.shape)
        return jnp.asarray(values.astype(np.float32))

    model: Transformer = jax.tree_util.tree_map_with_path(drawn, shapes)
    return model
