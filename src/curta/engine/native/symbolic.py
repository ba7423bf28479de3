"""Weights in, straight-line program out.

The residual stream is followed symbolically, one position, all layers. Every slot holds a sum of
*values*: an embedding column, a function of the position, what a head returns, or the product that
a hidden unit computes. Adding a row of weights adds sums; a unit whose gate reads nothing but the
constant slot is linear; an erasure cancels what it erases. What is left is what has to be computed.

All sums are exact (fractions here, scaled integers in the generated code), because the certificate
says that float64 would not have rounded either. A mean times the count is the running sum itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from curta.compiler.model import Model
from curta.compiler.numbers import Number, exact, power_of_two, simplify, step_of
from curta.engine.native.shapes import Jumps, jumps_of

ValueId = int
CONSTANT: ValueId = -1


@dataclass(frozen=True, slots=True)
class Sum:
    """A weighted sum of values in their order; the constant is the coefficient of CONSTANT."""

    terms: tuple[tuple[ValueId, Number], ...] = ()

    @property
    def constant(self) -> Number | None:
        """The number that the sum is, if it reads no value."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[-1][0] == CONSTANT else None

    @property
    def added(self) -> Number:
        """The constant among the terms."""
        return self.terms[0][1] if self.terms and self.terms[0][0] == CONSTANT else 0

    @property
    def without_constant(self) -> Sum:
        return Sum(self.terms[1:]) if self.terms and self.terms[0][0] == CONSTANT else self

    def plus(self, other: Sum, factor: Number = 1) -> Sum:
        total = dict(self.terms)
        for value, coefficient in other.terms:
            total[value] = total.get(value, 0) + factor * coefficient
        return Sum(tuple((v, simplify(c)) for v, c in sorted(total.items()) if c != 0))


@dataclass(frozen=True, slots=True)
class Column:
    """What the token's embedding holds in one slot."""

    slot: int
    entries: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class PositionValue:
    """((position // divisor) mod modulus - offset) ** power."""

    divisor: int
    modulus: int
    power: int
    offset: int


@dataclass(frozen=True, slots=True)
class Product:
    """relu(gate) * factor."""

    gate: Sum
    factor: Sum


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a value over all positions so far."""

    addend: Sum


@dataclass(frozen=True, slots=True)
class MeanValue:
    """A total divided by the count; exists only as something to be multiplied by the count."""

    total: ValueId


@dataclass(frozen=True, slots=True)
class Fetched:
    """One value that a table of the program returns."""

    table: int
    place: int


@dataclass(frozen=True, slots=True)
class Shape:
    """factor * f(u): f jumps at whole numbers of steps of u, and is flat in between."""

    argument: Sum
    jumps: Jumps
    factor: Sum


@dataclass(frozen=True, slots=True)
class Held:
    """What a slot holds, if that is the sum of several products: added up once, read often."""

    total: Sum


Definition = Column | PositionValue | Product | Total | MeanValue | Fetched | Shape | Held


@dataclass(frozen=True, slots=True)
class Value:
    """A value, its name, and the power of two that it is a multiple of."""

    definition: Definition
    name: str
    step: int


@dataclass(frozen=True, slots=True)
class Stored:
    """One value filed in a table: its sum, and the range that its storage has to cover."""

    total: Sum
    name: str
    low: Number
    high: Number
    step: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class Table:
    """What heads with one query and key do: file values under a key, fetch those of a query.

    Key and query are integers, the lowest possible key being 0.
    """

    query: Sum
    key: Sum
    size: int
    nearest: bool
    stored: tuple[Stored, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A sum that has to stay in an interval."""

    total: Sum
    name: str
    low: Number
    high: Number


@dataclass(frozen=True, slots=True)
class Rule:
    """Tokens that score base + d * linear - d * d * square."""

    tokens: tuple[int, ...]
    base: Sum
    linear: Sum
    square: Sum


@dataclass(frozen=True, slots=True)
class Program:
    """All that one step computes; tables and values are in the order of evaluation."""

    values: tuple[Value, ...]
    tables: tuple[Table, ...]
    promises: tuple[Promise, ...]
    rules: tuple[Rule, ...]
    streams: tuple[tuple[Sum, ...], ...]


def sum_of(parts: Iterable[tuple[Sum, Number]]) -> Sum:
    """Weighted sums, added up."""
    total: dict[ValueId, Number] = {}
    for part, factor in parts:
        for value, coefficient in part.terms:
            total[value] = total.get(value, 0) + factor * coefficient
    return Sum(tuple((v, simplify(c)) for v, c in sorted(total.items()) if c != 0))


def weights_to_program(model: Model) -> Program:
    """Follow one position through all layers."""
    tracer = Tracer(model)
    tracer.embed()
    for number, layer in enumerate(model.plan["layers"]):
        tracer.attend(number, layer)
        tracer.feed_forward(number, layer)
    return tracer.finish()


class Tracer:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.weights = model.weights
        self.values: list[Value] = []
        self.known: dict[Definition, ValueId] = {}
        self.tables: list[Table] = []
        self.streams: list[tuple[Sum, ...]] = []
        self.slots: list[Sum] = [Sum()] * model.plan["width"]

    # -- sums of slots ------------------------------------------------------------------------

    def row(self, weights: np.ndarray[Any, Any]) -> Sum:
        """A row of a matrix, applied to the residual stream."""
        total = Sum()
        for slot in np.flatnonzero(weights).tolist():
            total = total.plus(self.slots[slot], exact(float(weights[slot])))
        return total

    def write(self, column: np.ndarray[Any, Any], added: Sum, into: list[Sum]) -> None:
        """Add what a head or a unit computed to the slots that its output weights name."""
        for slot in np.flatnonzero(column).tolist():
            into[slot] = into[slot].plus(added, exact(float(column[slot])))

    def define(self, definition: Definition, name: str, step: int) -> Sum:
        if definition not in self.known:
            self.known[definition] = len(self.values)
            self.values.append(Value(definition, name, step))
        return Sum(((self.known[definition], 1),))

    def step_of_sum(self, total: Sum) -> int:
        steps = [step_of(c) + (0 if v == CONSTANT else self.values[v].step) for v, c in total.terms]
        return min(steps, default=0)

    # -- sublayers ----------------------------------------------------------------------------

    def embed(self) -> None:
        names = {
            slot["slot"]: slot["name"] for slot in self.model.plan["slots"] if slot["first"] == 0
        }
        embedding = self.weights["embedding.weight"]
        for slot in range(embedding.shape[1]):
            numbers, places = np.unique(embedding[:, slot], return_inverse=True)
            different = [exact(number) for number in numbers.tolist()]
            if len(different) == 1:
                self.slots[slot] = Sum(((CONSTANT, different[0]),) if different[0] else ())
            else:
                step = min(step_of(entry) for entry in different)
                column = Column(slot, tuple(different[place] for place in places.tolist()))
                self.slots[slot] = self.define(column, names.get(slot, f"slot {slot}"), step)
        fields = [self.weights[f"position.{f}"] for f in ("divisor", "modulus", "power", "offset")]
        for number, parameters in enumerate(zip(*(f.tolist() for f in fields), strict=True)):
            value = self.define(PositionValue(*parameters), f"position feature {number}", 0)
            self.write(self.weights["position.weight"][:, number], value, self.slots)
        self.streams.append(tuple(self.slots))

    def attend(self, number: int, layer: dict[str, Any]) -> None:
        prefix, width = f"layers.{number}.attention", layer["head_width"]
        output = self.weights[f"{prefix}.output.weight"]
        after = list(self.slots)
        found: dict[tuple[Any, ...], list[tuple[int, dict[str, Any], Sum]]] = {}
        for place, head in enumerate(layer["heads"]):
            first = place * width
            for offset, stored in enumerate(head["values"]):
                column = first + offset
                total = self.row(self.weights[f"{prefix}.value.weight"][column])
                if head["kind"] == "mean":
                    self.write(output[:, column], self.mean(total, stored), after)
                else:
                    found.setdefault(self.geometry(prefix, first, head), []).append(
                        (column, stored, total)
                    )
        for geometry, retrievals in found.items():
            self.add_table(geometry, retrievals, output, after)
        self.slots = after
        self.streams.append(tuple(self.slots))

    def mean(self, addend: Sum, stored: dict[str, Any]) -> Sum:
        total = self.define(Total(addend), stored["name"], stored["step"])
        return self.define(MeanValue(total.terms[0][0]), f"mean for {stored['name']}", 0)

    def geometry(self, prefix: str, first: int, head: dict[str, Any]) -> tuple[Any, ...]:
        """(name, nearest, query, key, size) of a retrieving head, from its score weights."""
        scale = power_of_two(-head["score_exponent"])
        digits = len(head["key"])
        rows = range(first, first + digits)
        query_rows, key_rows = (
            self.weights[f"{prefix}.{part}.weight"] for part in ("query", "key")
        )
        code = head["code"]
        lowest = Sum(((CONSTANT, exact(code["offset"]) - exact(code["low"])),))
        query, key = Sum().plus(lowest), Sum().plus(lowest)
        for r, weight in zip(rows, map(exact, code["weights"]), strict=True):
            query = query.plus(self.row(query_rows[r]), scale * weight)
            key = key.plus(self.row(key_rows[r]), exact(0.5) * weight)
        size = code["high"] - code["low"] + 1
        return head["name"], head["nearest"], query, key, size

    def add_table(
        self,
        geometry: tuple[Any, ...],
        retrievals: list[tuple[int, dict[str, Any], Sum]],
        output: np.ndarray[Any, Any],
        after: list[Sum],
    ) -> None:
        name, nearest, query, key, size = geometry
        stored = tuple(
            Stored(total, s["name"], exact(s["low"]), exact(s["high"]), s["step"], s["is_key"])
            for _, s, total in retrievals
        )
        self.tables.append(Table(query, key, size, nearest, stored, name))
        for place, (column, described, _) in enumerate(retrievals):
            fetched = Fetched(len(self.tables) - 1, place)
            value = self.define(fetched, f"{described['name']} fetched", described["step"])
            self.write(output[:, column], value, after)

    def feed_forward(self, number: int, layer: dict[str, Any]) -> None:
        prefix = f"layers.{number}.feed_forward"
        gates, expands = (
            self.weights[f"{prefix}.gate.weight"],
            self.weights[f"{prefix}.expand.weight"],
        )
        parts = [[(total, exact(1))] for total in self.slots]
        for place, name in enumerate(layer["units"]):
            result = self.unit(self.row(gates[place]), self.row(expands[place]), name)
            column = self.weights[f"{prefix}.contract.weight"][:, place]
            for slot in np.flatnonzero(column).tolist():
                parts[slot].append((result, exact(float(column[slot]))))
        self.slots = [self.held(sum_of(added)) for added in parts]
        self.streams.append(tuple(self.slots))

    def held(self, total: Sum) -> Sum:
        """The content of a slot as shapes, and under a name of its own if it is long."""
        groups: dict[tuple[Sum, Sum], list[tuple[ValueId, Number]]] = {}
        for value, coefficient in total.terms:
            definition = None if value == CONSTANT else self.values[value].definition
            if isinstance(definition, Product):
                group = definition.gate.without_constant, definition.factor
                groups.setdefault(group, []).append((value, coefficient))
        for (argument, factor), members in groups.items():
            total = total.plus(self.shape(argument, factor, members)).plus(Sum(tuple(members)), -1)
        values = [self.values[v] for v, _ in total.terms if v != CONSTANT]
        if len(values) < 3 or not all(isinstance(v.definition, Product | Shape) for v in values):
            return total
        name = f"{values[0].name} and {len(values) - 1} more"
        return self.define(Held(total), name, self.step_of_sum(total))

    def shape(self, argument: Sum, factor: Sum, members: list[tuple[ValueId, Number]]) -> Sum:
        """The sum of these products, which open with one argument and have one factor."""
        unit = power_of_two(self.step_of_sum(argument))
        bends: list[tuple[int, Number]] = []
        for value, coefficient in members:
            definition = self.values[value].definition
            assert isinstance(definition, Product)
            place = -Fraction(definition.gate.added) / unit
            if place.denominator != 1:
                return Sum(tuple(members))
            bends.append((int(place), simplify(coefficient * unit)))
        jumps = jumps_of(bends)
        if not jumps:
            return Sum() if jumps == () else Sum(tuple(members))
        step = min(step_of(height) for _, height in jumps) + self.step_of_sum(factor)
        name = f"{self.values[members[0][0]].name} ({len(members)} gates)"
        return self.define(Shape(argument, jumps, factor), name, step)

    def unit(self, gate: Sum, expand: Sum, name: str) -> Sum:
        """relu(gate) * expand, as simply as it can be said."""
        constant = gate.constant
        if constant is not None:
            return Sum().plus(expand, max(constant, 0))
        restored = self.restored(gate, expand)
        if restored is not None:
            return restored
        factor = expand.constant
        if factor is not None:
            one = Sum(((CONSTANT, 1),))
            value = self.define(Product(gate, one), name, self.step_of_sum(gate))
            return Sum().plus(value, factor)
        step = self.step_of_sum(gate) + self.step_of_sum(expand)
        return self.define(Product(gate, expand), name, step)

    def restored(self, gate: Sum, expand: Sum) -> Sum | None:
        """The running sum, if this is the count times a mean."""
        if len(expand.terms) != 1 or expand.terms[0][0] == CONSTANT:
            return None
        definition = self.values[expand.terms[0][0]].definition
        if not isinstance(definition, MeanValue):
            return None
        position = self.known.get(PositionValue(1, 0, 1, 0), CONSTANT)
        if position == CONSTANT or gate != Sum(((CONSTANT, 1), (position, 1))):
            return None
        return Sum(((definition.total, expand.terms[0][1]),))

    # -- the end ------------------------------------------------------------------------------

    def finish(self) -> Program:
        promises = []
        for guard in self.model.plan["guards"]:
            total = Sum()
            for slot, weight in guard["terms"]:
                total = total.plus(self.streams[guard["period"]][slot], exact(weight))
            promises.append(
                Promise(total, guard["name"], exact(guard["low"]), exact(guard["high"]))
            )
        rules: list[Rule] = []
        for tokens in self.model.plan["families"]:
            rules += self.rules(tuple(tokens))
        return Program(
            tuple(self.values),
            tuple(self.tables),
            tuple(promises),
            tuple(rules),
            tuple(self.streams),
        )

    def rules(self, tokens: tuple[int, ...]) -> list[Rule]:
        """One rule if the rows of these tokens are a family of parabolas, else one per token."""
        rows = self.weights["unembedding.weight"][list(tokens)]
        digits = np.arange(len(tokens), dtype=np.float64)[:, None]
        base, zero = rows[0], np.zeros_like(rows[0])
        square = (2 * rows[1] - rows[0] - rows[2]) / 2 if len(tokens) > 2 else zero
        linear = rows[1] - rows[0] + square if len(tokens) > 1 else zero
        rising = all(a < b for a, b in pairwise(tokens))
        if rising and np.array_equal(base + digits * linear - digits * digits * square, rows):
            return [Rule(tokens, self.row(base), self.row(linear), self.row(square))]
        return [
            Rule((token,), self.row(row), Sum(), Sum())
            for token, row in zip(tokens, rows, strict=True)
        ]
