"""Constrained decoding: inside of a call only tokens that can still become an expression.

A tokenizer's tokens are put into a tree by their texts. What may follow is found by walking down
that tree and along `calculator.prefixes` at once, so whole branches are left out together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.prefixes import CHARACTERS, State, begin
from curta.delegate.interception.pieces import TokenText
from curta.delegate.interception.protocol import Protocol


@dataclass(slots=True)
class Branch:
    """The tokens whose texts end here, and the characters that others go on with."""

    tokens: list[int] = field(default_factory=list)
    further: dict[str, Branch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a call we are.

    expression: None if it can only be closed any more
    closing:    how many characters of the closing marker have been written behind an expression
    """

    expression: State | None
    closing: int = 0


class Constraint:
    """Which tokens keep a call valid; for one tokenizer."""

    def __init__(self, tokenizer: Any, protocol: Protocol, budget: Budget) -> None:
        self.close = protocol.close
        characters = min(budget.characters, protocol.longest)
        self.budget = replace(budget, characters=characters)
        self.tree = tree(tokenizer, CHARACTERS | set(protocol.close))
        self.allowed = lru_cache(maxsize=1024)(self.find_allowed)

    def find_allowed(self, written: str) -> tuple[int, ...]:
        """Tokens that may follow in a call; none if it cannot become valid any more."""
        place = Place(begin(self.budget))
        for character in written:
            after = self.follow(place, character)
            if after is None:
                return ()
            place = after
        return tuple(self.below(self.tree, place))

    def follow(self, place: Place, character: str) -> Place | None:
        """The place behind one more character, if it may stand here."""
        expression, closing = None, 0
        if place.closing and self.close.startswith(character, place.closing):
            closing = place.closing + 1
        elif place.expression is not None and place.expression.is_complete:
            closing = int(self.close[0] == character)
        if place.expression is not None:
            expression = place.expression.follow(character)
        return Place(expression, closing) if expression or closing else None

    def below(self, branch: Branch, place: Place) -> Iterator[int]:
        """All tokens of this part of the tree that may stand here; behind a call's end all may."""
        for character, further in branch.further.items():
            after = self.follow(place, character)
            if after is None:
                continue
            if after.closing == len(self.close):
                yield from every(further)
            else:
                yield from further.tokens
                yield from self.below(further, after)


def every(branch: Branch) -> Iterator[int]:
    """All tokens of a branch."""
    yield from branch.tokens
    for further in branch.further.values():
        yield from every(further)


@lru_cache(maxsize=4)
def tree(tokenizer: Any, characters: frozenset[str]) -> Branch:
    """All tokens that begin with such a character, by their texts."""
    said = TokenText(tokenizer)
    ahead = tokenizer.encode("0", add_special_tokens=False)
    told = len(said.decode(ahead))
    root = Branch()
    for token in range(len(tokenizer)):
        text = said.decode([*ahead, token])[told:]
        if not text or text[0] not in characters:
            continue
        branch = root
        for character in text:
            branch = branch.further.setdefault(character, Branch())
        branch.tokens.append(token)
    return root
