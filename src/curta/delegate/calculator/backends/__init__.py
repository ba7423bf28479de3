"""Who computes: one interface, two ways.

exact    rationals, and balls around what is not rational; the definition
machine  a calculator program that the transformer executes; rationals only
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import Apply, Program
from curta.delegate.calculator.printing import Near, told
from curta.delegate.calculator.reals import Rational, Value, check, decided
from curta.errors import CalculatorError, TooLargeError

Outcome = Rational | bool | Near | CalculatorError

NAMES = ("exact", "machine")


class Backend(Protocol):
    """Evaluates programs, several at once; each has a value or an error."""

    name: str

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        """The outcome of each program."""
        ...


class Exact:
    """One after the other, exactly."""

    name = "exact"

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        return [self.outcome(program) for program in programs]

    def outcome(self, program: Program) -> Outcome:
        try:
            return decided(lambda: told(value_of(program, self.budget)))
        except CalculatorError as error:
            return error
        except ArithmeticError as error:  # no bound foresaw it: still nothing but an error of ours
            return TooLargeError(f"a number on the way to the result is out of range: {error}")


def value_of(program: Program, budget: Budget) -> Value:
    """What the program leaves on the stack."""
    stack: list[Any] = []
    most = budget.bits
    for step in program.steps:
        value: Value
        if type(step) is Apply:
            operation, count = step
            if count == 2:
                right = stack.pop()
                value = operation.exact(budget, stack.pop(), right)
            else:
                rest = len(stack) - count
                operands = stack[rest:]
                del stack[rest:]
                value = operation.exact(budget, *operands)
        else:
            value = step
        if type(value) is not int or value.bit_length() > most:
            check(value, budget)
        stack.append(value)
    (result,) = stack
    return result


def backend(name: str, budget: Budget) -> Backend:
    if name == "exact":
        return Exact(budget)
    if name == "machine":
        from curta.delegate.calculator.backends.machine import Machine

        return Machine(budget)
    raise CalculatorError(f"no backend is called {name!r}: {', '.join(NAMES)}")
