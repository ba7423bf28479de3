"""What a token is by itself, and together with those just before it.

A step that is not over has left digits M of a word. They are found by looking back as far as they
go on without a gap.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, back
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
    START,
    STORED,
    TRAP_TOKENS,
    WORD_DIGITS,
)


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
    number: Node
    """What the five bytes P say that end here."""


def token_parts(graph: Graph) -> Token:
    far = {name: 2 * NEAR * h for h, name in enumerate(FAR_JUMPS, start=-FAR)}
    jump = {name: d for d, name in enumerate(JUMPS, start=-NEAR)}
    over = [*LAST, STORED, *OUTPUT, *ERRORS]
    unfinished = graph.feature("unfinished far jump", far)
    more = graph.feature("digit with more to come", _numbered(MORE, first=1))
    words = [more, *(back(distance, more) for distance in range(1, WORD_DIGITS))]
    byte = graph.feature("byte", _numbered(BYTES))
    return Token(
        ends_word=graph.is_token(*LAST).named("ends a word"),
        word=_word(graph, words),
        is_jump=graph.is_token(*JUMPS).named("is a jump"),
        step=graph.feature("step", {**dict.fromkeys(over, 1), **jump, **far}),
        far=unfinished,
        far_before=back(1, unfinished),
        ends_run=graph.is_token(START, EXIT, *TRAP_TOKENS).named("ends the run"),
        digits=_unbroken(words[: WORD_DIGITS - 1]),
        number=from_digits([back(n, byte) for n in range(ADDRESS_BYTES)], 256),
    )


def _numbered(names: list[str], first: int = 0) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=first)}


def _unbroken(marks: list[Node]) -> tuple[Node, ...]:
    """Each mark, if none that is nearer is missing."""
    kept: list[Node] = []
    for mark in marks:
        kept.append(mark.graph.gate(at_least(kept[-1], 1), mark) if kept else mark)
    return tuple(kept)


def _word(graph: Graph, marks: list[Node]) -> Node:
    """The word that ends here."""
    above = sum(
        (
            DIGIT**place * (mark - at_least(mark, 1))
            for place, mark in enumerate(_unbroken(marks[1:]), start=1)
        ),
        graph.constant(0),
    )
    return graph.feature("last digit", _numbered(LAST)) + graph.gate(graph.is_token(*LAST), above)
