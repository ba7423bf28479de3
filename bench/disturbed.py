"""The way back to compiled weights. Run: python bench/disturbed.py [--seeds 3] [--program addition]

A compiled program as the PyTorch module of its export, at a finite temperature (`way_back.py`). Its
weights are disturbed by Gaussian noise, in proportion to the root mean square of each matrix, on
the weights that are not zero or on all of them; then all of them are trained on 1,000 short inputs
of the program, with what it says. For each size of noise, means over seeds, smallest and largest:

    right     sequences of trained lengths, not those trained on, said right to the last token
    longer    inputs about three times as long
    far       |W - C| / |C| from the compiled weights C, every matrix by its own scale
    back      how far training went along the straight way back: 1 is all of it

each before training and behind it. The last table is of one size of noise, by kind of matrix.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import fmean
from typing import NamedTuple

import torch

from curta.compiler import compile
from curta.compiler.model import Model
from curta.gallery import PROGRAMS
from report import print_machine, print_table
from way_back import (
    GROUPS,
    DenseWeights,
    Outcome,
    Sequences,
    WayBack,
    right_of,
    spoken,
    way_back,
)

TRAINED, TESTED, LONGER = 1_000, 200, 50
"""Sequences of each kind."""
MAX_TOKENS = 128


class Noise(NamedTuple):
    """How much, on which weights, and the learning rate behind it."""

    size: float
    everywhere: bool = False
    learning_rate: float = 1e-5

    def __str__(self) -> str:
        return f"{self.size:g}{' on all' if self.everywhere else ''}, rate {self.learning_rate:g}"


SHOWN = Noise(1e-3)
"""Whose distances are shown by group."""
NOISES = (
    Noise(0),
    Noise(0, learning_rate=1e-4),
    Noise(1e-4),
    SHOWN,
    Noise(1e-3, learning_rate=1e-4),
    Noise(1e-3, everywhere=True),
    Noise(1e-2, learning_rate=1e-4),
)
"""Without any, it is seen where training drifts by itself."""


class Inputs(NamedTuple):
    """Draws short and longer inputs of a program."""

    short: Callable[[Random], str]
    longer: Callable[[Random], str]


def sums(least: int, most: int) -> Callable[[Random], str]:
    """Two numbers of so many digits."""

    def draw(random: Random) -> str:
        a, b = (random.randrange(10 ** random.randint(least, most)) for _ in range(2))
        return f"{a} + {b}"

    return draw


def words(letters: str, least: int, most: int) -> Callable[[Random], str]:
    """So many letters."""
    return lambda random: "".join(random.choices(letters, k=random.randint(least, most)))


INPUTS = {
    "parity_sequential": Inputs(words("01", 1, 10), words("01", 25, 30)),
    "addition": Inputs(sums(1, 3), sums(8, 10)),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=WayBack.steps)
    options.add_argument("--program", choices=INPUTS, help="one of them")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    print_machine(["torch"])
    how = WayBack(steps=arguments.steps)
    print(
        f"{arguments.seeds} seeds, {how.steps} steps of {how.batch} sequences, "
        f"sharpness {how.sharpness:g}\n"
    )
    for name in [arguments.program] if arguments.program else INPUTS:
        measure(name, how, arguments.seeds)


def measure(name: str, how: WayBack, seeds: int) -> None:
    """The tables of one program."""
    model = compile(PROGRAMS[name].build(), MAX_TOKENS)
    trained, tested, longer = (
        drawn(name, model, count, kind) for count, kind in enumerate(("short", "short", "longer"))
    )
    undisturbed = DenseWeights(model, how.sharpness)
    exact = [right_of(undisturbed, sequences) for sequences in (tested, longer)]
    title = f"{name}: undisturbed, {exact[0]:.0%} right, {exact[1]:.0%} of longer ones"
    outcomes = {
        noise: [
            way_back(
                model,
                trained,
                tested,
                longer,
                dataclasses.replace(how, **noise._asdict(), seed=seed),
            )
            for seed in range(seeds)
        ]
        for noise in NOISES
    }
    header = ["noise", "right", "behind", "longer", "behind", "far", "behind", "back"]
    print_table(title, header, [row(noise, found) for noise, found in outcomes.items()])
    print_table(f"{name}: {SHOWN}", ["far", "before", "behind"], list(by_group(outcomes[SHOWN])))


def drawn(name: str, model: Model, seed: int, kind: str) -> Sequences:
    """Inputs of one kind, with what the program says to them."""
    random, draw = Random(seed), getattr(INPUTS[name], kind)
    count = (TRAINED, TESTED, LONGER)[seed]
    return spoken(model, [PROGRAMS[name].encode(draw(random)) for _ in range(count)])


def row(noise: Noise, found: Sequence[Outcome]) -> list[str]:
    """Of one noise."""
    cells = [str(noise)]
    for shares in ([one.right for one in found], [one.longer for one in found]):
        cells += [spread([share[when] for share in shares], ".0%") for when in (0, 1)]
    for when in (0, 1):
        cells.append(spread([one.distance[when]["all"] for one in found], ".2g"))
    return [*cells, spread([one.back for one in found], ".2f")]


def by_group(found: Sequence[Outcome]) -> Iterator[list[str]]:
    """Distances by kind of matrix."""
    for group in (*GROUPS, "all"):
        yield [group, *(spread([one.distance[n][group] for one in found], ".2g") for n in (0, 1))]


def spread(values: Sequence[float], form: str) -> str:
    """Mean, smallest, largest."""
    return f"{fmean(values):{form}} ({min(values):{form}}–{max(values):{form}})"


if __name__ == "__main__":
    main()
