"""An ordinary decoder-only transformer in PyTorch, float64. It needs torch and safetensors only.

    model = Transformer.from_file("parity.safetensors")
    logits = model(torch.tensor([[0, 1, 1]]))          # [batch, position, token]
    said = Transformer.from_folder("parity").generate([0, 1, 1, 2], 10)

Nothing in it knows about curta: softmax attention over the whole prefix, gated feed-forward parts,
greedy decoding by argmax. The weights are proved exact for sequences that keep some limits; a model
from a folder has them beside its weights, and `generate` stops with an error where they end.
`forward` computes logits and checks nothing. Positions enter as a few integer functions, so that a
million of them need no table: ((position // divisor) mod modulus - offset) ** power.

Almost all weights are zero. Rows and columns of matrices that hold nothing else are left out, and
heads whose queries and keys are made by the same weights share a softmax. Every softmax goes over
all positions so far.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import linear

SCORES = 2**19
"""How many scores of attention are computed at once: as many as a processor's caches hold."""


class Projection(nn.Module):
    """A linear map in float64, without bias: those rows and columns of its matrix that are not all
    zeros. Several matrices are one, each below the one before.
    """

    rows: Tensor
    columns: Tensor
    weight: Tensor

    def __init__(self, *matrices: Tensor) -> None:
        super().__init__()
        matrix = torch.cat(matrices)
        self.outputs, self.inputs = matrix.shape
        rows, columns = (matrix.any(dim=other).nonzero().flatten() for other in (1, 0))
        self.register_buffer("rows", rows)
        self.register_buffer("columns", columns)
        self.register_buffer("weight", matrix[rows][:, columns].contiguous())
        self.every_row = len(rows) == self.outputs
        self.every_column = len(columns) == self.inputs

    def forward(self, x: Tensor) -> Tensor:
        result = linear(x if self.every_column else x.index_select(-1, self.columns), self.weight)
        if self.every_row:
            return result
        return result.new_zeros(*x.shape[:-1], self.outputs).index_copy_(-1, self.rows, result)


class Position(nn.Module):
    """The positional embedding: a linear map of integer functions of the position."""

    divisor: Tensor
    modulus: Tensor
    power: Tensor
    offset: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        self.projection = Projection(tensors["position.weight"])
        for name in ("divisor", "modulus", "power", "offset"):
            self.register_buffer(name, tensors[f"position.{name}"])

    def forward(self, positions: Tensor) -> Tensor:
        digits = positions.unsqueeze(-1) // self.divisor
        wrapped = digits % self.modulus.clamp(min=1)
        digits = torch.where(self.modulus > 0, wrapped, digits) - self.offset
        result: Tensor = self.projection((digits**self.power).to(torch.float64))
        return result


class Growing:
    """A tensor that gets longer along its last dimension, in room that doubles when it is full."""

    def __init__(self) -> None:
        self.length = 0
        self.room: Tensor | None = None

    def append(self, more: Tensor) -> Tensor:
        """All of it, the new end included."""
        start, self.length = self.length, self.length + more.shape[-1]
        if self.room is None or self.length > self.room.shape[-1]:
            room = more.new_empty(*more.shape[:-1], max(64, 2 * self.length))
            if self.room is not None:
                room[..., :start] = self.room[..., :start]
            self.room = room
        self.room[..., start : self.length] = more
        return self.room[..., : self.length]


Memory = tuple[Growing, Growing]
"""Keys and values of heads of one shape, [batch, head, component, position]."""


class Cache:
    """A sequence in progress: its length, and the memories of every layer."""

    def __init__(self, layers: list[list[Memory]]) -> None:
        self.length = 0
        self.layers = layers


class Head(NamedTuple):
    """One softmax: its rows in the matrices of queries and keys, and in that of values."""

    asked: list[int]
    mixed: list[int]


def distinct_heads(query: Tensor, key: Tensor, value: Tensor, head_width: int) -> list[Head]:
    """The heads of a layer without rows that add nothing, those of one shape side by side.

    Equal queries and keys have equal scores: such heads are one, which mixes the values of all.
    """
    heads: dict[str, Head] = {}
    for first in range(0, len(query), head_width):
        rows = range(first, first + head_width)
        asked = [row for row in rows if query[row].any() and key[row].any()]
        weights = str([query[asked].tolist(), key[asked].tolist()])
        head = heads.setdefault(weights, Head(asked, []))
        head.mixed.extend(row for row in rows if value[row].any())
    return sorted(heads.values(), key=lambda head: (len(head.asked), len(head.mixed)))


class Attention(nn.Module):
    """Causal softmax attention, with no scaling: the query weights carry it."""

    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        query, key, value, output = (
            tensors[f"{name}.{part}.weight"] for part in ("query", "key", "value", "output")
        )
        heads = distinct_heads(query, key, value, int(tensors[f"{name}.head_width"]))
        shapes = Counter((len(head.asked), len(head.mixed)) for head in heads)
        self.widths = [(number, width) for (width, _), number in shapes.items()]
        self.value_widths = [(number, width) for (_, width), number in shapes.items()]
        asked = [row for head in heads for row in head.asked]
        mixed = [row for head in heads for row in head.mixed]
        self.query, self.key = Projection(query[asked]), Projection(key[asked])
        self.value, self.output = Projection(value[mixed]), Projection(output[:, mixed])

    def forward(self, x: Tensor, memories: list[Memory]) -> Tensor:
        queries, keys = (by_head(part(x), self.widths) for part in (self.query, self.key))
        values = by_head(self.value(x), self.value_widths)
        mixed = [
            softmax_attention(query, memory[0].append(key), memory[1].append(value))
            for query, key, value, memory in zip(queries, keys, values, memories, strict=True)
        ]
        joined = torch.cat([part.flatten(1, 2) for part in mixed], dim=1)
        result: Tensor = self.output(joined.transpose(1, 2))
        return result


def by_head(x: Tensor, widths: list[tuple[int, int]]) -> list[Tensor]:
    """[batch, position, component] as [batch, head, component, position]; `widths` has the number
    of heads of one shape, and how wide they are."""
    batch, positions = x.shape[:2]
    parts = torch.split(x.transpose(1, 2), [number * width for number, width in widths], dim=1)
    return [
        part.view(batch, number, width, positions)
        for part, (number, width) in zip(parts, widths, strict=True)
    ]


def softmax_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """What the last positions ask for; each sees all positions up to itself.

    Everything is [batch, head, component, position]. One position asks with all heads at once; more
    of them head by head, as many as SCORES allows.
    """
    (batch, heads, _, asking), total = queries.shape, keys.shape[3]
    if asking == 1:
        return attend(queries, keys, values)
    most = max(1, SCORES // (batch * total))
    mixed = values.new_empty(batch, heads, values.shape[2], asking)
    for head in range(heads):
        one = slice(head, head + 1)
        for first in range(0, asking, most):
            end = min(first + most, asking)
            seen = total - asking + end
            mixed[:, one, :, first:end] = attend(
                queries[:, one, :, first:end], keys[:, one, :, :seen], values[:, one, :, :seen]
            )
    return mixed


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """values . softmax(queries . keys), all at once."""
    asking = queries.shape[3]
    scores = queries.transpose(2, 3) @ keys
    if asking > 1:
        later = torch.ones(asking, asking, dtype=torch.bool, device=scores.device).triu(1)
        scores[..., -asking:].masked_fill_(later, -torch.inf)
    return values @ scores.softmax(dim=-1).transpose(2, 3)


class FeedForward(nn.Module):
    """contract @ (relu(gate @ x) * (expand @ x))"""

    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.gates = Projection(tensors[f"{name}.gate.weight"], tensors[f"{name}.expand.weight"])
        self.contract = Projection(tensors[f"{name}.contract.weight"])

    def forward(self, x: Tensor) -> Tensor:
        gate, expand = self.gates(x).chunk(2, dim=-1)
        result: Tensor = self.contract(torch.relu(gate) * expand)
        return result


class Layer(nn.Module):
    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.attention = Attention(tensors, f"{name}.attention")
        self.feed_forward = FeedForward(tensors, f"{name}.feed_forward")


class Transformer(nn.Module):
    """Token ids in, logits out."""

    embedding: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        count = 1 + max(
            (int(n.split(".")[1]) for n in tensors if n.startswith("layers.")), default=-1
        )
        self.register_buffer("embedding", tensors["embedding.weight"])
        self.position = Position(tensors)
        self.layers = nn.ModuleList(Layer(tensors, f"layers.{n}") for n in range(count))
        self.unembedding = Projection(tensors["unembedding.weight"])
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

    def new_cache(self) -> Cache:
        """Of an empty sequence."""
        heads = [layer.attention.widths for layer in self.layers if isinstance(layer, Layer)]
        return Cache([[(Growing(), Growing()) for _ in widths] for widths in heads])

    def half_layers(self, tokens: Tensor, cache: Cache) -> Iterator[Tensor]:
        """The residual stream after the embedding and after every half layer, one after another.

        `cache` holds keys and values of earlier positions, and is extended in place.
        """
        end = cache.length + tokens.shape[1]
        positions = torch.arange(cache.length, end, device=tokens.device)
        x = self.embedding[tokens] + self.position(positions)
        yield x
        for layer, memories in zip(self.layers, cache.layers, strict=True):
            assert isinstance(layer, Layer)
            if memories:
                x = x + layer.attention(x, memories)
            yield x
            yield (x := x + layer.feed_forward(x))
        cache.length = end

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        for x in self.half_layers(tokens, cache or self.new_cache()):
            stream = x
        logits: Tensor = self.unembedding(stream)
        return logits

    def generate(self, tokens: list[int], count: int) -> list[int]:
        """The `count` most likely tokens after a prompt, fewer if one of them is a stop token."""
        cache = self.new_cache()
        fresh, said = list(tokens), list[int]()
        while len(said) < count:
            start, longest = cache.length, self.limits["max_tokens"]
            if longest is not None and start + len(fresh) > longest:
                raise ValueError(f"proved exact for {longest} tokens; the sequence gets longer")
            batch = torch.tensor([fresh], device=self.embedding.device)
            for period, x in enumerate(self.half_layers(batch, cache)):
                stream = x[0]
                self.check_promises(period, stream, start)
            fresh = [int(self.unembedding(stream[-1]).argmax())]
            said += fresh
            if fresh[0] in self.limits["stops"]:
                break
        return said

    def check_promises(self, period: int, stream: Tensor, start: int) -> None:
        """Sums of slots that have to stay in an interval; an error names one that does not."""
        for promise in self.limits["promises"]:
            if promise["period"] != period:
                continue
            value = sum((w * stream[:, slot] for slot, w in promise["terms"]), stream[:, 0] * 0)
            broken = ((value < promise["low"]) | (value > promise["high"])).nonzero()
            if len(broken):
                raise ValueError(
                    f"position {start + int(broken[0])}: {promise['name']} leaves "
                    f"[{promise['low']}, {promise['high']}], for which the weights are exact"
                )
