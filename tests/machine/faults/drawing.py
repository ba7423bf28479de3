"""Draws faults: as many of each kind as are asked for, the same ones for the same seed.

A fault in a function of the lowering is only looked at in programs whose lowering calls that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from random import Random
from types import FrameType, ModuleType

from curta.machine.lower import rules
from tests.machine.faults.code_faults import code_fault
from tests.machine.faults.fault import Fault, replaced_attribute
from tests.machine.faults.judging import Judge, lowered
from tests.machine.faults.pass_faults import pass_faults
from tests.machine.faults.program_faults import program_fault
from tests.machine.faults.rule_faults import row_fired, row_of, rule_faults, table_faults
from tests.machine.faults.source_faults import Spot, count_changes, functions_of, source_fault

_PACKAGE = "curta.machine.lower"
SOURCES = {
    "source of numbers": ("numbers", "conditions", "rules", "operations"),
    "source of translation": ("builder", "control", "translate", "effects"),
    "source of passes": ("drop", "simplify", "late", "inline", "tails"),
    "source of registers": ("registers", "conflicts"),
    "source of lines": ("emit", "flat", "place", "order"),
    "source of programs": ("beginning", "context"),
}
"""Kinds of faults, and the modules whose functions they are in."""


@dataclass(frozen=True)
class Plan:
    """How many faults of each kind."""

    rules: int = 90
    tables: int = 50
    sources: int = 24
    """In each group of modules."""
    hand: int = 200
    between: int = 120
    programs: int = 200


@dataclass
class Coverage:
    """Which programs use a row of the rules, and which call a function, by its code's place."""

    rows: dict[int, set[str]] = field(default_factory=dict)
    functions: dict[tuple[str, int], set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: Judge) -> Coverage:
        coverage = cls()
        for right in judge.rights:
            name = right.program.name
            rows: set[int] = set()
            calls: set[tuple[str, int]] = set()
            rules._possible.cache_clear()
            with replaced_attribute(rules, "_possible", row_fired(rows)), _noted(calls):
                lowered(right.program, [])
            for row in rows:
                coverage.rows.setdefault(row, set()).add(name)
            for place in calls:
                coverage.functions.setdefault(place, set()).add(name)
        return coverage

    def called(self, module: ModuleType, function: str) -> frozenset[str]:
        code = functions_of(module)[function].__code__
        return frozenset(self.functions.get((code.co_filename, code.co_firstlineno), ()))


@contextmanager
def _noted(calls: set[tuple[str, int]]) -> Iterator[None]:
    """Note where the functions stand that are called."""

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            calls.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def draw_faults(judge: Judge, plan: Plan, seed: int) -> Iterator[Fault]:
    """All kinds, one after another."""
    coverage = Coverage.of(judge)
    yield from _program_faults(judge, plan.programs, Random(f"programs {seed}"))
    yield from _code_faults(judge, plan.between, Random(f"between {seed}"))
    for fault in rule_faults(Random(f"rules {seed}"), plan.rules):
        programs = coverage.rows.get(row_of(fault), set())
        if programs:
            yield replace(fault, programs=frozenset(programs))
    yield from table_faults(Random(f"tables {seed}"), plan.tables)
    by_hand = list(pass_faults())
    yield from Random(f"hand {seed}").sample(by_hand, min(plan.hand, len(by_hand)))
    for kind, names in SOURCES.items():
        yield from _source_faults(kind, names, coverage, plan.sources, Random(f"{kind} {seed}"))


def _program_faults(judge: Judge, number: int, random: Random) -> Iterator[Fault]:
    for _ in range(number):
        yield program_fault(random.choice(judge.rights), random)


def _code_faults(judge: Judge, number: int, random: Random) -> Iterator[Fault]:
    for _ in range(number):
        right = random.choice(judge.rights)
        callees = sorted(right.core.claims.functions)[1:]
        callees = [callee for callee in callees if callee[0] != "entries"]
        yield code_fault(right.program, random.choice(callees), random)


def _source_faults(
    kind: str, names: Sequence[str], coverage: Coverage, number: int, random: Random
) -> Iterator[Fault]:
    """As many in each module, and those in functions that are called."""
    spots = []
    for name in names:
        module = import_module(f"{_PACKAGE}.{name}")
        found = [
            (Spot(module, function, at), programs)
            for function in functions_of(module)
            if (programs := coverage.called(module, function))
            for at in range(count_changes(module, function))
        ]
        spots += random.sample(found, min(len(found), -(-number // len(names))))
    for spot, programs in random.sample(spots, min(number, len(spots))):
        yield replace(source_fault(kind, spot), programs=programs)
