"""Causal attention on PyTorch tensors, answered by hull caches. Inference only.

Tensors have the shape [..., tokens, width], as for `torch.nn.functional.
scaled_dot_product_attention`; whatever comes before `tokens` (batch, heads) are *rows*, each with
a cache of its own. Caches compute in float64 on the processor; answers come back in the dtype and
on the device of the values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from curta.engine.hull.admission import Floats
from curta.engine.hull.cache import (
    AnyCache,
    Backend,
    HullCache,
    HullCache3D,
    TopKCache,
    check_k,
    check_options,
    step_together,
)
from curta.engine.hull.reference import Ties
from curta.errors import HullError

Mode = Literal["hard", "topk"]
Shapes = tuple[torch.Size, int, int]
"""Those of the rows, and the widths of keys and values."""


@dataclass(frozen=True, slots=True)
class AttentionOptions:
    """How caches answer.

    `hard`: the value of the key with the highest score, `ties` as in `HullCache`; heads of width 2
    or 3. `topk`: the softmax over the `k` highest scores; heads of width 2.
    """

    mode: Mode = "topk"
    k: int = 16
    ties: Ties = "latest"
    backend: Backend = "auto"

    def __post_init__(self) -> None:
        if self.mode not in ("hard", "topk"):
            raise HullError(f"mode={self.mode!r}: expected 'hard' or 'topk'")
        check_options(1, self.ties)
        check_k(self.k)

    def check_width(self, width: int, where: str) -> None:
        """Can these options answer heads of this width?"""
        if width == 2 or (width == 3 and self.mode == "hard"):
            return
        if width == 3:
            remedy = "top-k is for heads of width 2; for 3D heads there is mode='hard'"
        else:
            remedy = "hull caches are for heads of width 2 (or 3, with mode='hard')"
        raise HullError(f"{where} has heads of width {width}: {remedy}")

    def new_cache(self, key_width: int, value_width: int, scale: float) -> AnyCache:
        if self.mode == "topk":
            return TopKCache(self.k, value_width, scale, self.backend)
        hard = HullCache if key_width == 2 else HullCache3D
        return hard(value_width, self.ties, self.backend)


class HullAttention:
    """Attention over a sequence that grows: one cache per row, kept between calls.

    >>> attention = HullAttention(AttentionOptions("hard", backend="python"))
    >>> key, value = torch.tensor([[0.0, 1.0]]), torch.tensor([[7.0]])
    >>> attention.feed(torch.tensor([[1.0, 1.0]]), key, value)
    tensor([[7.]])
    >>> attention.tokens
    1
    """

    def __init__(self, options: AttentionOptions, scale: float | None = None) -> None:
        self.options = options
        self.scale = scale
        self.reset()

    def reset(self) -> None:
        """Forget the sequence; the next may have another batch size."""
        self.tokens = 0
        self._caches: list[AnyCache] = []
        self._expected: Shapes | None = None

    def memory_bytes(self) -> int:
        return sum(cache.memory_bytes() for cache in self._caches)

    def feed(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Append the tokens of `key` and `value`, and answer each of them under its `query`.

        Token t sees all tokens fed before, and itself. Either all tokens are taken, or none and an
        error is raised.
        """
        shapes = self._checked_shapes(query, key, value)
        queries, keys, values = (_as_rows(tensor) for tensor in (query, key, value))
        scale = 1.0 / math.sqrt(key.shape[-1]) if self.scale is None else self.scale
        caches = self._caches or [self.options.new_cache(*shapes[1:], scale) for _ in keys]
        answers = step_together(caches, keys, values, queries)
        self._caches, self._expected = caches, shapes
        self.tokens += key.shape[-2]
        return torch.from_numpy(answers).reshape(value.shape).to(value)

    def _checked_shapes(self, query: Tensor, key: Tensor, value: Tensor) -> Shapes:
        if key.dim() < 2 or query.shape != key.shape or value.shape[:-1] != key.shape[:-1]:
            raise HullError(
                f"{_shapes(query, key, value)}: expected [..., tokens, width], query and key alike "
                "and a value for each key. Hull caches answer self-attention; repeat keys that "
                "heads share."
            )
        self.options.check_width(key.shape[-1], "the key")
        found = (key.shape[:-2], key.shape[-1], value.shape[-1])
        if self._expected is not None and found != self._expected:
            rows, key_width, value_width = self._expected
            raise HullError(
                f"{_shapes(query, key, value)}: this sequence began with rows {list(rows)}, keys "
                f"of width {key_width} and values of width {value_width}. Call reset() before "
                "another one."
            )
        if torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value)):
            raise HullError(
                "hull caches have no gradients: run under torch.inference_mode() or torch.no_grad()"
            )
        return found


def _shapes(query: Tensor, key: Tensor, value: Tensor) -> str:
    return f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"


def hull_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mode: Mode = "topk",
    k: int = 16,
    ties: Ties = "latest",
    scale: float | None = None,
    backend: Backend = "auto",
) -> Tensor:
    """Causal self-attention over a whole sequence.

    With mode="topk" and k at least the number of tokens this is
    `scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)`.
    """
    options = AttentionOptions(mode, k, ties, backend)
    return HullAttention(options, scale).feed(query, key, value)


class CausalAttention(nn.Module):
    """Causal softmax attention without parameters: put it where your model calls
    `scaled_dot_product_attention(query, key, value, is_causal=True)`.

    It trains as that does and adds nothing to the state dict. After `attach(model)` it answers by
    hull caches.
    """

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Tensors of shape [..., tokens, width]."""
        return functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=self.scale
        )


def _as_rows(tensor: Tensor) -> Floats:
    """[rows, tokens, width] in float64."""
    flat = tensor.detach().to(device="cpu", dtype=torch.float64).contiguous()
    return flat.reshape(math.prod(tensor.shape[:-2]), *tensor.shape[-2:]).numpy()
