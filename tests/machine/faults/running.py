"""Runs lowered programs on the reference machine: what they give, or how they break down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from curta.machine import reference
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.program import CoreProgram
from tests.machine.faults.corpus import Outcome, Program
from tests.machine.lower.core_run import CoreInstance, Exit

STACK_REGISTERS = LARGEST_FRAME + 30_000
"""Recursion without end should not take long."""
MOST_STEPS = 3_000_000
ROOM = 20_000
"""Steps that a changed program may do more than four times what the right one does."""


@dataclass(frozen=True)
class Behaviour:
    """All that can be seen of a program from outside; the steps of each part are not compared."""

    outcomes: tuple[Outcome, ...]
    memory: bytes
    steps: int

    def first_difference(self, other: Behaviour) -> str:
        """In words; empty if there is none."""
        for number, (one, another) in enumerate(zip(self.outcomes, other.outcomes, strict=False)):
            if one != another:
                return f"outcome {number}: {_shown(one)} instead of {_shown(another)}"
        if len(self.outcomes) != len(other.outcomes):
            return "another number of outcomes"
        if self.memory != other.memory:
            return "another memory at the end"
        return ""


def _shown(outcome: Outcome) -> str:
    words = isinstance(outcome, tuple) and all(isinstance(word, int) for word in outcome)
    told = str([hex(word) for word in outcome]) if words else repr(outcome)  # type: ignore
    return told if len(told) < 120 else f"{told[:120]}..."


def behave(program: Program, core: CoreProgram, most_steps: int = MOST_STEPS) -> Behaviour:
    """Run all calls of a program; what breaks down ends the run with its own outcome."""
    outcomes: list[Outcome] = []
    instance = None
    with _small_stack():
        try:
            instance = _Instance(core, most_steps)
            if not program.calls:
                outcomes.append(_run_to_end(instance))
            for name, arguments in program.calls:
                given = instance.invoke(name, *arguments)
                outcomes.append(given if isinstance(given, tuple | str) else repr(given))
            memory = instance.memory()
        except Exception as error:  # whatever a broken program does to the machine
            outcomes.append(f"the machine fails: {error!r}")
            memory = b""
    return Behaviour(tuple(outcomes), memory, instance.machine.steps if instance else 0)


def _run_to_end(instance: _Instance) -> Outcome:
    ended = instance.invoke("_start")
    code = ended.code if isinstance(ended, Exit) else 0 if ended == () else ended
    return instance.output("out"), instance.output("err"), code


class _Instance(CoreInstance):
    """An instance that does only so many steps, all calls together."""

    def __init__(self, core: CoreProgram, most_steps: int) -> None:
        self.most_steps = most_steps
        super().__init__(core)

    def _enter(self, number: int, words: object = ()) -> str:
        machine = self.machine
        inner = type(machine).run
        left = self.most_steps - machine.steps
        if left <= 0:
            raise RuntimeError("too many steps")
        machine.run = lambda _=0: inner(machine, max(1, self.most_steps - machine.steps))  # type: ignore
        return super()._enter(number, words)  # type: ignore[arg-type]


@contextmanager
def _small_stack() -> Iterator[None]:
    before = reference.FRAME_REGISTERS
    reference.FRAME_REGISTERS = STACK_REGISTERS  # type: ignore[misc]
    try:
        yield
    finally:
        reference.FRAME_REGISTERS = before  # type: ignore[misc]
