"""What a transformer compiled by curta is made of."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig


class CurtaConfig(PretrainedConfig):
    """Sizes, positions, and what the weights promise.

    heads, head_widths, units: one number for each layer
    position_functions: [divisor, modulus, power, offset] of each integer function of a position:
        ((position // divisor) mod modulus - offset) ** power, without the mod where it is 0
    max_position_embeddings: the longest sequence for which softmax is proved to be exact
    proved_dtype: the arithmetic that the proof is about
    promises: sums of slots of the residual stream that have to stay in an interval
    """

    model_type = "curta"

    def __init__(
        self,
        vocab_size: int = 1,
        hidden_size: int = 1,
        heads: list[int] | None = None,
        head_widths: list[int] | None = None,
        units: list[int] | None = None,
        position_functions: list[list[int]] | None = None,
        max_position_embeddings: int = 1,
        proved_dtype: str = "float64",
        promises: list[dict[str, Any]] | None = None,
        **others: Any,
    ) -> None:
        self.hidden_size = hidden_size
        self.heads = heads or []
        self.head_widths = head_widths or []
        self.units = units or []
        self.position_functions = position_functions or []
        self.max_position_embeddings = max_position_embeddings
        self.proved_dtype = proved_dtype
        self.promises = promises or []
        self.num_hidden_layers = len(self.heads)
        self.num_attention_heads = max(self.heads, default=1)
        self.head_dim = max(self.head_widths, default=1)
        self.intermediate_size = max(self.units, default=1)
        self.vocab_size = vocab_size
        others.setdefault("tie_word_embeddings", False)
        others.setdefault("attn_implementation", "eager")
        super().__init__(**others)
