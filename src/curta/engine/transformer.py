"""An ordinary decoder-only transformer in PyTorch, float64. It needs torch and safetensors only.

    model = Transformer.from_file("parity.safetensors")
    logits = model(torch.tensor([[0, 1, 1]]))          # [batch, position, token]
    said = Transformer.from_folder("parity").generate([0, 1, 1, 2], 10)

Nothing in it knows about curta: softmax attention over the whole prefix, gated feed-forward parts,
greedy decoding by argmax. The weights are proved exact for sequences that keep some limits; a model
from a folder has them beside its weights, and `generate` stops with an error where they end.
`forward` computes logits and checks nothing. Positions enter as a few integer functions, so that a
million of them need no table: ((position // divisor) mod modulus - offset) ** power.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

Cache = list[tuple[Tensor, Tensor]]


class Projection(nn.Linear):
    """A linear map in float64, without bias, zero until its weights are loaded."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False, dtype=torch.float64)

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)


class Position(nn.Module):
    """The positional embedding: a linear map of integer functions of the position."""

    def __init__(self, width: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, features, dtype=torch.float64))
        self.divisor: Tensor
        self.modulus: Tensor
        self.power: Tensor
        self.offset: Tensor
        for name in ("divisor", "modulus", "power", "offset"):
            self.register_buffer(name, torch.zeros(features, dtype=torch.int64))

    def forward(self, positions: Tensor) -> Tensor:
        digits = positions.unsqueeze(-1) // self.divisor
        wrapped = digits % self.modulus.clamp(min=1)
        digits = torch.where(self.modulus > 0, wrapped, digits) - self.offset
        values = digits**self.power
        return values.to(torch.float64) @ self.weight.T


class Attention(nn.Module):
    """Causal softmax attention, with no scaling: the query weights carry it."""

    def __init__(self, width: int, inner: int, head_width: int) -> None:
        super().__init__()
        self.register_buffer("head_width", torch.tensor(head_width))
        self.heads, self.width = inner // head_width, head_width
        self.query = Projection(width, inner)
        self.key = Projection(width, inner)
        self.value = Projection(width, inner)
        self.output = Projection(inner, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, self.width).transpose(1, 2)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Cache]:
        queries, keys, values = (self.split(part(x)) for part in (self.query, self.key, self.value))
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=2)
            values = torch.cat([cache[1], values], dim=2)
        mixed = softmax_attention(queries, keys, values) if self.heads else queries
        joined = mixed.transpose(1, 2).flatten(2)
        return self.output(joined), [(keys, values)]


def softmax_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The last positions ask, and see everything up to themselves; [batch, head, position, width].

    PyTorch's own softmax attention, which on a CPU goes through queries and keys in tiles.
    """
    length, total = queries.shape[2], keys.shape[2]
    visible = None
    if 1 < length < total:
        everything = torch.ones(length, total, dtype=torch.bool, device=queries.device)
        visible = everything.tril(total - length)
    return scaled_dot_product_attention(
        queries, keys, values, attn_mask=visible, is_causal=length == total, scale=1.0
    )


class FeedForward(nn.Module):
    """contract @ (relu(gate @ x) * (expand @ x))"""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = Projection(width, hidden)
        self.expand = Projection(width, hidden)
        self.contract = Projection(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.contract(torch.relu(self.gate(x)) * self.expand(x))
        return result


class Layer(nn.Module):
    def __init__(self, width: int, inner: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width, inner, head_width)
        self.feed_forward = FeedForward(width, hidden)


class Transformer(nn.Module):
    """Token ids in, logits out."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        vocabulary, width = tensors["embedding.weight"].shape
        features = tensors["position.weight"].shape[1]
        layers = 1 + max(
            (int(n.split(".")[1]) for n in tensors if n.startswith("layers.")), default=-1
        )
        self.embedding = nn.Embedding(vocabulary, width, dtype=torch.float64)
        self.position = Position(width, features)
        self.layers = nn.ModuleList(
            Layer(
                width,
                tensors[f"layers.{n}.attention.query.weight"].shape[0],
                int(tensors[f"layers.{n}.attention.head_width"]),
                tensors[f"layers.{n}.feed_forward.gate.weight"].shape[0],
            )
            for n in range(layers)
        )
        self.unembedding = Projection(width, vocabulary)
        self.load_state_dict(tensors)
        self.requires_grad_(False)
        self.limits: dict[str, Any] = {"max_tokens": None, "stops": [], "promises": []}

    @staticmethod
    def from_file(path: str | Path) -> Transformer:
        """The weights, without their limits."""
        return Transformer(load_file(path))

    @staticmethod
    def from_folder(folder: str | Path) -> Transformer:
        """The weights of `model.safetensors`, with the limits of `limits.json`."""
        model = Transformer.from_file(Path(folder) / "model.safetensors")
        model.limits = json.loads((Path(folder) / "limits.json").read_text(encoding="utf-8"))
        return model

    def residual_streams(self, tokens: Tensor, cache: Cache | None = None) -> list[Tensor]:
        """The residual stream after the embedding and after every half layer.

        `cache` holds keys and values of earlier positions, one pair a layer (an empty list at the
        beginning of a sequence), and is extended in place.
        """
        return list(self.half_layers(tokens, cache))

    def half_layers(self, tokens: Tensor, cache: Cache | None = None) -> Iterator[Tensor]:
        """The same, one after another: a long sequence does not fit into memory so many times."""
        start = cache[0][0].shape[2] if cache else 0
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        x = self.embedding(tokens) + self.position(positions)
        yield x
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Layer)
            earlier = cache[number] if cache is not None and start else None
            mixed, kept = layer.attention(x, earlier)
            if cache is not None:
                cache[number : number + 1] = kept
            yield (x := x + mixed)
            yield (x := x + layer.feed_forward(x))

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        for x in self.half_layers(tokens, cache):
            stream = x
        logits: Tensor = self.unembedding(stream)
        return logits

    def generate(self, tokens: list[int], count: int) -> list[int]:
        """The `count` most likely tokens after a prompt, fewer if one of them is a stop token."""
        cache: Cache = []
        fresh, said = list(tokens), list[int]()
        while len(said) < count:
            start = len(tokens) + len(said) - len(fresh)
            longest = self.limits["max_tokens"]
            if longest is not None and start + len(fresh) > longest:
                raise ValueError(f"proved exact for {longest} tokens; the sequence gets longer")
            device = self.embedding.weight.device
            streams = self.residual_streams(torch.tensor([fresh], device=device), cache)
            self.check_promises(streams, start)
            fresh = [int(self.unembedding(streams[-1][0, -1]).argmax())]
            said += fresh
            if fresh[0] in self.limits["stops"]:
                break
        return said

    def check_promises(self, streams: list[Tensor], start: int) -> None:
        """Sums of slots that have to stay in an interval; an error names one that does not."""
        for promise in self.limits["promises"]:
            stream = streams[promise["period"]][0]
            value = sum((w * stream[:, slot] for slot, w in promise["terms"]), stream[:, 0] * 0)
            broken = ((value < promise["low"]) | (value > promise["high"])).nonzero()
            if len(broken):
                raise ValueError(
                    f"position {start + int(broken[0])}: {promise['name']} leaves "
                    f"[{promise['low']}, {promise['high']}], for which the weights are exact"
                )
