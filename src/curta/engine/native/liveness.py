"""Which values of a program are needed for what it says and checks."""

from __future__ import annotations

from curta.engine.native.symbolic import (
    CONSTANT,
    Fetched,
    Held,
    MeanValue,
    Product,
    Program,
    Shape,
    Sum,
    Total,
)


def live_values(program: Program, everything: bool) -> set[int]:
    """The values that a promise or a rule depends on."""
    if everything:
        return set(range(len(program.values)))
    roots = [promise.total for promise in program.promises]
    roots += [part for rule in program.rules for part in (rule.base, rule.linear, rule.square)]
    stack = [v for total in roots for v, _ in total.terms]
    live: set[int] = set()
    while stack:
        value = stack.pop()
        if value == CONSTANT or value in live:
            continue
        live.add(value)
        for total in reads(program, value):
            stack.extend(v for v, _ in total.terms)
    return live


def reads(program: Program, value: int) -> list[Sum]:
    """The sums that a value is computed from."""
    match program.values[value].definition:
        case Product(gate, factor):
            return [gate, factor]
        case Total(addend) | Held(addend):
            return [addend]
        case Shape(argument, _, factor):
            return [argument, factor]
        case MeanValue(total):
            return [Sum(((total, 1),))]
        case Fetched(table, place):
            described = program.tables[table]
            stored = described.stored[place]
            return [described.query, described.key] + ([] if stored.is_key else [stored.total])
        case _:
            return []
