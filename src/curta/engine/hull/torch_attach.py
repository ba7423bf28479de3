"""Attach hull caches to a trained PyTorch model.

`attach(model)` finds the attention of a model and lets hull caches answer it, until `detach`:

  `nn.MultiheadAttention`  with heads of width 2, in causal self-attention; inside
                           `nn.TransformerEncoderLayer` too
  `CausalAttention`        from this library, in an attention class of your own

Parameters, their names and the model's own code stay as they are: only the `forward` of those
modules is put aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from curta.engine.hull.cache import Backend
from curta.engine.hull.reference import Ties
from curta.engine.hull.torch_attention import AttentionOptions, CausalAttention, HullAttention, Mode
from curta.errors import HullError


def attach(
    model: nn.Module,
    *,
    mode: Mode = "topk",
    k: int = 16,
    ties: Ties = "latest",
    modules: Sequence[str] | None = None,
    backend: Backend = "auto",
) -> Attached:
    """Let hull caches answer the attention of a model in evaluation mode.

    `mode="topk"` is the softmax over the `k` highest scores, with the model's own scaling;
    `mode="hard"` the value of the highest score, `ties` to the `latest` or the `average`.
    `modules` names the attention modules, as in `model.named_modules()`; by default all of them.

        hulls = attach(model.eval(), mode="topk", k=16)
        with torch.inference_mode():
            logits = model(tokens)              # a whole sequence
            with hulls.stream():                # token by token: the caches stay
                for token in tokens:
                    logits = model(token[None])
        hulls.detach()                          # or: with attach(model) as hulls: ...
    """
    options = AttentionOptions(mode, k, ties, backend)
    chosen = _attention_modules(model, modules)
    forwards = [_replacement(name, module, options) for name, module in chosen]
    return Attached(forwards)


class Attached:
    """Hull caches in a model. Not for several threads at once."""

    def __init__(self, forwards: Sequence[HullForward]) -> None:
        self._forwards = tuple(forwards)
        for forward in forwards:
            forward.install()

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the attention modules."""
        return tuple(forward.name for forward in self._forwards)

    @property
    def tokens(self) -> int:
        """Tokens in the caches: in a stream, the position of the next one."""
        self._check_attached()
        counts = {forward.attention.tokens for forward in self._forwards}
        if len(counts) > 1:
            raise HullError(
                f"the attention modules hold {sorted(counts)} tokens: a call of the model ended "
                "in an error, or did not use all of them. Call reset() and feed the sequence again."
            )
        return counts.pop()

    @contextmanager
    def stream(self) -> Iterator[Attached]:
        """Inside, a call of the model goes on where the last one ended, with what the caches hold.

        Starts with empty caches and leaves empty caches. The model is called with the new tokens
        only (and has to be told their positions, if it uses positions: `tokens` counts them).
        """
        self._check_attached()
        if any(forward.is_streaming for forward in self._forwards):
            raise HullError("this model is streaming already: use reset() to start a new sequence")
        self._begin(is_streaming=True)
        try:
            yield self
        finally:
            self._begin(is_streaming=False)

    def reset(self) -> None:
        """Forget the sequence."""
        for forward in self._forwards:
            forward.attention.reset()

    def memory_bytes(self) -> int:
        return sum(forward.attention.memory_bytes() for forward in self._forwards)

    def detach(self) -> None:
        """Give the model its own attention back."""
        for forward in self._forwards:
            forward.remove()
        self._forwards = ()

    def __enter__(self) -> Attached:
        self._check_attached()
        return self

    def __exit__(self, *raised: object) -> None:
        self.detach()

    def _check_attached(self) -> None:
        if not self._forwards:
            raise HullError("these hull caches are detached: call attach(model) again")

    def _begin(self, *, is_streaming: bool) -> None:
        for forward in self._forwards:
            forward.is_streaming = is_streaming
        self.reset()


class HullForward:
    """Stands in for the `forward` of one attention module; by itself for `CausalAttention`."""

    def __init__(self, name: str, module: nn.Module, attention: HullAttention) -> None:
        self.name = name
        self.module = module
        self.attention = attention
        self.is_streaming = False

    def install(self) -> None:
        self.module.__dict__["forward"] = self

    def remove(self) -> None:
        if self.module.__dict__.get("forward") is self:
            del self.module.__dict__["forward"]

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        if self.module.training:
            raise HullError(
                f"{self.name} is in training mode, and hull caches only infer: call model.eval(), "
                "or detach() to train"
            )
        attention = self.attention
        if not self.is_streaming:
            attention = HullAttention(attention.options, attention.scale)
        return attention.feed(query, key, value)


class MultiheadForward(HullForward):
    """For `nn.MultiheadAttention`: its projections, and caches in place of its softmax."""

    module: nn.MultiheadAttention

    def install(self) -> None:
        super().install()
        # nn.TransformerEncoderLayer has a fused path for inference that does without the forward of
        # its attention. It is closed to modules whose key or value width differs from the query's.
        self.module._qkv_same_embed_dim = False

    def remove(self) -> None:
        super().remove()
        self.module._qkv_same_embed_dim = True

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, None]:
        """Like `nn.MultiheadAttention.forward`; in place of the weights of all keys, None."""
        if query is not key or key is not value:
            raise HullError(
                f"{self.name} is called with different tensors as query, key and value: hull "
                "caches answer self-attention, forward(x, x, x, ...)"
            )
        if key_padding_mask is not None and bool((key_padding_mask != 0).any()):
            raise HullError(
                f"{self.name} is called with a padding mask: hull caches keep every token. Run "
                "sequences of different lengths one by one."
            )
        module = self.module
        tokens_first = query.dim() == 3 and not module.batch_first
        inputs = query.transpose(0, 1) if tokens_first else query
        self._check_mask(inputs.shape[-2], attn_mask, is_causal)
        projected = functional.linear(inputs, module.in_proj_weight, module.in_proj_bias)
        answers = super().__call__(*map(self._split, projected.chunk(3, dim=-1)))
        joined = module.out_proj(answers.transpose(-2, -3).flatten(-2))
        return (joined.transpose(0, 1) if tokens_first else joined), None

    def _split(self, projected: Tensor) -> Tensor:
        """[..., tokens, embedding] to [..., heads, tokens, width]."""
        heads = projected.reshape(*projected.shape[:-1], self.module.num_heads, -1)
        return heads.transpose(-2, -3)

    def _check_mask(self, tokens: int, mask: Tensor | None, is_causal: bool) -> None:
        if mask is None and (is_causal or tokens == 1):
            return  # the new token of a stream sees everything before it
        if mask is None:
            raise HullError(
                f"{self.name} is called without a mask: hull caches answer causal attention. Pass "
                "attn_mask=nn.Transformer.generate_square_subsequent_mask(tokens)."
            )
        causal = nn.Transformer.generate_square_subsequent_mask(tokens, device=mask.device)
        if mask.dtype == torch.bool:
            causal = causal != 0
        if mask.shape[-2:] != causal.shape or bool((mask != causal).any()):
            raise HullError(
                f"{self.name} is called with a mask of shape {list(mask.shape)} that is not the "
                f"causal one for {tokens} tokens: hull caches let every token see itself and all "
                "tokens before it"
            )


def _attention_modules(
    model: nn.Module, names: Sequence[str] | None
) -> list[tuple[str, nn.Module]]:
    if model.training:
        raise HullError(
            "the model is in training mode, and hull caches only infer: attach to model.eval()"
        )
    every = dict(model.named_modules(remove_duplicate=False))
    if names is None:
        known = nn.MultiheadAttention | CausalAttention
        names = [name for name, module in every.items() if isinstance(module, known)]
    missing = [name for name in names if name not in every]
    if missing:
        raise HullError(f"the model has no module {missing[0]!r}: see model.named_modules()")
    chosen = [(name or "the model", every[name]) for name in names]
    for (first, module), (second, other) in combinations(chosen, 2):
        if module is other:
            raise HullError(
                f"{first} and {second} are one module: give each its own, because each keeps the "
                "keys of its layer"
            )
    if not chosen:
        raise HullError(
            "the model has no attention that hull caches know: neither nn.MultiheadAttention nor "
            "curta.engine.hull.CausalAttention. In an attention class of your own, call a "
            "CausalAttention() in place of scaled_dot_product_attention; it has no parameters, so "
            "trained weights still load."
        )
    return chosen


def _replacement(name: str, module: nn.Module, options: AttentionOptions) -> HullForward:
    if isinstance(module.__dict__.get("forward"), HullForward):
        raise HullError(f"{name} is attached to hull caches already: detach() those first")
    if "forward" in module.__dict__:
        raise HullError(f"the forward of {name} is replaced by something else: undo that first")
    if isinstance(module, CausalAttention):
        return HullForward(name, module, HullAttention(options, module.scale))
    if (
        not isinstance(module, nn.MultiheadAttention)
        or type(module).forward is not nn.MultiheadAttention.forward
    ):
        raise HullError(
            f"{name} is a {type(module).__name__}: expected nn.MultiheadAttention or "
            "CausalAttention"
        )
    options.check_width(module.head_dim, name)
    if not module._qkv_same_embed_dim:
        raise HullError(f"{name} has kdim or vdim: hull caches answer self-attention")
    if module.bias_k is not None or module.add_zero_attn:
        raise HullError(f"{name} has add_bias_kv or add_zero_attn: hull caches have only real keys")
    return MultiheadForward(name, module, HullAttention(options))
