"""The circuit of a compiled model: which part writes what which other part reads, by name.

Slots of the residual stream are used again, so that a part writes to a slot which another one reads
later does not say that they are connected. The plan knows when a slot holds what: an edge leads
from a part that writes a value to one that reads it while it is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from curta.compiler import Model

CONSTANT = 0
"""The slot that is always 1."""
ERASES = "erase slot "
"""What units are called that take away what a slot held."""


@dataclass(frozen=True)
class Part:
    """A component: an embedding, a head, a hidden unit, or the logits.

    half:   the half layer in which it writes; 0 is the embedding
    writes: slots of the residual stream
    reads:  slots, by the input through which it reads them
    """

    name: str
    kind: str
    meaning: str
    half: int
    writes: frozenset[int]
    reads: dict[str, frozenset[int]]


def write_circuit(model: Model, path: Path) -> None:
    """Write it as JSON."""
    path.write_text(json.dumps(circuit(model), indent=1), encoding="utf-8")


def circuit(model: Model) -> dict[str, Any]:
    """Nodes and edges, as JSON. Edges are in the order of the parts that read."""
    found = list(parts(model))
    return {
        "format": "curta circuit 1",
        "layers": len(model.plan["layers"]),
        "width": model.plan["width"],
        "vocabulary": model.vocabulary,
        "nodes": [
            {"id": one.name, "kind": one.kind, "half_layer": one.half, "meaning": one.meaning}
            for one in found
        ],
        "edges": list(edges(model, found)),
    }


def edges(model: Model, found: list[Part]) -> Iterator[dict[str, Any]]:
    """From whom, to whom, through which input, by which slot, and the value that is handed on."""
    last = 2 * len(model.plan["layers"])
    one = {"slot": CONSTANT, "first": 0, "last": last, "name": "1"}
    for reader in found:
        for way, slots in reader.reads.items():
            for held in (one, *model.plan["slots"]):
                there = held["first"] < reader.half <= held["last"] + 1
                if not there or held["slot"] not in slots:
                    continue
                for writer in found:
                    if held["first"] <= writer.half < reader.half and fills(writer, held):
                        yield {
                            "source": writer.name,
                            "target": reader.name,
                            "input": way,
                            "slot": held["slot"],
                            "value": held["name"],
                        }


def fills(writer: Part, held: dict[str, Any]) -> bool:
    """Whether a part adds to what a slot holds, rather than taking away what it held before."""
    erases = writer.half == held["first"] and writer.meaning == f"{ERASES}{held['slot']}"
    return held["slot"] in writer.writes and not erases


def parts(model: Model) -> Iterator[Part]:
    """All components, in the order in which they are computed."""
    weights = model.weights
    yield Part("embed", "embedding", "the token", 0, used(weights["embedding.weight"]), {})
    positions = used(weights["position.weight"].T)
    yield Part("pos", "position", "the position", 0, positions, {})
    for number, layer in enumerate(model.plan["layers"]):
        attention, feed_forward = (
            f"layers.{number}.{half}" for half in ("attention", "feed_forward")
        )
        width = layer["head_width"]
        for place, head in enumerate(layer["heads"]):
            rows = slice(place * width, (place + 1) * width)
            yield Part(
                f"a{number}.h{place}",
                "head",
                f"{head['kind']}: {head['name']}",
                2 * number + 1,
                used(weights[f"{attention}.output.weight"][:, rows].T),
                {
                    way: used(weights[f"{attention}.{name}.weight"][rows])
                    for way, name in (("q", "query"), ("k", "key"), ("v", "value"))
                },
            )
        for place, meaning in enumerate(layer["units"]):
            yield Part(
                f"m{number}.u{place}",
                "unit",
                meaning,
                2 * number + 2,
                used(weights[f"{feed_forward}.contract.weight"][:, place][None]),
                {
                    way: used(weights[f"{feed_forward}.{way}.weight"][place][None])
                    for way in ("gate", "expand")
                },
            )
    last = 2 * len(model.plan["layers"]) + 1
    logits = {"logits": used(weights["unembedding.weight"])}
    yield Part("logits", "logits", "the next token", last, frozenset(), logits)


def used(rows: Any) -> frozenset[int]:
    """The columns in which any row is not zero."""
    return frozenset(np.flatnonzero((rows != 0).any(axis=0)).tolist())
