"""The program as its prompt says it: tokens in, instructions and bytes in memory out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from curta.errors import TokenError
from curta.machine.core_program import CoreProgram, Segment
from curta.machine.ids import AT_ID, FIRST_BYTE, FIRST_DATA, FIRST_OPERATION, START_ID, Ids
from curta.machine.instructions import OPERATIONS, CoreInstruction
from curta.machine.vocabulary import ADDRESS_BYTES, FIELDS, RECORD


def decode_prompt(ids: Ids, operations: Sequence[str] = OPERATIONS) -> CoreProgram:
    """The program without names: the inverse of `LoadedProgram.prompt`."""
    marks = np.flatnonzero((ids == AT_ID) | (ids == START_ID))
    if not len(marks) or marks[-1] != len(ids) - 1 or ids[-1] != START_ID:
        raise TokenError("the prompt does not end with the token that begins a run")
    if marks[0] % RECORD:
        raise TokenError("the prompt has an instruction that is not complete")
    records = ids[: marks[0]].reshape(-1, RECORD)
    segments = [_segment(ids[first + 1 : after]) for first, after in pairwise(marks)]
    return CoreProgram(tuple(_instructions(records, operations)), tuple(segments))


def _instructions(records: Ids, operations: Sequence[str]) -> list[CoreInstruction]:
    numbers = records[:, 0] - FIRST_OPERATION
    operands = records[:, 1:] - FIRST_BYTE
    if len(records) and not (
        (numbers >= 0).all()
        and (numbers < 2 * len(operations)).all()
        and (operands >= 0).all()
        and (operands < 256).all()
    ):
        raise TokenError("the prompt has an instruction with a token out of place")
    columns, at = {}, 0
    for name, size in FIELDS.items():
        weights = 256 ** np.arange(size - 1, -1, -1, dtype=np.int64)
        columns[name] = (operands[:, at : at + size] @ weights).tolist()
        at += size
    names = [operations[number % len(operations)] for number in numbers.tolist()]
    immediate = (numbers >= len(operations)).tolist()
    return [
        CoreInstruction(name, a, None if constant else b, c, d, value, target)
        for name, constant, a, b, c, d, value, target in zip(
            names, immediate, *(columns[name] for name in FIELDS), strict=True
        )
    ]


def _segment(ids: Ids) -> Segment:
    address = ids[:ADDRESS_BYTES] - FIRST_BYTE
    content = ids[ADDRESS_BYTES:] - FIRST_DATA
    for part in (address, content):
        if len(part) and not ((part >= 0).all() and (part < 256).all()):
            raise TokenError("the prompt has a segment with a token out of place")
    place = int.from_bytes(bytes(address.astype(np.uint8)), "big")
    return Segment(place, bytes(content.astype(np.uint8)))
