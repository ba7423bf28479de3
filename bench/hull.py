"""Benchmark of the hull caches. Run: python bench/hull.py [--quick]

One thread, float64, everything in one process. "C" is the cost per key or query of one call with
arrays (`insert_many`, `query_many`), "Python" that of single calls (`insert`, `query`). Inserting
is averaged over building the cache from nothing. The scan is what a plain KV cache does for one
query: all scores, then the maximum (or the k largest and their softmax).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np  # noqa: E402
import torch  # noqa: E402

from curta.engine.hull import HullCache, HullCache3D, TopKCache  # noqa: E402
from curta.engine.hull.admission import Floats  # noqa: E402
from report import print_machine, print_table, spread  # noqa: E402

VALUE_WIDTH = 2
SCALE = 2**-0.5
Cache = HullCache | HullCache3D | TopKCache


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="to 10^5 keys, for a first look")
    quick = options.parse_args().quick
    torch.set_num_threads(1)
    print_machine(["numpy", "torch"])
    print(f"{__doc__.split(chr(10), 2)[2]}Medians (smallest-largest).\n")
    largest = 5 if quick else 7
    hard_maximum(largest)
    top_k(min(largest, 6))
    space(min(largest, 6))


# ---- keys and queries ----


@dataclass(frozen=True)
class Workload:
    """`keys(n)` and `queries(m, n)`, to ask a cache of n keys."""

    name: str
    keys: Callable[[int], Floats]
    queries: Callable[[int, int], Floats]


def disc(n: int) -> Floats:
    random = np.random.default_rng(n)
    radius, angle = np.sqrt(random.random(n)), 2 * np.pi * random.random(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def parabola(j: Floats) -> Floats:
    return np.stack([2 * j, -j * j], axis=1)


def rising(n: int) -> Floats:
    """Every key enters the outermost hull and pushes others down: the worst case of the onion."""
    return np.stack([np.arange(n) / n, np.random.default_rng(n).normal(size=n)], axis=1)


def shuffled(n: int) -> Floats:
    return np.random.default_rng(n).permutation(n).astype(float)


def ball(n: int) -> Floats:
    return sphere(n) * np.cbrt(np.random.default_rng(n + 1).random(n))[:, None]


def sphere(n: int) -> Floats:
    points = np.random.default_rng(n).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def positions(m: int, n: int) -> Floats:
    """Queries that find a random key of the parabola, with no ties."""
    return np.stack([np.random.default_rng(m).random(m) * n, np.ones(m)], axis=1)


DISC = Workload("disc", disc, lambda m, _: disc(m))
ORDERED = Workload("parabola in order", lambda n: parabola(np.arange(n, dtype=float)), positions)
SHUFFLED = Workload("parabola shuffled", lambda n: parabola(shuffled(n)), positions)
RISING = Workload("x rising", rising, lambda m, _: disc(m))
BALL = Workload("ball", ball, lambda m, _: sphere(m))
SPHERE = Workload("sphere", sphere, lambda m, _: sphere(m + 1)[1:])


# ---- the plain KV cache ----


@dataclass(frozen=True)
class Scan:
    """All keys, one coordinate after the other: the faster layout for a scan."""

    columns: Floats
    values: Floats
    k: int | None

    def numpy(self, query: Floats) -> Floats:
        scores = query @ self.columns
        if self.k is None:
            return self.values[scores.argmax()]
        best = np.argpartition(scores, -self.k)[-self.k :]
        weights = np.exp(SCALE * (scores[best] - scores[best].max()))
        return weights @ self.values[best] / weights.sum()

    def torch(self, query: Floats) -> torch.Tensor:
        columns, values = torch.from_numpy(self.columns), torch.from_numpy(self.values)
        scores = torch.from_numpy(query) @ columns
        if self.k is None:
            return values[scores.argmax()]
        best, where = scores.topk(self.k)
        return torch.softmax(SCALE * best, 0) @ values[where]


# ---- measuring ----


def seconds_of(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def insert(caches: Sequence[Cache], keys: Floats, values: Floats) -> None:
    for cache in caches:
        cache.insert_many(keys, values)


def measure(new: Callable[[], Cache], workload: Workload, n: int, k: int | None) -> list[str]:
    """The cells of one row; `times faster` is a query in C against the faster of the two scans."""
    keys = workload.keys(n)
    values = np.random.default_rng(0).normal(size=(n, VALUE_WIDTH))
    rounds = 3 if n >= 10**7 else 5
    repeats = max(1, 20_000 // n)
    insert_ns: list[float] = []
    for _ in range(rounds):
        caches = [new() for _ in range(repeats)]
        seconds = seconds_of(partial(insert, caches, keys, values))
        insert_ns.append(seconds / n / repeats * 1e9)
        cache = caches[-1]
        del caches
    count = 2_000 if k and k > 8 else 20_000
    queries = [workload.queries(count + round, n)[:count] for round in range(rounds)]
    query_ns = [seconds_of(partial(cache.query_many, q)) / count * 1e9 for q in queries]
    scan = Scan(np.ascontiguousarray(keys.T), values, k)
    check(cache, scan, queries[0][:20])
    few = queries[0][: max(3, min(500, 3 * 10**6 // n))]
    scans = [
        [seconds_of(partial(scan.numpy, q)) * 1e6 for q in few],
        [seconds_of(partial(scan.torch, q)) * 1e6 for q in few],
    ]
    ratio = min(map(median, scans)) * 1e3 / median(query_ns)
    singles = single_calls(new, keys[:2000], values[:2000], cache, queries[0][:2000])
    return [
        workload.name,
        f"10^{round(np.log10(n))}",
        spread(insert_ns, 0),
        spread(query_ns, 0),
        *singles,
        *(f"{median(scan):,.1f}" for scan in scans),
        f"{ratio:,.0f}",
        f"{cache.memory_bytes() / n:.2f}",
    ]


def single_calls(
    new: Callable[[], Cache], keys: Floats, values: Floats, cache: Cache, queries: Floats
) -> list[str]:
    """Nanoseconds of `insert` (into an empty cache) and of `query`, called from Python."""
    fresh = new()
    points = list(zip(keys.tolist(), values.tolist(), strict=True))
    inserting = seconds_of(lambda: [fresh.insert(key, value) for key, value in points])
    rows = queries.tolist()
    querying = seconds_of(lambda: [cache.query(query) for query in rows])
    return [f"{inserting / len(points) * 1e9:,.0f}", f"{querying / len(rows) * 1e9:,.0f}"]


def check(cache: Cache, scan: Scan, queries: Floats) -> None:
    """Cache and scans say the same, up to what rounding the scores does to the scans."""
    for query, answer in zip(queries, cache.query_many(queries).values, strict=True):
        tolerance = 1e-9 + 16 * np.spacing(np.abs(query @ scan.columns).max())
        for expected in (scan.numpy(query), scan.torch(query).numpy()):
            if not np.allclose(answer, expected, rtol=0, atol=tolerance):
                raise SystemExit(f"cache {answer} and scan {expected} disagree under {query}")


# ---- the tables ----

HEADER = [
    "keys",
    "number",
    "insert C (ns)",
    "query C (ns)",
    "insert Python (ns)",
    "query Python (ns)",
    "NumPy scan (us)",
    "torch scan (us)",
    "times faster",
    "bytes/key",
]


def hard_maximum(largest: int) -> None:
    rows = [
        measure(lambda: HullCache(VALUE_WIDTH, backend="c"), workload, 10**e, None)
        for workload in (DISC, ORDERED, SHUFFLED)
        for e in range(3, largest + 1)
    ]
    print_table("HullCache: hard maximum, 2D keys", HEADER, rows)


def top_k(largest: int) -> None:
    for k in (1, 8, 64):
        rows = [
            measure(partial(TopKCache, k, VALUE_WIDTH, SCALE, "c"), workload, 10**e, k)
            for workload in (DISC, SHUFFLED, RISING)
            for e in range(3, largest + 1 if workload is not RISING else 6)
        ]
        print_table(f"TopKCache: softmax over the {k} best, 2D keys", HEADER, rows)


def space(largest: int) -> None:
    rows = [
        measure(lambda: HullCache3D(VALUE_WIDTH, backend="c"), workload, 10**e, None)
        for workload in (BALL, SPHERE)
        for e in range(3, largest + 1)
    ]
    print_table("HullCache3D: hard maximum, 3D keys", HEADER, rows)


if __name__ == "__main__":
    main()
