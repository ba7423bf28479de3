"""Words of 32 bits as numbers, as hexadecimal digits and as bits."""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Node, at_least, count_reached, relu
from curta.machine.instructions import WORD

SIGN = WORD // 2


@dataclass(frozen=True)
class Word:
    """A word, and its digits and bits, the least significant first."""

    number: Node
    digits: tuple[Node, ...]
    bits: tuple[Node, ...]

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
        return self.number - WORD * self.bits[31]


def word_of(number: Node) -> Word:
    """Split a number below 2**32, four bits a layer, the most significant first."""
    rest, digits = number, []
    for place in range(7, 0, -1):
        unit = 16**place
        digits.append(count_reached(rest, [unit * d for d in range(1, 16)]))
        rest = rest - unit * digits[-1]
    digits = [*digits, rest][::-1]
    bits = [bit for digit in digits for bit in bits_of_digit(digit)]
    return Word(number, tuple(digits), tuple(bits))


def bits_of_digit(digit: Node) -> list[Node]:
    bits, rest = [], digit
    for place in (8, 4, 2):
        bits.append(at_least(rest, place))
        rest = rest - place * bits[-1]
    # relu(2 r - 1) is r: a slot of its own, so that nobody has to read r from all of the above.
    return [*bits, relu(2 * rest - 1)][::-1]


def from_digits(digits: tuple[Node, ...]) -> Node:
    return sum((16**n * d for n, d in enumerate(digits)), digits[0].graph.constant(0))


def from_bits(bits: list[Node]) -> Node:
    return sum((2**n * bit for n, bit in enumerate(bits)), bits[0].graph.constant(0))


def wrapped(number: Node) -> Node:
    """A sum of two words, modulo 2**32."""
    return number - WORD * at_least(number, WORD)
