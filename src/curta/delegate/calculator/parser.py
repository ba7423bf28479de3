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

The levels from comparison to power are one function, which takes operators that bind tightly
enough (precedence climbing).
"""

from __future__ import annotations

import difflib
import math
from fractions import Fraction

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import CONSTANTS, FUNCTIONS, MANY, OPERATIONS, OPERATORS
from curta.delegate.calculator.program import Apply, Program, Push, Rational
from curta.delegate.calculator.tokens import Token, tokens
from curta.errors import ExpressionSyntaxError, TooLongError, UnknownNameError

COMPARED, SUMMED, MULTIPLIED, SHARED, SIGNED, RAISED = range(1, 7)
BINDING = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARED),
    **dict.fromkeys(("+", "-"), SUMMED),
    **dict.fromkeys(("*", "/", "//", "%"), MULTIPLIED),
    "**": RAISED,
    "of": SIGNED,
}
"""How tightly operators bind; `of` only seems to: it depends on what stands before it."""

VALUES = {"pi": math.pi, "tau": math.tau, "e": math.e}

APPLIED = {sign: Apply(OPERATIONS[name], 2) for sign, name in OPERATORS.items()}
COMPARING = frozenset(OPERATORS[sign] for sign, tight in BINDING.items() if tight == COMPARED)
APPLIED["of"] = APPLIED["*"]
NEGATE, PERCENT, FACTORIAL = (Apply(OPERATIONS[n], 1) for n in ("negate", "percent", "factorial"))


def parse(text: str, budget: Budget) -> Program:
    """The program of an expression."""
    parser = Parser(tokens(text, budget), budget)
    parser.expression(COMPARED)
    if parser.now.kind != "end":
        raise parser.unexpected()
    if len(parser.steps) > budget.steps:
        raise TooLongError(f"more than {budget.steps} numbers and operations")
    return Program(text, tuple(parser.steps), parser.compares())


class Parser:
    """Where in the tokens we are, and the steps so far."""

    def __init__(self, given: list[Token], budget: Budget) -> None:
        self.tokens = given
        self.budget = budget
        self.at = 0
        self.now = given[0]
        self.depth = 0
        self.steps: list[Push | Apply] = []
        self.comparisons = 0

    def advance(self) -> None:
        self.at += 1
        self.now = self.tokens[self.at]

    def take(self, sign: str) -> bool:
        """Whether the operator is next; if so, go on behind it."""
        if self.now.text == sign:
            self.advance()
            return True
        return False

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > self.budget.depth:
            raise TooLongError(f"more than {self.budget.depth} levels of parentheses and powers")

    def expression(self, least: int) -> None:
        """Operands and the operators between them that bind at least so tightly."""
        if self.now.text in ("+", "-"):
            self.signed()
        else:
            self.postfix()
        while (binding := BINDING.get(sign := self.now.text, 0)) >= least:
            if sign == "of":
                binding = self.binding_of_share()
                if binding < least:
                    return
            self.advance()
            if binding == RAISED:
                self.deeper()
                self.expression(SIGNED)
                self.depth -= 1
                if self.now.text == "of":
                    raise self.unexpected("use parentheses, as in (20%) ** 2 * 80")
            else:
                self.expression(binding + 1)
            self.steps.append(APPLIED[sign])
            if binding == COMPARED:
                self.comparisons += 1
                if BINDING.get(self.now.text) == COMPARED:
                    raise ExpressionSyntaxError("two comparisons in a row: make two calls of them")

    def compares(self) -> bool:
        """Whether the result is true or false; such a result is no operand of anything."""
        if not self.comparisons:
            return False
        last = self.steps[-1]
        if self.comparisons > 1 or isinstance(last, Push) or last.operation.name not in COMPARING:
            raise ExpressionSyntaxError("a comparison is no number: nothing can follow it")
        return True

    def signed(self) -> None:
        """A power with signs before it."""
        negative = False
        while self.now.text in ("+", "-"):
            negative ^= self.now.text == "-"
            self.advance()
        self.expression(RAISED)
        if negative:
            self.steps.append(NEGATE)

    def binding_of_share(self) -> int:
        """How tightly `of` binds, which is next; 0 if it is no operator here.

        It is one behind a percentage, as written, and behind what is a share otherwise.
        """
        if self.tokens[self.at - 1].text == "%":
            return SHARED
        last = self.steps[-1]
        is_share = isinstance(last, Apply) and last.operation.name in ("percent", "divide")
        return MULTIPLIED if is_share else 0

    def postfix(self) -> None:
        self.primary()
        while (sign := self.now.text) == "!" or (sign == "%" and self.is_percent()):
            self.advance()
            self.steps.append(FACTORIAL if sign == "!" else PERCENT)

    def is_percent(self) -> bool:
        """Whether the % that is next is a percentage rather than a remainder."""
        behind = self.tokens[self.at + 1]
        if behind.text in ("+", "-"):
            raise ExpressionSyntaxError(
                f"'%{behind.text}' could be a percentage or a remainder: use parentheses, as in "
                f"(50%) {behind.text} 3 or 50 % ({behind.text}3)"
            )
        operand = behind.kind in ("number", "name") or behind.text == "("
        return not operand or behind.text == "of"

    def primary(self) -> None:
        token = self.now
        kind, text = token
        if kind == "number":
            self.advance()
            self.steps.append(Push(int(text) if text.isdigit() else number(text)))
        elif kind == "name":
            self.advance()
            if self.take("("):
                self.call(token)
            elif text in CONSTANTS:
                self.steps.append(Push(VALUES[text]))
            elif text in FUNCTIONS:
                raise self.unexpected(f"'(' is missing behind {text!r}")
            else:
                raise unknown(text)
        elif self.take("("):
            self.deeper()
            self.expression(COMPARED)
            self.close(")")
            self.depth -= 1
        else:
            raise self.unexpected()

    def call(self, name: Token) -> None:
        """A function's operands, one by one or in a list."""
        operation = FUNCTIONS.get(name.text)
        if operation is None:
            raise unknown(name.text)
        self.deeper()
        listed = self.take("[")
        if listed and operation.most <= 2:
            raise ExpressionSyntaxError(f"{name.text} takes no list")
        operands = 0
        while self.now.text not in (")", "]"):
            self.expression(COMPARED)
            operands += 1
            if not self.take(","):
                break
        if listed:
            self.close("]")
        self.close(")")
        self.depth -= 1
        if not operation.least <= operands <= operation.most:
            raise ExpressionSyntaxError(
                f"{name.text} takes {wanted(operation.least, operation.most)}, not {operands}"
            )
        self.steps.append(Apply(operation, operands))

    def close(self, sign: str) -> None:
        if not self.take(sign):
            raise self.unexpected(f"a {sign!r} is missing")

    def unexpected(self, why: str = "") -> ExpressionSyntaxError:
        """What to say where the text cannot go on like this."""
        token = self.now
        if token.kind == "end":
            return ExpressionSyntaxError(f"the expression ends too early{why and ': ' + why}")
        if token.text == ",":
            return ExpressionSyntaxError(
                "',' separates thousands in groups of three digits, and the operands of a call"
            )
        if not why and self.at and (token.text == "(" or token.kind in ("name", "number")):
            why = f"put an operator between it and {self.tokens[self.at - 1].text!r}"
        return ExpressionSyntaxError(f"{token.text!r} cannot stand there{why and ': ' + why}")


def number(text: str) -> Rational:
    """The number that a text is exactly."""
    if text.isdigit():
        return int(text)
    digits, _, exponent = text.lower().partition("e")
    before, _, behind = digits.partition(".")
    whole, shift = int(before + behind), int(exponent or 0) - len(behind)
    if shift >= 0:
        return whole * int(10**shift)
    exact = Fraction(whole, 10**-shift)
    return exact.numerator if exact.denominator == 1 else exact


def unknown(name: str) -> UnknownNameError:
    """What to say of a name that means nothing."""
    near = difflib.get_close_matches(name, [*FUNCTIONS, *CONSTANTS], 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return UnknownNameError(f"nothing is called {name[:20]!r}{hint}")


def wanted(least: int, most: int) -> str:
    """How many operands, in words."""
    if least == most:
        return "one operand" if least == 1 else f"{least} operands"
    if most == MANY:
        return f"{least} to {most} operands"
    return f"{least} or {most} operands" if most == least + 1 else f"{least} or more operands"
