"""What specialised code does with a token: acts in order, in blocks that end with a choice."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler.numbers import Number
from curta.engine.native.case import Case
from curta.engine.native.events import Score
from curta.engine.native.pool import Range
from curta.engine.native.symbolic import Stored, Sum, ValueId


@dataclass(frozen=True)
class Grow:
    total: ValueId
    addend: Sum


@dataclass(frozen=True)
class File:
    owner: int
    opens: bool
    key: Sum
    members: tuple[tuple[str, Stored, Sum], ...]


@dataclass(frozen=True)
class Test:
    number: int
    total: Sum
    low: Number
    high: Number


@dataclass(frozen=True)
class Say:
    """The vertex of one rule is said."""

    rule: int
    linear: Sum
    square: Sum


@dataclass(frozen=True)
class Compare:
    """The best of several rules is said."""

    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Divide:
    """Branches by the interval that a sum is in; together they cover all that it can be."""

    on: Sum
    branches: tuple[tuple[Range, Block], ...]


@dataclass(frozen=True)
class Proceed:
    """The rest is that of a group of classes."""

    group: int


@dataclass(frozen=True)
class Insist:
    """The rest is for steps in which a table finds a row; others are left to the general code."""

    table: int


@dataclass(frozen=True)
class GiveUp:
    """The step is left to the general code, which takes the token in from the start."""


@dataclass(frozen=True)
class Next:
    """The token is taken in: the next one."""


Act = Grow | File | Test | Say | Compare | Divide | Proceed | Insist | GiveUp | Next
Acts = list[tuple[Case, Act]]


@dataclass(frozen=True)
class Block:
    """Acts in order, each with what is known at it; the last leads elsewhere or says a token."""

    acts: tuple[tuple[Case, Act], ...]
