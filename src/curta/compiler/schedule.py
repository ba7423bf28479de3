"""Schedule: tasks in, the sublayer of each task out. Fewest layers first, then fewest slots.

Nothing limits how much one layer does, so the number of layers is the longest chain of tasks.
What remains to choose is where in its slack each task goes, so that the fewest carriers are alive
at once. A list scheduler moves one task at a time while that helps; HiGHS then looks for something
narrower, or proves that there is nothing. Its limits are counts of nodes and of simplex steps,
never seconds, so the same graph gives the same schedule on every run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.compiler.nodes import Mean
from curta.compiler.tasks import Carrier, TaskGraph

Alive = npt.NDArray[np.int64]
"""How many carriers are alive in every period."""
OUTPUT = -1
"""Stands for the readers of the last residual stream: the unembedding."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each task runs, how many layers and slots that takes, and how it was found."""

    start: tuple[int, ...]
    layers: int
    width: int
    lower_bound: int
    method: str


class Windows:
    """For every task the sublayers it may run in, for the fewest layers."""

    def __init__(self, task_graph: TaskGraph) -> None:
        self.task_graph = task_graph
        self.tasks = task_graph.tasks
        self.delay = [task.delay for task in self.tasks]
        self.producer = {task.node: n for n, task in enumerate(self.tasks) if task.kind != "guard"}
        self.makers: list[list[int]] = []
        """The tasks that a task reads from, and in `feeds` those that read from it."""
        self.feeds: list[list[int]] = [[] for _ in self.tasks]
        for number, task in enumerate(self.tasks):
            wires = sorted(task.inputs)
            self.makers.append([self.producer[w] for w in wires if w in self.producer])
            for maker in self.makers[-1]:
                self.feeds[maker].append(number)
        self.order = self._order()
        self.earliest = [0] * len(self.tasks)
        for number in self.order:
            self.earliest[number] = self._first_start(number)
        self.layers = self._layers()
        self.latest = [0] * len(self.tasks)
        for number in reversed(self.order):
            self.latest[number] = self._last_start(number)

    def _order(self) -> list[int]:
        """Producers before readers; guards, which produce nothing, last."""
        waiting = [len(makers) for makers in self.makers]
        ready = [n for n, count in enumerate(waiting) if count == 0]
        order: list[int] = []
        while ready:
            number = ready.pop(0)
            order.append(number)
            for reader in self.feeds[number]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    ready.append(reader)
        return order

    def _first_start(self, number: int) -> int:
        done = [self.earliest[maker] + self.delay[maker] for maker in self.makers[number]]
        after, attends = max(done, default=0), self.tasks[number].in_attention
        return after + 1 if (after % 2 == 0) == attends else after + 2

    def _layers(self) -> int:
        last = 1  # a transformer has a layer even if it has nothing to do
        for number, task in enumerate(self.tasks):
            # A guard may read the final residual stream: it asks only that its inputs exist.
            done = self.earliest[number] + (-2 if task.kind == "guard" else task.delay)
            last = max(last, done)
        return (last + 1) // 2

    def _last_start(self, number: int) -> int:
        task = self.tasks[number]
        if task.kind == "guard":
            return 2 * self.layers + 2
        # A guard may come after the last layer; what it reads may not.
        bound = min([2 * self.layers + 1, *(self.latest[r] for r in self.feeds[number])])
        before = bound - 1 - task.delay
        return before if (before % 2 == 1) == task.in_attention else before - 1


@dataclass(frozen=True, slots=True)
class Spread:
    """The interval of a carrier, but for one task that writes it, reads it, or does both.

    `lead` is how long before that task the carrier is there, `ends` how long before it is not any
    more; None if the task does not write or read it.
    """

    first: int
    last: int
    lead: int | None
    ends: int | None
    final: int

    def interval(self, place: int) -> tuple[int, int]:
        first = self.first if self.lead is None else min(self.first, place - self.lead)
        last = self.last if self.ends is None else max(self.last, place - self.ends)
        return first, min(last, self.final)


class Occupancy:
    """Which carriers are alive in which period, for a choice of starts."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        task_graph = windows.task_graph
        self.final = 2 * windows.layers
        self.writers: list[list[int]] = [[] for _ in task_graph.carriers]
        self.readers: list[list[int]] = [[] for _ in task_graph.carriers]
        self.born_early = [False] * len(task_graph.carriers)
        carrier_of = task_graph.carrier_of
        self.touched: list[list[int]] = [[] for _ in task_graph.tasks]
        for wire, carrier in carrier_of.items():
            if wire in windows.producer:
                self.writers[carrier].append(windows.producer[wire])
            else:
                self.born_early[carrier] = True
        for number, task in enumerate(task_graph.tasks):
            for carrier in sorted({carrier_of[w] for w in task.inputs}):
                self.readers[carrier].append(number)
        for rule in task_graph.outputs:
            for form in (rule.linear, rule.square, rule.base):
                for wire in form.wires:
                    if wire in carrier_of:
                        self.readers[carrier_of[wire]].append(OUTPUT)
        # A restored sum is rounded by what it is added to, so its slot must have been clean for a
        # whole layer; and a mean is no short binary fraction, so nothing may replace it in the
        # same step that erases it.
        # Feed-forward readers can erase what they read; attention leaves that to the next half.
        self.frees = [int(not task.in_attention) for task in task_graph.tasks]
        self.lead = [int(task.kind == "restore") for task in task_graph.tasks]
        self.lag = [int(is_mean(task_graph, carrier)) for carrier in task_graph.carriers]
        for carrier in range(len(task_graph.carriers)):
            for number in {*self.writers[carrier], *self.readers[carrier]} - {OUTPUT}:
                self.touched[number].append(carrier)

    def interval(self, carrier: int, start: list[int]) -> tuple[int, int]:
        """First and last period in which a carrier holds its slot."""
        return self.without(carrier, start, OUTPUT).interval(0)

    def without(self, carrier: int, start: list[int], number: int) -> Spread:
        """What a carrier's interval is, depending on where one task goes."""
        lead, frees, lag = self.lead, self.frees, self.lag[carrier]
        writers, readers = self.writers[carrier], self.readers[carrier]
        born = [0] if self.born_early[carrier] else []
        born += [start[n] - lead[n] for n in writers if n != number]
        read = [
            self.final if n == OUTPUT else start[n] - frees[n]
            for n in readers
            if n != number or n == OUTPUT
        ]
        moves = number != OUTPUT
        return Spread(
            min(born, default=self.final),
            max(read, default=0) + lag,
            lead[number] if moves and number in writers else None,
            frees[number] - lag if moves and number in readers else None,
            self.final,
        )

    def count(self, start: list[int]) -> Alive:
        alive = np.ones(self.final + 1, dtype=np.int64)  # the constant 1 is always there
        for carrier in range(len(self.writers)):
            first, last = self.interval(carrier, start)
            alive[first : last + 1] += 1
        return alive


def is_mean(task_graph: TaskGraph, carrier: Carrier) -> bool:
    graph = task_graph.circuit.graph
    return any(isinstance(graph.operations[wire], Mean) for wire, _ in carrier.members)


def tasks_to_schedule(task_graph: TaskGraph) -> Schedule:
    """The narrowest schedule found among those with the fewest layers."""
    windows = Windows(task_graph)
    occupancy = Occupancy(windows)
    start = improve(windows, occupancy, list(windows.earliest))
    width = int(occupancy.count(start).max())
    bound = forced_width(windows, occupancy)
    if bound == width:
        return Schedule(tuple(start), windows.layers, width, bound, "list, proved narrowest")
    try:
        from curta.compiler.milp import narrow
    except ImportError:
        return Schedule(tuple(start), windows.layers, width, bound, "list (no HiGHS installed)")
    found = narrow(windows, occupancy, width)
    if found.start is not None:
        start, width = found.start, int(occupancy.count(found.start).max())
    bound = max(bound, found.lower_bound)
    method = "HiGHS" if found.start is not None else "list"
    proof = "proved narrowest" if bound >= width else f"HiGHS stopped at its {found.limit} limit"
    return Schedule(tuple(start), windows.layers, width, bound, f"{method}, {proof}")


def forced_width(windows: Windows, occupancy: Occupancy) -> int:
    """Carriers that are alive in a period whatever the schedule."""
    alive = np.ones(occupancy.final + 1, dtype=np.int64)
    for carrier in range(len(occupancy.writers)):
        first, _ = occupancy.interval(carrier, windows.latest)
        _, last = occupancy.interval(carrier, windows.earliest)
        alive[first : last + 1] += 1
    return int(alive.max())


def improve(windows: Windows, occupancy: Occupancy, start: list[int]) -> list[int]:
    """Move single tasks within their slack while the schedule becomes narrower."""
    alive = occupancy.count(start)
    for _ in range(4):
        moved = False
        for number in windows.order:
            moved |= move(windows, occupancy, start, alive, number)
        for number in reversed(windows.order):
            moved |= move(windows, occupancy, start, alive, number)
        if not moved:
            break
    return start


def move(
    windows: Windows, occupancy: Occupancy, start: list[int], alive: Alive, number: int
) -> bool:
    """Give one task its best place, the others staying where they are."""
    low, high = free_window(windows, start, number)
    if low >= high:
        return False
    spreads = [occupancy.without(carrier, start, number) for carrier in occupancy.touched[number]]

    def shift(place: int, sign: int) -> None:
        for spread in spreads:
            first, last = spread.interval(place)
            alive[first : last + 1] += sign

    before, best, best_cost = start[number], start[number], cost(alive)
    shift(before, -1)
    for place in range(low, high + 1, 2):
        shift(place, 1)
        if cost(alive) < best_cost:
            best, best_cost = place, cost(alive)
        shift(place, -1)
    start[number] = best
    shift(best, 1)
    return best != before


def cost(alive: Alive) -> tuple[int, int]:
    """The width, then how crowded it is elsewhere."""
    return int(alive.max()), int(alive @ alive)


def free_window(windows: Windows, start: list[int], number: int) -> tuple[int, int]:
    """Where a task may go while all others stay."""
    delay, attends = windows.delay, windows.tasks[number].in_attention
    done = [start[maker] + delay[maker] for maker in windows.makers[number]]
    read = [start[reader] for reader in windows.feeds[number]]
    low = max(windows.earliest[number], max(done, default=0) + 1)
    high = windows.latest[number]
    if read:
        high = min(high, min(read) - 1 - delay[number])
    low += (low % 2 == 1) != attends
    high -= (high % 2 == 1) != attends
    return low, high


def check_schedule(task_graph: TaskGraph, schedule: Schedule) -> None:
    """Every task after what it reads, in a sublayer of its kind (a bug in curta otherwise).

    Said without `Windows`, which the schedule was made with.
    """
    done = {
        task.node: start + task.delay
        for task, start in zip(task_graph.tasks, schedule.start, strict=True)
        if task.kind != "guard"
    }
    last = 2 * schedule.layers
    for task, at in zip(task_graph.tasks, schedule.start, strict=True):
        low = 1 + max((done.get(wire, 0) for wire in task.inputs), default=0)
        high = last + 2 if task.kind == "guard" else last - task.delay
        if not low <= at <= high or (at % 2 == 1) != task.in_attention:
            name = task_graph.circuit.graph.name_of(task.node)
            raise AssertionError(f"{name} at sublayer {at}, allowed {low}..{high}")
