"""Low-rank adapters: where they go."""

from __future__ import annotations

import re
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from curta.delegate.markers import Markers, trained_rows
from curta.delegate.models import without_renaming
from curta.delegate.training.config import Precision, TrainingConfig
from curta.errors import DataError

BLOCK = re.compile(r"\.(?:layers|h|blocks)\.(?P<number>\d+)\.")
OTHER_MIXERS = re.compile(r"linear_attn|mamba|mixer|conv|delta")


def with_adapter(model: Any, config: TrainingConfig, markers: Markers | None = None) -> Any:
    """The model with an adapter that is trained, and everything else held fixed.

    Of the embeddings only rows of new tokens are trained, and kept with the adapter.
    """
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=targets(model, config),
        task_type="CAUSAL_LM",
        fan_in_fan_out=any(isinstance(one, Conv1D) for one in model.modules()),
        trainable_token_indices=trained_rows(model, markers or Markers()),
    )
    with without_renaming():
        return get_peft_model(model, lora)


def in_precision(model: Any, precision: Precision) -> Any:
    """The model in float32 if it is trained so; for bfloat16 it stays as it is kept.

    There its products are in bfloat16 either way, and a large model has room for its own type only.
    """
    return model.float() if precision == "float32" else model


def targets(model: nn.Module, config: TrainingConfig) -> list[str]:
    """The names of the layers that get one: linear ones of the last blocks."""
    blocks = {
        name: int(match["number"])
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D)
        if (match := BLOCK.search(f".{name}."))
    }
    first = max(blocks.values(), default=0) + 1 - config.last_blocks if config.last_blocks else 0
    found = [name for name, number in blocks.items() if number >= first]
    if config.mode == "mlp":
        found = [name for name in found if not OTHER_MIXERS.search(name)]
    if not found:
        raise DataError(
            f"mode = {config.mode}, last_blocks = {config.last_blocks}: the model has no linear "
            "layers there"
        )
    return found
