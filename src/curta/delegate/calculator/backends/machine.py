"""The calculator as a program that the transformer executes: exact rationals, token by token.

The program is machine.c. It gives what `exact` gives, fraction for fraction and error for error,
as long as everything is rational; what is not, such as sqrt(2) or pi, is an error here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from curta.delegate.calculator.backends import Outcome
from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.operations import TABLE, Apply, Program, Step
from curta.delegate.given_up import check_given_up
from curta.errors import (
    CalculatorError,
    LimitError,
    ProgramError,
    TooLargeError,
    TooLongError,
    UndefinedError,
)
from curta.store import Shelf, key_of

if TYPE_CHECKING:
    import curta.machine.machine

MOST_BITS = 4_096
"""Of the numbers that the program has room for."""

STACK = 64
"""Numbers on its stack at most; a budget of 64 steps needs no more."""

TOGETHER = 64
"""Expressions in one run."""

TOKENS_FOR_ALL, TOKENS_FOR_EACH = 1_000_000, 100_000_000
"""What a run may take: the program and its input, and each expression."""


class Machine:
    """A calculator program inside the transformer."""

    name = "machine"

    def __init__(self, budget: Budget) -> None:
        if max(budget.bits, budget.denominator_bits) > MOST_BITS:
            raise CalculatorError(
                f"the machine computes with up to {MOST_BITS:,} bits: give a budget with bits and "
                "denominator_bits of no more"
            )
        self.budget = budget
        self.tokens_for_each = TOKENS_FOR_EACH

    def evaluate(self, programs: Sequence[Program]) -> list[Outcome]:
        """The outcome of each program; those of a run that reached its limit go on in another."""
        found: list[Outcome] = []
        while len(found) < len(programs):
            part = programs[len(found) : len(found) + TOGETHER]
            answers = self.answers(part)
            found += [outcome(*each) for each in zip(part, answers, strict=False)]
            if len(answers) < len(part):
                found.append(TooLargeError("the calculation takes the machine too many tokens"))
        return found

    def answers(self, programs: Sequence[Program]) -> list[str]:
        """A line for each program; fewer if the run reached its limit before."""
        from curta.machine.instructions import MOST_TOKENS

        said: list[bytes] = []
        wanted = TOKENS_FOR_ALL + self.tokens_for_each * len(programs)
        try:
            run = self.computer.run(
                module(),
                stdin=written(programs, self.budget).encode(),
                on_stdout=said.append,
                on_progress=lambda figures: check_given_up(),
                max_tokens=wanted if wanted < MOST_TOKENS else None,  # None: all there are
                keep_trace=False,
            )
        except LimitError:
            return b"".join(said).decode().split("\n")[:-1]
        if run.exit_code != 0:
            raise ProgramError(f"the calculator program ended with exit code {run.exit_code}")
        return run.stdout.decode().splitlines()

    @cached_property
    def computer(self) -> curta.machine.machine.Machine:
        """The machine, made when it is used first."""
        from curta.machine.machine import Machine as Computer

        return Computer()


@cache
def module() -> bytes:
    """The program as WebAssembly, compiled once."""
    from curta.machine.toolchain import read_program

    text, shelf = source(), Shelf("programs")
    key = key_of(b"calculator", text.encode())
    made = shelf.read(key)
    if made is None:
        with TemporaryDirectory() as folder:
            (file := Path(folder) / "calculator.c").write_text(text, encoding="utf-8")
            made = read_program(file)
        shelf.keep(key, made)
    return made


def source() -> str:
    """The program in C; what the operations do is from their records."""
    text = '#include "machine.c"'
    for name in ("machine.c", "whole_numbers.h", "rationals.h", "operations.h", "machine_text.h"):
        place = files(__package__) / name
        content = place.read_text(encoding="utf-8") if name != "operations.h" else table()
        text = text.replace(f'#include "{name}"', content)
    return text


def table() -> str:
    """What each operation does, by its number."""
    cases = "\n".join(f"case {n}: {each.machine}; break;" for n, each in enumerate(TABLE))
    head = "static void operate(uint32_t number, Rational *given, int operands)"
    return f"{head} {{\nswitch (number) {{\n{cases}\n}}\n}}"


def written(programs: Sequence[Program], budget: Budget) -> str:
    """What the program reads: the budget, then a line for each program."""
    exponent = min(budget.exponent, MOST_BITS + 2)  # those beyond are too large anyway
    first = f"{budget.bits:x} {budget.denominator_bits:x} {exponent:x}"
    texts = (" ".join(map(word, each.steps)) if fits(each) else "!" for each in programs)
    return "\n".join([first, *texts])


def fits(program: Program) -> bool:
    """Whether the stack has room for all of its steps."""
    return len(program.steps) <= STACK


def word(step: Step) -> str:
    """A step in the calculator's language."""
    if isinstance(step, Apply):
        number = TABLE.index(step.operation)
        return f":{number:x}/{step.operands:x}" if step.operation.machine else "?"
    above, below = step.numerator, step.denominator
    if max(above.bit_length(), below.bit_length()) > MOST_BITS:
        return "!"
    return f"{above:x}" if below == 1 else f"{above:x}/{below:x}"


def outcome(program: Program, answer: str) -> Outcome:
    """What an answer stands for."""
    if not fits(program):
        steps = len(program.steps)
        return TooLongError(f"{steps} numbers and operations: this backend takes {STACK} at most")
    if answer == "undefined":
        return UndefinedError("the expression has no real value")
    if answer == "large":
        return TooLargeError("a number on the way to the result is beyond the budget")
    if answer == "inexact":
        return CalculatorError("this backend computes with rationals only: take exact for it")
    above, _, below = answer.partition("/")
    if program.compares:
        return above == "1"
    return Fraction(int(above, 16), int(below, 16)) if below else int(above, 16)
