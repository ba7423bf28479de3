"""A small model looked at: what heads attend to, every slot of the residual stream, all scores.

The forward pass is that of docs/model-file.md, in float64: one position after another would be
faster, but a page has hundreds of tokens, not millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from curta.compiler import Model, compile
from curta.engine import load
from curta.engine.model_cache import compile_cached
from curta.errors import LimitError, UserError
from curta.explore.slots import residual_stream
from curta.gallery import PROGRAMS
from curta.gallery.own import own_graph

MOST_TOKENS = 400
OWN_TOKENS = 1 << 16
"""For which graphs of one's own are compiled."""
SCORES_SHOWN = 8
Array = npt.NDArray[np.float64]


def explored_graph(name: str, arguments: Sequence[str]) -> dict[str, Any]:
    """A run of a gallery program, or of the graph that a file builds, to be written as JSON."""
    if name not in PROGRAMS:
        model = compile(own_graph(name), OWN_TOKENS)
        if not arguments:
            raise UserError(f"{name}: give the tokens that it begins with, as words")
        return explored(model, name, "a graph of one's own", arguments, " ".join)
    program = PROGRAMS[name]
    if len(arguments) > 1:
        raise UserError(f"{name} takes one input; write it as one word, in quotes")
    text = arguments[0] if arguments else program.cases[0].input
    model = compile_cached(program.build(), program.max_tokens)
    return explored(model, name, program.summary, program.encode(text), program.decode)


def explored(
    model: Model, title: str, about: str, prompt: Sequence[str], decode: Any
) -> dict[str, Any]:
    engine = load(model, "hull")
    said = list(islice(engine.generate(prompt), max(0, MOST_TOKENS - len(prompt) + 1)))
    if len(prompt) + len(said) > MOST_TOKENS:
        raise LimitError(
            f"{title}: a page shows up to {MOST_TOKENS} tokens of a graph, and this run is longer; "
            "give a shorter input, or let the graph stop (stop_after)"
        )
    tokens = engine.encode([*prompt, *said])
    seen = Seen(model, np.asarray(tokens, dtype=np.int64))
    plan = model.plan
    return {
        "kind": "graph",
        "title": title,
        "about": about,
        "answer": decode(said),
        "certificate": str(model.certificate),
        "vocabulary": model.vocabulary,
        "tokens": [int(token) for token in tokens],
        "given": len(prompt),
        **residual_stream(plan),
        "heads": list(seen.heads()),
        "streams": [[shown(row) for row in period] for period in seen.streams],
        "units": [layer["units"] for layer in plan["layers"]],
        "scores": list(seen.best()),
    }


class Seen:
    """A forward pass, of which everything is kept."""

    def __init__(self, model: Model, tokens: npt.NDArray[np.int64]) -> None:
        self.weights, self.plan = model.weights, model.plan
        self.vocabulary = model.vocabulary
        x = self.weights["embedding.weight"][tokens] + model.positional(np.arange(len(tokens)))
        self.streams = [x]
        self.attended: list[list[dict[str, Any]]] = []
        for layer in range(len(self.plan["layers"])):
            x = x + self.attention(layer, x)
            self.streams.append(x)
            x = x + self.feed_forward(layer, x)
            self.streams.append(x)
        self.logits: Array = x @ self.weights["unembedding.weight"].T

    def attention(self, layer: int, x: Array) -> Array:
        """What the heads of a layer add; what they attended to is kept."""
        query, key, value, output = (
            self.weights[f"layers.{layer}.attention.{name}.weight"]
            for name in ("query", "key", "value", "output")
        )
        width = int(self.weights[f"layers.{layer}.attention.head_width"])
        joined = np.zeros((len(x), len(query)), dtype=x.dtype)
        found = []
        for first in range(0, len(query), width):
            rows = slice(first, first + width)
            scores = (x @ query[rows].T) @ (x @ key[rows].T).T
            scores[np.triu_indices(len(x), 1)] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            joined[:, rows] = weights @ (x @ value[rows].T)
            found.append({"scores": scores, "result": joined[:, rows]})
        self.attended.append(found)
        return joined @ output.T

    def feed_forward(self, layer: int, x: Array) -> Array:
        gate, expand, contract = (
            self.weights[f"layers.{layer}.feed_forward.{name}.weight"]
            for name in ("gate", "expand", "contract")
        )
        added: Array = (np.maximum(x @ gate.T, 0) * (x @ expand.T)) @ contract.T
        return added

    def heads(self) -> Iterator[dict[str, Any]]:
        """Where every head looks from every position, by how much, and what it gets."""
        for layer, (plan, found) in enumerate(zip(self.plan["layers"], self.attended, strict=True)):
            for planned, seen in zip(plan["heads"], found, strict=True):
                scores, positions = seen["scores"], np.arange(len(seen["scores"]))
                best = scores.argmax(axis=1)
                rest = scores.copy()
                rest[positions, best] = -np.inf
                second = rest.argmax(axis=1)
                margins = scores[positions, best] - rest[positions, second]
                yield {
                    "layer": layer,
                    "kind": planned["kind"],
                    "name": planned["name"],
                    "values": [value["name"] for value in planned["values"]],
                    "at": best.tolist(),
                    "second": second.tolist(),
                    "margin": shown(np.where(np.isfinite(margins), margins, -1)),
                    "got": [shown(row) for row in seen["result"][:, : len(planned["values"])]],
                }

    def best(self) -> Iterator[list[list[Any]]]:
        """The tokens with the highest scores behind every position; the first of equals first."""
        order = np.argsort(-self.logits, axis=1, kind="stable")[:, :SCORES_SHOWN]
        for scores, tokens in zip(self.logits, order, strict=True):
            yield [[int(token), shown(scores[token : token + 1])[0]] for token in tokens]


def shown(numbers: npt.NDArray[Any]) -> list[int | float]:
    """Whole numbers as such; of others, six digits."""
    return [int(n) if n == int(n) else float(f"{n:.6g}") for n in numbers.tolist()]
