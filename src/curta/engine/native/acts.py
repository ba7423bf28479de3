"""What specialised code does with a token: acts in order, in blocks that end with a choice."""

from __future__ import annotations

from dataclasses import dataclass

from curta.engine.native.case import Case
from curta.engine.native.routine import Check, Filing, Growth, Rule
from curta.engine.native.values import Bounds, Sum


@dataclass(frozen=True)
class Say:
    """The best token of one rule is said."""

    rule: Rule


@dataclass(frozen=True)
class Compare:
    """The best of several rules is said."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Divide:
    """Branches by the interval that a sum is in; together they cover all that it can be."""

    on: Sum
    branches: tuple[tuple[Bounds, Block], ...]


@dataclass(frozen=True)
class Proceed:
    """The rest is that of a group of classes."""

    group: int


@dataclass(frozen=True)
class Insist:
    """The rest is for steps in which a look-up finds a row; others are left to the general code."""

    look_up: int


@dataclass(frozen=True)
class GiveUp:
    """The step is left to the general code, which takes the token in from the start."""


@dataclass(frozen=True)
class Next:
    """The token is taken in: the next one."""


Act = Growth | Filing | Check | Say | Compare | Divide | Proceed | Insist | GiveUp | Next
Acts = list[tuple[Case, Act]]


@dataclass(frozen=True)
class Block:
    """Acts in order, each with what is known at it; the last leads elsewhere or says a token."""

    acts: tuple[tuple[Case, Act], ...]
