"""What a hull cache takes in, and how it says no.

Keys and queries are finite numbers of any size. Values are finite with |v| <= 2^900, so that no sum
of fewer than 2^63 of them overflows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curta.errors import HullError

LARGEST_VALUE = 2.0**900

Array = NDArray[Any]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Columns = Sequence[Sequence[int]]
"""Which values every one of several heads reads."""


def check_steps(arrays: Mapping[str, Array], heads: int = 1) -> None:
    """Arrays [..., width] of keys, values and the queries of all heads; those that there are."""
    if "keys" in arrays:
        _check(arrays["keys"], float_info.max, "key")
        _check(arrays["values"], LARGEST_VALUE, "value")
    if "queries" in arrays:
        *shape, width = arrays["queries"].shape
        apart = arrays["queries"].reshape(*shape, heads, width // max(heads, 1))
        _check(apart, float_info.max, "query")


def check_point(key: Sequence[float], dimension: int, value: Sequence[float], width: int) -> None:
    _check(_as_row(key, dimension, "the key"), float_info.max, "the key")
    _check(_as_row(value, width, "the value"), LARGEST_VALUE, "the value")


def check_query(query: Sequence[float], dimension: int) -> None:
    _check(_as_row(query, dimension, "the query"), float_info.max, "the query")


def _check(array: Array, largest: float, what: str) -> None:
    """A single vector is called by its name alone, one of several by its number, too."""
    good = np.abs(array) <= largest
    if good.all():
        return
    if array.ndim > 1:
        good = good.reshape(-1, array.shape[-1])
        row = int(np.argmin(good.all(axis=1)))
        array, good = array.reshape(good.shape)[row], good[row]
        what = f"{what} {row}"
    has, expected = "has the coordinate", "finite numbers"
    if largest == LARGEST_VALUE:
        has, expected = "holds", "finite numbers of at most 2^900 in size"
    raise HullError(f"{what} {has} {float(array[~good][0])!r}: expected {expected}")


def _as_row(numbers: Sequence[float], width: int, what: str) -> Floats:
    try:
        if any(isinstance(number, str | bytes | bytearray) for number in numbers):
            raise TypeError("float() would take text, too")
        row = np.array([float(number) for number in numbers])
    except (TypeError, ValueError, OverflowError) as error:
        raise HullError(f"{what} {numbers!r} is not a sequence of numbers") from error
    if len(row) != width:
        raise HullError(f"{what} {numbers!r} has {len(row)} numbers: expected {width}")
    return row


def as_rows(array: ArrayLike, width: int, what: str) -> Floats:
    """An array of shape [n, width] in float64, contiguous; copied only if it is not already."""
    try:
        rows = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise HullError(f"{what} are not numbers: {error}") from error
    if rows.size == 0 and rows.ndim < 2:
        rows = rows.reshape(0, width)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise HullError(f"{what} have shape {rows.shape}: expected (n, {width})")
    return rows


def empty_error() -> HullError:
    return HullError("the cache is empty, so no key has the highest score: insert before querying")
