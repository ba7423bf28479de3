"""A transformer compiled by curta, for transformers: softmax attention, gated feed-forward parts.

    model = AutoModelForCausalLM.from_pretrained("folder", trust_remote_code=True)

It is exact in the precision that it is saved in. Past the length that is proved, where a promise is
broken, and in any other precision it raises a ValueError: what it would say there would mean
nothing. What it does not know, as a cache by another name, it does not take.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, GenerationMixin, PreTrainedModel
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .configuration_curta import CurtaConfig

IS_NEW = "cache" in inspect.signature(create_causal_mask).parameters
CACHE = "cache" if IS_NEW else "past_key_values"
"""What this transformers calls it: until 5.23 by the longer name."""


def eager_attention_forward(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float = 1.0,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(query . key) . value, as it is written."""
    scores = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask[..., : key.shape[2]]
    weights = scores.softmax(dim=-1)
    return (weights @ value).transpose(1, 2), weights


class CurtaPositions(nn.Module):
    """The positional embedding: a linear map of integer functions of the position."""

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__()
        self.functions = config.position_functions
        self.weight = nn.Parameter(torch.empty(config.hidden_size, len(self.functions)))

    def forward(self, positions: Tensor) -> Tensor:
        found = []
        for divisor, modulus, power, offset in self.functions:
            digit = positions // divisor
            digit = (digit % modulus if modulus else digit) - offset
            found.append(digit**power)
        if not found:
            return self.weight.new_zeros(*positions.shape, len(self.weight))
        return torch.stack(found, dim=-1).to(self.weight.dtype) @ self.weight.T


class CurtaAttention(nn.Module):
    """Causal attention without scaling: the query weights carry it."""

    is_causal = True
    num_key_value_groups = 1

    def __init__(self, config: CurtaConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer_idx = config, layer
        self.head_dim = config.head_widths[layer]
        inner = config.heads[layer] * self.head_dim
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(config.hidden_size, inner, bias=False) for _ in "qkv"
        )
        self.o_proj = nn.Linear(inner, config.hidden_size, bias=False)

    def forward(
        self, x: Tensor, attention_mask: Tensor | None, past: Any, **others: Any
    ) -> tuple[Tensor, Tensor | None]:
        query, key, value = (
            part(x).view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        if past is not None:
            key, value = past.update(key, value, self.layer_idx)
        name = self.config._attn_implementation
        attend = eager_attention_forward if name == "eager" else ALL_ATTENTION_FUNCTIONS[name]
        found, weights = attend(
            self, query, key, value, attention_mask, dropout=0.0, scaling=1.0, **others
        )
        return self.o_proj(found.flatten(2)), weights


class CurtaMLP(nn.Module):
    """down(relu(gate(x)) * up(x))"""

    def __init__(self, config: CurtaConfig, layer: int) -> None:
        super().__init__()
        width, units = config.hidden_size, config.units[layer]
        self.gate_proj = nn.Linear(width, units, bias=False)
        self.up_proj = nn.Linear(width, units, bias=False)
        self.down_proj = nn.Linear(units, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.down_proj(self.gate_proj(x).relu() * self.up_proj(x))
        return found


class CurtaLayer(nn.Module):
    """x + attention, x + feed-forward part: no norms."""

    def __init__(self, config: CurtaConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer_idx = config, layer
        self.self_attn = CurtaAttention(config, layer)
        self.mlp = CurtaMLP(config, layer)

    def forward(
        self, x: Tensor, attention_mask: Tensor | None, past: Any, real: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        found, weights = self.self_attn(x, attention_mask, past)
        x = x + found
        check_promises(self.config.promises, 2 * self.layer_idx + 1, x, real)
        x = x + self.mlp(x)
        check_promises(self.config.promises, 2 * self.layer_idx + 2, x, real)
        return x, weights


def check_promises(
    promises: list[dict[str, Any]], period: int, stream: Tensor, real: Tensor
) -> None:
    """An error names a sum of slots that leaves its interval, where tokens are real."""
    for promise in promises:
        if promise["period"] != period:
            continue
        total = sum((w * stream[..., slot] for slot, w in promise["terms"]), 0 * stream[..., 0])
        broken = ((total < promise["low"]) | (total > promise["high"])) & real
        if broken.any():
            raise ValueError(
                f"{promise['name']} leaves [{promise['low']}, {promise['high']}], for which "
                "the weights are exact"
            )


class CurtaPreTrainedModel(PreTrainedModel):
    config_class = CurtaConfig
    base_model_prefix = "model"
    _no_split_modules = ["CurtaLayer"]  # noqa: RUF012 (as in all models of transformers)
    _supports_sdpa = True
    _supports_flex_attn = True
    _supports_attention_backend = True

    def _init_weights(self, module: nn.Module) -> None:
        """The weights are compiled: there is nothing to draw."""


class CurtaModel(CurtaPreTrainedModel):
    """Token ids in, the last residual stream out."""

    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = CurtaPositions(config)
        self.layers = nn.ModuleList(CurtaLayer(config, n) for n in range(config.num_hidden_layers))
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = False,
        output_attentions: bool | None = False,
    ) -> CausalLMOutputWithPast:
        name = self.config.proved_dtype
        if self.embed_tokens.weight.dtype != getattr(torch, name):
            raise ValueError(f"these weights are proved exact in {name}: dtype=torch.{name}")
        if torch.is_autocast_enabled(input_ids.device.type):
            raise ValueError("under torch.autocast products are rounded, and nothing is proved")
        if name == "float32" and torch.get_float32_matmul_precision() != "highest":
            raise ValueError("torch.set_float32_matmul_precision('highest') is what is proved")
        if use_cache and cache is None:
            cache = DynamicCache(config=self.config)
        seen = cache.get_seq_length() if cache is not None else 0
        count, device = input_ids.shape[1], input_ids.device
        real = torch.ones_like(input_ids, dtype=torch.bool)
        places = torch.arange(seen, seen + count, device=device)[None]
        if attention_mask is not None and attention_mask.ndim == 2:
            real = attention_mask[:, -count:].bool()
            places = (attention_mask.cumsum(-1) - 1).clamp(min=0)[:, -count:]
        if position_ids is None:
            position_ids = places
        longest = self.config.max_position_embeddings
        if int(position_ids.max()) >= longest:
            raise ValueError(f"proved exact for {longest} tokens; the sequence gets longer")
        x = self.embed_tokens(input_ids) + self.positions(position_ids)
        mask = create_causal_mask(
            config=self.config,
            inputs_embeds=x,
            attention_mask=attention_mask,
            position_ids=position_ids,
            **{CACHE: cache},
        )
        streams, weights = [x], []
        check_promises(self.config.promises, 0, x, real)
        for layer in self.layers:
            x, attention = layer(x, mask, cache, real)
            streams.append(x)
            weights.append(attention)
        return CausalLMOutputWithPast(
            logits=x,
            hidden_states=tuple(streams) if output_hidden_states else None,
            attentions=tuple(weights) if output_attentions else None,
            **{CACHE: cache},
        )


class CurtaForCausalLM(CurtaPreTrainedModel, GenerationMixin):
    def __init__(self, config: CurtaConfig) -> None:
        super().__init__(config)
        self.model = CurtaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.model.embed_tokens

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        past_key_values: Any = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = False,
        output_attentions: bool | None = False,
        return_dict: bool | None = True,
        logits_to_keep: int | Tensor = 0,
    ) -> CausalLMOutputWithPast | tuple[Any, ...]:
        found = self.model(
            input_ids,
            attention_mask,
            position_ids,
            past_key_values if cache is None else cache,
            use_cache,
            output_hidden_states,
            output_attentions,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(found.logits[:, kept])
        # `generate` compares logits in float32: the best one is 0 here, and those next to it are
        # small enough to tell them apart. Probabilities are the same.
        found.logits = logits - logits.amax(dim=-1, keepdim=True)
        if labels is not None:
            found.loss = self.loss_function(found.logits, labels, self.config.vocab_size)
        return found.to_tuple() if return_dict is False else found
