"""Functions of Python that tests offer as tools."""

from __future__ import annotations

import os
import time
from fractions import Fraction
from typing import Literal

calls = 0


def describe(values: list[float], how: Literal["mean", "median"] = "mean") -> dict[str, float]:
    """The middle of some numbers.

    values: the numbers
    how: which middle
    """
    print("what is printed is no answer")
    middle = sorted(values)[len(values) // 2] if how == "median" else sum(values) / len(values)
    return {"middle": middle, "count": len(values)}


def third(number: int | None = None) -> Fraction:
    return Fraction(number or 1, 3)


def counted() -> int:
    global calls
    calls += 1
    return calls


def named(scores: dict[str, int]) -> list[str]:
    return sorted(scores, key=lambda name: -scores[name])


def slow() -> None:
    time.sleep(60)


def large() -> int:
    return len(bytearray(1 << 40))


def leaves() -> None:
    os._exit(3)


def strange() -> object:
    return object()


def untyped(x):  # type: ignore[no-untyped-def]
    return x


def unusual(x: complex) -> complex:
    return x


def anything(*values: int) -> int:
    return sum(values)
