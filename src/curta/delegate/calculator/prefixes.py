"""Beginnings of expressions: what may follow, so that the whole can still be parsed.

`begin(budget)` is the state before the first character, and `state.follow(character)` the one
behind it, or None if nothing that begins so is an expression within the budget. Whether a token may
come is asked of the parser itself. What is not offered here, though it could be parsed: sugar
(thousands, currencies, `of`, lists), numbers with an exponent, comparisons within parentheses, two
spaces in a row. Whatever is complete can be parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import COMPARED, CONSTANTS, FUNCTIONS
from curta.delegate.calculator.parser import INFIX, Bracket, Parser
from curta.delegate.calculator.tokens import ASCII, DECIMAL, END, WRITTEN, Token
from curta.errors import CalculatorError

WORDS = {name: ("name", name) for name in (*FUNCTIONS, *CONSTANTS)}
WORDS |= {sign: WRITTEN[sign] for sign in (*ASCII, "^") if sign not in "[]"}
"""Names and operators, as they are written here, and their tokens."""

CHARACTERS = frozenset("0123456789. ").union(*WORDS)
"""All that an expression is made of here."""


@lru_cache(maxsize=4096)
def ends(beginning: str) -> tuple[tuple[str, Token], ...]:
    """Tokens that begin so: what they are when they are written out, the number as short as can be.

    A number that is complete, or a word, may go on as another one.
    """
    if beginning[0] in "0123456789.":
        written = (each for each in (beginning, f"{beginning}0") if re.fullmatch(DECIMAL, each))
        return tuple((each, ("number", each)) for each in written)[:1]
    return tuple((word, token) for word, token in WORDS.items() if word.startswith(beginning))


@dataclass(eq=False)
class State:
    """How far an expression has come.

    parser: behind all tokens but the last
    token:  the last one, as far as it is written: more may belong to it
    length: how many characters there are
    spaced: whether the last of them is a space
    """

    parser: Parser
    token: str = ""
    length: int = 0
    spaced: bool = False

    @cached_property
    def after(self) -> Parser | None:
        """The parser behind the last token, if it is complete as it stands."""
        if not self.token:
            return self.parser
        return next(
            (taken(self.parser, token) for word, token in ends(self.token) if word == self.token),
            None,
        )

    @property
    def is_complete(self) -> bool:
        """Whether this is an expression as it stands."""
        return self.after is not None and taken(self.after, END) is not None

    def follow(self, character: str) -> State | None:
        """The state behind one more character."""
        length = self.length + 1
        if self.token and character != " " and ends(self.token + character):
            state = State(self.parser, self.token + character, length)
        elif self.after is None or (character == " " and self.spaced):
            return None
        else:
            is_space = character == " "
            state = State(self.after, "" if is_space else character, length, spaced=is_space)
        return state if state.can_end() else None

    def can_end(self) -> bool:
        """Whether it can still be completed within the budget."""
        if not self.token:
            return fits(self.parser, self.length)
        return any(
            (after := taken(self.parser, token)) is not None
            and fits(after, self.length + len(word) - len(self.token))
            for word, token in ends(self.token)
        )


def begin(budget: Budget) -> State:
    """Before the first character."""
    return State(Parser(budget))


def taken(parser: Parser, token: Token) -> Parser | None:
    """The parser behind a token, if it can stand there."""
    kind, text = token
    is_operator = kind == "operator" and text != "("
    if parser.expects is Parser.operator and not is_operator and token is not END:
        return None  # the parser would say so, too, with an error that says why
    if text in INFIX and INFIX[text].binding == COMPARED and brackets(parser):
        return None
    after = parser.copy()
    try:
        after.expects(after, token)
    except CalculatorError:
        return None
    after.last = token
    call = after.called() if text == "," else None
    if call is not None and call.operation is not None and call.operands == call.operation.most:
        return None
    return after


def brackets(parser: Parser) -> list[Bracket]:
    """Those that are open."""
    return [each for each in parser.waiting if isinstance(each, Bracket)]


def fits(parser: Parser, length: int) -> bool:
    """Whether the shortest way to complete an expression is within the budget."""
    steps, depth, budget = len(parser.steps) + len(parser.waiting), parser.depth, parser.budget
    if parser.expects is Parser.operand:
        length, steps = length + 1, steps + 1
    elif parser.expects is Parser.opening:
        least = FUNCTIONS[parser.last[1]].least
        length, steps, depth = length + 2 * least + 1, steps + least + 1, depth + 1
    elif parser.expects is Parser.share_or_rest:
        steps += 1
    for bracket in brackets(parser):
        missing = 0
        if bracket.operation is None:
            steps -= 1  # it waits, but is no step
        else:
            missing = max(bracket.operation.least - bracket.operands - 1, 0)
        length, steps = length + 2 * missing + 1, steps + missing
    return length <= budget.characters and steps <= budget.steps and depth <= budget.depth
