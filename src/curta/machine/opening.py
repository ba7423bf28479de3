"""How a chapter begins: the state of a run, said again.

    memory      `at`, five bytes of an address, and bytes that lie from there on
    registers   `registers`, five bytes of a number, and words from that one on; a jump back, as
                words move the program counter on
    `start`
    frame       `frame` and five bytes, as often as it takes
    counter     a jump from instruction 0

Before all that stands the program, unless it is in the weights. What is 0 is left out where that
saves tokens: memory and registers that were never written hold 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError
from curta.machine.extents import Extents, Places, extents_in, in_turn, taken_apart
from curta.machine.ids import (
    AT_ID,
    DISTANCES,
    FIRST_BYTE,
    FIRST_DATA,
    FIRST_FAR_JUMP,
    FIRST_JUMP,
    FIRST_LAST,
    FIRST_MORE,
    FRAME_ID,
    REGISTERS_ID,
    START_ID,
    Ids,
)
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.ledger import Ledger, Words
from curta.machine.loaded import LoadedProgram
from curta.machine.vocabulary import ADDRESS_BYTES, DIGIT, FAR, MOST_REGISTERS, NEAR, WORD_DIGITS

_DIGIT_BITS = 12
_HEAD = 1 + ADDRESS_BYTES
"""Tokens before the content of a piece."""
_APART, _APART_REGISTERS = _HEAD, _HEAD + 1
"""So many zeros between extents are said, as a head (and behind registers a jump) is as long."""


@dataclass(frozen=True)
class Opening:
    """The state of a run between two instructions."""

    memory: Extents
    registers: Extents
    frame: int = 0
    counter: int = 0


def opening_of(ledger: Ledger) -> Opening:
    """What a run has filed, and where it is."""
    registers = extents_in(ledger.registers(), _APART_REGISTERS, MOST_REGISTERS)
    return Opening(ledger.memory(_APART), registers, ledger.frame, ledger.counter)


def opening_ids(program: LoadedProgram, opening: Opening) -> Ids:
    """The tokens that a chapter begins with."""
    parts = [] if program.baked else [program.records]
    parts += [_memory_said(opening.memory), _registers_said(opening.registers)]
    parts.append(np.array([START_ID], dtype=np.int32))
    left = opening.frame
    while left:
        step = min(left, LARGEST_FRAME)
        parts.append(_heads(FRAME_ID, np.array([step])))
        left -= step
    jump, _ = _jumps(np.array([opening.counter]))
    return np.concatenate([*parts, jump], dtype=np.int32)


def _memory_said(extents: Extents) -> Ids:
    heads = _heads(AT_ID, extents.firsts), np.full(len(extents), _HEAD)
    return in_turn(heads, (extents.content.astype(np.int32) + FIRST_DATA, extents.lengths))


def _registers_said(extents: Extents) -> Ids:
    heads = _heads(REGISTERS_ID, extents.firsts), np.full(len(extents), _HEAD)
    said, digits = _words_said(extents.content)
    before = np.append(0, np.cumsum(digits))
    ends = np.cumsum(extents.lengths)
    lengths = before[ends] - before[ends - extents.lengths]
    return in_turn(heads, (said, lengths), _jumps(-extents.lengths))


def _heads(mark: int, numbers: Places) -> Ids:
    """Marks, each with the bytes of a number."""
    heads = np.full((len(numbers), _HEAD), mark, dtype=np.int32)
    for place in range(1, _HEAD):
        heads[:, place] = (numbers >> 8 * (ADDRESS_BYTES - place) & 255) + FIRST_BYTE
    return heads.ravel()


def _words_said(words: Words) -> tuple[Ids, Places]:
    """Words in digits, as few as each of them needs; how many."""
    high, middle, low = (words >> _DIGIT_BITS * place & DIGIT - 1 for place in (2, 1, 0))
    digits = np.stack([high + FIRST_MORE, middle + FIRST_MORE, low + FIRST_LAST], axis=1)
    needed = np.stack([words >= DIGIT**2, words >= DIGIT, words >= 0], axis=1)
    return digits[needed].astype(np.int32), needed.sum(axis=1)


def _jumps(distances: Places) -> tuple[Ids, Places]:
    """Jumps, of a token or two; how many."""
    far = (distances + NEAR) // (2 * NEAR)
    near = distances - 2 * NEAR * far
    tokens = np.stack([FIRST_FAR_JUMP + FAR + far, FIRST_JUMP + NEAR + near], axis=1)
    needed = np.stack([far != 0, far == far], axis=1)
    return tokens[needed].astype(np.int32), needed.sum(axis=1)


def restore(ledger: Ledger, opening: Opening, instructions: int = 0, own_at: int = -1) -> None:
    """Have a ledger hold this state; it held none before."""
    ledger.fill(opening.memory, opening.registers)
    ledger.put(opening.counter, opening.frame, instructions, own_at)


def split_opening(ids: Ids) -> tuple[Ids, Opening]:
    """The program that an opening or a prompt says, and the rest; a TokenError if it is none."""
    starts = np.flatnonzero(ids == START_ID)
    if len(starts) != 1:
        raise TokenError("an opening has one token that begins a run")
    (start,) = starts.tolist()
    marks = np.flatnonzero((ids[:start] == AT_ID) | (ids[:start] == REGISTERS_ID))
    first = int(marks[0]) if len(marks) else start
    sizes = np.diff(marks, append=start)
    if len(sizes) and sizes.min() < _HEAD:
        raise TokenError("an opening has a number that is not complete")
    is_memory = ids[marks] == AT_ID
    heads, content, said = taken_apart(
        ids[first:start],
        np.full(len(marks), _HEAD),
        np.where(is_memory, sizes - _HEAD, 0),
        np.where(is_memory, 0, sizes - _HEAD),
    )
    numbers = _numbers(heads)
    memory = Extents(numbers[is_memory], sizes[is_memory] - _HEAD, _bytes(content, FIRST_DATA))
    registers = _registers(numbers[~is_memory], sizes[~is_memory] - _HEAD, said)
    frame, rest = 0, ids[start + 1 :]
    while len(rest) and rest[0] == FRAME_ID:
        frame, rest = frame + int(_numbers(rest[:_HEAD])[0]), rest[_HEAD:]
    return ids[:first], Opening(memory, registers, frame, int(DISTANCES[rest].sum()))


def decode_opening(program: LoadedProgram, ids: Ids) -> Opening:
    """The inverse of `opening_ids`; a TokenError for anything that it does not say."""
    _, opening = split_opening(ids)
    if not np.array_equal(opening_ids(program, opening), ids):
        raise TokenError("an opening says something in another way than openings do")
    return opening


def _bytes(ids: Ids, first: int) -> npt.NDArray[np.uint8]:
    found = ids - first
    if len(found) and not 0 <= found.min() <= found.max() < 256:
        raise TokenError("an opening has a byte with a token out of place")
    return found.astype(np.uint8)


def _numbers(heads: Ids) -> Places:
    if len(heads) % _HEAD:
        raise TokenError("an opening has a number that is not complete")
    content = heads.reshape(-1, _HEAD)[:, 1:]
    digits = _bytes(content, FIRST_BYTE)
    numbers = np.zeros(len(content), dtype=np.int64)
    for place in range(ADDRESS_BYTES):
        numbers = numbers << 8 | digits[:, place]
    return numbers


def _registers(firsts: Places, sizes: Places, ids: Ids) -> Extents:
    """Where registers begin, and their words: one ends with each last digit, and a jump follows."""
    is_last = (ids >= FIRST_LAST) & (ids < FIRST_LAST + DIGIT)
    is_more = (ids >= FIRST_MORE) & (ids < FIRST_MORE + DIGIT)
    before = np.append(0, np.cumsum(is_last))
    ends = np.cumsum(sizes)
    counts = before[ends] - before[ends - sizes]
    ids, is_last = ids[is_last | is_more], is_last[is_last | is_more]
    places = np.flatnonzero(is_last)
    lengths = np.diff(places, prepend=-1)
    if lengths.sum() != len(ids) or lengths.max(initial=1) > WORD_DIGITS:
        raise TokenError("an opening has a register whose word is not complete")
    digits = np.where(is_last, ids - FIRST_LAST, ids - FIRST_MORE).astype(np.int64)
    words = digits[places]
    for place in range(1, WORD_DIGITS):
        higher = digits[np.maximum(places - place, 0)] << _DIGIT_BITS * place
        words += np.where(lengths > place, higher, 0)
    return Extents(firsts, counts, words.astype(np.uint32))
