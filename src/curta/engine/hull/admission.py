"""What a hull cache takes in, and how it says no.

Keys and queries are finite numbers of any size. Values are finite with |v| <= 2^900, so that no sum
of fewer than 2^63 of them overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curta.errors import HullError

LARGEST_VALUE = 2.0**900

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Columns = Sequence[Sequence[int]]
"""Which values every one of several heads reads."""


def check_points(keys: Floats, values: Floats) -> None:
    """Arrays of shape [..., width]; rows are counted through."""
    check_coordinates(keys, "key")
    _check(values, LARGEST_VALUE, "value", "holds", "finite numbers of at most 2^900 in size")


def check_coordinates(vectors: Floats, what: str) -> None:
    """The same for keys alone, or queries."""
    _check(vectors, float_info.max, what, "has the coordinate", "finite numbers")


def as_coordinates(numbers: Sequence[float], width: int, what: str) -> Floats:
    """One key or query as an array of one row."""
    row = _as_row(numbers, width, f"the {what}")
    check_coordinates(row[0], f"the {what}")
    return row


def as_point(
    key: Sequence[float], key_width: int, value: Sequence[float], value_width: int
) -> tuple[Floats, Floats]:
    """One key and its value as arrays of one row each."""
    key_row = as_coordinates(key, key_width, "key")
    value_row = _as_row(value, value_width, "the value")
    check_points(key_row, value_row[0])
    return key_row, value_row


def _check(array: Floats, largest: float, what: str, verb: str, expected: str) -> None:
    """A single vector is called by its name alone, one of several by its number, too."""
    good = np.abs(array) <= largest
    if good.all():
        return
    if array.ndim > 1:
        good = good.reshape(-1, array.shape[-1])
        row = int(np.argmin(good.all(axis=1)))
        array, good = array.reshape(good.shape)[row], good[row]
        what = f"{what} {row}"
    raise HullError(f"{what} {verb} {float(array[~good][0])!r}: expected {expected}")


def _as_row(numbers: Sequence[float], width: int, what: str) -> Floats:
    try:
        row = np.array([[float(number) for number in numbers]])
    except (TypeError, ValueError) as error:
        raise HullError(f"{what} {numbers!r} is not a sequence of numbers") from error
    if row.shape[1] != width:
        raise HullError(f"{what} {numbers!r} has {row.shape[1]} numbers: expected {width}")
    return row


def as_rows(array: ArrayLike, width: int, what: str) -> Floats:
    """An array of shape [n, width] in float64, contiguous; copied only if it is not already."""
    try:
        rows = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise HullError(f"{what} are not numbers: {error}") from error
    if rows.size == 0 and rows.ndim < 2:
        rows = rows.reshape(0, width)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise HullError(f"{what} have shape {rows.shape}: expected (n, {width})")
    return rows


def check_same_length(keys: Floats, **others: Floats) -> None:
    for name, array in others.items():
        if len(array) != len(keys):
            raise HullError(f"{len(keys)} keys, {len(array)} {name}: expected as many of each")


def empty_error() -> HullError:
    return HullError("the cache is empty, so no key has the highest score: insert before querying")
