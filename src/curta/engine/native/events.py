"""A program as what one step has to do, in order, over a pool of values.

The events are those of the general code, in its order: totals grow, tables file, promises are
checked, and at the end a token is chosen. Everything else is computed because an event reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.case import Case, Facts
from curta.engine.native.pool import ZERO, FetchedKey, FetchedValue, Input, Pool
from curta.engine.native.sums import Sums
from curta.engine.native.symbolic import (
    CONSTANT,
    Column,
    Fetched,
    Held,
    MeanValue,
    PositionValue,
    Product,
    Program,
    Shape,
    Stored,
    Sum,
    Total,
    ValueId,
)
from curta.engine.native.tables import Tables, position_shift


@dataclass(frozen=True)
class Growth:
    """A total grows by an addend."""

    total: ValueId
    addend: Sum


@dataclass(frozen=True)
class Filing:
    """Values are filed in a row that several tables may share; `opens` says the first of them."""

    table: int
    owner: int
    opens: bool
    key: Sum
    members: tuple[tuple[str, Stored, Sum], ...]


@dataclass(frozen=True)
class Check:
    """A promise: its sum has to be in low..high."""

    number: int
    total: Sum
    low: Number
    high: Number


Event = Growth | Filing | Check


@dataclass(frozen=True)
class Score:
    """One rule: tokens that score base + d * linear - d * d * square."""

    number: int
    tokens: tuple[int, ...]
    base: Sum
    linear: Sum
    square: Sum


@dataclass
class Steady:
    """What one step does."""

    pool: Pool
    events: list[Event] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)

    def sums(self, start: int = 0) -> list[Sum]:
        """All that is read from one event on."""
        found: list[Sum] = []
        for event in self.events[start:]:
            found += read_by(event)
        for score in self.scores:
            found += [score.base, score.linear, score.square]
        return found


def read_by(event: Event) -> list[Sum]:
    match event:
        case Growth(_, addend):
            return [addend]
        case Filing(_, _, _, key, members):
            return [key, *(total for _, _, total in members)]
        case Check(_, total):
            return [total]


def program_to_events(program: Program, live: set[int], layout: Tables, max_tokens: int) -> Steady:
    """Follow the program once, under no assumption."""
    return Importer(program, live, layout, max_tokens).run()


class Importer:
    def __init__(self, program: Program, live: set[int], layout: Tables, max_tokens: int) -> None:
        self.program = program
        self.live = live
        self.layout = layout
        self.pool = Pool(program, max_tokens)
        self.case = Case(self.pool, Facts())
        self.steady = Steady(self.pool)
        self.values: dict[ValueId, Sum] = {}
        self.visited: dict[int, int] = {}
        """The table that stands for each table: the first with its rows and its query."""
        self.same: dict[tuple[int, Sum, bool], int] = {}
        self.filed: set[tuple[int, str]] = set()

    def run(self) -> Steady:
        promises: dict[int, list[int]] = {}
        for number, promise in enumerate(self.program.promises):
            last = max((v for v, _ in promise.total.terms), default=CONSTANT)
            promises.setdefault(last, []).append(number)
        self.check(promises.get(CONSTANT, []))
        for number in sorted(self.live):
            self.values[number] = self.value(number)
            self.check(promises.get(number, []))
        for number, rule in enumerate(self.program.rules):
            parts = (self.sum(part) for part in (rule.base, rule.linear, rule.square))
            self.steady.scores.append(Score(number, rule.tokens, *parts))
        return self.steady

    def check(self, numbers: list[int]) -> None:
        for number in numbers:
            promise = self.program.promises[number]
            total = self.sum(promise.total)
            self.steady.events.append(Check(number, total, promise.low, promise.high))

    def sum(self, total: Sum) -> Sum:
        result = Sum()
        for value, coefficient in total.terms:
            added = Sum(((CONSTANT, 1),)) if value == CONSTANT else self.values[value]
            result = result.plus(added, coefficient)
        return self.case.grouped(result)

    def value(self, number: ValueId) -> Sum:
        described = self.program.values[number]
        match described.definition:
            case Column() | PositionValue():
                return self.pool.value(Input(number), described.step)
            case Total(addend):
                self.steady.events.append(Growth(number, self.sum(addend)))
                return self.pool.value(Input(number), described.step)
            case Product(gate, factor):
                return self.case.product(self.sum(gate), self.sum(factor))
            case Shape(argument, jumps, factor):
                unit = power_of_two(Sums(self.program).step(argument))
                places = tuple((simplify(place * unit), height) for place, height in jumps)
                return self.case.steps(self.sum(argument), places, self.sum(factor))
            case Held(total):
                return self.case.held(self.sum(total))
            case Fetched(table, place):
                if table not in self.visited:
                    self.visit(table)
                return self.fetched(table, place)
            case MeanValue():
                return ZERO

    def visit(self, number: int) -> None:
        """File this position's values under the table's key."""
        table, code = self.program.tables[number], self.layout.codes[number]
        members = []
        for place, stored in enumerate(table.stored):
            name = self.layout.names.get((number, place))
            if name is not None and (code.number, name) not in self.filed:
                self.filed.add((code.number, name))
                members.append((name, stored, self.sum(stored.total)))
        opens = number == code.number and code.kind != "by position"
        if members or opens:
            key = self.sum(table.key)
            self.steady.events.append(Filing(number, code.number, opens, key, tuple(members)))
        shift = position_shift(self.program, table.key) or 0
        query = self.sum(table.query).plus(Sum(((CONSTANT, 1),)), -shift)
        same = self.same.setdefault((code.number, query, table.nearest), number)
        self.visited[number] = same
        self.pool.queries[same] = query
        self.pool.owners[same] = code.number
        self.pool.sizes[same] = table.size
        if table.nearest:
            self.pool.nearest.add(same)

    def fetched(self, number: int, place: int) -> Sum:
        table, same = self.program.tables[number], self.visited[number]
        stored = table.stored[place]
        shift = position_shift(self.program, table.key) or 0
        if stored.is_key:
            away = stored.total.plus(table.key, -1).constant
            assert away is not None, f"{table.name}: the key that is fetched is not the key"
            unit = int(power_of_two(max(stored.step, 0)))
            found = self.pool.value(FetchedKey(same, unit), 0)
            return self.case.sum(found).plus(Sum(((CONSTANT, 1),)), simplify(away + shift))
        name = self.layout.names[number, place]
        self.pool.stored[same, name] = stored
        copied = self.sum(stored.total).plus(self.sum(table.key), -1).constant
        if copied is not None and not table.nearest:
            self.pool.copies[same, name] = simplify(copied + shift)
        return self.pool.value(FetchedValue(same, name), stored.step)
