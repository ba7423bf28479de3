"""Caches for attention with narrow heads: exact answers, without looking at every key.

| name          | heads | answers                                             |
|---------------|-------|-----------------------------------------------------|
| `HullCache`   | 2D    | the hard maximum, ties to the latest or averaged     |
| `HullCache3D` | 3D    | the same                                             |
| `TopKCache`   | 2D    | the softmax over the k highest scores                |

With PyTorch installed there are also, for tensors and models:

`attach`           lets hull caches answer the attention of a trained model; returns `Attached`
`CausalAttention`  attention for a model of one's own, to train and then attach to
`hull_attention`   attention over a sequence, in one call
`HullAttention`    the same a few tokens at a time, with `AttentionOptions`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from curta.engine.hull.cache import Backend, FoundMany, HullCache, HullCache3D, TopKCache
from curta.engine.hull.reference import Attended, AttendedMany, Found, Ties
from curta.errors import UserError
from curta.later import later

if TYPE_CHECKING:
    from curta.engine.hull.torch_attach import Attached as Attached
    from curta.engine.hull.torch_attach import attach as attach
    from curta.engine.hull.torch_attention import AttentionOptions as AttentionOptions
    from curta.engine.hull.torch_attention import CausalAttention as CausalAttention
    from curta.engine.hull.torch_attention import HullAttention as HullAttention
    from curta.engine.hull.torch_attention import hull_attention as hull_attention

__all__ = [
    "Attended",
    "AttendedMany",
    "Backend",
    "Found",
    "FoundMany",
    "HullCache",
    "HullCache3D",
    "Ties",
    "TopKCache",
]

_NEED_TORCH = {
    "Attached": "curta.engine.hull.torch_attach",
    "attach": "curta.engine.hull.torch_attach",
    "AttentionOptions": "curta.engine.hull.torch_attention",
    "CausalAttention": "curta.engine.hull.torch_attention",
    "HullAttention": "curta.engine.hull.torch_attention",
    "hull_attention": "curta.engine.hull.torch_attention",
}


def __getattr__(name: str) -> Any:
    """What needs PyTorch is imported when it is asked for."""
    try:
        return later(__name__, _NEED_TORCH)(name)
    except ModuleNotFoundError as error:
        raise UserError(f"{name} needs PyTorch: pip install 'curta[torch]'") from error


def __dir__() -> list[str]:
    return sorted([*__all__, *_NEED_TORCH])
