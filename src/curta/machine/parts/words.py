"""Words of 32 bits as numbers and as hexadecimal digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.compiler import Node, at_least, count_reached, relu
from curta.machine.instructions import WORD

SIGN = WORD // 2


@dataclass(frozen=True)
class Word:
    """A word, and its digits, the least significant first."""

    number: Node
    digits: tuple[Node, ...]
    sign: Node
    """The highest bit."""

    @property
    def low(self) -> Node:
        """The lower 16 bits."""
        return from_digits(self.digits[:4])

    @property
    def high(self) -> Node:
        """The upper 16 bits."""
        return from_digits(self.digits[4:])

    @property
    def signed(self) -> Node:
        return self.number - WORD * self.sign

    @property
    def bytes(self) -> tuple[Node, ...]:
        return tuple(from_digits(self.digits[2 * n : 2 * n + 2]) for n in range(4))


def word_of(number: Node) -> Word:
    digits = digits_of(number, 8)
    return Word(number, digits, at_least(digits[7], 8))


def digits_of(number: Node, count: int) -> tuple[Node, ...]:
    """Split a number below 16**count, one digit a layer, the most significant first."""
    rest, digits = number, []
    for place in range(count - 1, 0, -1):
        unit = 16**place
        digits.append(count_reached(rest, [unit * d for d in range(1, 16)]))
        rest = rest - unit * digits[-1]
    return tuple([*digits, apart(rest)][::-1])


def apart(digit: Node) -> Node:
    """The same digit in slots of its own: who reads it need not read all that it is left of.

    relu(2x - 1) is x for a bit x, but nothing that could be simplified away.
    """
    quarter = count_reached(digit, (4, 8, 12))
    half = at_least(digit - 4 * quarter, 2)
    return 4 * quarter + 2 * half + relu(2 * (digit - 4 * quarter - 2 * half) - 1)


def from_digits(digits: Sequence[Node], base: int = 16) -> Node:
    return sum((base**n * d for n, d in enumerate(digits)), digits[0].graph.constant(0))


def wrapped(number: Node, words: int = 2) -> Node:
    """A sum of so many words, modulo 2**32."""
    return number - WORD * count_reached(number, [WORD * n for n in range(1, words)])
