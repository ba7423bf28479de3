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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from curta.errors import TokenError
from curta.machine.encode import encode_jump
from curta.machine.ids import (
    AT_ID,
    DISTANCES,
    FIRST_BYTE,
    FIRST_LAST,
    FIRST_MORE,
    FRAME_ID,
    ID_OF,
    REGISTERS_ID,
    START_ID,
    Ids,
    segment_ids,
)
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.ledger import Ledger, Words
from curta.machine.loaded import LoadedProgram
from curta.machine.program import Segment
from curta.machine.prompt import decode_prompt
from curta.machine.vocabulary import ADDRESS_BYTES, DIGIT, MOST_REGISTERS

_WORD_DIGITS, _DIGIT_BITS = 3, 12
_HEAD = 1 + ADDRESS_BYTES
"""Tokens before the content of a piece."""
_APART = 16
"""Zeros between pieces, at least: fewer of them are said, which makes fewer pieces."""


@dataclass(frozen=True)
class Opening:
    """The state of a run between two instructions."""

    segments: tuple[Segment, ...]
    registers: tuple[tuple[int, Words], ...]
    frame: int = 0
    counter: int = 0


def opening_of(ledger: Ledger) -> Opening:
    """What a run has filed, and where it is."""
    segments = tuple(
        Segment(first, content.tobytes()) for first, content in _pieces(_together(ledger.memory()))
    )
    words = ledger.registers()
    parts = range(0, len(words), MOST_REGISTERS)
    registers = tuple(_pieces((at, words[at : at + MOST_REGISTERS]) for at in parts))
    return Opening(segments, registers, ledger.frame, ledger.counter)


def _together(
    pages: Sequence[tuple[int, bytes]],
) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Pages that lie one behind the other, as one."""
    run: list[bytes] = []
    first = end = 0
    for address, content in pages:
        if run and address != end:
            yield first, np.frombuffer(b"".join(run), np.uint8)
            run = []
        if not run:
            first = address
        run.append(content)
        end = address + len(content)
    if run:
        yield first, np.frombuffer(b"".join(run), np.uint8)


def _pieces(stretches: Iterable[tuple[int, npt.NDArray[Any]]]) -> Iterator[tuple[int, Any]]:
    """What is not 0, in pieces that are far enough apart."""
    for first, content in stretches:
        places = np.flatnonzero(content)
        if not len(places):
            continue
        gaps = np.flatnonzero(np.diff(places) > _APART)
        starts = places[np.concatenate([[0], gaps + 1])]
        ends = places[np.concatenate([gaps, [len(places) - 1]])] + 1
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield first + start, content[start:end]


def opening_ids(program: LoadedProgram, opening: Opening) -> Ids:
    """The tokens that a chapter begins with."""
    parts = [] if program.baked else [program.records]
    parts += [
        segment_ids(segment.address, segment.content, ADDRESS_BYTES) for segment in opening.segments
    ]
    for first, words in opening.registers:
        parts += [_head(REGISTERS_ID, first), _words_said(words), _jump(-len(words))]
    parts.append(np.array([START_ID], dtype=np.int32))
    left = opening.frame
    while left:
        step = min(left, LARGEST_FRAME)
        parts.append(_head(FRAME_ID, step))
        left -= step
    return np.concatenate([*parts, _jump(opening.counter)], dtype=np.int32)


def _jump(distance: int) -> Ids:
    return np.array([ID_OF[token] for token in encode_jump(distance)], dtype=np.int32)


def _head(mark: int, number: int) -> Ids:
    content = np.frombuffer(number.to_bytes(ADDRESS_BYTES, "big"), np.uint8)
    return np.concatenate([[mark], content.astype(np.int32) + FIRST_BYTE], dtype=np.int32)


def _words_said(words: Words) -> Ids:
    """Words in digits, as few as each of them needs."""
    high, middle, low = (words >> _DIGIT_BITS * place & DIGIT - 1 for place in (2, 1, 0))
    digits = np.stack([high + FIRST_MORE, middle + FIRST_MORE, low + FIRST_LAST], axis=1)
    needed = np.stack([words >= DIGIT**2, words >= DIGIT, words >= 0], axis=1)
    said: Ids = digits[needed].astype(np.int32)
    return said


def restore(ledger: Ledger, opening: Opening, instructions: int = 0, own_at: int = -1) -> None:
    """Have a ledger hold this state; it held none before."""
    for segment in opening.segments:
        ledger.give(segment)
    for first, words in opening.registers:
        ledger.set_registers(first, words)
    ledger.put(opening.counter, opening.frame, instructions, own_at)


def split_opening(ids: Ids) -> tuple[Ids, Opening]:
    """A chapter's opening as an ordinary prompt, and what else it says; a TokenError if it is none.
    The segments are in the prompt.
    """
    starts = np.flatnonzero(ids == START_ID)
    if len(starts) != 1:
        raise TokenError("an opening has one token that begins a run")
    (start,) = starts.tolist()
    marks = np.flatnonzero((ids[:start] == AT_ID) | (ids[:start] == REGISTERS_ID))
    pieces = np.split(ids[: start + 1], np.append(marks, start))
    prompt = [piece for piece in pieces if len(piece) and piece[0] != REGISTERS_ID]
    registers = [_registers(piece) for piece in pieces if len(piece) and piece[0] == REGISTERS_ID]
    frame, rest = 0, ids[start + 1 :]
    while len(rest) and rest[0] == FRAME_ID:
        frame, rest = frame + _number(rest), rest[_HEAD:]
    return np.concatenate(prompt), Opening((), tuple(registers), frame, int(DISTANCES[rest].sum()))


def decode_opening(program: LoadedProgram, ids: Ids) -> Opening:
    """The inverse of `opening_ids`; a TokenError for anything that it does not say."""
    prompt, opening = split_opening(ids)
    segments = decode_prompt(prompt[0 if program.baked else len(program.records) :]).segments
    opening = replace(opening, segments=segments)
    if not np.array_equal(opening_ids(program, opening), ids):
        raise TokenError("an opening says something in another way than openings do")
    return opening


def _number(ids: Ids) -> int:
    content = ids[1:_HEAD] - FIRST_BYTE
    if len(content) != ADDRESS_BYTES or not ((content >= 0) & (content < 256)).all():
        raise TokenError("an opening has a number with a token out of place")
    return int.from_bytes(content.astype(np.uint8).tobytes(), "big")


def _registers(ids: Ids) -> tuple[int, Words]:
    """Where registers begin, and their words: one ends with each last digit."""
    first, said = _number(ids), ids[_HEAD:]
    ends = np.flatnonzero((said >= FIRST_LAST) & (said < FIRST_LAST + DIGIT))
    said = said[: ends[-1] + 1 if len(ends) else 0]  # a jump follows
    lengths = np.diff(ends, prepend=-1)
    digits = np.where(said < FIRST_LAST + DIGIT, said - FIRST_LAST, said - FIRST_MORE)
    if not len(ends) or lengths.max() > _WORD_DIGITS:
        raise TokenError("an opening has a register whose word is not complete")
    words = digits[ends].astype(np.int64)
    for place in range(1, _WORD_DIGITS):
        before = digits[np.maximum(ends - place, 0)].astype(np.int64)
        words += np.where(lengths > place, before << _DIGIT_BITS * place, 0)
    return first, words.astype(np.uint32)
