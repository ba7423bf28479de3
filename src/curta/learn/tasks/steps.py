"""Single steps of long computations, and the walks that put them together.

The model learns one step: all it sees are the symbols under the heads and a state. A *walk* does
the bookkeeping that a reader with a finger would do: it moves along the numbers, asks the model
about what lies there, writes down what the model says, and goes on in the state that the model
names. So numbers may be as long as one likes; what is learned is the rule, and it has to be right
every time.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.alphabet import digit_names
from curta.learn.numbers import Number
from curta.learn.problem import Problem, Symbol, symbol
from curta.learn.tasks.base import Task

Walk = Generator[str, str, str]
"""Yields questions, is sent the model's answers, returns its result."""

BLANK = "_"


@dataclass(frozen=True)
class StepTask(Task):
    """A task whose problems are steps; sizes of operands do not matter."""

    operands = (1, 1)
    operations: ClassVar[tuple[str, ...]]
    """What walks can compute."""

    def walk(self, operation: str, a: str, b: str) -> Walk:
        """Compute `a operation b`, decimal numbers that are not negative, step by step."""
        raise NotImplementedError


@dataclass(frozen=True)
class DigitStep(StepTask):
    """One place of a sum: two digits and a carry give a digit and a carry."""

    name = "digit_step"
    about = "7+4+1=21, one place of a sum and its carry; walks along numbers of any length"
    symbols = ("+", "=")
    operations = ("+",)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        digit_key, carry_key = jax.random.split(key)
        a, b = jax.random.randint(digit_key, (2,), 0, base)
        carry = jax.random.randint(carry_key, (), 0, 2)
        total = a + b + carry
        question = (
            digit(a, base),
            symbol("+"),
            digit(b, base),
            symbol("+"),
            digit(carry, base),
            symbol("="),
        )
        return Problem(question, (digit(total % base, base), digit(total // base, base)))

    def walk(self, operation: str, a: str, b: str) -> Walk:
        carry, digits = "0", ""
        for place in range(max(len(a), len(b))):
            said = yield f"{at(a, place, '0')}+{at(b, place, '0')}+{carry}="
            digits, carry = digits + said[:1], said[1:2]
        return (digits + carry)[::-1].lstrip("0") or "0"


@dataclass(frozen=True)
class MachineStep(StepTask):
    """One step of a Turing machine: a state and two symbols give a symbol and the next state.

    States are A and B (adding, without and with a carry), S and T (subtracting, without and with a
    borrow), and <, =, > (comparing: what the digits so far say). Products are sums of shifted
    numbers, quotients are differences as long as they can be taken: composed of the same steps.
    """

    name = "machine_step"
    about = "A74=1B, a step of a Turing machine that adds, subtracts and compares"
    symbols = ("A", "B", "S", "T", "<", ">", "=", ":", BLANK)
    operations = ("+", "-", "?", "*", "/")

    states: ClassVar[tuple[str, ...]] = ("A", "B", "S", "T", "<", "=", ">")

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        state_key, digit_key, blank_key = jax.random.split(key, 3)
        state = jax.random.randint(state_key, (), 0, 7)
        held = jax.random.randint(digit_key, (2,), 0, base)
        # One of the two numbers may have ended.
        ended = jax.random.randint(blank_key, (), 0, 6)
        a_ended, b_ended = ended == 0, ended == 1
        a, b = jnp.where(a_ended, 0, held[0]), jnp.where(b_ended, 0, held[1])
        written, following = transition(state, a, b, base)
        question = (
            Symbol(self.states, state),
            digit(jnp.where(a_ended, base, a), base, blank=True),
            digit(jnp.where(b_ended, base, b), base, blank=True),
            symbol(":"),
        )
        return Problem(question, (digit(written, base), Symbol(self.states, following)))

    def walk(self, operation: str, a: str, b: str) -> Walk:
        match operation:
            case "+":
                return (yield from self.along("A", a, b))[0]
            case "-":
                return (yield from self.along("S", a, b))[0]
            case "?":
                return (yield from self.along("=", a, b))[1]
            case "*":
                return (yield from self.product(a, b))
            case "/":
                return (yield from self.quotient(a, b))
        raise ValueError(f"no walk for {operation!r}: one of {' '.join(self.operations)}")

    def along(self, state: str, a: str, b: str) -> Generator[str, str, tuple[str, str]]:
        """From the last digits to the first; what was written, and the last state."""
        digits = ""
        for place in range(max(len(a), len(b))):
            said = yield f"{state}{at(a, place, BLANK)}{at(b, place, BLANK)}:"
            digits, state = digits + said[:1], said[1:2]
        if state == "B":
            digits += "1"
        return digits[::-1].lstrip("0") or "0", state

    def product(self, a: str, b: str) -> Walk:
        """For each digit of b, from the first: ten times what there is, and a as often."""
        total = "0"
        for digit_of_b in b:
            total = (total + "0").lstrip("0") or "0"
            for _ in range(int(digit_of_b)):
                total, _ = yield from self.along("A", total, a)
        return total

    def quotient(self, a: str, b: str) -> Walk:
        """Long division, quotient and rest: b is taken away until the rest is smaller."""
        quotient, rest = "", "0"
        for digit_of_a in a:
            rest, times = (rest + digit_of_a).lstrip("0") or "0", 0
            while (yield from self.along("=", rest, b))[1] in "=>" and times < 10:
                rest, _ = yield from self.along("S", rest, b)
                times += 1
            quotient += str(times)
        return f"{quotient.lstrip('0') or '0'} {rest}"


def transition(state: Array, a: Array, b: Array, base: int) -> tuple[Array, Array]:
    """The machine: what is written, and the number of the next state."""
    carried, borrowed = state == 1, state == 3
    total = a + b + carried
    rest = a - b - borrowed
    adding, subtracting = state < 2, (state == 2) | (state == 3)
    written = jnp.where(adding, total % base, jnp.where(subtracting, rest % base, 0))
    compared = jnp.where(a < b, 4, jnp.where(a > b, 6, state))
    after_difference = 2 + (rest < 0)
    following = jnp.where(adding, total // base, jnp.where(subtracting, after_difference, compared))
    return written, following


def digit(value: Array, base: int, *, blank: bool = False) -> Symbol:
    """A digit as a symbol; with a blank, the base itself stands for it."""
    return Symbol((*digit_names(base), *([BLANK] if blank else [])), value)


def at(number: str, place: int, missing: str) -> str:
    """The digit at a place, counted from the last."""
    return number[-1 - place] if place < len(number) else missing
