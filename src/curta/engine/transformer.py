"""An ordinary decoder-only transformer in PyTorch, float64. It needs torch and safetensors only.

    model = Transformer.from_file("parity.safetensors")
    logits = model(torch.tensor([[0, 1, 1]]))          # [batch, position, token]
    said = Transformer.from_folder("parity").generate([0, 1, 1, 2], 10)

Nothing in it knows about curta: softmax attention over the whole prefix, gated feed-forward parts,
greedy decoding by argmax. The weights are proved exact for sequences that keep some limits; a model
from a folder has them beside its weights, and `generate` stops with an error where they end.
`forward` computes logits and checks nothing. Positions enter as a few integer functions, so that a
million of them need no table: ((position // divisor) mod modulus - offset) ** power.

Almost all weights are zero: matrices are kept without their zeros, and heads whose queries and keys
are made by the same weights share a softmax. Every softmax goes over all positions so far.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import linear, pad
from torch.nn.utils.rnn import pad_sequence

SCORES = 2**21
"""How many scores of attention are computed at once: more do not stay in a processor's caches."""
STRETCH = 32
"""So many positions, one after another, are looked at together in `attend`."""
NOTHING = 746
"""exp(-746) is 0 in float64."""


def sparse(*matrices: Tensor) -> Tensor:
    """Matrices without their zeros, as one, each below the one before."""
    with warnings.catch_warnings(action="ignore"):  # PyTorch says that this is new
        return torch.cat(matrices).to_sparse_csr()


class Position(nn.Module):
    """The positional embedding: a linear map of integer functions of the position."""

    weight: Tensor
    divisor: Tensor
    modulus: Tensor
    power: Tensor
    offset: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        for name in ("weight", "divisor", "modulus", "power", "offset"):
            self.register_buffer(name, tensors[f"position.{name}"])

    def forward(self, positions: Tensor) -> Tensor:
        digits = positions.unsqueeze(-1) // self.divisor
        wrapped = digits % self.modulus.clamp(min=1)
        digits = torch.where(self.modulus > 0, wrapped, digits) - self.offset
        return linear((digits**self.power).to(self.weight.dtype), self.weight)


class Growing:
    """A tensor that gets longer along its last dimension, in room that doubles when it is full.

    Room is whole stretches of positions, and zero where there are none yet.
    """

    def __init__(self) -> None:
        self.length = 0
        self.room: Tensor | None = None

    def append(self, more: Tensor) -> Tensor:
        """All of it, the new end included, and the rest of the last stretch."""
        start, self.length = self.length, self.length + more.shape[-1]
        end, room = whole_stretches(self.length), more[..., :0] if self.room is None else self.room
        self.room = room if end <= room.shape[-1] else pad(room, (0, 2 * end - room.shape[-1]))
        self.room[..., start : self.length] = more
        return self.room[..., :end]


def whole_stretches(positions: int) -> int:
    """So many positions, rounded up."""
    return -(-positions // STRETCH) * STRETCH


class Cache:
    """A sequence in progress: its length, and by layer all keys and values so far, [head,
    component, position].
    """

    def __init__(self, layers: int) -> None:
        self.length = 0
        self.layers = [Growing() for _ in range(layers)]


Head = tuple[list[int], list[int]]
"""One softmax: its rows in the matrices of queries and keys, and in that of values."""


def distinct_heads(query: Tensor, key: Tensor, value: Tensor, head_width: int) -> list[Head]:
    """The heads of a layer without rows that add nothing.

    Equal queries and keys have equal scores: such heads are one, which mixes the values of all.
    """
    heads: dict[str, Head] = {}
    for first in range(0, len(query), head_width):
        rows = range(first, first + head_width)
        asked = [row for row in rows if query[row].any() and key[row].any()]
        weights = str([query[asked].tolist(), key[asked].tolist()])
        heads.setdefault(weights, (asked, []))[1].extend(row for row in rows if value[row].any())
    return [(asked, mixed) for asked, mixed in heads.values() if mixed]


class Attention(nn.Module):
    """Causal softmax attention, with no scaling: the query weights carry it."""

    weight: Tensor
    output: Tensor

    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        query, key, value, output = (
            tensors[f"{name}.{part}.weight"] for part in ("query", "key", "value", "output")
        )
        heads = distinct_heads(query, key, value, int(tensors[f"{name}.head_width"]))
        self.heads = len(heads)
        self.width = max((len(asked) for asked, _ in heads), default=0)
        if heads:
            parts = ((query, 0), (key, 0), (value, 1), (output.T, 1))
            *weight, output = (
                pad_sequence([matrix[head[rows]] for head in heads], batch_first=True)
                for matrix, rows in parts
            )
            self.register_buffer("weight", sparse(*torch.cat(weight, dim=1)))
            self.register_buffer("output", sparse(output.flatten(0, 1).T))

    def forward(self, x: Tensor, memory: Growing, batch: int) -> Tensor:
        """What the heads find, for a stream [slot, batch * position]."""
        parts = (self.weight @ x).view(self.heads, -1, batch, x.shape[1] // batch)
        queries, new = parts.transpose(1, 2).flatten(0, 1).tensor_split([self.width], dim=1)
        earlier = memory.length
        mixed = softmax_attention(queries, memory.append(new), earlier)
        by_row = mixed.view(self.heads, batch, -1, x.shape[1] // batch).transpose(1, 2)
        return by_row.reshape(-1, x.shape[1])


def softmax_attention(queries: Tensor, seen: Tensor, earlier: int) -> Tensor:
    """What positions ask for that have `earlier` ones before them; each sees all up to itself.

    Everything is [head, component, position], `seen` has keys and values. As many scores are
    computed at once as SCORES allows.
    """
    (heads, width, asking), total = queries.shape, seen.shape[2]
    mixed = seen.new_empty(heads, seen.shape[1] - width, asking)
    rows = min(max(SCORES // total, 1), asking)
    together = max(SCORES // total // asking, 1)
    hidden = seen.new_full((rows, rows + STRETCH), -torch.inf).triu_(1)
    for first in range(0, asking, rows):
        block = slice(first, min(first + rows, asking))
        past = seen[..., : whole_stretches(earlier + block.stop)]
        later = hidden[: block.stop - first, : past.shape[2] - earlier - first]
        parts = (torch.split(x, together) for x in (queries[..., block], past, mixed[..., block]))
        for some, known, result in zip(*parts, strict=True):
            result[:] = attend(some, known, later)
    return mixed


def attend(queries: Tensor, seen: Tensor, later: Tensor) -> Tensor:
    """values . softmax(queries . keys), all at once. `later` is added to the scores of the last
    positions: -inf for those that come after the one that asks.

    exp is computed where it is not 0: in stretches of positions that have a score which is at most
    NOTHING below the best one. If there are many of those, it is computed everywhere.
    """
    keys, values = seen.tensor_split([queries.shape[1]], dim=1)
    scores = queries.transpose(1, 2) @ keys
    scores[..., scores.shape[2] - later.shape[1] :] += later
    stretches = scores.view(*scores.shape[:2], -1, STRETCH)
    highest = stretches.amax(dim=3)
    best = highest.amax(dim=2, keepdim=True)
    head, row, stretch = near = (highest >= best - NOTHING).nonzero(as_tuple=True)
    if 4 * len(head) > highest.numel():
        return values @ scores.softmax(dim=2).transpose(1, 2)
    factors = (stretches[near] - best[head, row]).exp_().unsqueeze(2)
    some = values.view(*values.shape[:2], -1, STRETCH)[head, :, stretch] @ factors
    some = torch.cat((some, factors.sum(dim=1, keepdim=True)), dim=1).squeeze(2)
    mixed = some.new_zeros(*best.shape[:2], some.shape[1])
    mixed.index_put_((head, row), some, accumulate=True)
    return (mixed[..., :-1] / mixed[..., -1:]).transpose(1, 2)


class FeedForward(nn.Module):
    """contract @ (relu(gate @ x) * (expand @ x))"""

    weight: Tensor
    output: Tensor

    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        gate, expand, contract = (
            tensors[f"{name}.{part}.weight"] for part in ("gate", "expand", "contract")
        )
        self.register_buffer("weight", sparse(gate, expand))
        self.register_buffer("output", sparse(contract))

    def forward(self, x: Tensor) -> Tensor:
        gate, expand = (self.weight @ x).chunk(2)
        return gate.relu_().mul_(expand)


class Layer(nn.Module):
    def __init__(self, tensors: dict[str, Tensor], name: str) -> None:
        super().__init__()
        self.attention = Attention(tensors, f"{name}.attention")
        self.feed_forward = FeedForward(tensors, f"{name}.feed_forward")


class Transformer(nn.Module):
    """Token ids in, logits out."""

    embedding: Tensor
    unembedding: Tensor

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        super().__init__()
        count = 1 + max(
            (int(n.split(".")[1]) for n in tensors if n.startswith("layers.")), default=-1
        )
        self.register_buffer("embedding", tensors["embedding.weight"])
        self.position = Position(tensors)
        self.layers = nn.ModuleList(Layer(tensors, f"layers.{n}") for n in range(count))
        self.register_buffer("unembedding", sparse(tensors["unembedding.weight"]))
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
        return Cache(len(self.layers))

    def half_layers(self, tokens: Tensor, cache: Cache) -> Iterator[Tensor]:
        """The residual stream [batch, position, slot] after the embedding and after every half
        layer; each holds until the next is asked for.

        `cache` holds keys and values of earlier positions, and is extended in place.
        """
        batch, end = len(tokens), cache.length + tokens.shape[1]
        positions = torch.arange(cache.length, end, device=tokens.device)
        x = (self.embedding[tokens] + self.position(positions)).flatten(0, 1).T.contiguous()
        stream = x.T.view(*tokens.shape, -1)
        yield stream
        for layer, memory in zip(self.layers, cache.layers, strict=True):
            assert isinstance(layer, Layer)
            if layer.attention.heads:
                x.addmm_(layer.attention.output, layer.attention(x, memory, batch))
            yield stream
            x.addmm_(layer.feed_forward.output, layer.feed_forward(x))
            yield stream
        cache.length = end

    def logits(self, stream: Tensor) -> Tensor:
        """[..., token] for the last residual stream [..., slot]."""
        logits: Tensor = self.unembedding @ stream.flatten(0, -2).T
        return logits.T.view(*stream.shape[:-1], -1)

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        *_, stream = self.half_layers(tokens, cache or self.new_cache())
        return self.logits(stream)

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
            fresh = [int(self.logits(stream[-1:]).argmax())]
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
