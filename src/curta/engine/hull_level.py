"""Level 3: the same forward pass, with attention answered by caches (NumPy; no C compiler needed).

A 2D head is a hull cache: the winning key is the vertex that lies farthest in the direction of the
query. A mean is a sum and a count. Wider heads, whose keys are split into digits, file their keys
in a dictionary: the certificate says that a key equal to the query wins, and the latest of equals.
Only where no key is equal do scores matter: 3D heads have a cache for that too, for wider ones the
scores of all positions are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from curta.compiler.model import Model
from curta.engine.base import Engine, Residuals, Session
from curta.engine.guards import check_guards, guards_of
from curta.engine.hull import HullCache, HullCache3D

Vector = npt.NDArray[np.float64]


class HeadCache(Protocol):
    """One head's memory of the sequence."""

    def step(self, query: Vector, key: Vector, value: Vector) -> Sequence[float] | Vector:
        """File this position's value under its key; what the query finds."""


class MeanCache:
    """Equal scores everywhere: the mean of all values."""

    def __init__(self, width: int) -> None:
        self.total = np.zeros(width)
        self.count = 0

    def step(self, query: Vector, key: Vector, value: Vector) -> Vector:
        self.total += value
        self.count += 1
        return self.total / self.count


class PlaneCache:
    """A 2D head: the hull of the keys."""

    def __init__(self, width: int) -> None:
        self.hull = HullCache(width, ties="latest")

    def step(self, query: Vector, key: Vector, value: Vector) -> Sequence[float]:
        return self.hull.insert_and_query(key.tolist(), value.tolist(), query.tolist())


class DigitCache:
    """A wider head: keys filed by their digits; another cache answers if none is equal."""

    def __init__(self, digits: int, width: int) -> None:
        self.digits = digits
        self.latest: dict[bytes, Vector] = {}
        self.others = HullCache3D(width) if digits == 2 else ScanCache(digits + 1, width)

    def step(self, query: Vector, key: Vector, value: Vector) -> Sequence[float] | Vector:
        self.others.insert(key.tolist(), value.tolist())
        # Keys are filed doubled; adding 0.0 makes -0.0 and 0.0 the same bytes.
        self.latest[(key[: self.digits] * 0.5 + 0.0).tobytes()] = value
        hardness = query[self.digits]
        asked = (query[: self.digits] / hardness + 0.0).tobytes()
        if asked in self.latest:
            return self.latest[asked]
        return self.others.query(query.tolist())


class ScanCache:
    """All keys and values, one after the other; a query looks at every one."""

    def __init__(self, key_width: int, value_width: int) -> None:
        self.count = 0
        self.keys = np.empty((64, key_width))
        self.values = np.empty((64, value_width))

    def insert(self, key: Sequence[float], value: Sequence[float]) -> None:
        if self.count == len(self.keys):
            self.keys = np.concatenate([self.keys, np.empty_like(self.keys)])
            self.values = np.concatenate([self.values, np.empty_like(self.values)])
        self.keys[self.count], self.values[self.count] = key, value
        self.count += 1

    def query(self, query: Sequence[float]) -> Vector:
        """The value of the key with the highest score, the latest of equals."""
        scores = self.keys[: self.count] @ np.asarray(query)
        found: Vector = self.values[self.count - 1 - int(np.argmax(scores[::-1]))]
        return found


class HullLevel(Engine):
    """The weights in NumPy, attention in caches."""

    level: ClassVar[str] = "hull"

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.guards = guards_of(model)
        self.layers = [
            {
                name: np.asarray(model.weights[f"layers.{number}.{name}.weight"])
                for name in (
                    "attention.query",
                    "attention.key",
                    "attention.value",
                    "attention.output",
                    "feed_forward.gate",
                    "feed_forward.expand",
                    "feed_forward.contract",
                )
            }
            for number in range(len(model.plan["layers"]))
        ]

    def session(self) -> HullSession:
        return HullSession(self)

    def residuals(self, ids: Sequence[int]) -> Residuals:
        session = self.session()
        streams = []
        for token in self.check_prompt(ids).tolist():
            session.feed(token)
            streams.append(session.stream)
        return np.stack(streams)


class HullSession(Session):
    engine: HullLevel

    def __init__(self, engine: HullLevel) -> None:
        super().__init__(engine)
        layers = engine.model.plan["layers"]
        self.caches = [[new_cache(head) for head in layer["heads"]] for layer in layers]
        self.stream = np.zeros((2 * len(layers) + 1, engine.model.plan["width"]))

    def _feed(self, token: int) -> int:
        x = self.embed(token)
        streams = [x]
        for number, layer in enumerate(self.engine.layers):
            x = x + layer["attention.output"] @ self.attend(number, layer, x)
            streams.append(x)
            opened = np.maximum(layer["feed_forward.gate"] @ x, 0.0)
            x = x + layer["feed_forward.contract"] @ (opened * (layer["feed_forward.expand"] @ x))
            streams.append(x)
        self.stream = np.stack(streams)
        check_guards(self.engine.guards, self.stream[None], self.length)
        return int(np.argmax(self.engine.model.weights["unembedding.weight"] @ x))

    def embed(self, token: int) -> Vector:
        weights = self.engine.model.weights
        modulus, power = weights["position.modulus"], weights["position.power"]
        digits = self.length // weights["position.divisor"]
        digits = np.where(modulus > 0, digits % np.maximum(modulus, 1), digits)
        features = (digits - weights["position.offset"]) ** power
        embedded: Vector = (
            weights["embedding.weight"][token] + weights["position.weight"] @ features
        )
        return embedded

    def attend(self, number: int, layer: dict[str, Vector], x: Vector) -> Vector:
        """All heads of a layer, side by side."""
        queries, keys, values = (
            layer[f"attention.{part}"] @ x for part in ("query", "key", "value")
        )
        width = self.engine.model.plan["layers"][number]["head_width"]
        found = np.zeros_like(values)
        for place, (head, cache) in enumerate(
            zip(self.engine.model.plan["layers"][number]["heads"], self.caches[number], strict=True)
        ):
            used = slice(place * width, place * width + own_width(head))
            filed = slice(place * width, place * width + len(head["values"]))
            found[filed] = cache.step(queries[used], keys[used], values[filed])
        return found


def own_width(head: dict[str, Any]) -> int:
    """The components of query and key that a head uses; the rest are zeros."""
    return 2 if head["kind"] == "mean" else len(head["key"]) + 1


def new_cache(head: dict[str, Any]) -> HeadCache:
    if head["kind"] == "mean":
        return MeanCache(len(head["values"]))
    if len(head["key"]) == 1:
        return PlaneCache(len(head["values"]))
    return DigitCache(len(head["key"]), len(head["values"]))
