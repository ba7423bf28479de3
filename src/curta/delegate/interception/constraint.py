"""Constrained decoding: inside of a call only tokens with which it can still become one.

For expressions a tokenizer's tokens are put into a tree by their texts. What may follow is found by
walking down that tree and along `calculator.prefixes` at once, so whole branches are left out
together. JSON is left to llguidance, which knows schemas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import torch
from torch.nn.functional import pad

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.prefixes import CHARACTERS, State, begin
from curta.delegate.interception.pieces import INCOMPLETE, Fragments
from curta.delegate.interception.scanner import Marker
from curta.delegate.interception.template import Format


@dataclass(slots=True)
class Branch:
    """The tokens whose texts end here, and the characters that others go on with."""

    tokens: list[int] = field(default_factory=list)
    further: dict[str, Branch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a call we are; all may stand behind its end.

    expression: None if it can only be closed any more
    closing:    how many characters of the closing marker have been written behind an expression
    """

    expression: State | None
    closing: int = 0


class Expressions:
    """Which tokens keep an expression valid; for one tokenizer."""

    def __init__(self, tokenizer: Any, close: str, budget: Budget) -> None:
        self.close = close
        self.budget = budget
        self.tree = tree(tokenizer, CHARACTERS | set(close))
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
        if place.closing == len(self.close):
            return place
        expression, closing = None, 0
        if place.closing and self.close.startswith(character, place.closing):
            closing = place.closing + 1
        elif place.expression is not None and place.expression.is_complete:
            closing = int(self.close[0] == character)
        if place.expression is not None:
            expression = place.expression.follow(character)
        return Place(expression, closing) if expression or closing else None

    def below(self, branch: Branch, place: Place) -> Iterator[int]:
        """All tokens of this part of the tree that may stand here."""
        for character, further in branch.further.items():
            if (after := self.follow(place, character)) is not None:
                yield from further.tokens
                yield from self.below(further, after)


class Constraint:
    """Narrows scores in calls. With a `shape`, in Lark's words, all else that is written has that:
    a turn is one or several calls, or it is what was asked for, whole.
    """

    def __init__(
        self, tokenizer: Any, format: Format, budget: Budget, shape: str | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.format = format
        self.budget = replace(budget, characters=min(budget.characters, format.longest or 1))
        self.shape = shape
        self.size = len(tokenizer)
        self.expressions = cache(lambda close: Expressions(tokenizer, close, self.budget))
        self.fragments = Fragments(tokenizer)

    def narrowed(
        self, scores: torch.Tensor, marker: Marker | None, written: str, *, has_called: bool = False
    ) -> torch.Tensor:
        """Scores of tokens that may follow. `written` stands behind the marker; or it is what there
        is of the turn, behind its last call if it has one.
        """
        allowed = self.allowed(marker, written, has_called=has_called)
        if allowed is None:
            return scores
        allowed = pad(allowed, (0, len(scores) - len(allowed))).to(scores.device)
        narrow = scores.masked_fill(~allowed, -math.inf)
        return scores if narrow.max() == -math.inf else narrow

    def allowed(
        self, marker: Marker | None, written: str, *, has_called: bool = False
    ) -> torch.Tensor | None:
        """Whether each token may follow; None if all may."""
        if marker is not None and (self.shape is None or not marker.open.startswith("{")):
            return self.in_call(marker, written)
        ways: list[torch.Tensor | None] = []
        if marker is not None:  # what was asked for may begin as a call does
            ways = [self.in_call(marker, written), self.in_shape(marker.open + written)]
        elif self.shape is not None and has_called:
            ways = list(self.openings(written.lstrip()))
            if not written:  # the end of a turn behind a call, or a line between two of them
                newline = self.fragments.encode("\n")[0]
                ways.append(self.mask([self.tokenizer.eos_token_id, newline]))
        elif self.shape is not None:
            ways = [self.in_shape(written), *self.openings(written)]
        masks = [pad(each, (0, self.size - len(each))) for each in ways if each is not None]
        return torch.stack(masks).any(dim=0) if masks else None

    def in_shape(self, written: str) -> torch.Tensor | None:
        """What goes on with the shape; None if this is no beginning of it."""
        return grammars(self.tokenizer).allowed(self.shape or "", written, ends=True)

    def openings(self, written: str) -> Iterator[torch.Tensor]:
        """What goes on with the opening of a call."""
        for marker in self.format.markers:
            if marker.open.startswith(written) and marker.open != written:
                yield self.mask([self.fragments.encode(marker.open[len(written) :])[0]])

    def mask(self, tokens: Sequence[int]) -> torch.Tensor:
        """These tokens alone."""
        mask = torch.zeros(self.size, dtype=torch.bool)
        mask[list(tokens)] = True
        return mask

    def in_call(self, marker: Marker, written: str) -> torch.Tensor | None:
        """The same inside of a call."""
        found = self.format.grammar(marker, written)
        if found is None:
            return None
        grammar, text = found
        if not grammar:
            tokens = self.expressions(marker.close or "").allowed(text)
            return self.mask(tokens) if tokens else None
        guide = grammars(self.tokenizer)
        if marker.close is None:
            return guide.allowed(grammar, text, ends=self.shape is not None)
        return self.guided_to(marker.close, guide, grammar, text)

    def guided_to(
        self, close: str, guide: Grammars, grammar: str, text: str
    ) -> torch.Tensor | None:
        """The same in a call that something closes; part of that may be written."""
        for count in range(len(close) - 1, -1, -1):
            complete = text[: len(text) - count]
            if not text.endswith(close[:count]) or not guide.is_complete(grammar, complete):
                continue
            mask = self.mask([])
            further = None if count else guide.allowed(grammar, text, ends=True)
            if further is not None:  # space
                mask = further.clone()
                mask[self.tokenizer.eos_token_id] = False
            mask[self.fragments.encode(close[count:])[0]] = True
            return mask
        return guide.allowed(grammar, text, ends=False)


class Grammars:
    """Which tokens may follow in texts with a grammar."""

    def __init__(self, tokenizer: Any) -> None:
        from llguidance.hf import from_tokenizer

        try:
            self.tokens = from_tokenizer(tokenizer)
        except (ValueError, AttributeError):  # it does not know this one
            self.tokens = Spelt(tokenizer).guide
        self.matcher = lru_cache(maxsize=16)(self.new_matcher)

    def new_matcher(self, grammar: str) -> Any:
        from llguidance import LLMatcher

        return LLMatcher(self.tokens, LLMatcher.grammar_from_lark(grammar), log_level=0)

    def problem(self, grammar: str) -> str:
        """What is wrong with a grammar, such as a schema that says what is not supported, or that
        nothing has.
        """
        from llguidance import LLMatcher

        found = LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(grammar), self.tokens)
        if not found or found.startswith("WARNING"):
            matcher = self.new_matcher(grammar)
            matcher.compute_logit_bias()
            return "nothing can begin so" if matcher.is_error() else ""
        return found.partition("schema: ")[2].partition("\n")[0] or str(found)

    def read(self, grammar: str, text: str) -> Any:
        """What has read a text; None if that does not fit."""
        matcher = self.matcher(grammar)
        matcher.reset()
        if text and not matcher.consume_tokens(self.tokens.greedy_tokenize(text)):
            self.matcher.cache_clear()  # one that has failed stays so
            return None
        return None if matcher.is_error() else matcher

    def is_complete(self, grammar: str, text: str) -> bool:
        """Whether a text may end here."""
        matcher = self.read(grammar, text)
        return matcher is not None and bool(matcher.is_accepting())

    def allowed(self, grammar: str, text: str, *, ends: bool) -> torch.Tensor | None:
        """None where a text does not fit, or is complete, unless that has to end it (`ends`)."""
        matcher = self.read(grammar, text)
        if matcher is None or (matcher.is_accepting() and not ends):
            return None
        bias = torch.frombuffer(bytearray(matcher.compute_logit_bias()), dtype=torch.uint8)
        return bias > 0


@lru_cache(maxsize=4)
def grammars(tokenizer: Any) -> Grammars:
    """Made once for a tokenizer: it takes a second or so."""
    return Grammars(tokenizer)


class Spelt:
    """Tokens by their texts, in the words of llguidance; it is asked by its own tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        from llguidance import LLTokenizer, TokenizerWrapper

        self.eos_token_id, self.bos_token_id = tokenizer.eos_token_id, tokenizer.bos_token_id
        self.special_token_ids = sorted(set(tokenizer.all_special_ids))
        self.tokens = [
            f"\xff[{token}]".encode("latin-1")
            if token in self.special_token_ids or not text or INCOMPLETE in text
            else text.encode()
            for token, text in enumerate(texts_of(tokenizer))
        ]
        self.guide = LLTokenizer(TokenizerWrapper(self))

    def __call__(self, text: str) -> list[int]:
        return self.guide.greedy_tokenize(text)


def texts_of(tokenizer: Any) -> Iterator[str]:
    """What each token says in the middle of a text."""
    fragments = Fragments(tokenizer)
    return (fragments.said([token]) for token in range(len(tokenizer)))


@lru_cache(maxsize=4)
def tree(tokenizer: Any, characters: frozenset[str]) -> Branch:
    """All tokens that begin with such a character, by their texts."""
    root = Branch()
    for token, text in enumerate(texts_of(tokenizer)):
        if not text or text[0] not in characters:
            continue
        branch = root
        for character in text:
            branch = branch.further.setdefault(character, Branch())
        branch.tokens.append(token)
    return root
