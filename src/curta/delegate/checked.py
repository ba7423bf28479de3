"""Configurations that are checked when one is made. What a value has to be stands with its type:

batch: Count = 1
rank: Annotated[int, within(1, 64)] = 16
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from curta.errors import UserError
from curta.options import shown


class Rule(NamedTuple):
    """What a value has to be, in words, and whether one is."""

    what: str
    holds: Callable[[Any], object]


def at_least(least: int) -> Rule:
    return Rule(f"must be at least {least}", lambda value: least <= value < math.inf)


def within(low: int, high: int) -> Rule:
    return Rule(f"from {low:,} to {high:,}", lambda value: low <= value <= high)


Count = Annotated[int, at_least(1)]
Natural = Annotated[int, at_least(0)]
Positive = Annotated[float, Rule("must be above 0, and finite", lambda value: 0 < value < math.inf)]


class Checked:
    """A dataclass whose values have to follow the rules of their types."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, rule, may_be_none in rules_of(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is None and may_be_none:
                continue
            if value is None or not rule.holds(value):
                given = repr(value) if isinstance(value, str | None) else shown(value)
                raise UserError(f"{name} = {given}: {rule.what}")


@cache
def rules_of(configuration: Any) -> list[tuple[str, Rule, bool]]:
    """The rules of each field, and whether it may be None; the words of a literal are one."""
    hints, found = get_type_hints(configuration, include_extras=True), []
    for each in fields(configuration):
        for kind in (hints[each.name], *get_args(hints[each.name])):  # one of several, too
            parts = get_args(kind)
            if get_origin(kind) is Literal:
                parts = (Rule(f"one of {', '.join(parts)}", parts.__contains__),)
            may_be_none = type(None) in get_args(hints[each.name])
            found += [(each.name, part, may_be_none) for part in parts if isinstance(part, Rule)]
    return found
