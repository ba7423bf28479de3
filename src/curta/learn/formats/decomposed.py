"""Products and quotients decomposed into steps that are easy each."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.alphabet import Alphabet
from curta.learn.formats.base import Directed
from curta.learn.formats.scratchpad import first_places, second_places
from curta.learn.numbers import number, shifted, widened
from curta.learn.problem import Problem
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, literal, only_if, steps, write_number
from curta.learn.workings import Partials, Quotients


@dataclass(frozen=True)
class Decomposed(Directed):
    """The second factor by its places, all partial products, then their sum one by one.

    57*24=20+4:1140+228:1140+228=1368;1368. Places with a zero are left out. A quotient is found
    digit by digit, from the first: 99/4=4*20=80,99-80=19;4*4=16,19-16=3;24r3.
    """

    name = "decomposed"
    about = "57*24=20+4:1140+228:1140+228=1368;1368 and 99/4=4*20=80,99-80=19;4*4=16,19-16=3;24r3"
    symbols = ("+", "-", "*", "=", ":", ";", ",")
    workings = ("partials", "quotients")

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        question, answer = super().write(task, problem, symbols, key=key)
        if self.working(task) == "partials":
            worked = write_partials(task.partials(problem, self.base), symbols)
        else:
            worked = write_quotients(task.quotients(problem, self.base), symbols)
        return question, join([worked, answer])

    def slack(self, task: Task, operands: int, places: int) -> int:
        own = super().slack(task, operands, places)
        m, n = first_places(task, places), second_places(task, places)
        if self.working(task) == "partials":
            # Place j has j + 1 digits of n, its product m + j + 1 of m + n, twice; the place
            # that is written first has no plus twice, and no sum.
            shorter = 3 * n * (n - 1) // 2
            return own + shorter + 2 + (m + n) + (m + n) + (m + n) + 3
        static = n + places + n + places * quotient_width(places, n, places, places)
        # A divisor of d digits takes at most p - d + 1 steps; the rests before and behind the one
        # for place j have at most d + j + 1 and d + j digits.
        remainder = getattr(task, "remainder", True)
        most = 0
        for d in range(1, n + 1):
            count = places - d + 1
            width = sum(
                quotient_width(min(places, d + j + 1), d, j + 1, min(places, d + j))
                for j in range(count)
            )
            most = max(most, d + count + d * remainder + width)
        return static - n * (not remainder) - most


def quotient_width(rest: int, divisor: int, quotient: int, next_rest: int) -> int:
    """The tokens of a step: divisor*quotient=product,rest-product=next rest;"""
    return divisor + quotient + rest + rest + rest + next_rest + len("*=,-=;")


def write_partials(partials: Partials, symbols: Alphabet) -> Text:
    """The places of the second factor, the products, and their sums from the left."""
    second = partials.second
    # From the first digit to the last; a factor of zero still has its last one.
    places = jnp.arange(second.places)[::-1]
    digits = second.digits[::-1]
    written = (digits != 0) | ((places == 0) & (second.digits == 0).all())
    behind = jnp.cumsum(written) > 1
    products = partials.products[::-1]
    totals = partials.from_left[::-1]

    def place_text(digit: Array, place: Array, written: Array, behind: Array) -> Text:
        alone = widened(digit[None], second.places)
        text = write_number(number(shifted(alone, place)), symbols)
        return only_if(written, join([only_if(behind, literal(symbols, "+")), text]))

    def product_text(product: Array, written: Array, behind: Array) -> Text:
        text = write_number(number(product), symbols)
        return only_if(written, join([only_if(behind, literal(symbols, "+")), text]))

    def sum_text(before: Array, product: Array, total: Array, written: Array) -> Text:
        texts = [write_number(number(row), symbols) for row in (before, product, total)]
        plus, equals, end = (literal(symbols, each) for each in "+=;")
        return only_if(written, join([texts[0], plus, texts[1], equals, texts[2], end]))

    count = jnp.array(second.places)
    colon = literal(symbols, ":")
    before = jnp.concatenate([jnp.zeros_like(totals[:1]), totals[:-1]])
    summed = written & behind
    return join(
        [
            steps(place_text, digits, places, written, summed, count=count),
            colon,
            steps(product_text, products, written, summed, count=count),
            colon,
            steps(sum_text, before, products, totals, summed, count=count),
        ]
    )


def write_quotients(quotients: Quotients, symbols: Alphabet) -> Text:
    """For each digit of the quotient that is not zero, what it takes away."""
    room = quotients.quotient.places
    places = jnp.arange(room)[::-1]

    def step(digit: Array, place: Array, rest: Array, product: Array, after: Array) -> Text:
        alone = number(shifted(widened(digit[None], room), place))
        texts = [write_number(quotients.divisor, symbols), literal(symbols, "*")]
        texts += [write_number(alone, symbols), literal(symbols, "=")]
        texts += [write_number(number(product), symbols), literal(symbols, ",")]
        texts += [write_number(number(rest), symbols), literal(symbols, "-")]
        texts += [write_number(number(product), symbols), literal(symbols, "=")]
        texts += [write_number(number(after), symbols), literal(symbols, ";")]
        return only_if(digit != 0, join(texts))

    rows = (quotients.rests, quotients.products, quotients.next_rests)
    downwards = [row[::-1] for row in (quotients.quotient.digits, *rows)]
    return steps(step, downwards[0], places, *downwards[1:], count=jnp.array(room))
