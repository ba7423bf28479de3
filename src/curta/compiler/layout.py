"""Layout: a schedule in, the slot of every carrier out.

Slot 0 is the constant 1. A carrier holds its slot from the sublayer that writes it until it is
erased: a feed-forward part subtracts what is left, if another carrier is to follow. Where the sums
stay exact, the same part may already write that carrier into the slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from curta.compiler.linear_forms import ONE, LinearForm, partial_sums
from curta.compiler.schedule import Occupancy, Schedule, Windows
from curta.compiler.tasks import TaskGraph
from curta.dyadic import Number, divided

Row = tuple[tuple[int, Number], ...]
"""A weighted sum of slots."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is: slots of carriers, and the periods in which they hold them."""

    task_graph: TaskGraph
    schedule: Schedule
    slot: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    erased: tuple[int | None, ...]
    width: int

    def erasures_at(self, sublayer: int) -> list[int]:
        """The slots that a feed-forward part erases."""
        return sorted(self.slot[c] for c, at in enumerate(self.erased) if at == sublayer)

    def row(self, form: LinearForm) -> Row:
        """A form over wires as a form over slots."""
        carrier_of, share_of = self.task_graph.carrier_of, self.task_graph.share_of
        weights: dict[int, Number] = {}
        for wire, coefficient in form.terms:
            if wire == ONE:
                weights[0] = coefficient
                continue
            weight = divided(coefficient, share_of[wire])
            if weights.setdefault(self.slot[carrier_of[wire]], weight) != weight:
                name = self.task_graph.circuit.graph.name_of(wire)
                raise AssertionError(f"{name}: a carrier is read in unequal proportions")
        return tuple(sorted(weights.items()))


def schedule_to_layout(task_graph: TaskGraph, schedule: Schedule) -> Layout:
    """Give every carrier the lowest slot that is free for it."""
    occupancy = Occupancy(Windows(task_graph))
    start = list(schedule.start)
    intervals = [occupancy.interval(c, start) for c in range(len(task_graph.carriers))]
    holders: list[list[int]] = []
    slot = [0] * len(task_graph.carriers)
    for carrier in sorted(range(len(intervals)), key=lambda c: (intervals[c][0], c)):
        for place, held in enumerate(holders):
            if is_free(task_graph, intervals, held[-1], carrier):
                held.append(carrier)
                slot[carrier] = place + 1
                break
        else:
            holders.append([carrier])
            slot[carrier] = len(holders)
    followed = {carrier for held in holders for carrier in held[:-1]}
    return Layout(
        task_graph,
        schedule,
        tuple(slot),
        tuple(first for first, _ in intervals),
        tuple(last for _, last in intervals),
        tuple(erased_at(last) if c in followed else None for c, (_, last) in enumerate(intervals)),
        len(holders) + 1,
    )


def erased_at(last: int) -> int:
    """The first feed-forward part that may erase a carrier whose last period this is."""
    return last + 1 if last % 2 else last


def is_free(
    task_graph: TaskGraph, intervals: list[tuple[int, int]], holder: int, carrier: int
) -> bool:
    """Whether a carrier may follow another one in its slot."""
    first, last = intervals[carrier][0], intervals[holder][1]
    if first <= last:
        return False
    if first > erased_at(last):
        return True
    # Erased and rewritten by the same feed-forward part: both sums must stay exact together.
    circuit = task_graph.circuit
    old = partial_sums(circuit, task_graph.carriers[holder].members)
    new = partial_sums(circuit, task_graph.carriers[carrier].members)
    return circuit.arithmetic.holds(old[0] + new[0], min(old[1], new[1]))


def check_layout(layout: Layout) -> None:
    """No two carriers in one slot at once, and every slot clean when written (or a curta bug)."""
    for slot in range(1, layout.width):
        held = sorted(
            (layout.first[c], layout.last[c])
            for c in range(len(layout.slot))
            if layout.slot[c] == slot
        )
        for (_, last), (first, _) in pairwise(held):
            if first <= last or first < erased_at(last):
                raise AssertionError(f"slot {slot}: written at {first}, in use until {last}")
