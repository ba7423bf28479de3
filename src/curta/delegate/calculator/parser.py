"""From tokens to a program.

    comparison: sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum:        product {("+" | "-") product}
    product:    share {("*" | "/" | "//" | "%") share}     "of", too, behind a fraction: 1/2 of 6
    share:      signed {"of" signed}                       behind a percentage: 20% of 80
    signed:     {"+" | "-"} power
    power:      postfix ["**" signed]                      so -2^2 is -4 and 2^-1 is 1/2
    postfix:    primary {"!" | "%"}                        "%" if no operand follows: 50%
    primary:    number | constant | name "(" arguments ")" | "(" comparison ")"
    arguments:  comparison {"," comparison} | "[" comparison {"," comparison} "]"

The parser takes one token after the other and never looks back or ahead: operators wait until
something comes that binds no tighter, brackets until they are closed. So it knows of every
beginning of an expression whether it is one (prefixes.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import (
    COMPARED,
    CONSTANTS,
    FUNCTIONS,
    MANY,
    MULTIPLIED,
    OPERATIONS,
    OPERATORS,
    RAISED,
    SHARED,
    SUMMED,
    Apply,
    Operation,
    Program,
    Step,
)
from curta.delegate.calculator.reals import Rational, reduced
from curta.delegate.calculator.tokens import END, Token, tokens
from curta.errors import ExpressionSyntaxError, TooLongError, UnknownNameError


class Waiting(NamedTuple):
    """An operator whose last operand is not complete."""

    binding: int
    apply: Apply


class Bracket(NamedTuple):
    """An open bracket: a parenthesis, or that of a call."""

    binding: int = 0
    operation: Operation | None = None
    name: str = ""
    operands: int = 0
    """How many of the call's are complete."""
    is_list: bool = False


PARENTHESIS = Bracket()
CALLS = {name: Bracket(0, each, name) for name, each in FUNCTIONS.items()}
INFIX = {sign: Waiting(each.binding, Apply(each, 2)) for sign, each in OPERATORS.items()}
OF = {binding: Waiting(binding, INFIX["*"].apply) for binding in (SHARED, MULTIPLIED)}
NEGATE = Waiting(OPERATIONS["negate"].binding, Apply(OPERATIONS["negate"], 1))
PERCENT, FACTORIAL = (Apply(OPERATIONS[name], 1) for name in ("percent", "factorial"))


def parse(text: str, budget: Budget) -> Program:
    """The program of an expression."""
    parser = Parser(budget)
    for token in tokens(text, budget):
        parser.expects(parser, token)
        parser.last = token
    if len(parser.steps) > budget.steps:
        raise TooLongError(f"more than {budget.steps} numbers and operations")
    return Program(text, tuple(parser.steps), parser.compares())


class Parser:
    """The steps so far, what waits to be one, and what is expected: a method that takes it."""

    __slots__ = ("budget", "comparisons", "depth", "expects", "last", "steps", "waiting")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.steps: list[Step] = []
        self.waiting: list[Waiting | Bracket] = []
        self.expects: Callable[[Parser, Token], None] = Parser.operand
        self.last = END
        self.depth = 0
        self.comparisons = 0

    def copy(self) -> Parser:
        """The same place in an expression, from which another way can be taken."""
        made = Parser(self.budget)
        made.steps, made.waiting = self.steps.copy(), self.waiting.copy()
        made.expects, made.last = self.expects, self.last
        made.depth, made.comparisons = self.depth, self.comparisons
        return made

    # ---- what can be expected ----

    def operand(self, token: Token) -> None:
        """A number, or what begins an operand."""
        kind, text = token
        if kind == "number":
            self.steps.append(int(text) if text.isdigit() else number(text))
            self.expects = Parser.operator
        elif text == "(":
            self.open(PARENTHESIS)
        elif kind == "name":
            self.named(text)
        elif text in ("+", "-"):
            self.signed(text)
        elif text == "[" and self.last[1] == "(" and self.called() is not None:
            self.open_list()
        elif text in (")", "]") and self.called() is not None and self.last[1] in ("(", "[", ","):
            self.close(token)
        else:
            raise self.unexpected(token)

    def operator(self, token: Token) -> None:
        """What stands behind an operand."""
        text = token[1]
        if (infix := INFIX.get(text)) is not None:
            if text == "%":
                self.expects = Parser.share_or_rest
            else:
                self.infix(infix)
        elif text == ")" or text == "]":
            self.reduce(COMPARED)
            self.close(token)
        elif token is END:
            self.reduce(COMPARED)
            if self.waiting:
                raise self.missing(token)
        elif text == "!":
            self.steps.append(FACTORIAL)
        elif text == "of":
            self.of(token)
        elif text == ",":
            self.comma(token)
        else:
            raise self.unexpected(token)

    def share_or_rest(self, token: Token) -> None:
        """Behind a %: it is a percentage, or a remainder if an operand follows."""
        kind, text = token
        if text in ("+", "-"):
            raise ExpressionSyntaxError(
                f"'%{text}' could be a percentage or a remainder: use parentheses, as in "
                f"(50%) {text} 3 or 50 % ({text}3)"
            )
        if text == "(" or kind == "number" or (kind == "name" and text != "of"):
            self.infix(INFIX["%"])
            self.operand(token)
        else:
            self.steps.append(PERCENT)
            self.expects = Parser.operator
            self.operator(token)

    def opening(self, token: Token) -> None:
        """Behind the name of a function."""
        name = self.last[1]
        if token[1] != "(":
            raise self.unexpected(token, f"'(' is missing behind {name!r}")
        self.open(CALLS[name])

    def closing(self, token: Token) -> None:
        """Behind a list of operands."""
        if token[1] != ")":
            raise self.missing(token)
        self.close(token)

    # ---- operators ----

    def infix(self, operator: Waiting) -> None:
        """An operator between two operands: what binds as tightly before it is complete."""
        binding, waiting = operator[0], self.waiting
        if binding == RAISED:
            self.deeper()
        elif binding == COMPARED:
            self.reduce(SUMMED)
            if waiting and waiting[-1].binding == COMPARED:
                raise ExpressionSyntaxError("two comparisons in a row: make two calls of them")
            self.comparisons += 1
        elif waiting and waiting[-1][0] >= binding:
            self.reduce(binding)
        waiting.append(operator)
        self.expects = Parser.operand

    def reduce(self, binding: int) -> None:
        """Operators that bind at least so tightly have all their operands."""
        waiting = self.waiting
        while waiting and waiting[-1][0] >= binding:
            tight, apply = waiting.pop()  # type: ignore[misc]  # brackets do not bind
            self.steps.append(apply)
            if tight == RAISED:
                self.depth -= 1

    def signed(self, sign: str) -> None:
        """A sign before a power; two of them in a row take each other away."""
        if sign == "-":
            if self.last[1] in ("+", "-") and self.waiting[-1:] == [NEGATE]:
                self.waiting.pop()
            else:
                self.waiting.append(NEGATE)

    def of(self, token: Token) -> None:
        """It multiplies behind a percentage, as written, and behind what is a share otherwise."""
        binding = SHARED if self.last[1] == "%" else MULTIPLIED
        ahead = next((each for each in reversed(self.waiting) if each is not NEGATE), PARENTHESIS)
        if ahead.binding == RAISED:
            raise self.unexpected(token, "use parentheses, as in (20%) ** 2 * 80")
        self.reduce(binding)
        last = self.steps[-1]
        is_share = isinstance(last, Apply) and last.operation.name in ("percent", "divide")
        if binding == MULTIPLIED and not is_share:
            raise self.unexpected(token)
        self.waiting.append(OF[binding])
        self.expects = Parser.operand

    # ---- names and brackets ----

    def named(self, name: str) -> None:
        """A constant or a function."""
        if name in CONSTANTS:
            self.steps.append(Apply(CONSTANTS[name], 0))
            self.expects = Parser.operator
        elif name in FUNCTIONS:
            self.expects = Parser.opening
        else:
            near = difflib.get_close_matches(name, [*FUNCTIONS, *CONSTANTS], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UnknownNameError(f"nothing is called {name[:20]!r}{hint}")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > self.budget.depth:
            raise TooLongError(f"more than {self.budget.depth} levels of parentheses and powers")

    def open(self, bracket: Bracket) -> None:
        self.deeper()
        self.waiting.append(bracket)
        self.expects = Parser.operand

    def open_list(self) -> None:
        """The operands of a call as a list."""
        call = self.called()
        assert call is not None
        assert call.operation is not None
        if call.operation.most <= 2:
            raise ExpressionSyntaxError(f"{call.name} takes no list")
        self.waiting[-1] = call._replace(is_list=True)

    def called(self) -> Bracket | None:
        """The call whose operands these are, if they are."""
        bracket = self.waiting[-1] if self.waiting else None
        is_call = isinstance(bracket, Bracket) and bracket.operation is not None
        return bracket if is_call else None  # type: ignore[return-value]

    def comma(self, token: Token) -> None:
        """Between two operands of a call."""
        self.reduce(COMPARED)
        call = self.called()
        if call is None:
            raise self.unexpected(token)
        self.waiting[-1] = call._replace(operands=call.operands + 1)
        self.expects = Parser.operand

    def close(self, token: Token) -> None:
        """The end of a bracket; what was waiting in it is complete."""
        if not self.waiting:
            raise self.unexpected(token)
        bracket = self.waiting[-1]
        assert isinstance(bracket, Bracket)
        operands = bracket.operands + (self.expects is Parser.operator)
        if bracket.is_list and token[1] == "]":
            self.waiting[-1] = bracket._replace(operands=operands, is_list=False)
            self.expects = Parser.closing
            return
        if bracket.is_list or token[1] == "]":
            raise self.missing(token)
        self.waiting.pop()
        self.depth -= 1
        self.expects = Parser.operator
        if bracket.operation is not None:
            self.steps.append(applied(bracket.operation, bracket.name, operands))

    def compares(self) -> bool:
        """Whether the result is true or false; such a result is no operand of anything."""
        if not self.comparisons:
            return False
        last = self.steps[-1]
        if self.comparisons > 1 or not (isinstance(last, Apply) and last.operation.compares):
            raise ExpressionSyntaxError("a comparison is no number: nothing can follow it")
        return True

    # ---- what is wrong ----

    def missing(self, token: Token) -> ExpressionSyntaxError:
        """A bracket that is not closed where it has to be."""
        bracket = next(each for each in reversed(self.waiting) if isinstance(each, Bracket))
        return self.unexpected(token, f"a {']' if bracket.is_list else ')'!r} is missing")

    def unexpected(self, token: Token, why: str = "") -> ExpressionSyntaxError:
        """What to say where the text cannot go on like this."""
        kind, text = token
        if kind == "end":
            return ExpressionSyntaxError(f"the expression ends too early{why and ': ' + why}")
        if text == ",":
            return ExpressionSyntaxError(
                "',' separates thousands in groups of three digits, and the operands of a call"
            )
        if not why and self.last is not END and (text == "(" or kind in ("name", "number")):
            why = f"put an operator between it and {self.last[1]!r}"
        return ExpressionSyntaxError(f"{text!r} cannot stand there{why and ': ' + why}")


def applied(operation: Operation, name: str, operands: int) -> Apply:
    """A call, if it has as many operands as it takes."""
    least, most = operation.least, operation.most
    if least <= operands <= most:
        return Apply(operation, operands)
    if least == most:
        wanted = "one operand" if least == 1 else f"{least} operands"
    else:
        wanted = "at least one operand" if most == MANY else f"{least} or {most} operands"
    raise ExpressionSyntaxError(f"{name} takes {wanted}, not {operands}")


def number(text: str) -> Rational:
    """The number that a text is exactly."""
    digits, _, exponent = text.lower().partition("e")
    before, _, behind = digits.partition(".")
    whole, shift = int(before + behind), int(exponent or 0) - len(behind)
    if shift >= 0:
        return whole * int(10**shift)
    return reduced(Fraction(whole, 10**-shift))
