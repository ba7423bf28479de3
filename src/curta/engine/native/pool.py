"""The values that specialised code computes: interned, with what is proved of each.

A program is followed once under no assumption (`events.py`); what is left of it under the facts of
a case (`case.py`) is made of values of the same pool, so that equal remainders are equal ids. A
value refers to earlier ones only. Four kinds are given, not computed:

    Digit          which of its class's tokens the current token is
    Input          a column, a function of the position, or a total, as in the program
    FetchedValue   a member of the row that a table found, zero if it found none
    FetchedKey     the key that it found; a key that is not the query if it found none
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from curta.compiler.numbers import MANTISSA_BITS, Number, power_of_two, simplify, step_of
from curta.engine.native.symbolic import (
    CONSTANT,
    Column,
    Held,
    PositionValue,
    Product,
    Program,
    Stored,
    Sum,
    ValueId,
)

Range = tuple[Number, Number]
Rises = tuple[tuple[Number, Number], ...]
"""Places and heights of steps."""
ONE = Sum(((CONSTANT, 1),))
ZERO = Sum()
MOST_BENDS = 200
"""Bends of a function of one number that is looked at in full."""


@dataclass(frozen=True, slots=True)
class Digit:
    """Which of its class's tokens the current token is, from 0 on."""


@dataclass(frozen=True, slots=True)
class Input:
    """A value of the program that every case has as it is."""

    value: ValueId


@dataclass(frozen=True, slots=True)
class FetchedValue:
    """A member of the row that a table found; zero if it found none."""

    table: int
    member: str


@dataclass(frozen=True, slots=True)
class FetchedKey:
    """The key that a table found, which is the query; if it found none, one that is not."""

    table: int
    unit: int


@dataclass(frozen=True, slots=True)
class Steps:
    """factor * f(argument): f rises by a height at every place, and is flat in between."""

    argument: Sum
    jumps: Rises
    factor: Sum


Definition = Digit | Input | FetchedValue | FetchedKey | Product | Steps | Held


@dataclass(frozen=True, slots=True)
class Entry:
    definition: Definition
    step: int


@dataclass(frozen=True, slots=True)
class Form:
    """A value as a function of a number: linear between its bends."""

    number: Sum
    scale: Number
    """The gate or argument, as a multiple of the number."""
    bends: tuple[Number, ...]
    added: Number
    """Of a gate: what is added to the number before it is rectified."""
    places: tuple[Number, ...] = ()
    levels: tuple[Number, ...] = ()
    """Of steps: where they are, and how high each of them leads."""

    def at(self, number: Number) -> Number:
        place = self.scale * number
        if not self.levels:
            return max(place + self.added, 0)
        return self.levels[bisect_right(self.places, place)]


@dataclass
class Pool:
    """All values that any case computes."""

    program: Program
    max_tokens: int
    entries: list[Entry] = field(default_factory=list)
    known: dict[Definition, ValueId] = field(default_factory=dict)
    queries: dict[int, Sum] = field(default_factory=dict)
    """What each table that is still visited looks up; for tables by position, the position."""
    owners: dict[int, int] = field(default_factory=dict)
    """The table in whose rows each of them looks."""
    stored: dict[tuple[int, str], Stored] = field(default_factory=dict)
    copies: dict[tuple[int, str], Number] = field(default_factory=dict)
    """Members that are the key plus a constant."""
    nearest: set[int] = field(default_factory=set)
    sizes: dict[int, int] = field(default_factory=dict)
    forms: dict[ValueId, Form | None] = field(default_factory=dict)
    places: dict[Sum, list[Rises]] = field(default_factory=dict)
    """Where the steps of a number are, by the number."""

    def define(self, definition: Definition, step: int) -> ValueId:
        number = self.known.get(definition)
        if number is None:
            number = self.known[definition] = len(self.entries)
            self.entries.append(Entry(definition, step))
            if isinstance(definition, Steps):
                self.places.setdefault(definition.argument, []).append(definition.jumps)
        return number

    def value(self, definition: Definition, step: int) -> Sum:
        return Sum(((self.define(definition, step), 1),))

    def step(self, total: Sum) -> int:
        steps = [
            step_of(c) + (0 if v == CONSTANT else self.entries[v].step) for v, c in total.terms
        ]
        return min(steps, default=0)

    def product(self, gate: Sum, factor: Sum) -> Sum:
        return self.value(Product(gate, factor), self.step(gate) + self.step(factor))

    def steps(self, argument: Sum, jumps: tuple[tuple[Number, Number], ...], factor: Sum) -> Sum:
        step = min(step_of(height) for _, height in jumps) + self.step(factor)
        return self.value(Steps(argument, jumps, factor), step)

    def form(self, value: ValueId) -> Form | None:
        """The number that a value is a function of, if it is one."""
        if value not in self.forms:
            self.forms[value] = self._form(value)
        return self.forms[value]

    def _form(self, value: ValueId) -> Form | None:
        definition = self.entries[value].definition
        match definition:
            case Product(gate, factor) if factor == ONE:
                scale, number = direction(gate.without_constant)
                return Form(number, scale, (divided(-gate.added, scale),), gate.added)
            case Steps(argument, jumps, factor) if factor == ONE and len(jumps) <= MOST_BENDS:
                scale, number = direction(argument)
                step = power_of_two(self.step(argument))
                bends = [divided(p, scale) for place, _ in jumps for p in (place, place - step)]
                places = tuple(place for place, _ in jumps)
                levels = tuple(accumulate((height for _, height in jumps), initial=0))
                return Form(number, scale, tuple(bends), 0, places, levels)
            case _:
                return None

    def reads(self, value: ValueId) -> Iterator[Sum]:
        """The sums that a value is computed from; queries of tables included."""
        match self.entries[value].definition:
            case Product(gate, factor):
                yield from (gate, factor)
            case Steps(argument, _, factor):
                yield from (argument, factor)
            case Held(total):
                yield total
            case FetchedValue(table) | FetchedKey(table):
                yield self.queries[table]

    def reachable(self, totals: list[Sum]) -> set[ValueId]:
        """All values that these sums depend on within one step."""
        found: set[ValueId] = set()
        stack = [v for total in totals for v, _ in total.terms]
        while stack:
            value = stack.pop()
            if value == CONSTANT or value in found:
                continue
            found.add(value)
            for total in self.reads(value):
                stack.extend(v for v, _ in total.terms)
        return found

    def range_of_given(self, value: ValueId) -> Range:
        """The interval of a value that is not computed."""
        match self.entries[value].definition:
            case Input(number):
                return self._range_of_input(number)
            case FetchedValue(table, member):
                stored = self.stored[table, member]
                if table in self.nearest:
                    return stored.low, stored.high
                return min(stored.low, 0), max(stored.high, 0)
            case FetchedKey(table, unit):
                return 0, max(self.sizes[table], self.max_tokens, unit)
            case definition:
                raise AssertionError(f"{definition} is computed")

    def _range_of_input(self, number: int) -> Range:
        described = self.program.values[number]
        match described.definition:
            case Column(_, entries):
                return min(entries), max(entries)
            case PositionValue(divisor, modulus, power, offset):
                most = (self.max_tokens - 1) // divisor
                most = min(most, modulus - 1) if modulus else most
                low, high = -offset, most - offset
                if power == 1:
                    return low, high
                return 0, max(low * low, high * high)
            case _:
                most_steps = power_of_two(MANTISSA_BITS + described.step)
                return -most_steps, most_steps


def direction(total: Sum) -> tuple[Number, Sum]:
    """(scale, sum) such that total = scale * sum, and sum begins with 1; no constant in either."""
    scale = total.terms[0][1]
    if scale == 1:
        return 1, total
    return scale, Sum(tuple((v, divided(c, scale)) for v, c in total.terms))


def divided(a: Number, b: Number) -> Number:
    if b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return simplify(Fraction(a) / b)


def scaled(total: Sum, factor: Number) -> Sum:
    if factor == 0:
        return ZERO
    return Sum(tuple((v, simplify(c * factor)) for v, c in total.terms))


def constant(number: Number) -> Sum:
    return Sum(((CONSTANT, number),)) if number else ZERO
