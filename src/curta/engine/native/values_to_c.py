"""C for the values that specialised code computes: each where it is first needed in a block."""

from __future__ import annotations

from curta.engine.native.case import Case
from curta.engine.native.expressions import Expressions, Scope
from curta.engine.native.tables import comment, position_expression
from curta.engine.native.values import (
    Column,
    Digit,
    FetchedKey,
    FetchedValue,
    Parameter,
    Pool,
    PositionValue,
    Sum,
    Total,
    ValueId,
)

FEWEST_FOR_NAME = 3
"""Values whose sum gets a name where it is read."""


class ValuesWriter:
    """Definitions of values as statements; what is there is kept in a scope."""

    def __init__(self, pool: Pool, expressions: Expressions | None = None) -> None:
        self.pool = pool
        self.expressions = expressions or Expressions(pool)
        """With the tables of all functions of a file."""
        self.name_numbers: dict[Sum, int] = {}

    def needed(self, case: Case, totals: list[Sum], scope: Scope) -> list[str]:
        """The definitions of all values that these sums read, if they are not there yet.

        What has been defined may change how a sum is written, and so what it reads.
        """
        lines: list[str] = []
        before = -1
        while before != len(scope.defined):
            before = len(scope.defined)
            for total in totals:
                for value in self.expressions.read(total, scope):
                    if value not in scope.defined:
                        self.define(case, value, scope, lines)
        return lines

    def named(self, case: Case, total: Sum, scope: Scope) -> list[str]:
        """The same, and a name for the sum if it is one of several values."""
        rest = total.without_constant
        if len(rest.terms) < FEWEST_FOR_NAME or rest in scope.names:
            return self.needed(case, [rest], scope)
        lines = self.needed(case, [rest], scope)
        step = self.pool.step(rest)
        name = f"sum{self.name_numbers.setdefault(rest, len(self.name_numbers))}"
        lines.append(f"const int64_t {name} = {self.expressions.text(rest, step, scope)};")
        scope.names[rest] = name, step
        return lines

    def define(self, case: Case, value: ValueId, scope: Scope, lines: list[str]) -> None:
        entry = self.pool.entries[value]
        scope.defined.add(value)
        match entry.definition:
            case Digit():
                text = "digit"
            case Parameter(text):
                pass
            case Column():
                text = f"column{value}[token]"
            case PositionValue(divisor, modulus, power, offset):
                text = position_expression(divisor, modulus, power, offset)
            case Total():
                text = f"total{value}"
            case FetchedValue(look_up, member):
                self.find(case, look_up, scope, lines)
                certain = self.pool.look_ups[look_up].nearest or case.facts.hits.get(look_up)
                found = f"row{look_up}->{member}"
                certain = certain or self.lies_within(case, look_up)
                text = found if certain else f"row{look_up} ? {found} : 0"
            case FetchedKey(look_up, unit):
                self.filed(case, look_up, scope, lines)
                query = f"query{look_up}"
                text = (
                    f"filed_row{look_up} ? (int64_t){query} : (int64_t)!{query} * INT64_C({unit})"
                )
            case _:
                for total in self.pool.reads(value):
                    lines += self.named(case, total, scope)
                text = self.expressions.definition(case, value, scope)
        note = f" /* {comment(entry.name)} */" if entry.name else ""
        lines.append(f"const int64_t v{value} = {text};{note}")

    def lies_within(self, case: Case, number: int) -> bool:
        """Whether a row lies in an array: what was not filed there is zero."""
        look_up = self.pool.look_ups[number]
        low, high = case.range(case.sum(look_up.query))
        rows = self.pool.rows[look_up.rows]
        return rows.kind == "direct" and low >= 0 and high < rows.size

    def filed(self, case: Case, number: int, scope: Scope, lines: list[str]) -> None:
        """The row that a look-up finds, if it was filed."""
        self.find(case, number, scope, lines)
        if number in scope.found:
            return
        scope.found.add(number)
        row, kind = f"row{number}", self.pool.rows_behind(number).kind
        is_row = row if kind in ("nearest", "by position") else f"{row} && {row}->filed ? {row} : 0"
        type_name = "Track" if kind == "by position" else f"Row{self.pool.look_ups[number].rows}"
        lines.append(f"const {type_name} *filed_row{number} = {is_row};")

    def find(self, case: Case, number: int, scope: Scope, lines: list[str]) -> None:
        """Where the row that a look-up finds lies; what was not filed is zero."""
        if number in scope.rows:
            return
        scope.rows.add(number)
        look_up = self.pool.look_ups[number]
        query = case.sum(look_up.query)
        lines += self.needed(case, [query], scope)
        text, rows = self.expressions.text(query, 0, scope), look_up.rows
        if not self.pool.rows[rows].by_position:
            lines.append(f"const uint64_t query{number} = (uint64_t)({text});")
            place = f"at{rows}(s, query{number})"
            if self.lies_within(case, number):
                place = f"&rows{rows}[query{number}]"
            lines.append(f"const Row{rows} *row{number} = {place};")
            return
        lines.append(f"const int64_t query{number} = {text};")
        row = f"&track[ROW(query{number})]"
        if case.facts.hits.get(number):
            found = row
        elif look_up.nearest:
            within = f"query{number} > position ? position : query{number}"
            found = f"&track[ROW(query{number} < 0 ? 0 : {within})]"
        else:
            found = f"(uint64_t)query{number} <= (uint64_t)position ? {row} : 0"
        lines.append(f"const Track *row{number} = {found};")
