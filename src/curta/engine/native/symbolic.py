"""Weights in, the routine of a step out.

The residual stream is followed symbolically, one position, all layers. Every slot holds a sum of
*values*: an embedding column, a function of the position, what a head returns, or the product that
a hidden unit computes. Adding a row of weights adds sums; a unit whose gate reads nothing but the
constant slot is linear; an erasure cancels what it erases. What is left is what has to be computed.

All sums are exact (fractions here, scaled integers in the generated code), because the certificate
says that float64 would not have rounded either. A mean times the count is the running sum itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from curta.compiler.model import Model
from curta.dyadic import Number, exact, power_of_two, simplify, step_of
from curta.engine.native.case import Case, Facts
from curta.engine.native.routine import Check, Event, Filing, Growth, Routine, Rule, without_idle
from curta.engine.native.tables import kind_of
from curta.engine.native.values import (
    CONSTANT,
    ONE,
    POSITION,
    ZERO,
    Column,
    FetchedKey,
    FetchedValue,
    LookUp,
    Mean,
    Member,
    Pool,
    PositionValue,
    Rows,
    Sum,
    Total,
    constant,
    sum_of,
)


def weights_to_routine(model: Model, *, streams: bool = False) -> Routine:
    """Follow one position through all layers; with `streams`, say what every slot holds.

    Streams show what attention finds, so then nothing is left out because a gate hides it.
    """
    tracer = Tracer(model, streams)
    tracer.embed()
    for number, layer in enumerate(model.plan["layers"]):
        tracer.attend(number, layer)
        tracer.feed_forward(number, layer)
    return without_idle(tracer.routine())


class Tracer:
    def __init__(self, model: Model, streams: bool) -> None:
        self.model = model
        self.weights = model.weights
        self.keeps_streams = streams
        self.pool = Pool(model.certificate.max_tokens)
        self.case = Case(self.pool, Facts())
        self.events: list[Event] = []
        self.born: list[int] = []
        """How many events had happened when each value was there."""
        self.rows: dict[tuple[str, Sum, int], Rows] = {}
        self.streams: list[tuple[Sum, ...]] = []
        self.slots: list[Sum] = [ZERO] * model.plan["width"]

    # -- sums of slots ------------------------------------------------------------------------

    def row(self, weights: np.ndarray[Any, Any]) -> Sum:
        """A row of a matrix, applied to the residual stream."""
        places = np.flatnonzero(weights).tolist()
        return sum_of((self.slots[slot], exact(float(weights[slot]))) for slot in places)

    def write(self, column: np.ndarray[Any, Any], added: Sum, into: list[Sum]) -> None:
        """Add what a head or a unit computed to the slots that its output weights name."""
        for slot in np.flatnonzero(column).tolist():
            into[slot] = into[slot].plus(added, exact(float(column[slot])))

    def end_period(self) -> None:
        self.streams.append(tuple(self.slots))
        self.born += [len(self.events)] * (len(self.pool.entries) - len(self.born))

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
                self.slots[slot] = constant(different[0])
            else:
                step = min(step_of(entry) for entry in different)
                column = Column(slot, tuple(different[place] for place in places.tolist()))
                self.slots[slot] = self.pool.value(column, step, names.get(slot, f"slot {slot}"))
        fields = [self.weights[f"position.{f}"] for f in ("divisor", "modulus", "power", "offset")]
        for number, parameters in enumerate(zip(*(f.tolist() for f in fields), strict=True)):
            value = self.pool.value(PositionValue(*parameters), 0, f"position feature {number}")
            self.write(self.weights["position.weight"][:, number], value, self.slots)
        self.end_period()

    def attend(self, number: int, layer: dict[str, Any]) -> None:
        prefix, width = f"layers.{number}.attention", layer["head_width"]
        output = self.weights[f"{prefix}.output.weight"]
        after = list(self.slots)
        for place, head in enumerate(layer["heads"]):
            first = place * width
            look_up = None if head["kind"] == "mean" else self.look_up(prefix, first, head)
            for column, stored in enumerate(head["values"], start=first):
                total = self.row(self.weights[f"{prefix}.value.weight"][column])
                if look_up is None:
                    value = self.mean(total, stored)
                else:
                    value = self.fetched(look_up, total, stored)
                self.write(output[:, column], value, after)
        self.slots = after
        self.end_period()

    def mean(self, addend: Sum, stored: dict[str, Any]) -> Sum:
        definition = Total(addend)
        if definition not in self.pool.known:
            total = self.pool.define(definition, stored["step"], stored["name"])
            self.events.append(Growth(total, addend))
        return self.pool.value(Mean(self.pool.known[definition]), 0, f"mean for {stored['name']}")

    def look_up(self, prefix: str, first: int, head: dict[str, Any]) -> int:
        """What a retrieving head looks up, from its score weights; it may not be the first to."""
        scale = power_of_two(-head["score_exponent"])
        query_rows, key_rows = (
            self.weights[f"{prefix}.{part}.weight"] for part in ("query", "key")
        )
        code = head["code"]
        lowest = constant(simplify(exact(code["offset"]) - exact(code["low"])))
        queries, keys = [(lowest, exact(1))], [(lowest, exact(1))]
        for r, weight in enumerate(map(exact, code["weights"]), start=first):
            queries.append((self.row(query_rows[r]), scale * weight))
            keys.append((self.row(key_rows[r]), exact(0.5) * weight))
        query, key = self.simplified(sum_of(queries)), self.simplified(sum_of(keys))
        rows = self.rows_of(key, code["high"] - code["low"] + 1, head)
        shift = self.pool.position_shift(key) or 0 if rows.by_position else 0
        return self.pool.look_up(LookUp(rows.number, query.plus(constant(-shift)), head["nearest"]))

    def rows_of(self, key: Sum, size: int, head: dict[str, Any]) -> Rows:
        """The rows in which heads with this key file; all keys that are positions share them."""
        kind = kind_of(self.pool, key, size, nearest=head["nearest"])
        if kind == "by position":
            key, size = self.pool.value(POSITION, 0), 0
        if (kind, key, size) not in self.rows:
            rows = Rows(len(self.rows), head["name"], kind, key, size, {})
            self.rows[kind, key, size] = rows
            self.pool.rows.append(rows)
            self.events.append(Filing(rows.number, True, key, ()))
        return self.rows[kind, key, size]

    def fetched(self, number: int, total: Sum, stored: dict[str, Any]) -> Sum:
        """What a look-up finds of a value, which is filed first; the key itself needs no filing."""
        look_up = self.pool.look_ups[number]
        rows = self.pool.rows[look_up.rows]
        total, name = self.simplified(total), f"{stored['name']} fetched"
        beyond_key = total.plus(rows.key, -1).constant
        if stored["is_key"]:
            assert beyond_key is not None, f"{rows.label}: the key that is fetched is not the key"
            unit = int(power_of_two(max(stored["step"], 0)))
            return self.pool.value(FetchedKey(number, unit), 0, name).plus(constant(beyond_key))
        copied = None if look_up.nearest else beyond_key
        low, high = exact(stored["low"]), exact(stored["high"])
        member = Member(total, stored["name"], low, high, stored["step"], copied)
        place = next((place for place, m in rows.members.items() if m == member), None)
        if place is None:
            place = f"value{rows.number}_{len(rows.members)}"
            rows.members[place] = member
            self.events.append(Filing(rows.number, False, rows.key, ((place, total),)))
        return self.pool.value(FetchedValue(number, place), stored["step"], name)

    def feed_forward(self, number: int, layer: dict[str, Any]) -> None:
        prefix = f"layers.{number}.feed_forward"
        gates, expands, contract = (
            self.weights[f"{prefix}.{part}.weight"] for part in ("gate", "expand", "contract")
        )
        added: dict[int, list[tuple[Sum, Number]]] = {}
        names: dict[int, str] = {}
        for place, name in enumerate(layer["units"]):
            first = len(self.pool.entries)
            result = self.unit(self.row(gates[place]), self.row(expands[place]))
            self.pool.call(name, first)
            for slot in np.flatnonzero(contract[:, place]).tolist():
                added.setdefault(slot, []).append((result, exact(float(contract[slot, place]))))
                names.setdefault(slot, name)
        for slot, parts in added.items():
            first = len(self.pool.entries)
            total = sum_of([(self.slots[slot], 1), *parts])
            self.slots[slot] = total if self.keeps_streams else self.case.held(total)
            self.pool.call(names[slot], first)
        self.end_period()

    def simplified(self, total: Sum) -> Sum:
        return total if self.keeps_streams else self.case.grouped(total)

    def unit(self, gate: Sum, factor: Sum) -> Sum:
        """relu(gate) * factor, as simply as it can be said."""
        total = self.pool.total_behind(factor)
        if total is not None and self.pool.position_shift(gate) == gate.added == 1:
            return total  # the count times a mean
        if not self.keeps_streams:
            return self.case.product(gate, factor)
        if gate.constant is not None:
            return factor.scaled(max(gate.constant, 0))
        if factor.constant is not None:
            return self.pool.product(gate, ONE).scaled(factor.constant)
        return self.pool.product(gate, factor)

    # -- the end ------------------------------------------------------------------------------

    def routine(self) -> Routine:
        checks: dict[int, list[Event]] = {}
        for number, guard in enumerate(self.model.plan["guards"]):
            slots = self.streams[guard["period"]]
            total = sum_of((slots[slot], exact(weight)) for slot, weight in guard["terms"])
            low, high = exact(guard["low"]), exact(guard["high"])
            step = min(self.pool.step(total), step_of(low), step_of(high))
            last = max((value for value, _ in total.terms), default=CONSTANT)
            place = 0 if last == CONSTANT else self.born[last]
            check = Check(number, guard["name"], total, low, high, step)
            checks.setdefault(place, []).append(check)
        events = checks.get(0, [])
        for place, event in enumerate(self.events, start=1):
            events += [event, *checks.get(place, [])]
        rules: list[Rule] = []
        for tokens in self.model.plan["families"]:
            rules += self.rules_of(tuple(tokens), len(rules))
        streams = tuple(self.streams) if self.keeps_streams else ()
        return Routine(self.pool, tuple(events), tuple(rules), streams)

    def rules_of(self, tokens: tuple[int, ...], number: int) -> list[Rule]:
        """One rule if the rows of these tokens are a family of parabolas, else one per token."""
        rows = self.weights["unembedding.weight"][list(tokens)]
        digits = np.arange(len(tokens), dtype=np.float64)[:, None]
        base, zero = rows[0], np.zeros_like(rows[0])
        square = (2 * rows[1] - rows[0] - rows[2]) / 2 if len(tokens) > 2 else zero
        linear = rows[1] - rows[0] + square if len(tokens) > 1 else zero
        rising = all(a < b for a, b in pairwise(tokens))
        if rising and np.array_equal(base + digits * linear - digits * digits * square, rows):
            parts = (self.simplified(self.row(part)) for part in (base, linear, square))
            return [Rule(number, tokens, *parts)]
        return [
            Rule(n, (token,), self.simplified(self.row(row)), ZERO, ZERO)
            for n, (token, row) in enumerate(zip(tokens, rows, strict=True), start=number)
        ]
