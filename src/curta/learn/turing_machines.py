"""Turing machines, and what they do step by step.

A machine has one tape for each number of the question and a last one for the answer. Cells count
from the right: a number's last digit lies in cell 0, where all heads begin, and everything else is
blank. At each step the machine sees its state and the symbols under its heads. It then writes one
symbol on the last tape, moves each head by a cell at most, and goes over to its next state, until
that is one in which it halts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from curta.errors import ExperimentError
from curta.learn.numbers import Number

LEFT, STAY, RIGHT = 1, 0, -1
MOVES = ("R", "S", "L")
"""Shown for right, stay and left."""

HALT = "halt"
MINUS = "minus"
"""Halts, too, and says that what is on the last tape is to be taken as negative."""

Seen = tuple[int | None, ...]
"""The symbols under the heads: digits, None for a blank."""


@dataclass(frozen=True)
class Command:
    """What is written, where the heads go, and the next state."""

    write: int | None
    moves: tuple[int, ...]
    state: str


Rule = Callable[[str, Seen], Command]


@dataclass(frozen=True)
class Machine:
    """A table of commands, written as the rule that fills it.

    states:      those in which it works, the first one first
    tapes:       with the one for the answer
    rule:        the command for a state and the symbols under the heads
    sweeps:      how often heads cross the numbers at most
    """

    states: tuple[str, ...]
    tapes: int
    rule: Rule
    base: int
    sweeps: int = 1

    def __post_init__(self) -> None:
        if self.base > 16:
            raise ExperimentError(
                f"base = {self.base}: a machine's table has a row for each combination of digits; "
                "use a base up to 16 for format turing"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """All states by their number; the last ones halt."""
        return (*self.states, HALT, MINUS)

    def table(self) -> dict[str, Int[Array, "..."]]:
        """The commands by state and symbols; a blank is the symbol behind the digits."""
        shape = (len(self.states), *[self.base + 1] * self.tapes)
        write = np.zeros(shape, np.int32)
        state = np.zeros(shape, np.int32)
        moves = np.zeros((*shape, self.tapes), np.int32)
        for at in itertools.product(*map(range, shape)):
            seen = tuple(None if symbol == self.base else symbol for symbol in at[1:])
            command = self.rule(self.states[at[0]], seen)
            write[at] = self.base if command.write is None else command.write
            state[at] = self.names.index(command.state)
            moves[at] = command.moves
        return {name: jnp.asarray(a) for name, a in (("w", write), ("s", state), ("m", moves))}


class Run(eqx.Module):
    """What a machine did: one entry for each step."""

    state: Int[Array, " steps"]
    seen: Int[Array, "steps tapes"]
    """Digits; the base stands for a blank."""
    written: Int[Array, " steps"]
    moves: Int[Array, "steps tapes"]
    count: Int[Array, ""]
    """How many steps it took to halt."""
    last_state: Int[Array, ""]
    answer: Int[Array, " cells"]
    """The last tape: digits and blanks."""


def run(machine: Machine, numbers: tuple[Number, ...]) -> Run:
    """Let a machine work on numbers until it halts."""
    base, halts = machine.base, len(machine.states)
    # One blank cell to the right, and two to the left: an answer may be longer than its numbers.
    cells = max(each.places for each in numbers) + 3
    tapes = jnp.stack([tape(each, cells, base) for each in numbers])
    tapes = jnp.concatenate([tapes, jnp.full((1, cells), base)])
    table = machine.table()
    which = jnp.arange(machine.tapes)

    def step(now: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Run]:
        state, heads, tapes = now
        seen = tapes[which, heads]
        at = (jnp.minimum(state, halts - 1), *seen)
        written, moves = table["w"][at], table["m"][at]
        working = state < halts
        after = tapes.at[-1, heads[-1]].set(jnp.where(working, written, seen[-1]))
        next_state = jnp.where(working, table["s"][at], state)
        record = Run(state, seen, written, moves, working, next_state, after[-1])
        return (next_state, jnp.where(working, heads + moves, heads), after), record

    heads = jnp.ones((machine.tapes,), jnp.int32)
    _, record = jax.lax.scan(
        step, (jnp.array(0), heads, tapes), None, length=machine.sweeps * (cells - 2)
    )
    return Run(
        state=record.state,
        seen=record.seen,
        written=record.written,
        moves=record.moves,
        count=record.count.sum(),
        last_state=record.last_state[-1],
        answer=record.answer[-1][1:],
    )


def tape(given: Number, cells: int, base: int) -> Int[Array, " cells"]:
    """A number among blanks, its last digit in cell 1 of the array."""
    digits = jnp.where(jnp.arange(given.places) < given.length, given.digits, base)
    return jnp.pad(digits, (1, cells - 1 - given.places), constant_values=base)


def adder(base: int) -> Machine:
    """Adds: the state is the carry."""

    def rule(state: str, seen: Seen) -> Command:
        x, y, _ = seen
        carry = int(state[-1])
        if x is None and y is None:
            return Command(carry or None, (STAY,) * 3, HALT)
        total = (x or 0) + (y or 0) + carry
        return Command(total % base, (LEFT,) * 3, f"c{total // base}")

    return Machine(("c0", "c1"), 3, rule, base)


def subtractor(base: int) -> Machine:
    """Subtracts: the state is the borrow; a difference below zero is complemented once more.

    In that case the last tape holds base^n - |a - b|. The head goes back to its right end; zeros
    stay, the first other digit d becomes base - d, all behind it base - 1 - d.
    """

    def rule(state: str, seen: Seen) -> Command:
        x, y, result = seen
        still = (STAY, STAY, STAY)
        if state in ("b0", "b1"):
            if x is None and y is None:
                if state == "b0":
                    return Command(result, still, HALT)
                return Command(result, (STAY, STAY, RIGHT), "back")
            difference = (x or 0) - (y or 0) - int(state[-1])
            return Command(difference % base, (LEFT,) * 3, "b1" if difference < 0 else "b0")
        if state == "back":
            move, after = (LEFT, "zeros") if result is None else (RIGHT, "back")
            return Command(result, (STAY, STAY, move), after)
        if result is None:
            return Command(None, still, MINUS)
        if state == "zeros" and result == 0:
            return Command(0, (STAY, STAY, LEFT), "zeros")
        complement = base - result if state == "zeros" else base - 1 - result
        return Command(complement, (STAY, STAY, LEFT), "others")

    return Machine(("b0", "b1", "back", "zeros", "others"), 3, rule, base, sweeps=3)


def comparer(base: int) -> Machine:
    """Compares: the state is the verdict so far, which a higher place overrules."""

    def rule(state: str, seen: Seen) -> Command:
        x, y, _ = seen
        if x is None and y is None:
            return Command(None, (STAY,) * 3, HALT)
        difference = (x or 0) - (y or 0)
        after = state if difference == 0 else "is<" if difference < 0 else "is>"
        return Command(None, (LEFT, LEFT, STAY), after)

    return Machine(("is=", "is<", "is>"), 3, rule, base, sweeps=1)


def parity_counter(base: int) -> Machine:
    """The state is the parity of the ones so far."""

    def rule(state: str, seen: Seen) -> Command:
        parity = int(state[-1])
        if seen[0] is None:
            return Command(parity, (STAY, STAY), HALT)
        return Command(None, (LEFT, STAY), f"p{(parity + seen[0]) % 2}")

    return Machine(("p0", "p1"), 2, rule, base)


def bit_joiner(base: int) -> Machine:
    """Writes the larger of two bits."""

    def rule(state: str, seen: Seen) -> Command:
        x, y, _ = seen
        if x is None and y is None:
            return Command(None, (STAY,) * 3, HALT)
        return Command(max(x or 0, y or 0), (LEFT,) * 3, state)

    return Machine(("or",), 3, rule, base)


def copier(base: int) -> Machine:
    """Writes what it reads."""

    def rule(state: str, seen: Seen) -> Command:
        if seen[0] is None:
            return Command(None, (STAY, STAY), HALT)
        return Command(seen[0], (LEFT, LEFT), state)

    return Machine(("copy",), 2, rule, base)


def reverser(base: int) -> Machine:
    """Goes to the first digit, then writes what it reads on its way back."""

    def rule(state: str, seen: Seen) -> Command:
        if state == "go":
            if seen[0] is None:
                return Command(None, (RIGHT, STAY), "back")
            return Command(None, (LEFT, STAY), "go")
        if seen[0] is None:
            return Command(None, (STAY, STAY), HALT)
        return Command(seen[0], (RIGHT, LEFT), "back")

    return Machine(("go", "back"), 2, rule, base, sweeps=2)
