"""Tokens as numbers: where each family of tokens begins, and what tokens do to the counters.

Millions of tokens a second pass through the host, so whatever it has to find out about them it
finds out about whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from curta.machine.instructions import TRAPS
from curta.machine.vocabulary import (
    AT,
    AWAIT,
    DATA,
    DIGIT,
    ERRORS,
    EXIT,
    FAR,
    FAR_JUMPS,
    FIXED,
    FRAME,
    JUMPS,
    LAST,
    MORE,
    NEAR,
    OUTPUT,
    READ,
    REGISTERS,
    START,
    STORED,
    TOKENS,
    TRAP_TOKENS,
)

Ids = npt.NDArray[np.int32]

ID_OF = {token: number for number, token in enumerate(TOKENS)}
FIRST_LAST = ID_OF[LAST[0]]
FIRST_MORE = ID_OF[MORE[0]]
FIRST_JUMP = ID_OF[JUMPS[0]]
FIRST_FAR_JUMP = ID_OF[FAR_JUMPS[0]]
STORED_ID = ID_OF[STORED]
FIRST_OUTPUT = ID_OF[OUTPUT[0]]
FIRST_ERROR = ID_OF[ERRORS[0]]
READ_ID, AWAIT_ID, EXIT_ID = ID_OF[READ], ID_OF[AWAIT], ID_OF[EXIT]
FIRST_TRAP = ID_OF[TRAP_TOKENS[0]]
FIRST_OPERATION = len(FIXED)
FIRST_BYTE = ID_OF["P0"]
AT_ID = ID_OF[AT]
FIRST_DATA = ID_OF[DATA[0]]
START_ID = ID_OF[START]
REGISTERS_ID, FRAME_ID = ID_OF[REGISTERS], ID_OF[FRAME]
TRAP_IDS = range(FIRST_TRAP, FIRST_TRAP + len(TRAPS))
STOP_IDS = frozenset((READ_ID, AWAIT_ID, EXIT_ID, *TRAP_IDS))


def _ending() -> npt.NDArray[np.bool_]:
    ending = np.zeros(len(TOKENS), dtype=np.bool_)
    for family in (LAST, JUMPS, [STORED], OUTPUT, ERRORS):
        ending[[ID_OF[token] for token in family]] = True
    return ending


def _distances() -> npt.NDArray[np.int32]:
    distances = ENDING.astype(np.int32)
    distances[FIRST_JUMP : FIRST_JUMP + 2 * NEAR] = np.arange(-NEAR, NEAR)
    distances[FIRST_FAR_JUMP : FIRST_FAR_JUMP + 2 * FAR] = 2 * NEAR * np.arange(-FAR, FAR)
    return distances


ENDING = _ending()
"""For every token: does it end an instruction? (What hands over to the host is not counted.)"""
DISTANCES = _distances()
"""How far every token moves the program counter."""
ENDS = np.zeros(len(TOKENS), dtype=np.bool_)
"""For every token: is the program counter 0 after it?"""
ENDS[[EXIT_ID, *TRAP_IDS]] = True


def word_ids(word: int) -> list[int]:
    """A word as the machine itself would say it."""
    ids = [FIRST_LAST + word % DIGIT]
    while word >= DIGIT:
        word //= DIGIT
        ids.insert(0, FIRST_MORE + word % DIGIT)
    return ids


def last_words(ids: Ids, count: int) -> list[int]:
    """The last words that were said in full, the last one last."""
    found: list[int] = []
    at = len(ids) - 1
    while len(found) < count and at >= 0:
        digit = int(ids[at]) - FIRST_LAST
        at -= 1
        if not 0 <= digit < DIGIT:
            continue
        word, weight = digit, DIGIT
        while at >= 0 and 0 <= int(ids[at]) - FIRST_MORE < DIGIT:
            word += weight * (int(ids[at]) - FIRST_MORE)
            weight *= DIGIT
            at -= 1
        found.append(word)
    return found[::-1]


def segment_ids(address: int, content: bytes, address_bytes: int) -> Ids:
    """A piece of memory as part of a prompt."""
    place = np.frombuffer(address.to_bytes(address_bytes, "big"), dtype=np.uint8)
    data = np.frombuffer(content, dtype=np.uint8)
    return np.concatenate(
        [
            np.array([AT_ID], dtype=np.int32),
            place.astype(np.int32) + FIRST_BYTE,
            data.astype(np.int32) + FIRST_DATA,
        ],
        dtype=np.int32,
    )


def names(ids: Iterable[int]) -> list[str]:
    return [TOKENS[number] for number in ids]
