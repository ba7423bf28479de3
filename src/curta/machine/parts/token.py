"""What a token is by itself, and together with those just before it.

A step that is not over has left digits: M of a word, Q of a quotient, or S, which ends a quotient
that is not the result itself. They are found by looking back as far as they go on without a gap.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, at_most, back, both
from curta.machine.instructions import WORD
from curta.machine.parts.words import from_digits
from curta.machine.vocabulary import (
    ADDRESS_BYTES,
    BYTES,
    DIGIT,
    ERRORS,
    EXIT,
    FAR,
    FAR_JUMPS,
    JUMPS,
    LAST,
    MORE,
    NEAR,
    OUTPUT,
    QUOTIENT_DIGIT,
    QUOTIENT_LAST,
    QUOTIENT_MORE,
    QUOTIENT_NEGATIVE,
    QUOTIENT_SCRATCH,
    START,
    STORED,
    TRAP_TOKENS,
)

WORD_DIGITS = 3
QUOTIENT_DIGITS = 4
"""Of a word; in base 256."""


@dataclass(frozen=True)
class Token:
    """Features of the token that is here, and of those just before it."""

    ends_word: Node
    """1 on the last digit of a word that goes to a register."""
    word: Node
    """The word that ends here."""
    is_jump: Node
    step: Node
    """What the token adds to the program counter."""
    far: Node
    """The part of that which belongs to an unfinished jump."""
    far_before: Node
    """The same of the token before."""
    ends_run: Node
    """1 where the machine begins anew."""
    digits: tuple[Node, ...]
    """Digits of the unfinished word, the newest first: the digit plus 1, or 0 if there is none."""
    quotient: tuple[Node, ...]
    """The same of the unfinished quotient."""
    scratch: tuple[Node, ...]
    """The digits of the latest quotient that was said for its remainder, the lowest first."""
    number: Node
    """What the five bytes P say that end here."""
    is_remainder: Node
    """1 if the quotient is complete and digits of the remainder come next."""


def token_parts(graph: Graph) -> Token:
    far = {name: 2 * NEAR * h for h, name in enumerate(FAR_JUMPS, start=-FAR)}
    jump = {name: d for d, name in enumerate(JUMPS, start=-NEAR)}
    over = [*LAST, *QUOTIENT_LAST, *QUOTIENT_NEGATIVE, STORED, *OUTPUT, *ERRORS]
    unfinished = graph.feature("unfinished far jump", far)
    more = graph.feature("digit with more to come", _numbered(MORE, first=1))
    quotient_more = graph.feature("quotient digit, more", _numbered(QUOTIENT_MORE, first=1))
    words = _chain(more, WORD_DIGITS)
    quotients = _chain(quotient_more, QUOTIENT_DIGITS)
    byte = graph.feature("byte", _numbered(BYTES))
    is_scratch = graph.is_token(*QUOTIENT_SCRATCH).named("ends a scratch quotient")
    return Token(
        ends_word=graph.is_token(*LAST, *QUOTIENT_LAST, *QUOTIENT_NEGATIVE).named("ends a word"),
        word=_word(graph, words) + _quotient(graph, quotients),
        is_jump=graph.is_token(*JUMPS).named("is a jump"),
        step=graph.feature("step", {**dict.fromkeys(over, 1), **jump, **far}),
        far=unfinished,
        far_before=back(1, unfinished),
        ends_run=graph.is_token(START, EXIT, *TRAP_TOKENS).named("ends the run"),
        digits=_unbroken(words[: WORD_DIGITS - 1]),
        quotient=_unbroken(quotients[: QUOTIENT_DIGITS - 1]),
        scratch=_scratch(graph, is_scratch, quotients),
        number=from_digits([back(n, byte) for n in range(ADDRESS_BYTES)], 256),
        is_remainder=_after(is_scratch, words),
    )


def _numbered(names: list[str], first: int = 0) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=first)}


def _chain(mark: Node, length: int) -> list[Node]:
    """The mark here and 1, 2, ... tokens ago."""
    return [mark, *(back(distance, mark) for distance in range(1, length))]


def _unbroken(marks: list[Node]) -> tuple[Node, ...]:
    """Each mark, if none that is nearer is missing."""
    kept: list[Node] = []
    for mark in marks:
        kept.append(mark.graph.gate(at_least(kept[-1], 1), mark) if kept else mark)
    return tuple(kept)


def _above(marks: list[Node], base: int) -> Node:
    """What the digits before this one stand for, in units of this one's place."""
    return sum(
        (
            base**place * (mark - at_least(mark, 1))
            for place, mark in enumerate(_unbroken(marks[1:]), start=1)
        ),
        marks[0].graph.constant(0),
    )


def _word(graph: Graph, marks: list[Node]) -> Node:
    last = graph.feature("last digit", _numbered(LAST))
    return last + graph.gate(graph.is_token(*LAST), _above(marks, DIGIT))


def _quotient(graph: Graph, marks: list[Node]) -> Node:
    """The quotient that ends here; of a negative one the word that stands for it."""
    above = _above(marks, QUOTIENT_DIGIT)
    last = graph.feature("last digit of a quotient", _numbered(QUOTIENT_LAST))
    minus = graph.feature("last digit of a negative quotient", _numbered(QUOTIENT_NEGATIVE))
    is_minus = graph.is_token(*QUOTIENT_NEGATIVE)
    size = minus + graph.gate(is_minus, above)
    positive = last + graph.gate(graph.is_token(*QUOTIENT_LAST), above)
    return positive + WORD * (1 - at_most(size, 0)) - size


def _scratch(graph: Graph, is_scratch: Node, marks: list[Node]) -> tuple[Node, ...]:
    # `start` is filed too, so that there always is one to be found.
    key = is_scratch + graph.is_token(START)
    lowest = graph.feature("last digit of a scratch quotient", _numbered(QUOTIENT_SCRATCH))
    higher = [mark - at_least(mark, 1) for mark in _unbroken(marks[1:])]
    return tuple(
        graph.lookup(query=1, key=key, value=digit, missing=0).named(f"scratch {place}")
        for place, digit in enumerate([lowest, *higher])
    )


def _after(is_scratch: Node, words: list[Node]) -> Node:
    """Whether a scratch quotient ended here, or before the digits of this word."""
    ended = _chain(is_scratch, WORD_DIGITS)
    said = [at_least(mark, 1) for mark in words[: WORD_DIGITS - 1]]
    return ended[0] + both(said[0], ended[1]) + both(said[0], said[1], ended[2])
