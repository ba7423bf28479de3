"""A folder of `curta build --emit hf`, opened by TransformerLens 4: hooks, caches, interventions.

    model = bridge("addition-hf")

TransformerLens finds the adapter by its entry point. Its tools expect as many heads of the same
width in every layer: layers are filled up with heads whose weights are zero, which add nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from curta.errors import UserError

try:
    from transformer_lens.model_bridge import TransformerBridge
    from transformer_lens.model_bridge.architecture_adapter import ArchitectureAdapter
    from transformer_lens.model_bridge.generalized_components import (
        AttentionBridge,
        BlockBridge,
        EmbeddingBridge,
        LinearBridge,
        PosEmbedBridge,
        UnembeddingBridge,
    )
    from transformer_lens.model_bridge.sources import build_bridge_from_module
except ImportError as error:
    raise UserError("this needs TransformerLens 4: pip install 'curta[lens]'") from error


def bridge(folder: Path | str) -> TransformerBridge:
    """`TransformerBridge.boot_transformers` of 4.3 looks for architectures before it reads entry
    points, so it knows none that a package brings along.
    """
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    opened = build_bridge_from_module(
        model, "CurtaForCausalLM", hf_config=model.config, model_name=str(folder)
    ).eval()
    # Not given to the builder, which tries it on a text that is none of its words.
    opened.tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    opened.cfg.tokenizer_prepends_bos = opened.cfg.tokenizer_appends_eos = False
    return opened


class CurtaAttentionBridge(AttentionBridge):  # type: ignore[misc]
    """Attention without scaling. Scores and pattern pass through their hooks on the way."""

    def forward(self, x: Tensor, attention_mask: Tensor | None, past: Any) -> tuple[Tensor, Tensor]:
        x = self.hook_in(x)
        query, key, value = (
            part(x).view(*x.shape[:2], self.config.n_heads, self.config.d_head).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        if past is not None:
            key, value = past.update(key, value, self._layer_idx)
        scores = query @ key.transpose(2, 3)
        if attention_mask is not None:
            scores = scores + attention_mask[..., : key.shape[2]]
        pattern = self.hook_pattern(self.hook_attn_scores(scores).softmax(dim=-1))
        found = (pattern @ value).transpose(1, 2).flatten(2)
        return self.hook_out(self.o(found)), pattern


class CurtaBlockBridge(BlockBridge):  # type: ignore[misc]
    """A block without norms: its feed-forward part reads the stream itself."""


class CurtaAdapter(ArchitectureAdapter):  # type: ignore[misc]
    """Where the parts of a `CurtaForCausalLM` are."""

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self.cfg.normalization_type = None
        self.cfg.positional_embedding_type = "standard"
        self.cfg.attn_scale = 1.0
        self.cfg.use_attn_scale = False
        self.cfg.act_fn = "relu"
        self.cfg.gated_mlp = True
        self.cfg.default_prepend_bos = False
        self.weight_processing_conversions = self._qkvo_weight_conversions()
        attention = {part: LinearBridge(name=f"{part}_proj") for part in "qkvo"}
        self.component_mapping = {
            "embed": EmbeddingBridge(name="model.embed_tokens"),
            "pos_embed": PosEmbedBridge(name="model.positions"),
            "blocks": CurtaBlockBridge(
                name="model.layers",
                submodules={
                    "attn": CurtaAttentionBridge("self_attn", self.cfg, submodules=attention),
                    "mlp": self._gated_mlp(),
                },
                hook_alias_overrides={"hook_resid_mid": "mlp.hook_in"},
                mlp_reads_resid_directly=True,
            ),
            "unembed": UnembeddingBridge(name="lm_head"),
        }

    def prepare_model(self, model: Any) -> None:
        """Fill layers up. Promises are not checked: who intervenes breaks them on purpose."""
        config = model.config
        config.promises = []
        count, width = config.num_attention_heads, config.head_dim
        for layer, heads, narrow in zip(
            model.model.layers, config.heads, config.head_widths, strict=True
        ):
            attention = layer.self_attn
            rows = torch.arange(heads)[:, None] * width + torch.arange(narrow)
            for name in ("q_proj", "k_proj", "v_proj"):
                weight = getattr(attention, name).weight
                filled = weight.new_zeros(count * width, weight.shape[1])
                filled[rows.flatten()] = weight.detach()
                setattr(attention, name, linear(filled))
            weight = attention.o_proj.weight
            filled = weight.new_zeros(weight.shape[0], count * width)
            filled[:, rows.flatten()] = weight.detach()
            attention.o_proj = linear(filled)
            attention.head_dim = width


def linear(weight: Tensor) -> nn.Linear:
    part = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
    part.weight = nn.Parameter(weight)
    return part
