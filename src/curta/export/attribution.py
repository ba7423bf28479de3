"""An attribution graph of one prediction, in the form that circuit-tracer has.

Nodes are the tokens, their positions, and what heads and units wrote at each position; a link's
weight is what the one contributed to the other. With attention held as it is, everything else is a
sum or a product, so a contribution is the value times the derivative and nothing is estimated. For
trained models these graphs come from transcoders that stand for the model; here the model's own
parts are the features, and links lead along the edges of its circuit only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curta.compiler import Model
from curta.export.circuit import CONSTANT, Part, edges, parts

Numbers = NDArray[np.float64]


class Place(NamedTuple):
    """A node: what a part writes at a position. A head writes a value to each of its slots, so it
    is a node for each; of all others the slot is -1.
    """

    half: int
    part: str
    slot: int
    position: int


class Pass:
    """One forward pass, and what every part added to the stream in it.

    added:    by part, [position, slot]
    patterns: by head, the weights of attention [position, position]
    streams:  behind each half layer, [position, slot]
    """

    def __init__(self, model: Model, ids: Sequence[int]) -> None:
        self.model, self.ids = model, list(ids)
        self.added: dict[str, Numbers] = {"embed": model.weights["embedding.weight"][self.ids]}
        self.added["pos"] = model.positional(np.arange(len(ids)))
        self.patterns: dict[str, Numbers] = {}
        self.streams = [self.added["embed"] + self.added["pos"]]
        for number, layer in enumerate(model.plan["layers"]):
            width = layer["head_width"]
            heads = {
                f"a{number}.h{place}": self.head(number, slice(place * width, (place + 1) * width))
                for place in range(len(layer["heads"]))
            }
            self.streams.append(sum(heads.values(), self.streams[-1]))
            units = self.units(number)
            self.streams.append(sum(units.values(), self.streams[-1]))
            self.added |= heads | units

    def tensor(self, layer: int, name: str) -> Numbers:
        found: Numbers = self.model.weights[f"layers.{layer}.{name}.weight"]
        return found

    def head(self, layer: int, rows: slice) -> Numbers:
        query, key, value = (
            self.streams[-1] @ self.tensor(layer, f"attention.{name}")[rows].T
            for name in ("query", "key", "value")
        )
        scores = query @ key.T + np.triu(np.full((len(self.ids),) * 2, -np.inf), 1)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        pattern = weights / weights.sum(axis=1, keepdims=True)
        self.patterns[f"a{layer}.h{rows.start // (rows.stop - rows.start)}"] = pattern
        written: Numbers = pattern @ value @ self.tensor(layer, "attention.output")[:, rows].T
        return written

    def units(self, layer: int) -> dict[str, Numbers]:
        gate, expand = (
            self.streams[-1] @ self.tensor(layer, f"feed_forward.{name}").T
            for name in ("gate", "expand")
        )
        values = np.maximum(gate, 0) * expand
        ways = self.tensor(layer, "feed_forward.contract").T
        return {f"m{layer}.u{n}": np.outer(values[:, n], way) for n, way in enumerate(ways)}


class Attribution:
    """What contributed to the logit of the next token, back to the tokens: links by their ends."""

    def __init__(self, model: Model, ids: Sequence[int]) -> None:
        self.model, self.run = model, Pass(model, ids)
        found = list(parts(model))
        self.parts = {part.name: part for part in found}
        self.sources: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for edge in edges(model, found):
            if edge["slot"] != CONSTANT:  # biases are nobody's contribution
                way = self.sources.setdefault((edge["target"], edge["input"]), [])
                way.append((edge["slot"], edge["source"]))
        self.logits = self.run.streams[-1][-1] @ model.weights["unembedding.weight"].T
        self.token = int(self.logits.argmax())
        logits = self.parts["logits"]
        self.root = Place(logits.half, logits.name, -1, len(ids) - 1)
        self.links: dict[tuple[Place, Place], float] = {}
        self.sizes: dict[tuple[Place, Place], float] = {}
        waiting = [self.root]
        seen = {self.root}
        while waiting:
            target = waiting.pop()
            for source, weight in self.contributions(target):
                if weight != 0:
                    link = source, target
                    self.links[link] = self.links.get(link, 0) + weight
                    self.sizes[link] = self.sizes.get(link, 0) + abs(weight)
                    if source not in seen:
                        seen.add(source)
                        waiting.append(source)
        self.places = sorted(seen)

    def contributions(self, target: Place) -> Iterator[tuple[Place, float]]:
        """From which place how much, one for each edge and each position that is looked at."""
        part = self.parts[target.part]
        if part.kind == "head":
            yield from self.into_head(part, target)
        elif part.kind in ("unit", "logits"):
            for way in part.reads:
                derivative = self.derivative(part, way, target.position)
                for slot, source in self.sources.get((part.name, way), []):
                    written = self.run.added[source][target.position, slot]
                    yield self.place(source, slot, target.position), derivative[slot] * written

    def derivative(self, part: Part, way: str, position: int) -> Numbers:
        """Of a unit's value, or of the logit, by what it reads."""
        if part.kind == "logits":
            logit: Numbers = self.model.weights["unembedding.weight"][self.token]
            return logit
        layer, unit = (int(word[1:]) for word in part.name.split("."))
        stream = self.run.streams[part.half - 1][position]
        gate, expand = (
            self.run.tensor(layer, f"feed_forward.{n}")[unit] for n in ("gate", "expand")
        )
        opened = float(stream @ gate)
        found: Numbers
        if way == "expand":
            found = max(opened, 0.0) * expand
        else:
            found = (opened > 0) * float(stream @ expand) * gate
        return found

    def into_head(self, part: Part, target: Place) -> Iterator[tuple[Place, float]]:
        """Attention is held: what is written is a sum over the positions that are looked at."""
        layer, head = (int(word[1:]) for word in part.name.split("."))
        width = self.model.plan["layers"][layer]["head_width"]
        rows = slice(head * width, (head + 1) * width)
        output = self.run.tensor(layer, "attention.output")[target.slot, rows]
        by_slot = output @ self.run.tensor(layer, "attention.value")[rows]
        looked = self.run.patterns[part.name][target.position]
        for position in np.flatnonzero(looked).tolist():
            for slot, source in self.sources.get((part.name, "v"), []):
                written = self.run.added[source][position, slot]
                yield self.place(source, slot, position), looked[position] * by_slot[slot] * written

    def place(self, source: str, slot: int, position: int) -> Place:
        part = self.parts[source]
        return Place(part.half, source, slot if part.kind == "head" else -1, position)

    def influences(self) -> dict[Place, float]:
        """How much of the logit passes through a place: shares by size, handed down the links.

        Contributions that cancel out have a size, and no weight.
        """
        into: dict[Place, list[tuple[Place, float]]] = {}
        for (source, target), size in self.sizes.items():
            into.setdefault(target, []).append((source, size))
        found = dict.fromkeys(self.places, 0.0) | {self.root: 1.0}
        for target in sorted(self.places, reverse=True):
            total = sum(size for _, size in into.get(target, []))
            for source, size in into.get(target, []):
                found[source] += found[target] * size / total
        return found


def write_attribution(model: Model, ids: Sequence[int], slug: str, path: Path) -> None:
    """The graph of what comes after the prompt, as JSON."""
    graph = json.dumps(attribution(model, ids, slug), indent=1, allow_nan=False)
    path.write_text(graph, encoding="utf-8")


def attribution(model: Model, ids: Sequence[int], slug: str) -> dict[str, Any]:
    """The graph of what comes after the prompt, by the names that circuit-tracer has."""
    graph = Attribution(model, ids)
    tokens = [model.vocabulary[n] for n in ids]
    influences = graph.influences()
    return {
        "metadata": {
            "slug": slug,
            "scan": "curta",
            "transcoder_list": [],
            "prompt_tokens": tokens,
            "prompt": " ".join(tokens),
            "node_threshold": 1.0,
            "schema_version": 1,
        },
        "qParams": {
            "pinnedIds": [],
            "supernodes": [],
            "linkType": "both",
            "clickedId": "",
            "sg_pos": "",
        },
        "nodes": [node(graph, place, influences[place]) for place in graph.places],
        "links": [
            {"source": name(graph, source), "target": name(graph, target), "weight": weight}
            for (source, target), weight in sorted(graph.links.items())
        ],
    }


def node(graph: Attribution, place: Place, influence: float) -> dict[str, Any]:
    part = graph.parts[place.part]
    kind = {"embedding": "embedding", "logits": "logit"}.get(part.kind, "cross layer transcoder")
    return {
        "node_id": name(graph, place),
        "jsNodeId": name(graph, place),
        "feature": feature(graph, place),
        "layer": "E" if part.kind == "embedding" else str(place.half),
        "ctx_idx": place.position,
        "feature_type": kind,
        "token_prob": probability(graph) if kind == "logit" else 0.0,
        "is_target_logit": kind == "logit",
        "run_idx": 0,
        "reverse_ctx_idx": len(graph.run.ids) - 1 - place.position,
        "clerp": meaning(graph, place),
        "influence": influence,
        "activation": value(graph, place),
    }


def name(graph: Attribution, place: Place) -> str:
    """Layer, feature and position, between low lines; a token is at layer E."""
    layer = "E" if place.part == "embed" else str(place.half)
    return f"{layer}_{feature(graph, place)}_{place.position}"


def feature(graph: Attribution, place: Place) -> int:
    """A number within the layer: the token, the slot that a head writes, or the unit."""
    if place.part == "embed":
        return graph.run.ids[place.position]
    if place.part == "logits":
        return graph.token
    if place.part == "pos":
        return 0
    within = int(place.part.split(".")[1][1:])
    return within if place.slot < 0 else within * graph.model.plan["width"] + place.slot


def meaning(graph: Attribution, place: Place) -> str:
    vocabulary = graph.model.vocabulary
    if place.part == "embed":
        return vocabulary[graph.run.ids[place.position]]
    if place.part == "logits":
        return f'Output "{vocabulary[graph.token]}" (p={probability(graph):.3f})'
    if place.slot < 0:
        return f"{place.part}: {graph.parts[place.part].meaning}"
    return f"{place.part}, slot {place.slot}: {graph.parts[place.part].meaning}"


def probability(graph: Attribution) -> float:
    weights = np.exp(graph.logits - graph.logits.max())
    return float(weights[graph.token] / weights.sum())


def value(graph: Attribution, place: Place) -> float | None:
    """What a head wrote to the slot, or a unit's value; tokens and positions have several."""
    if place.slot >= 0:
        return float(graph.run.added[place.part][place.position, place.slot])
    if graph.parts[place.part].kind != "unit":
        return None
    layer, unit = (int(word[1:]) for word in place.part.split("."))
    contract = graph.run.tensor(layer, "feed_forward.contract")[:, unit]
    slot = int(np.flatnonzero(contract)[0])
    return float(graph.run.added[place.part][place.position, slot] / contract[slot])
