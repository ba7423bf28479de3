"""The schedule as an integer program for HiGHS.

For a task with slack, z[task, t] = 1 says that it has started by sublayer t; z rises once. For
every carrier and period, alive >= (a writer has started) - (a reader is done with it). The width
is at least the sum of alive over all carriers in every period, and is minimised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import highspy
import numpy as np

from curta.compiler.schedule import OUTPUT, Occupancy, Windows

MOST_NODES = 64
MOST_SIMPLEX_STEPS = 20_000
LARGEST_PROGRAM = 100_000
"""Rows: beyond, one linear relaxation alone would take longer than the rest of the compiler."""


class IntegerProgramTooLargeError(Exception):
    """The integer program would have more rows than are worth writing down."""


class Indicator(NamedTuple):
    """A column of the program (-1: none), or else a constant."""

    column: int
    constant: float


NO, YES = Indicator(-1, 0.0), Indicator(-1, 1.0)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A narrower schedule, if one was found, and the width that none can go below."""

    start: list[int] | None
    lower_bound: int
    limit: str


@dataclass(slots=True)
class IntegerProgram:
    """Rows and columns of the integer program, as they are collected."""

    column_cost: list[float] = field(default_factory=list)
    column_low: list[float] = field(default_factory=list)
    column_high: list[float] = field(default_factory=list)
    integral: list[bool] = field(default_factory=list)
    row_low: list[float] = field(default_factory=list)
    rows: list[list[tuple[int, float]]] = field(default_factory=list)

    def column(self, cost: float, low: float, high: float, integral: bool) -> int:
        self.column_cost.append(cost)
        self.column_low.append(low)
        self.column_high.append(high)
        self.integral.append(integral)
        return len(self.column_cost) - 1

    def at_least(self, terms: list[tuple[int, float]], bound: float) -> None:
        if len(self.rows) == LARGEST_PROGRAM:
            raise IntegerProgramTooLargeError
        self.rows.append(terms)
        self.row_low.append(bound)


def narrow(windows: Windows, occupancy: Occupancy, width: int) -> Narrowed:
    """Look for a schedule with fewer than `width` slots."""
    program = IntegerProgram()
    goal = program.column(1.0, 1.0, float(width - 1), True)
    started = {
        (number, time): program.column(0.0, 0.0, 1.0, True)
        for number in range(len(windows.tasks))
        for time in range(windows.earliest[number], windows.latest[number], 2)
    }
    if len(started) > LARGEST_PROGRAM:
        return Narrowed(None, 0, "size")
    started_by = Started(windows, started)
    try:
        add_order(program, windows, started, started_by)
        add_occupancy(program, windows, occupancy, started_by, goal)
    except IntegerProgramTooLargeError:
        return Narrowed(None, 0, "size")
    return solve(program, windows, started, width)


@dataclass(frozen=True, slots=True)
class Started:
    """Whether a task has started by a time: a column, or a constant outside of its window."""

    windows: Windows
    columns: dict[tuple[int, int], int]

    def by(self, number: int, time: int) -> Indicator:
        early, late = self.windows.earliest[number], self.windows.latest[number]
        if time < early:
            return NO
        if time >= late:
            return YES
        return Indicator(self.columns[number, time - (time - early) % 2], 0.0)


def difference(terms: list[tuple[int, float]], value: Indicator, sign: float) -> float:
    """Add sign * value to a row: as a term, or as the constant that is returned."""
    if value.column >= 0:
        terms.append((value.column, sign))
    return sign * value.constant


def add_order(
    program: IntegerProgram,
    windows: Windows,
    started: dict[tuple[int, int], int],
    started_by: Started,
) -> None:
    """Started once, started for good; and readers only after what they read."""
    for (number, time), column in started.items():
        following = started.get((number, time + 2))
        if following is not None:
            program.at_least([(following, 1.0), (column, -1.0)], 0.0)
    for number, task in enumerate(windows.tasks):
        for reader in sorted(set(windows.feeds[number])):
            last = windows.latest[number] + task.delay
            for time in range(windows.earliest[reader], last + 1, 2):
                terms: list[tuple[int, float]] = []
                shift = difference(terms, started_by.by(number, time - 1 - task.delay), 1.0)
                shift += difference(terms, started_by.by(reader, time), -1.0)
                if terms:
                    program.at_least(terms, -shift)


def add_occupancy(
    program: IntegerProgram, windows: Windows, occupancy: Occupancy, started_by: Started, goal: int
) -> None:
    for period in range(occupancy.final + 1):
        row: list[tuple[int, float]] = [(goal, 1.0)]
        forced = 1
        for carrier in range(len(occupancy.writers)):
            born, dead = born_and_dead(windows, occupancy, started_by, carrier, period)
            if NO in dead and YES in born:
                forced += 1
                continue
            born = [value for value in born if value != NO]
            dead = [value for value in dead if value != YES]
            if born and dead:
                alive = program.column(0.0, 0.0, 1.0, False)
                row.append((alive, -1.0))
                first = bound_by(program, born, above=True)
                last = bound_by(program, dead, above=False)
                terms = [(alive, 1.0)]
                shift = difference(terms, first, -1.0) + difference(terms, last, 1.0)
                program.at_least(terms, -shift)
        program.at_least(row, float(forced))


def bound_by(program: IntegerProgram, values: list[Indicator], above: bool) -> Indicator:
    """A value at least as large as all of the values, or at most as large."""
    constant = YES if above else NO
    if constant in values:
        return constant
    if len(values) == 1:
        return values[0]
    column = program.column(0.0, 0.0, 1.0, False)
    sign = 1.0 if above else -1.0
    for value in values:
        terms = [(column, sign)]
        shift = difference(terms, value, -sign)
        program.at_least(terms, -shift)
    return Indicator(column, 0.0)


def born_and_dead(
    windows: Windows, occupancy: Occupancy, started_by: Started, carrier: int, period: int
) -> tuple[list[Indicator], list[Indicator]]:
    """Has each writer started by this period; is each reader done before it."""
    if occupancy.born_early[carrier]:
        born = [YES]
    else:
        born = [
            started_by.by(writer, period + occupancy.lead[writer])
            for writer in occupancy.writers[carrier]
        ]
    dead: list[Indicator] = []
    for reader in dict.fromkeys(occupancy.readers[carrier]):
        if reader == OUTPUT:
            dead.append(NO)
        else:
            lag = occupancy.lag[carrier] + windows.tasks[reader].in_attention
            dead.append(started_by.by(reader, period - lag))
    return list(dict.fromkeys(born)), list(dict.fromkeys(dead))


def solve(
    program: IntegerProgram,
    windows: Windows,
    started: dict[tuple[int, int], int],
    width: int,
) -> Narrowed:
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in [
        ("output_flag", False),
        ("threads", 1),
        ("random_seed", 0),
        ("mip_max_nodes", MOST_NODES),
        ("simplex_iteration_limit", MOST_SIMPLEX_STEPS),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.999),
    ]:
        highs.setOptionValue(option, value)
    highs.passModel(as_highs_model(program))
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Narrowed(None, width, "none")
    info = highs.getInfo()
    bound = info.mip_dual_bound
    lower = int(np.ceil(bound - 1e-6)) if np.isfinite(bound) else 0
    solution = highs.getSolution()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if not feasible:
        return Narrowed(None, lower, "search")
    values = solution.col_value
    start = list(windows.latest)
    for (number, time), column in started.items():
        if values[column] > 0.5:
            start[number] = min(start[number], time)
    return Narrowed(start, lower, "search")


def as_highs_model(program: IntegerProgram) -> highspy.HighsLp:
    model = highspy.HighsLp()
    model.num_col_ = len(program.column_cost)
    model.num_row_ = len(program.rows)
    model.col_cost_ = np.array(program.column_cost)
    model.col_lower_ = np.array(program.column_low)
    model.col_upper_ = np.array(program.column_high)
    model.row_lower_ = np.array(program.row_low)
    model.row_upper_ = np.full(len(program.rows), highspy.kHighsInf)
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger if i else kinds.kContinuous for i in program.integral]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lengths = [len(row) for row in program.rows]
    model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    model.a_matrix_.index_ = np.array([c for row in program.rows for c, _ in row], dtype=np.int32)
    model.a_matrix_.value_ = np.array([v for row in program.rows for _, v in row])
    return model
