"""Sums, differences and products worked out step by step before the answer."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.learn.alphabet import Alphabet
from curta.learn.formats.base import Directed
from curta.learn.numbers import Number, from_natural, number, places_of, shifted
from curta.learn.problem import Problem, operand
from curta.learn.tasks.base import Task
from curta.learn.text import (
    Text,
    join,
    literal,
    only_if,
    steps,
    write_number,
)
from curta.learn.workings import Columns, Partials


@dataclass(frozen=True)
class Worked(Directed):
    """A format that writes the task's workings, then the answer."""

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        question, answer = super().write(task, problem, symbols, key=key)
        if self.working(task) == "columns":
            worked = self.write_columns(task.columns(problem, self.base), symbols)
        else:
            worked = self.write_partials(task.partials(problem, self.base), symbols)
        return question, join([worked, answer])

    def write_columns(self, columns: Columns, symbols: Alphabet) -> Text:
        """What is written for each place."""
        raise NotImplementedError

    def write_partials(self, partials: Partials, symbols: Alphabet) -> Text:
        """What is written for each digit of the second operand."""
        raise NotImplementedError

    def carried(self, columns: Columns, digit: Array, carry: Array, symbols: Alphabet) -> Text:
        """A digit and what is carried from it: 1c1."""
        room = places_of(columns.most_carry, self.base)
        written = write_number(magnitude(carry, room, self.base), symbols)
        return join([one_digit(digit, symbols), literal(symbols, "c"), written])


@dataclass(frozen=True)
class Scratchpad(Worked):
    """Digit and carry of each place, from the right; of products, each partial product and sum.

    57+24=1c1;8c0;81 and 57*24=228>228;1140>1368;1368. A minus sign at the beginning says that the
    operands of a difference are taken the other way round.
    """

    name = "scratchpad"
    about = "57+24=1c1;8c0;81: digit and carry of each place, then the answer"
    symbols = ("c", ";", ">", "-")
    workings = ("columns", "partials")

    def write_columns(self, columns: Columns, symbols: Alphabet) -> Text:
        def step(digit: Array, carry: Array) -> Text:
            return join([self.carried(columns, digit, carry, symbols), literal(symbols, ";")])

        written = steps(step, columns.digit, columns.next_carry, count=columns.count)
        return join([swap_mark(columns, symbols), written])

    def write_partials(self, partials: Partials, symbols: Alphabet) -> Text:
        def step(product: Array, total: Array) -> Text:
            return product_and_total(product, total, symbols)

        return steps(step, partials.products, partials.from_right, count=partials.second.length)

    def slack(self, task: Task, operands: int, places: int) -> int:
        own = super().slack(task, operands, places)
        if self.working(task) == "columns":
            return own
        # The product and the total of step j have n - 1 - j digits less than there is room for.
        second = second_places(task, places)
        return own + second * (second - 1)


@dataclass(frozen=True)
class DetailedScratchpad(Worked):
    """What is left of the operands, the digits so far and the sum of each place.

    57+24=57+24>:7+4+0=1c1;5+2>1:5+2+1=8c0;81 and, for each digit of a second factor,
    57*4:7*4+0=8c2,5*4+2=2c2,228>228;
    """

    name = "scratchpad_detailed"
    about = "57+24=57+24>:7+4+0=1c1;5+2>1:5+2+1=8c0;81: the rest of the operands at each step"
    symbols = ("c", ";", ",", ">", ":", "+", "-", "*", "=")
    workings = ("columns", "partials")

    def write_columns(self, columns: Columns, symbols: Alphabet) -> Text:
        operands = columns.operands

        def rest(which: int, place: Array) -> Number:
            given = operand(operands, which)
            left = jnp.maximum(given.length - place, 1)
            return number(shifted(given.digits, -place), jnp.where(given.length > 0, left, 0))

        def step(place: Array, digit: Array, carry: Array, next_carry: Array) -> Text:
            texts, sums = [], []
            for which in range(operands.digits.shape[0]):
                left = rest(which, place)
                operator = only_if(left.length > 0, literal(symbols, columns.operator))
                texts.extend([operator] if which else [])
                texts.append(write_number(left, symbols))
                last = one_digit(left.digits[0], symbols)
                sums.extend([only_if(left.length > 0, last), operator])
            # One operator less than digits and carry: the first operand is always there.
            carried_in = magnitude(carry, places_of(columns.most_carry, self.base), self.base)
            sums.append(write_number(carried_in, symbols))
            so_far = write_number(number(columns.digit, place), symbols)
            done = [*texts, literal(symbols, ">"), so_far, literal(symbols, ":"), *sums]
            result = self.carried(columns, digit, next_carry, symbols)
            return join([*done, literal(symbols, "="), result, literal(symbols, ";")])

        place = jnp.arange(columns.digit.shape[0])
        rows = (place, columns.digit, columns.carry, columns.next_carry)
        return join([swap_mark(columns, symbols), steps(step, *rows, count=columns.count)])

    def write_partials(self, partials: Partials, symbols: Alphabet) -> Text:
        first, second = partials.first, partials.second

        def step(digit: Array, carries: Array, product: Array, total: Array) -> Text:
            def times(place: Array, other: Array, carry: Array) -> Text:
                value = other * digit + carry
                texts = [one_digit(other, symbols), literal(symbols, "*")]
                texts += [one_digit(digit, symbols), literal(symbols, "+")]
                texts += [one_digit(carry, symbols), literal(symbols, "=")]
                texts += [one_digit(value % self.base, symbols), literal(symbols, "c")]
                return join([*texts, one_digit(value // self.base, symbols), literal(symbols, ",")])

            head = [write_number(first, symbols), literal(symbols, "*"), one_digit(digit, symbols)]
            places = jnp.arange(first.places)
            body = steps(times, places, first.digits, carries, count=first.length)
            tail = product_and_total(product, total, symbols)
            return join([*head, literal(symbols, ":"), body, tail])

        rows = (second.digits, partials.digit_carries, partials.products, partials.from_right)
        return steps(step, *rows, count=second.length)

    def slack(self, task: Task, operands: int, places: int) -> int:
        own = super().slack(task, operands, places)
        if self.working(task) == "columns":
            # At place t operands have t digits less, and the result has only t.
            shorter = sum(operands * place + places - place for place in range(places))
            return own + shorter
        second = second_places(task, places)
        return own + second * (second - 1)


@dataclass(frozen=True)
class RightToLeft(Worked):
    """The digits of all operands at a place, with the carry; the answer from its last digit.

    57+24=74c0=1c1;52c1=8c0;18: every step needs what stands at one place and in the step before.
    """

    name = "right_to_left"
    about = "57+24=74c0=1c1;52c1=8c0;18: the digits of each place with the carry, from the right"
    symbols = ("c", ";", "=", "-")
    workings = ("columns",)
    reversed: bool = True

    def write_columns(self, columns: Columns, symbols: Alphabet) -> Text:
        operands = columns.operands
        room = places_of(columns.most_carry, self.base)

        def step(digits: Array, carry: Array, digit: Array, next_carry: Array) -> Text:
            tokens = only_if(operands.length > 0, digits + symbols.first_digit)
            carried_in = write_number(magnitude(carry, room, self.base), symbols)
            before = [tokens, literal(symbols, "c"), carried_in, literal(symbols, "=")]
            after = self.carried(columns, digit, next_carry, symbols)
            return join([*before, after, literal(symbols, ";")])

        rows = (operands.digits.T, columns.carry, columns.digit, columns.next_carry)
        return join([swap_mark(columns, symbols), steps(step, *rows, count=columns.count)])


@dataclass(frozen=True)
class RevOrder(Worked):
    """Everything that is computed begins with its last digit; carries are marked where they arise.

    57+24=1'8;18: a mark for every unit carried. 57*24=822+0411=8631;8631: partial products and
    their sums, one by one.
    """

    name = "revorder"
    about = "57+24=1'8;18 and 57*24=822+0411=8631;8631: computed from the last digit"
    symbols = ("'", ";", "+", "=", "-")
    workings = ("columns", "partials")
    reversed: bool = True

    def write_columns(self, columns: Columns, symbols: Alphabet) -> Text:
        def step(digit: Array, carry: Array) -> Text:
            marks = jnp.arange(columns.most_carry) < carry
            tokens = jnp.full(marks.shape, symbols.token("'"))
            return join([one_digit(digit, symbols), only_if(marks, tokens)])

        written = steps(step, columns.digit, columns.next_carry, count=columns.count)
        return join([swap_mark(columns, symbols), written, literal(symbols, ";")])

    def write_partials(self, partials: Partials, symbols: Alphabet) -> Text:
        def step(place: Array, product: Array, total: Array) -> Text:
            again = join([literal(symbols, "="), backwards(total, symbols)])
            plus = only_if(place > 0, literal(symbols, "+"))
            return join([plus, backwards(product, symbols), only_if(place > 0, again)])

        place = jnp.arange(partials.second.places)
        rows = (place, partials.products, partials.from_right)
        written = steps(step, *rows, count=partials.second.length)
        return join([written, literal(symbols, ";")])

    def slack(self, task: Task, operands: int, places: int) -> int:
        own = super().slack(task, operands, places)
        if self.working(task) == "columns":
            return own
        # As in a scratchpad; and the first step has no total.
        first = first_places(task, places)
        second = second_places(task, places)
        return own + second * (second - 1) + first + 1 + 2


def one_digit(digit: Int[Array, ""], symbols: Alphabet) -> Text:
    """A single digit."""
    return (digit + symbols.first_digit)[None]


def magnitude(value: Int[Array, ""], room: int, base: int) -> Number:
    """A machine integer that is not negative."""
    return from_natural(value, room, base)


def backwards(digits: Int[Array, " digits"], symbols: Alphabet) -> Text:
    """A number from its last digit."""
    return write_number(number(digits), symbols, reversed_digits=True)


def product_and_total(
    product: Int[Array, " digits"], total: Int[Array, " digits"], symbols: Alphabet
) -> Text:
    """A partial product and the sum of those up to it: 1140>1368;"""
    texts = [write_number(number(product), symbols), literal(symbols, ">")]
    return join([*texts, write_number(number(total), symbols), literal(symbols, ";")])


def swap_mark(columns: Columns, symbols: Alphabet) -> Text:
    """A sign where operands were swapped; nothing where they never are."""
    if columns.operator == "+":
        return literal(symbols)
    return only_if(columns.swapped, literal(symbols, "-"))


def first_places(task: Task, places: int) -> int:
    """The most digits of the first factor."""
    return min(places, getattr(task, "first", 0) or places)


def second_places(task: Task, places: int) -> int:
    """The most digits of the second factor."""
    return min(places, getattr(task, "second", 0) or places)
