"""What a hull cache takes in, and how it says no.

Keys and queries are finite numbers of any size. Values are finite with |v| <= 2^900, so that no sum
of fewer than 2^63 of them overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curta.errors import HullError

LARGEST_VALUE = 2.0**900

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]
Columns = Sequence[Sequence[int]]
"""Which values every one of several heads reads."""


def check_coordinates(numbers: Sequence[float], what: str) -> None:
    for number in numbers:
        if not math.isfinite(number):
            raise HullError(_coordinate_message(number, what))


def check_values(numbers: Sequence[float]) -> None:
    for number in numbers:
        if not abs(number) <= LARGEST_VALUE:
            raise HullError(_value_message(number))


def check_points(keys: Floats, values: Floats) -> None:
    """Arrays of shape [..., width]; rows are counted through."""
    _check_coordinate_array(keys.reshape(-1, keys.shape[-1]), "key")
    _check_value_array(values.reshape(-1, values.shape[-1]))


def check_queries(queries: Floats) -> None:
    _check_coordinate_array(queries.reshape(-1, queries.shape[-1]), "query")


def _check_coordinate_array(array: Floats, what: str) -> None:
    good = np.isfinite(array)
    if not good.all():
        row = int(np.argmin(good.all(axis=1)))
        bad = array[row][~good[row]][0]
        raise HullError(_coordinate_message(float(bad), f"{what} {row}"))


def _check_value_array(array: Floats) -> None:
    good = np.abs(array) <= LARGEST_VALUE
    if not good.all():
        row = int(np.argmin(good.all(axis=1)))
        raise HullError(_value_message(float(array[row][~good[row]][0]), f" {row}"))


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


def as_numbers(numbers: Sequence[float], width: int, what: str) -> tuple[float, ...]:
    """One key, value or query as `width` floats."""
    try:
        floats = tuple(float(number) for number in numbers)
    except (TypeError, ValueError) as error:
        raise HullError(f"{what} {numbers!r} is not a sequence of numbers") from error
    if len(floats) != width:
        raise HullError(f"{what} {numbers!r} has {len(floats)} numbers: expected {width}")
    return floats


def check_same_length(**rows: Floats) -> None:
    lengths = {name: len(array) for name, array in rows.items()}
    if len(set(lengths.values())) > 1:
        described = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise HullError(f"{described}: expected as many of each")


def empty_error() -> HullError:
    return HullError("the cache is empty, so no key has the highest score: insert before querying")


def _coordinate_message(number: float, what: str) -> str:
    return f"{what} has the coordinate {number!r}: expected finite numbers"


def _value_message(number: float, where: str = "") -> str:
    return f"value{where} holds {number!r}: expected finite numbers of at most 2^900 in size"
