"""Check that a transformer says every token that a trace claims it said.

A model file holds the weights of a softmax transformer. A trace file holds sequences of tokens,
each of them given to the model or claimed to be said by it. The model reads every sequence as it
stands, in one forward pass, and before every claimed token its highest logit has to be that of
this token. If so then, by induction, the model that is given what was given says all the rest.

Numbers are float64 and exact, without tolerance. Written from docs/model-file.md, not from curta.
Arrays have the position as their last dimension: x[slot, position] is the residual stream.

Exit code 0: the model says it all. 1: it says something else. 2: there is no telling, as a file
is malformed or missing, or as the tokens are beyond what is proved of the weights.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # products here are too small to be shared

import numpy as np
import safetensors
from numpy.typing import NDArray

Array = NDArray[Any]
Tensors = dict[str, Array]
Metadata = dict[str, str]
Kinds = dict[str, tuple[str, list[str]]]

# The type of every tensor, and letters for its sizes.
MODEL: Kinds = {
    "embedding.weight": ("float64", ["V", "D"]),
    "unembedding.weight": ("float64", ["V", "D"]),
    "position.weight": ("float64", ["D", "F"]),
    **{f"position.{part}": ("int64", ["F"]) for part in ("divisor", "modulus", "offset", "power")},
}
LAYER: Kinds = {
    **{f"attention.{part}.weight": ("float64", ["I", "D"]) for part in ("query", "key", "value")},
    "attention.output.weight": ("float64", ["D", "I"]),
    "attention.head_width": ("int64", []),
    "feed_forward.gate.weight": ("float64", ["H", "D"]),
    "feed_forward.expand.weight": ("float64", ["H", "D"]),
    "feed_forward.contract.weight": ("float64", ["D", "H"]),
}
TRACE: Kinds = {"tokens": ("int32", ["n"]), "given": ("uint8", ["n"]), "starts": ("int64", ["k"])}

BLOCK = 2**19  # numbers computed at a time: 4 MB
NOTHING = 746  # exp(-746) is 0 in float64
FAULTS = OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RecursionError


def require(holds: Any, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def read_file(path: str) -> tuple[Tensors, Metadata]:
    with safetensors.safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in list(file.keys())}, file.metadata() or {}


def check_tensors(tensors: Tensors, kinds: Kinds) -> None:
    """Check that there are these tensors of these types and sizes, and no others."""
    sizes: dict[str, int] = {}
    for name, (kind, letters) in kinds.items():
        require(name in tensors, f"there is no tensor {name}")
        tensor = tensors[name]
        fits = tensor.dtype.name == kind and tensor.ndim == len(letters)
        require(fits, f"tensor {name} is not {kind} with {len(letters)} dimensions")
        for letter, size in zip(letters, tensor.shape, strict=True):
            due = sizes.setdefault(letter, size)
            require(size == due, f"tensor {name} has a size {size} that should be {due}")
        require(np.isfinite(tensor).all(), f"tensor {name} has numbers that are not finite")
    others = tensors.keys() - kinds.keys()
    require(not others, f"there should be no tensor {min(others, default='')!a}")


def digest(tensors: Tensors, text: str) -> str:
    total = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        shape = "x".join(str(size) for size in tensor.shape)
        total.update(f"{name} {tensor.dtype.name} {shape}\n".encode())
        total.update(tensor.astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes())
    total.update(text.encode())
    return total.hexdigest()


def entry(about: Any, name: str, kind: type) -> Any:
    value = about.get(name) if isinstance(about, dict) else None
    require(type(value) is kind, f"its metadata has no {name} of type {kind.__name__}")
    return value


class Matrix:
    """A matrix that is nearly all zeros: only slots (columns) with other numbers are kept."""

    def __init__(self, weight: Array) -> None:
        self.slots = np.flatnonzero(weight.any(axis=0))
        self.numbers = weight[:, self.slots]

    def times(self, x: Array) -> Array:
        return self.numbers @ x[self.slots]

    def add_to(self, x: Array, results: Array) -> None:
        x[self.slots] += self.numbers.T @ results


def paired(*weights: Array) -> list[Matrix]:
    """Matrices without the rows that are zero in one of them: such rows add nothing."""
    used = np.all([weight.any(axis=1) for weight in weights], axis=0)
    return [Matrix(weight[used]) for weight in weights]


class Progress:
    """Takes positions in blocks, fewer if each needs many rows; tells a terminal the time left."""

    def __init__(self, total: float) -> None:
        self.total, self.done = total, 0.0
        self.start = self.shown = time.monotonic()

    def blocks(self, length: int, rows: int) -> Iterator[slice]:
        size = max(1, BLOCK // max(1, rows))
        for first in range(0, length, size):
            yield slice(first, min(first + size, length))
            self.done += size * rows
            now = time.monotonic()
            if sys.stderr.isatty() and now - self.start > 2 and now - self.shown > 0.5:
                self.shown = now
                left = (now - self.start) * max(self.total / (self.done + 1) - 1, 0)
                print(f"about {left:,.0f} s left \033[K\r", end="", file=sys.stderr, flush=True)


class Layer:
    def __init__(self, tensors: list[Array]) -> None:
        query, key, value, output, width, gate, expand, contract = tensors
        require(width >= 2 and len(query) % width == 0, f"heads of width {width} do not fit")
        self.heads = [
            (*paired(query[rows], key[rows]), *paired(value[rows], output.T[rows]))
            for rows in np.arange(len(query)).reshape(-1, int(width))
        ]
        self.gate, self.expand, self.contract = paired(gate, expand, contract.T)

    def attention(self, x: Array, progress: Progress) -> None:
        found = [look(q.times(x), k.times(x), v.times(x), progress) for q, k, v, _ in self.heads]
        for (*_, output), result in zip(self.heads, found, strict=True):
            output.add_to(x, result)

    def feed_forward(self, x: Array, progress: Progress) -> None:
        for block in progress.blocks(x.shape[1], len(self.gate.numbers)):
            part = x[:, block]
            hidden = np.maximum(self.gate.times(part), 0) * self.expand.times(part)
            self.contract.add_to(part, hidden)


def look(query: Array, key: Array, value: Array, progress: Progress) -> Array:
    """What a head finds: for every position softmax(query · key) · value up to there."""
    results, length = np.empty_like(value), value.shape[1]
    if not len(query):  # all scores are 0: the mean
        results[:] = np.cumsum(value, axis=1) / np.arange(1, length + 1)
        return results
    for block in progress.blocks(length, length):
        scores = query[:, block].T @ key[:, : block.stop]
        scores[:, block][~np.tri(len(scores), dtype=bool)] = -np.inf  # later positions
        best = scores.max(axis=1)
        near = np.flatnonzero(scores >= (best - NOTHING)[:, None])  # all others weigh 0
        at, seen = np.divmod(near, block.stop)
        weights = np.exp(scores.ravel()[near] - best[at])
        total = np.bincount(at, weights, len(scores))
        for result, row in zip(results, value, strict=True):
            result[block] = np.bincount(at, weights * row[seen], len(scores)) / total
    return results


class Model:
    def __init__(self, tensors: Tensors, metadata: Metadata) -> None:
        require(metadata.get("curta", "").startswith("{"), "it is not a model file")
        about = json.loads(metadata["curta"])
        version, plan = entry(about, "version", int), entry(about, "plan", dict)
        require(version == 1, f"its format has version {version}, not 1")
        depth, kinds = sum(name.endswith(".head_width") for name in tensors), dict(MODEL)
        for n in range(depth):
            for part, (kind, letters) in LAYER.items():
                own = [letter if letter == "D" else f"{letter}{n}" for letter in letters]
                kinds[f"layers.{n}.{part}"] = kind, own
        check_tensors(tensors, kinds)
        self.digest = digest(tensors, metadata["curta"])
        self.embedding, unembedding, self.position, *self.divisions = (tensors[x] for x in MODEL)
        self.unembedding, slots = Matrix(unembedding), range(len(self.position))
        self.layers = [Layer([tensors[f"layers.{n}.{x}"] for x in LAYER]) for n in range(depth)]
        self.longest = entry(entry(about, "certificate", dict), "softmax_tokens", int)
        self.vocabulary, self.stops = entry(plan, "vocabulary", list), entry(plan, "stops", list)
        known = all(type(stop) is int and 0 <= stop < len(unembedding) for stop in self.stops)
        fits = known and len(self.vocabulary) == len(unembedding)
        require(fits, "its tokens do not fit")
        self.guards = entry(plan, "guards", list)
        for guard in self.guards:
            terms, period = entry(guard, "terms", list), entry(guard, "period", int)
            known = all(type(slot) is int and slot in slots for slot, _ in terms)
            known &= 0 <= period <= 2 * depth and guard["low"] <= guard["high"]
            require(known, f"the promise {entry(guard, 'name', str)!a} makes no sense")

    def features(self, length: int) -> Array:
        divisor, modulus, offset, power = (part[:, None] for part in self.divisions)
        fits = (divisor >= 1) & (modulus >= 0) & (power >= 1) & (power <= 2)
        require(fits.all(), "a divisor, modulus or power of the positions is out of range")
        value = np.arange(length) // divisor
        value = np.where(modulus > 0, value % np.maximum(modulus, 1), value)
        exact: Array = (value - offset.astype(np.float64)) ** power
        require((abs(exact) <= 2**53).all(), "a feature of the positions is too large")
        return exact

    def read(self, tokens: Array, progress: Progress) -> tuple[Array, list[tuple[int, str]]]:
        """The residual stream in the end, and positions at which it is not as promised."""
        x = self.position @ self.features(len(tokens)) + self.embedding[tokens].T
        halves = [half for layer in self.layers for half in (layer.attention, layer.feed_forward)]
        broken: list[tuple[int, str]] = []
        for period in range(len(halves) + 1):
            if period:
                halves[period - 1](x, progress)
            for guard in [guard for guard in self.guards if guard["period"] == period]:
                total = sum(float(weight) * x[slot] for slot, weight in guard["terms"])
                kept = (guard["low"] <= total) & (total <= guard["high"])
                what = f"the promise {guard['name']!a} is broken"
                broken += [(int(at), what) for at in np.flatnonzero(kept == 0)[:1]]
        for at in np.flatnonzero(~np.isfinite(x).all(axis=0))[:1]:
            broken.append((int(at), "numbers are too large"))
        return x, broken

    def check(self, tokens: Array, given: Array, progress: Progress) -> str:
        """The first token of a sequence that the model does not say; nothing if it says all."""
        x, broken = self.read(tokens[:-1], progress)
        claimed = np.flatnonzero(~given)
        said = np.zeros_like(claimed)
        for block in progress.blocks(len(claimed), len(self.embedding)):
            said[block] = self.unembedding.times(x[:, claimed[block] - 1]).argmax(axis=0)
        wrong = np.flatnonzero(said != tokens[claimed])[:1]
        end = int(claimed[wrong[0]]) if len(wrong) else len(tokens)
        at, what = min(broken, default=(end, ""))
        require(at >= end, f"position {at}: {what}, so nothing is proved from there on")
        pair = [f"{self.vocabulary[n]!a} ({n})" for i in wrong for n in (tokens[end], said[i])]
        return f"position {end}: the trace has {pair[0]}, the model says {pair[1]}" if pair else ""

    def sequences(self, tensors: Tensors, metadata: Metadata, first: int) -> list[list[Array]]:
        """The sequences in the first tokens of a trace: tokens, and whether each is given."""
        require(metadata.get("curta") == "trace 1", "it is not a trace of format 1")
        check_tensors(tensors, TRACE)
        require(metadata.get("model") == self.digest, "it is a trace of another model")
        tokens, given, starts = (tensors[name] for name in TRACE)
        known = (tokens >= 0) & (tokens < len(self.embedding)) & (given <= 1)
        require(known.all(), "it has tokens that are unknown, or neither given nor claimed")
        ends = np.append(starts[1:], len(tokens))
        rise = len(starts) and starts[0] == 0 and (starts < ends).all()
        require(rise, "it has sequences that do not start where they should")
        spans = [slice(a, min(b, first)) for a, b in zip(starts, ends, strict=True) if a < first]
        for n, span in enumerate(spans):
            read, free, longest = tokens[span], given[span] == 1, self.longest
            require(len(read) <= longest, f"sequence {n} is longer than {longest:,} tokens")
            late = ~free[:-1] & free[1:] & ~np.isin(read[:-1], self.stops)
            require(free[0] and not late.any(), f"sequence {n} has a given token out of turn")
        return [[tokens[span], given[span] == 1] for span in spans]


def main() -> int:
    parser = argparse.ArgumentParser(description="Check that a model says what a trace claims.")
    parser.add_argument("weights", help="the model file")
    parser.add_argument("trace", help="the trace file")
    parser.add_argument("--first", type=int, default=sys.maxsize, help="tokens to look at")
    arguments, start = parser.parse_args(), time.monotonic()
    place = arguments.weights
    try:
        model = Model(*read_file(place))
        place = arguments.trace
        sequences = model.sequences(*read_file(place), max(1, arguments.first))
        lengths = [len(tokens) for tokens, _ in sequences]
        heads = sum(len(layer.heads) for layer in model.layers)
        progress = Progress(sum(heads * length**2 for length in lengths))
        for n, (tokens, given) in enumerate(sequences):
            place = f"{arguments.trace}, sequence {n}"
            with np.errstate(all="ignore"):
                wrong = model.check(tokens, given, progress)
            if wrong:
                print(f"{place}, {wrong}")
                return 1
    except (*FAULTS, AttributeError, safetensors.SafetensorError) as problem:
        print(f"{place}: {' '.join(str(problem).split())}", file=sys.stderr)
        return 2
    claimed = sum(int(np.sum(~given)) for _, given in sequences)
    read, seconds = sum(lengths) - len(lengths), time.monotonic() - start
    how = f"{read:,} read, in {len(lengths):,} sequences, {seconds:.1f} s"
    print(f"all {claimed:,} tokens are what the model says ({how})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
