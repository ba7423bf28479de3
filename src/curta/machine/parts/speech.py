"""What the machine says next: a digit, a jump, a byte, or how it ended."""

from __future__ import annotations

from curta.compiler import Graph, Node, at_least, at_most, both, clamp, either, equals, invert
from curta.machine.parts.token import Token
from curta.machine.vocabulary import DIGIT, FAR_JUMPS, JUMPS, LAST, MORE


def say_word(graph: Graph, token: Token, word: Node, when: Node) -> None:
    """The next digit of a word: the first, or the one after those that were said."""
    newest, before = token.digits
    some, two = at_least(newest, 1), at_least(before, 1)
    last, first = newest - some, before - two
    huge, large = at_least(word, DIGIT**2), at_least(word, DIGIT)
    digits = large + huge
    said = some + two
    # What is left of the word: digits said stand one or two places above what is to come.
    one_of_three = both(huge, equals(said, 1))
    rest = word - DIGIT * last - graph.gate(one_of_three, (DIGIT**2 - DIGIT) * last)
    rest = rest - DIGIT**2 * first
    left = digits - said
    more = at_least(left, 1)
    floors = [
        graph.gate(equals(left, n), (rest - (DIGIT**n - 1) / 2) * (1 / DIGIT**n)) for n in (1, 2)
    ]
    graph.emit(MORE, clamp(floors[0] + floors[1], -1, DIGIT), when=both(when, more))
    graph.emit(LAST, clamp(rest, 0, DIGIT - 1), when=both(when, invert(more)))


def say_jump(graph: Graph, token: Token, distance: Node, when: Node) -> None:
    """A near jump; or the far part of a far one, then the near part of what is left."""
    begun = graph.is_token(*FAR_JUMPS)
    near = either(begun, both(at_least(distance, -2048), at_most(distance, 2047)))
    graph.emit(JUMPS, clamp(distance - token.far + 2048, 0, 4095), when=both(when, near))
    # Half a step less, because the nearest number is said and the floor is wanted.
    far = (distance + 2048 - 2047.5) * (1 / 4096) + 256
    graph.emit(FAR_JUMPS, clamp(far, -1, 512), when=both(when, invert(near)))
