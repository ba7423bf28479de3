"""Faults in the tables of the lowering: rows of the rules, and what instructions are lowered by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from curta.machine.instructions import COMPARISONS
from curta.machine.lower import conditions, flat, rules, translate
from curta.machine.lower.rules import INVERTED, RULES, SWAPPED, WIDE, Rule, Term
from tests.machine.faults.fault import Fault
from tests.machine.faults.source_faults import SIBLINGS

KIND = "rule"


def rule_faults(random: Random, number: int) -> Iterator[Fault]:
    """Two faults of every row at most, drawn; then those of the tables."""
    drawn: list[tuple[int, Rule]] = []
    for at, row in enumerate(RULES):
        changed = list(_changed_rules(row))
        drawn += [(at, rule) for rule in random.sample(changed, min(2, len(changed)))]
    for at, rule in random.sample(drawn, min(number, len(drawn))):
        yield Fault(KIND, f"row {at}: {_shown(RULES[at])}  ->  {_shown(rule)}", _planted(at, rule))


def row_fired(names: set[int]) -> object:
    """For the record of which rows are used: stands in for the function that finds them."""
    inner = rules._possible

    def possible(operation: str, kinds: tuple[str, ...]) -> tuple[Rule, ...]:
        found = inner(operation, kinds)
        names.update(RULES.index(rule) for rule in found)
        return found

    return possible


def row_of(fault: Fault) -> int:
    """The number of the row that is changed."""
    return int(fault.name.split()[1].rstrip(":"))


def _shown(rule: Rule) -> str:
    when = "" if rule.when == 1 else f" when {_told(rule.when)}"
    return f"{_told((rule.operation, *rule.sources))} = {_told(rule.result)}{when}"


def _told(term: Term) -> str:
    if isinstance(term, tuple):
        return f"({' '.join(_told(part) for part in term)})"
    return hex(term) if isinstance(term, int) and term > 99 else str(term)


def _changed_rules(rule: Rule) -> Iterator[Rule]:
    for result in _changed_terms(rule.result, _names(rule.sources)):
        yield rule._replace(result=result)
    if rule.when != 1:
        yield rule._replace(when=1)
        for when in _changed_terms(rule.when, set()):
            yield rule._replace(when=when)
    if rule.when == 1:
        for at, source in enumerate(rule.sources):
            if isinstance(source, int):
                sources = (*rule.sources[:at], source ^ 1, *rule.sources[at + 1 :])
                yield rule._replace(sources=sources)


def _names(term: Term) -> set[str]:
    if isinstance(term, tuple):
        return set().union(*(_names(part) for part in term))
    return {term} if isinstance(term, str) and len(term) == 1 else set()


def _changed_terms(term: Term, names: set[str]) -> Iterator[Term]:
    """A term with one of its parts replaced."""
    if isinstance(term, int):
        yield from {(term + 1) % (1 << 32), term ^ 1 << 31}
    elif isinstance(term, str):
        yield from sorted(names - {term})
        if not names - {term}:
            yield 0
    else:
        name, *sources = term
        assert isinstance(name, str)
        bare = name.removeprefix(WIDE)
        if bare in SIBLINGS:
            yield (name[: len(name) - len(bare)] + SIBLINGS[bare], *sources)
        if len(sources) > 1 and sources[0] != sources[1]:
            yield (name, sources[1], sources[0], *sources[2:])
        for at, source in enumerate(sources):
            for changed in _changed_terms(source, names):
                yield (name, *sources[:at], changed, *sources[at + 1 :])


def _planted(at: int, rule: Rule):  # type: ignore[no-untyped-def]
    return partial(_with_rules, (*RULES[:at], rule, *RULES[at + 1 :]))


@contextmanager
def _with_rules(table: tuple[Rule, ...]) -> Iterator[None]:
    before = rules.RULES
    rules.RULES = table
    rules._possible.cache_clear()
    try:
        yield
    finally:
        rules.RULES = before
        rules._possible.cache_clear()


# -- other tables ---------------------------------------------------------------------------------


def table_faults(random: Random, number: int) -> Iterator[Fault]:
    """An entry of a table is its neighbour's."""
    entries = [
        *(("SWAPPED", SWAPPED, name, f"l{name[1:]}") for name in SWAPPED if name[0] == "g"),
        *(("INVERTED", INVERTED, name, SWAPPED[name]) for name in COMPARISONS),
        *(("flat.INVERTED", flat.INVERTED, f"jump_{n}", f"jump_{SWAPPED[n]}") for n in COMPARISONS),
    ]
    simple = translate.INSTRUCTIONS
    for one in sorted(simple):
        type_, _, name = one.partition(".")
        other = f"{type_}.{_sibling(name)}"
        if other in simple and other != one:
            entries.append(("instructions", simple, one, other))
    for told, table, one, other in random.sample(entries, min(number, len(entries))):
        value = table[other] if told == "instructions" else other
        if table[one] != value:
            fault = f"{told}: {one} is lowered as {other}"
            yield Fault("table", fault, partial(_with_entry, table, one, value))


_OTHER = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "nearest": "trunc"}


def _sibling(name: str) -> str:
    name_of = {**_OTHER, "lt": "le", "gt": "ge", "le": "lt", "ge": "gt", "eqz": "eqz"}
    if name.startswith(("load", "store")):
        return _other_access(name)
    return name_of.get(name) or SIBLINGS.get(name, name)


def _other_access(name: str) -> str:
    if name.endswith(("_u", "_s")):
        return f"{name[:-1]}{'s' if name[-1] == 'u' else 'u'}"
    return {"store": "store16", "store8": "store16", "store16": "store8"}.get(name, "load8_u")


@contextmanager
def _with_entry(table: dict[str, object], name: str, value: object) -> Iterator[None]:
    before = table[name]
    table[name] = value
    try:
        yield
    finally:
        table[name] = before


assert conditions.INVERTED is INVERTED  # one table, however it is imported
