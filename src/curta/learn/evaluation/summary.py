"""The figures of an evaluation, each with a name, an interval and its seeds.

    loss.train, loss.test, loss.ood      what training minimises, per token that counts: of problems
                                         that it draws, that were kept from it (where some were), of
                                         other values
    exact.train, exact.test, exact.ood   the share of answers that are right to the last token
    token.*, logprob.*, perplexity.*     of the tokens of the right answer
    exact@N, token@N, perplexity@N       operands of N digits each
    exact@NxM                            of N and M digits
    exact.trained, exact.longer          means over the lengths that were trained, and that were not
    length@0.95                          the length up to which at least 95% of each are right;
                                         one without a single test problem is passed over
    solved_seeds                         the share of seeds that solve what was hardest of these
                                         there is: ood, longer, test, train
    exact.commuted, exact.relabelled     probes
    walk.O@N                             operation O on numbers of N digits, step by step
    steps@0.99, reached@0.99             training until 99% of a chunk's answers are right: how many
                                         steps the seeds took that got there; the share that did

With another number of loops than that of training, `/loops=K` follows. Means are over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from curta.learn.evaluation.intervals import Figure, mean, share, success
from curta.learn.evaluation.judging import Tally
from curta.learn.evaluation.measure import Evaluation
from curta.learn.evaluation.problems import Cell

LENGTH_SHARE = 0.95
LEARNED_SHARE = 0.99
HARDEST = ("ood", "longer", "test", "train")
MAIN = ("exact.test", "exact.ood", "exact.trained", "exact.longer", "length@0.95", "loss.test")


def main_figures(figures: Collection[str]) -> list[str]:
    """What is looked at first; without problems kept for a test, what there is instead."""
    names = MAIN if "exact.test" in figures else ("exact.train", *MAIN, "loss.train")
    return [name for name in names if name in figures]


def summary(found: Evaluation, solved: float) -> dict[str, Figure]:
    """All figures by name."""
    figures: dict[str, Figure] = {}
    for index, loops in enumerate(found.loops):
        mark = "" if loops == found.own_loops else f"/loops={loops}"
        for name, figure in of_loops(found, index, solved).items():
            figures[name + mark] = figure
    for cells in found.walks:
        one = cells[0]
        exact = [cell.exact for cell in cells]
        figures[f"walk.{one.operation}@{one.digits}"] = share(exact, one.samples)
    return figures


def steps_until(lines: Sequence[Mapping[str, Any]], share: float) -> dict[str, Figure]:
    """When so large a share of answers was right for the first time, by the lines of metrics."""
    if not lines:
        return {}
    by_seed = zip(*(line["exact"] for line in lines), strict=True)
    first = [
        next((line["step"] for line, one in zip(lines, exact, strict=True) if one >= share), None)
        for exact in by_seed
    ]
    figures = {f"reached@{share}": success([step is not None for step in first])}
    taken = [float(step) for step in first if step is not None]
    if taken:
        figures[f"steps@{share}"] = mean(taken, least=0)
    return figures


def of_loops(evaluation: Evaluation, index: int, solved: float) -> dict[str, Figure]:
    """Those with one number of loops."""
    figures: dict[str, Figure] = {}
    for name, tally in (evaluation.suites | evaluation.probes).items():
        figures.update(of_tally(tally, index, f".{name}"))
    for cell, tally in evaluation.cells:
        figures.update(of_tally(tally, index, f"@{written(cell)}"))
    for name, wanted in (("trained", True), ("longer", False)):
        cells = [
            tally for cell, tally in evaluation.cells if cell.trained == wanted and tally.samples
        ]
        if cells:
            figures[f"exact.{name}"] = over_cells(cells, index)
    if evaluation.cells:
        figures[f"length@{LENGTH_SHARE}"] = mean(
            lengths_reached(evaluation, index, len(evaluation.seeds)), 0
        )
    hardest = next(f"exact.{name}" for name in HARDEST if f"exact.{name}" in figures)
    figures["solved_seeds"] = success([one >= solved for one in figures[hardest].seeds])
    return figures


def of_tally(tally: Tally, index: int, behind: str) -> dict[str, Figure]:
    """The figures of one set of questions."""
    if not tally.samples:
        return {}
    logprob = tally.logprob[:, index] / tally.tokens
    return {
        f"exact{behind}": share(list(tally.exact[:, index]), tally.samples, tally.independent),
        f"token{behind}": mean(list(tally.right[:, index] / tally.tokens), 0, 1),
        f"logprob{behind}": mean(list(tally.logprob[:, index] / tally.samples), most=0),
        f"perplexity{behind}": mean([math.exp(min(-one, 700.0)) for one in logprob], 1),
        f"loss{behind}": mean(list(tally.loss[:, index] / max(tally.counted, 1)), 0),
    }


def written(cell: Cell) -> str:
    """10 if all operands have 10 digits, 3x5 otherwise."""
    sizes = [str(size) for size in cell.sizes]
    return sizes[0] if len(set(sizes)) == 1 else "x".join(sizes)


def over_cells(cells: list[Tally], index: int) -> Figure:
    """The mean over lengths, each of them as heavy.

    Its variance is that of a share of n = c^2 / (1/n_1 + ... + 1/n_c) questions, for c lengths.
    """
    shares = np.mean([tally.exact[:, index] / tally.samples for tally in cells], axis=0)
    independent = len(cells) ** 2 / sum(1 / tally.independent for tally in cells)
    return share(list(shares), 1, independent)


def lengths_reached(found: Evaluation, index: int, seeds: int) -> list[float]:
    """For each seed the greatest length so that no shorter one falls below the share; or 0."""
    by_length: dict[int, list[Tally]] = {}
    for cell, tally in found.cells:
        if tally.samples:
            by_length.setdefault(max(cell.sizes), []).append(tally)
    reached = [0.0] * seeds
    for seed in range(seeds):
        for length, cells in sorted(by_length.items()):
            right = sum(tally.exact[seed, index] for tally in cells)
            if right < LENGTH_SHARE * sum(tally.samples for tally in cells):
                break
            reached[seed] = float(length)
    return reached


def as_json(figures: Mapping[str, Figure]) -> dict[str, dict[str, object]]:
    """As they are written to evaluation.json."""
    return {
        name: {
            "value": figure.value,
            "low": figure.low,
            "high": figure.high,
            "interval": figure.method,
            "median": figure.median,
            "seeds": list(figure.seeds),
        }
        for name, figure in figures.items()
    }
