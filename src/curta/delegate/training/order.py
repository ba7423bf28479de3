"""In which order examples are trained: a function of seed and epoch, so that a run can go on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

BUCKET = 16
"""Batches whose examples are sorted by length together, so that little is filled up."""


def batches(lengths: Sequence[int], size: int, seed: int) -> Iterator[list[int]]:
    """Numbers of examples, batch by batch, epoch by epoch, without end.

    Within an epoch every example comes once, but for those of the last batch that is not full.
    Examples of like length go together, and batches come in no order of length.
    """
    epoch = 0
    while True:
        drawn = random.Random(f"{seed} {epoch}")
        order = list(range(len(lengths)))
        drawn.shuffle(order)
        made: list[list[int]] = []
        for begin in range(0, len(order), size * BUCKET):
            bucket = sorted(order[begin : begin + size * BUCKET], key=lambda n: (lengths[n], n))
            made += [bucket[at : at + size] for at in range(0, len(bucket), size)]
        full = [one for one in made if len(one) == size] or made
        drawn.shuffle(full)
        yield from full
        epoch += 1
