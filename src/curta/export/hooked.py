"""A compiled model by the names of TransformerLens' `HookedTransformer`, and what it computes.

Layers are filled up with zeros to equal numbers of heads, widths and units. Positions are a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from curta.compiler import Model
from curta.errors import UserError
from curta.export.positions import most_positions

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise UserError("a HookedTransformer needs PyTorch: pip install 'curta[torch]'") from error

State = dict[str, Tensor]


def state_dict(model: Model) -> State:
    """The weights by TransformerLens' names, in the slots that they were compiled for."""
    layers, width = model.plan["layers"], model.plan["width"]
    heads = max(1, *(len(layer["heads"]) for layer in layers))
    head_width = max(1, *(layer["head_width"] for layer in layers))
    units = max(1, *(len(layer["units"]) for layer in layers))
    length, weights = most_positions(model), model.weights
    state = {
        "embed.W_E": torch.tensor(weights["embedding.weight"]),
        "pos_embed.W_pos": torch.tensor(model.positional(np.arange(length))),
        "unembed.W_U": torch.tensor(weights["unembedding.weight"].T),
        "unembed.b_U": zeros(len(model.vocabulary)),
    }
    for number, layer in enumerate(layers):
        own = {
            name.removeprefix(f"layers.{number}."): tensor
            for name, tensor in weights.items()
            if name.startswith(f"layers.{number}.")
        }
        shape = (len(layer["heads"]), layer["head_width"], width)
        attention, mlp = f"blocks.{number}.attn", f"blocks.{number}.mlp"
        for letter, part in (("Q", "query"), ("K", "key"), ("V", "value")):
            rows = own[f"attention.{part}.weight"].reshape(shape).transpose(0, 2, 1)
            state[f"{attention}.W_{letter}"] = filled(rows, heads, width, head_width)
            state[f"{attention}.b_{letter}"] = zeros(heads, head_width)
        rows = own["attention.output.weight"].T.reshape(shape)
        state[f"{attention}.W_O"] = filled(rows, heads, head_width, width)
        state[f"{attention}.b_O"] = zeros(width)
        state[f"{attention}.mask"] = torch.ones(length, length, dtype=torch.bool).tril()
        state[f"{attention}.IGNORE"] = torch.tensor(-torch.inf)
        for name, part in (("W_gate", "gate"), ("W_in", "expand")):
            state[f"{mlp}.{name}"] = filled(own[f"feed_forward.{part}.weight"].T, width, units)
        state[f"{mlp}.W_out"] = filled(own["feed_forward.contract.weight"].T, units, width)
        state[f"{mlp}.b_in"], state[f"{mlp}.b_out"] = zeros(units), zeros(width)
    return state


def filled(rows: Any, *shape: int) -> Tensor:
    """A tensor of this shape that begins with the rows, and is zero elsewhere."""
    whole = np.zeros(shape)
    whole[tuple(map(slice, rows.shape))] = rows
    return torch.from_numpy(whole)


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def configuration(state: State) -> dict[str, Any]:
    """What `HookedTransformerConfig.from_dict` takes. Query weights carry the scale of scores."""
    heads, width, head_width = state["blocks.0.attn.W_Q"].shape
    vocabulary = len(state["embed.W_E"])
    return {
        "n_layers": layer_count(state),
        "d_model": width,
        "n_ctx": len(state["pos_embed.W_pos"]),
        "d_head": head_width,
        "n_heads": heads,
        "d_mlp": state["blocks.0.mlp.W_in"].shape[1],
        "d_vocab": vocabulary,
        "d_vocab_out": vocabulary,
        "act_fn": "relu",
        "gated_mlp": True,
        "normalization_type": None,
        "use_attn_scale": False,
        "attention_dir": "causal",
        "positional_embedding_type": "standard",
        "dtype": torch.float64,
        "use_attn_result": True,
        "use_split_qkv_input": True,
        "use_hook_mlp_in": True,
        "init_weights": False,
        "default_prepend_bos": False,
        "device": "cpu",
        "seed": 0,
    }


def layer_count(state: State) -> int:
    return sum(name.endswith("mlp.W_in") for name in state)


def half_layers(state: State, ids: Sequence[int]) -> Iterator[Tensor]:
    """The residual stream [position, direction] after the embedding and after every half layer."""
    later = torch.full((len(ids), len(ids)), -torch.inf, dtype=torch.float64).triu(1)
    x = state["embed.W_E"][list(ids)] + state["pos_embed.W_pos"][: len(ids)]
    yield x
    for number in range(layer_count(state)):
        query, key, value, output = (state[f"blocks.{number}.attn.W_{part}"] for part in "QKVO")
        pattern = ((x @ query) @ (x @ key).transpose(1, 2) + later).softmax(dim=2)
        x = x + (pattern @ (x @ value) @ output).sum(dim=0)
        yield x
        gate, expand, contract = (
            state[f"blocks.{number}.mlp.W_{part}"] for part in ("gate", "in", "out")
        )
        x = x + ((x @ gate).relu() * (x @ expand)) @ contract
        yield x
