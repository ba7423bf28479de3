"""What the machine says next: a digit, a jump, a byte, or how it ended.

At most one of the conditions holds at any token, so the rules never compete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from curta.compiler import (
    Graph,
    Node,
    at_least,
    at_most,
    both,
    clamp,
    either,
    equals,
    invert,
    select,
)
from curta.compiler.derived import split_top
from curta.machine.instructions import WORD
from curta.machine.parts.program import ProgramState
from curta.machine.parts.token import Token
from curta.machine.parts.traps import Traps
from curta.machine.parts.words import Word, from_digits
from curta.machine.vocabulary import (
    AWAIT,
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
    READ,
    STORED,
    TRAP_TOKENS,
)


@dataclass(frozen=True)
class Speaker:
    """Output rules for the instruction to execute."""

    graph: Graph
    token: Token
    program: ProgramState
    traps: Traps

    def doing(self, *names: str) -> Node:
        """1 if the instruction is one of these, and does not trap."""
        return both(self.program.running, self.program.now.is_any(*names), 1 - self.traps.any)

    def word(self, found: Mapping[str, Node]) -> None:
        """Digits of a result: one of those found."""
        now, word = self.program.now, self.graph.constant(0)
        for value in dict.fromkeys(id(node) for node in found.values()):
            names = [name for name, node in found.items() if id(node) == value]
            word = word + self.graph.gate(now.is_any(*names), found[names[0]])
        word = self.graph.assume(word, 0, WORD - 1).named("result")
        say_word(self.graph, self.token, word, when=self.doing(*found))

    def jump(self, distance: Node) -> None:
        when = self.doing(*self.program.now.operations.of_kind("jump"))
        say_jump(self.graph, self.token, distance, when)

    def others(self, second: Word) -> None:
        graph = self.graph
        byte = from_digits(second.digits[:2])
        graph.emit_token(STORED, when=self.doing(*self.program.now.operations.of_kind("store")))
        graph.emit(OUTPUT, byte, when=self.doing("write_out"))
        graph.emit(ERRORS, byte, when=self.doing("write_err"))
        graph.emit_token(READ, when=self.doing("read"))
        graph.emit_token(AWAIT, when=self.doing("await"))
        graph.emit_token(EXIT, when=self.doing("exit"))
        kind = clamp(self.traps.kind, 0, len(TRAP_TOKENS) - 1)
        graph.emit(TRAP_TOKENS, kind, when=self.traps.any)


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
    # Of three digits the first is the word's highest byte.
    top, _ = split_top(word, 32, 8)
    dividend = select(equals(left, 2), DIGIT * top, clamp(rest, 0, DIGIT**2 - 1))
    graph.emit_quotient(MORE, dividend, DIGIT, when=both(when, more))
    graph.emit(LAST, clamp(rest, 0, DIGIT - 1), when=both(when, invert(more)))


def say_jump(graph: Graph, token: Token, distance: Node, when: Node) -> None:
    """A near jump; or the far part of a far one, then the near part of what is left."""
    begun = graph.is_token(*FAR_JUMPS)
    near = either(begun, both(at_least(distance, -NEAR), at_most(distance, NEAR - 1)))
    place = clamp(distance - token.far + NEAR, 0, 2 * NEAR - 1)
    graph.emit(JUMPS, place, when=both(when, near))
    beyond = clamp(distance + NEAR + 2 * NEAR * FAR, 0, 4 * NEAR * FAR - 1)
    graph.emit_quotient(FAR_JUMPS, beyond, 2 * NEAR, when=both(when, invert(near)))
