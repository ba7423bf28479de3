"""Benchmark of gradients into programs. Run: python bench/fit.py [--programs 50] [--only kernel:2]

How often is a hidden program found from examples of what it does? For each problem and size as many
hidden programs are drawn; a part of the examples is kept back, where there is more than one to tell
a program by. Three ways, one after another, with the same seconds of one core:

    gradients  `curta.hybrid.fit`: all beginnings at once, rounded at the end
    search     as many walkers on the exact program: an unknown is moved, what is no worse is kept,
               and who is stuck begins anew
    scratch    a transformer of two layers, trained on the examples; its answers are free

found: a program (or a transformer) that gets all examples right that are told. right: one that gets
those right, too, that were kept back. Intervals are Wilson's, 95%.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from curta.gallery.own import run_file
from curta.hybrid.fit import Batch, Example, Problem, Unknowns, fit, groups, share_right
from curta.hybrid.fit_config import FitConfig
from curta.hybrid.soft import SoftProgram, SoftSequence
from curta.intervals import wilson
from report import print_machine

PROGRAMS = Path(__file__).parents[1] / "examples" / "fit_programs.py"
WARM, COOL = FitConfig(steps=200, seeds=8), FitConfig(steps=60, seeds=8)
LONG = FitConfig(steps=100, seeds=8, batch=32)
ROWS: dict[str, dict[int, FitConfig]] = {
    "kernel": {2: WARM, 4: WARM, 6: WARM},
    "table": {4: COOL, 8: COOL},
    "interpreter": {2: COOL, 3: COOL, 4: COOL},
    "automaton": {2: LONG, 3: LONG},
}
"""Sizes, and how they are fitted: the temperatures that did best (docs/hybrid.md)."""
KEPT_BACK = {"interpreter": 5, "kernel": 3, "table": 0, "automaton": 50}
"""Examples that nobody is told; t[t[x]] is told once for each x, and all of it is needed."""
EXACT = 1e-6
"""A temperature at which a soft program is the exact one."""
STUCK = 60
"""Moves without gain after which a walker begins anew."""


class Found(NamedTuple):
    """What came of one way."""

    told: float
    kept: float
    seconds: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", type=int, default=50, help="hidden ones of each size")
    options.add_argument("--only", help="one row, such as kernel:2")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    print_machine(["torch"])
    print(f"{arguments.programs} hidden programs of each size; found / right of all [interval]\n")
    made = run_file(PROGRAMS)
    ways: dict[str, Callable[..., Found]] = {
        "gradients": by_gradients, "search": by_search, "scratch": from_scratch,
    }  # fmt: skip
    for name, sizes in ROWS.items():
        for size, config in sizes.items():
            if arguments.only in (None, f"{name}:{size}"):
                problem = getattr(made, name)
                rows = [
                    row(problem(size, seed), KEPT_BACK[name], config, seed, ways)
                    for seed in range(arguments.programs)
                ]
                print(f"{name}, {size}", flush=True)
                for number, way in enumerate(ways):
                    print(f"    {way:10} {told([each[number] for each in rows])}", flush=True)


def row(
    problem: Problem, kept_back: int, config: FitConfig, seed: int, ways: dict[str, Any]
) -> list[Found]:
    """One hidden program, by all ways."""
    shuffled = list(problem.examples)
    Random(seed).shuffle(shuffled)
    told = dataclasses.replace(problem, examples=shuffled[kept_back:])
    kept = dataclasses.replace(problem, examples=shuffled[:kept_back])
    first = by_gradients(told, kept, dataclasses.replace(config, seed=seed), 0.0)
    later = list(ways.values())[1:]
    return [first, *(way(told, kept, config, first.seconds) for way in later)]


def told(found: Sequence[Found]) -> str:
    """How often, and how long it took."""
    parts = []
    for is_so in (lambda one: one.told == 1, lambda one: one.told == 1 and one.kept == 1):
        count = sum(map(is_so, found))
        low, high = wilson(count, len(found))
        parts.append(f"{count / len(found):4.0%} [{low:.0%}, {high:.0%}]")
    seconds = sorted(one.seconds for one in found)[len(found) // 2]
    return f"found {parts[0]:18} right {parts[1]:18} {seconds:.1f} s"


def by_gradients(told: Problem, kept: Problem, config: FitConfig, seconds: float) -> Found:
    begun = time.process_time()
    best = fit(told, config).best
    spent = time.process_time() - begun
    return Found(best.right, held(kept, best.numbers, best.tokens), spent)


def held(kept: Problem, numbers: Any, tokens: Any) -> float:
    """The share of examples that were kept back."""
    return share_right(kept, numbers, tokens) if kept.examples else 1.0


# -- search ---------------------------------------------


def by_search(told: Problem, kept: Problem, config: FitConfig, seconds: float) -> Found:
    """Random moves of single unknowns."""
    begun, generator = time.process_time(), torch.Generator().manual_seed(config.seed)
    soft = SoftProgram(told.build())
    batches = groups(told, soft.graph)
    walkers = Unknowns(told, config.seeds, config.seed)
    with torch.no_grad():
        for parameter in walkers.parameters:
            parameter.copy_(drawn(told, walkers, parameter, generator))
        right = right_of(soft, walkers, batches)
        idle = torch.zeros(config.seeds)
        while right.max() < 1 and time.process_time() - begun < seconds:
            before = [parameter.clone() for parameter in walkers.parameters]
            anew = (idle > STUCK)[:, None, None]
            move(told, walkers, generator, anew)
            now = right_of(soft, walkers, batches)
            worse = (now < right) & ~anew.flatten()
            for parameter, old in zip(walkers.parameters, before, strict=True):
                parameter[worse] = old[worse]
            idle = torch.where((now > right) | anew.flatten(), torch.zeros_like(idle), idle + 1)
            right = torch.where(worse, right, now)
        solutions = walkers.solutions()
    best = max(solutions, key=lambda one: one.right)
    return Found(best.right, held(kept, best.numbers, best.tokens), time.process_time() - begun)


def drawn(
    problem: Problem, walkers: Unknowns, parameter: Tensor, generator: torch.Generator
) -> Tensor:
    """Values of an unknown, by chance."""
    name = next(n for n, one in (walkers.numbers | walkers.leanings).items() if one is parameter)
    if name in walkers.leanings:
        chosen = torch.randint(parameter.shape[-1], parameter.shape[:-1], generator=generator)
        return 1e3 * one_hot(chosen, parameter.shape[-1]).to(parameter)
    hole = problem.holes[name]
    steps = round((hole.high - hole.low) / float(hole.step))
    drawn_steps = torch.randint(steps + 1, parameter.shape, generator=generator)
    return hole.low + float(hole.step) * drawn_steps.to(parameter)


def move(problem: Problem, walkers: Unknowns, generator: torch.Generator, anew: Tensor) -> None:
    """One number of each walker by a step, or to anywhere; a blank to another token."""
    parameters = walkers.parameters
    which = torch.randint(len(parameters), (walkers.seeds,), generator=generator)
    for number, parameter in enumerate(parameters):
        fresh = drawn(problem, walkers, parameter, generator)
        changed = fresh
        if number < len(walkers.numbers):
            hole = problem.holes[list(walkers.numbers)[number]]
            step = float(hole.step) * (
                2 * torch.randint(2, parameter.shape, generator=generator) - 1
            )
            near = torch.rand(parameter.shape, generator=generator) < 0.5
            stepped = (parameter + step).clamp(hole.low, hole.high)
            changed = torch.where(near, stepped, fresh)
            place = torch.randint(parameter.shape[-1], (walkers.seeds, 1, 1), generator=generator)
            here = torch.arange(parameter.shape[-1]) == place
            changed = torch.where(here, changed, parameter)
        moved = torch.where((which == number)[:, None, None], changed, parameter)
        parameter.copy_(torch.where(anew, fresh, moved))


def right_of(soft: SoftProgram, walkers: Unknowns, batches: Sequence[Batch]) -> Tensor:
    """The share of examples that the exact program of each walker gets right."""
    right, total = torch.zeros(walkers.seeds), 0
    for batch in batches:
        right += answered(soft, walkers, batch).sum(1)
        total += len(batch.prompts)
    return right / total


def answered(soft: SoftProgram, walkers: Unknowns, batch: Batch) -> Tensor:
    """Which examples are right, [walker, example]."""
    sequence = SoftSequence(soft, walkers.by_token(), EXACT)
    tokens = walkers.distributions()
    shape = (walkers.seeds, len(batch.prompts))
    for ids in batch.prompts.T:
        logits = sequence.feed(tokens[:, ids])
    right = torch.ones(shape, dtype=torch.bool)
    for place in range(batch.said.shape[1]):
        said = logits.argmax(-1).expand(shape)
        wanted = batch.said[:, place]
        right &= (said == wanted) | (wanted < 0)
        if place + 1 < batch.said.shape[1]:
            logits = sequence.feed(one_hot(said, len(walkers.tokens)).to(torch.float64))
    return right


# -- a transformer from scratch ---------------------------------------------


class Scratch(nn.Module):
    """Two layers, 64 wide; it says what stands in the last place of an example."""

    def __init__(self, tokens: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens + 1, 64), nn.Embedding(length, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(64, tokens)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(self.places.num_embeddings - ids.shape[1], self.places.num_embeddings)
        x = self.tokens(ids) + self.places(places)
        said: Tensor = self.out(self.layers(x)[:, -1])
        return said


def from_scratch(told: Problem, kept: Problem, config: FitConfig, seconds: float) -> Found:
    """Trained on what is told, as long as the gradients had; blanks and scratch work left out."""
    begun = time.process_time()
    torch.manual_seed(config.seed)
    ids = told.build().tokens
    inputs = [as_ids(one, told, ids) for one in told.examples]
    length = max(len(one) for one, _ in inputs + [as_ids(one, told, ids) for one in kept.examples])
    model = Scratch(len(ids), length)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    given = torch.tensor([[len(ids)] * (length - len(one)) + one for one, _ in inputs])
    wanted = torch.tensor([answer for _, answer in inputs])
    while time.process_time() - begun < seconds:
        rows = torch.randperm(len(given))[: config.batch]
        optimiser.zero_grad()
        cross_entropy(model(given[rows]), wanted[rows]).backward()
        optimiser.step()
    model.eval()
    spent = time.process_time() - begun
    return Found(scored(model, told, length), scored(model, kept, length), spent)


def as_ids(example: Example, problem: Problem, ids: dict[str, int]) -> tuple[list[int], int]:
    """What is given, without blanks, and the last token that is said."""
    given = [ids[token] for token in example.prompt if token not in problem.blanks]
    return given, ids[example.said[-1]]


@torch.no_grad()
def scored(model: Scratch, problem: Problem, length: int) -> float:
    """The share that is right."""
    if not problem.examples:
        return 1.0
    ids = problem.build().tokens
    pairs = [as_ids(one, problem, ids) for one in problem.examples]
    given = torch.tensor([[len(ids)] * (length - len(one)) + one for one, _ in pairs])
    right = model(given).argmax(-1) == torch.tensor([answer for _, answer in pairs])
    return float(right.double().mean())


if __name__ == "__main__":
    main()
