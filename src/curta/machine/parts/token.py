"""What a token is by itself, and the word that it ends."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, back
from curta.machine.vocabulary import (
    DIGIT,
    FAR_JUMPS,
    JUMPS,
    LAST,
    MORE,
    OUTPUT,
)

MOST_DIGITS = 3


@dataclass(frozen=True)
class Token:
    """Features of the token that is here, and of those just before it."""

    digit: Node
    ends_word: Node
    """1 on the last digit of a word."""
    word: Node
    """The word that ends here."""
    is_jump: Node
    step: Node
    """What the token adds to the program counter."""
    far: Node
    """The part of that which belongs to an unfinished jump."""
    far_before: Node
    """The same of the token before."""
    digits: tuple[Node, Node]
    """Digits of the unfinished word, the newest first: the digit plus 1, or 0 if there is none."""


def token_parts(graph: Graph) -> Token:
    digit = graph.feature("digit", {**_numbered(LAST), **_numbered(MORE)})
    jump = {name: d for d, name in enumerate(JUMPS, start=-2048)}
    far = {name: 4096 * h for h, name in enumerate(FAR_JUMPS, start=-256)}
    one = dict.fromkeys([*LAST, *OUTPUT], 1)
    step = graph.feature("step", {**one, **jump, **far})
    unfinished = graph.feature("unfinished far jump", far)
    more = graph.feature("digit with more to come", _numbered(MORE, first=1))
    before = _chain([more, *(back(n, more) for n in range(1, MOST_DIGITS))])
    return Token(
        digit=digit,
        ends_word=graph.is_token(*LAST).named("ends a word"),
        word=_word(digit, before),
        is_jump=graph.is_token(*JUMPS).named("is a jump"),
        step=step,
        far=unfinished,
        far_before=back(1, unfinished),
        digits=(more, graph.gate(at_least(more, 1), before[1])),
    )


def _numbered(names: list[str], first: int = 0) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=first)}


def _chain(marks: list[Node]) -> list[Node]:
    """Marks here, one token ago, two tokens ago, as long as none is missing from 1 on."""
    chained, unbroken = marks[:2], at_least(marks[1], 1)
    for mark in marks[2:]:
        mark = mark.graph.gate(unbroken, mark)
        chained.append(mark)
        unbroken = at_least(mark, 1)
    return chained


def _word(last: Node, marks: list[Node]) -> Node:
    """The number whose last digit is here; marks[1:] are the digits before it, plus 1."""
    word = last
    for place, mark in enumerate(marks[1:], start=1):
        word = word + DIGIT**place * (mark - at_least(mark, 1))
    return word
