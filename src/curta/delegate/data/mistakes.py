"""Calls that fail, and how an answer goes on behind them; questions that have no answer.

A call that fails ends a line of its own with what was wrong about it; the next line goes on. In
training such a call is read and not learned: a model should learn to recover, not to err. What
stands behind it is what the calculator says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from curta.delegate.data.draw import CALCULATOR, Draw, Written
from curta.delegate.data.example import PROTOCOL
from curta.delegate.data.templates import Template
from curta.errors import CalculatorError, DataError

CATEGORY = "mistake"


@dataclass(frozen=True)
class FailedCall:
    """A call that has no result; in text it is the call with the error behind it."""

    expression: str
    error: CalculatorError

    def __str__(self) -> str:
        return f"{PROTOCOL.open} {self.expression}{PROTOCOL.close}{PROTOCOL.failed(self.error)}"


def fails(expression: str) -> FailedCall:
    """A call that the calculator refuses; an error if it does not."""
    try:
        result = CALCULATOR.evaluate(expression)
    except CalculatorError as error:
        return FailedCall(expression, error)
    raise DataError(f"{expression}: this has the value {result.text}, it does not fail")


def templates() -> Iterator[Template]:
    """All of them, in a fixed order."""
    for write in TRAIN:
        yield Template(write, CATEGORY, test=False)
    for write in TEST:
        yield Template(write, CATEGORY, test=True)


def recovered(draw: Draw, question: str, wrong: str, why: tuple[str, ...], right: str) -> Written:
    """A question whose first call fails; the second one is written rightly."""
    failed, result = fails(wrong), draw.calc(right)
    before = draw.choose("", "", "Let me compute that: ", "I work it out: ")
    again = draw.choose("Again: ", "Once more: ", "Written rightly it is ", "")
    return draw.written(question, f"{before}{failed}. {draw.choose(*why)}\n{again}{result}", result)


def without_value(draw: Draw, question: str, expression: str, why: tuple[str, ...]) -> Written:
    """A question that has no answer, said at once or after a call that shows it."""
    failed, reason = fails(expression), draw.choose(*why)
    asked = draw.random.random() < 0.5
    answer = f"{failed}\n{reason}" if asked else reason
    return draw.written(question, answer, failed.error.brief)


# ---- calls that are written wrongly ----


def open_parenthesis(draw: Draw) -> Written:
    a, b, c = draw.number(), draw.number(), draw.number()
    sign, word = draw.choose(("+", "sum"), ("-", "difference"))
    question = draw.choose(
        f"What is {a} times the {word} of {b} and {c}?",
        f"Multiply the {word} of {b} and {c} by {a}.",
        f"{a} * ({b} {sign} {c}) = ?",
    )
    why = ("A parenthesis is not closed.", "A closing parenthesis is missing.")
    return recovered(draw, question, f"{a}*({b}{sign}{c}", why, f"{a}*({b}{sign}{c})")


def parenthesis_too_many(draw: Draw) -> Written:
    a, b, c = draw.number(), draw.number(), draw.between(2, 99)
    question = draw.choose(
        f"Add {a} and {b}, and multiply the sum by {c}.",
        f"What is the sum of {a} and {b}, {c} times?",
        f"Calculate ({a} + {b}) times {c}.",
    )
    why = ("There is one parenthesis too many.", "The parentheses do not match.")
    return recovered(draw, question, f"({a} + {b})) * {c}", why, f"({a} + {b}) * {c}")


def words_for_signs(draw: Draw) -> Written:
    a, b = draw.number(), draw.number()
    word, sign = draw.choose(("plus", "+"), ("minus", "-"), ("times", "*"))
    question = draw.choose(
        f"What is {a} {word} {b}?", f"Compute {a} {word} {b}.", f"How much is {a} {word} {b}?"
    )
    why = ("Words are no operators.", f"The calculator wants {sign} where I wrote a word.")
    return recovered(draw, question, f"{a} {word} {b}", why, f"{a} {sign} {b}")


def units_in_a_call(draw: Draw) -> Written:
    each, count = draw.number(), draw.between(2, 60)
    unit = draw.choose("km", "kg", "litres", "metres", "minutes")
    question = draw.choose(
        f"How many {unit} are {count} times {each} {unit}?",
        f"{each} {unit} a day: how many {unit} are that in {count} days?",
        f"{count} pieces of {each} {unit} each: how many {unit} together?",
    )
    why = ("A call has numbers only, no units.", f"The unit does not belong in it: {unit}.")
    return recovered(draw, question, f"{each} {unit} * {count}", why, f"{each} * {count}")


def names_in_a_call(draw: Draw) -> Written:
    name, item = draw.name(), draw.choose("pens", "tickets", "apples", "plants", "books")
    price, count = draw.number() + 1, draw.between(2, 80)
    question = draw.choose(
        f"{name} buys {count} {item} at {price} dollars each. What is the price of all of them?",
        f"One of the {item} costs {price} dollars. What do {count} of them cost {name}?",
        f"What does {name} pay for {count} {item} if each is {price} dollars?",
    )
    why = ("The calculator knows no names of things.", "I have to put the numbers in.")
    return recovered(draw, question, f"price * {count}", why, f"{price} * {count}")


def unknown_function(draw: Draw) -> Written:
    root = draw.between(2, 300)
    wrong = draw.choose("squareroot", "root", "square_root")
    question = draw.choose(
        f"What is the square root of {root * root}?",
        f"Find the positive root of {root * root}.",
        f"Which positive number has the square {root * root}?",
    )
    why = ("The function is called sqrt.", f"There is no {wrong}; it is sqrt.")
    return recovered(draw, question, f"{wrong}({root * root})", why, f"sqrt({root * root})")


def equation_in_a_call(draw: Draw) -> Written:
    a, b = draw.number(), draw.number()
    letter = draw.choose("x", "y", "total", "n")
    question = draw.choose(
        f"Let {letter} be the product of {a} and {b}. What is {letter}?",
        f"{letter} = {a} * {b}. Give me {letter}.",
        f"Find {letter}, if {letter} is {a} times {b}.",
    )
    why = ("A call is an expression, not an equation.", "Only the right side belongs in the call.")
    return recovered(draw, question, f"{letter} = {a} * {b}", why, f"{a} * {b}")


def unfinished(draw: Draw) -> Written:
    a, b, c = draw.number(), draw.between(2, 99), draw.number()
    question = draw.choose(
        f"What is {a} * {b} - {c}?",
        f"Multiply {a} by {b}, and take {c} away.",
        f"What is left of {b} times {a} without {c}?",
    )
    why = ("A number is missing at the end.", f"I forgot {c}.")
    return recovered(draw, question, f"{a} * {b} -", why, f"{a} * {b} - {c}")


# ---- calls that ask for too much ----


def too_many_terms(draw: Draw) -> Written:
    number, count = draw.between(2, 9), draw.between(66, 110)
    question = draw.choose(
        f"Add {number} to itself until there are {count} of it. What is the sum?",
        f"What do {count} coins of {number} cents come to, in cents?",
        f"What is the sum of a list that has the number {number} in it {count} times?",
    )
    why = ("Adding one by one is too long.", "That is too long: it is a product.")
    return recovered(draw, question, "+".join([f"{number}"] * count), why, f"{number} * {count}")


def ordered_pairs(draw: Draw) -> Written:
    count = draw.between(700, 9_000)
    question = draw.choose(
        f"In how many ways can {count} runners take the first and the second place?",
        f"What is {count}! / {count - 2}!?",
        f"How many ordered pairs can be drawn from {count} different cards?",
    )
    wrong = f"factorial({count}) / factorial({count - 2})"
    why = ("The factorials are too large, but nearly all of it cancels.", "Most factors cancel.")
    return recovered(draw, question, wrong, why, f"{count} * {count - 1}")


# ---- questions without an answer ----


def division_by_zero(draw: Draw) -> Written:
    a = draw.number()
    sign, word = draw.choose(("/", "divided by"), ("%", "modulo"))
    question = draw.choose(
        f"What is {a} {word} 0?",
        f"Compute {a} {sign} 0.",
        f"{a} {sign} 0 = ?",
        f"How much is {a} {word} zero?",
    )
    why = (
        "Nothing can be divided by zero.",
        f"There is no such number: {a} cannot be divided by 0.",
        "Division by zero has no value.",
    )
    return without_value(draw, question, f"{a} {sign} 0", why)


def shared_by_nobody(draw: Draw) -> Written:
    name, what = draw.name(), draw.choose("sweets", "cards", "apples", "coins", "stickers")
    count, left = draw.number(), draw.between(2, 40)
    question = draw.choose(
        f"{name} wants to share {count} {what} equally among {left} friends, but all {left} go "
        f"home first. How many {what} does each friend who is there get?",
        f"{count} {what} are shared equally among {left} children, and {left} of the {left} do "
        f"not come. How many {what} does each child who came get?",
    )
    why = (
        f"Nobody is left to share the {what}, so there is no number for each.",
        "There are 0 of them, and nothing can be divided by 0.",
    )
    return without_value(draw, question, f"{count}/({left} - {left})", why)


def root_of_a_negative(draw: Draw) -> Written:
    a = draw.number()
    question = draw.choose(
        f"What is the square root of -{a}?",
        f"sqrt(-{a})",
        f"Which real number has the square -{a}?",
        f"Find a real x with x*x = -{a}.",
    )
    why = (
        "No real number has a negative square.",
        f"There is no real number whose square is -{a}.",
        "Negative numbers have no real square root.",
    )
    return without_value(draw, question, f"sqrt(-{a})", why)


def beyond_all_bounds(draw: Draw) -> Written:
    a, b, c = draw.between(5, 99), draw.between(60, 99), draw.between(5, 99)
    question = draw.choose(
        f"What is {a}^({b}^{c})?",
        f"Write out {a} to the power of ({b} to the power of {c}).",
        f"Give me all digits of {a}^({b}^{c}).",
    )
    why = (
        "That number is far too long to be written out.",
        "The calculator cannot hold a number of that size, and I will not guess its digits.",
    )
    return without_value(draw, question, f"{a}^({b}^{c})", why)


def logarithm_of_nothing(draw: Draw) -> Written:
    a = draw.number()
    of = draw.choose("0", f"-{a}")
    question = draw.choose(
        f"What is the natural logarithm of {of}?",
        f"To which power must e be raised to get {of}? I want a real number, {draw.name()} says "
        "there is one.",
        f"ln({of}), please, for line {draw.between(2, 40)} of my table.",
    )
    why = ("Only positive numbers have a logarithm.", f"No power of e is {of}.")
    return without_value(draw, question, f"ln({of})", why)


def speed_without_time(draw: Draw) -> Written:
    name, distance = draw.name(), draw.number()
    question = draw.choose(
        f"{name} covered {distance} km in 0 hours. What was the average speed?",
        f"The log says {distance} km and 0 hours for {name}. How many km per hour is that?",
    )
    why = ("In no time there is no speed: it would be a division by 0.", "0 hours give no speed.")
    return without_value(draw, question, f"{distance}/0", why)


TRAIN = (
    open_parenthesis,
    parenthesis_too_many,
    words_for_signs,
    units_in_a_call,
    names_in_a_call,
    unknown_function,
    equation_in_a_call,
    unfinished,
    too_many_terms,
    ordered_pairs,
    division_by_zero,
    shared_by_nobody,
    root_of_a_negative,
    beyond_all_bounds,
)
TEST = (logarithm_of_nothing, speed_without_time)
