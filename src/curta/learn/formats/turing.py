"""What a Turing machine does to the question, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from curta.learn.alphabet import Alphabet, alphabet
from curta.learn.formats.base import Directed
from curta.learn.problem import Problem, numbers_in
from curta.learn.tasks.base import Task
from curta.learn.text import Text, join, literal, steps
from curta.learn.turing_machines import MOVES, run

BLANK = "_"


@dataclass(frozen=True)
class Turing(Directed):
    """At each step the state, the symbols under the heads, and the command; then the answer.

    57+24=[c0]74_>1LLL;[c1]52_>8LLL;[c0]___>_SSS;[halt]81. The command is what is written on the
    last tape, and where each head goes: left, right, or nowhere.
    """

    name = "turing"
    about = "57+24=[c0]74_>1LLL;[c1]52_>8LLL;[c0]___>_SSS;[halt]81: a machine's states and commands"
    symbols = (BLANK, ">", ";", *MOVES)
    workings = ("machine",)

    def check(self, task: Task) -> None:
        super().check(task)
        task.machine(self.base)

    def alphabet(self, task: Task) -> Alphabet:
        states = [f"[{name}]" for name in task.machine(self.base).names]
        return alphabet(self.base, (*task.symbols, *self.symbols, *states))

    def write(
        self, task: Task, problem: Problem, symbols: Alphabet, *, key: Array
    ) -> tuple[Text, Text]:
        question, answer = super().write(task, problem, symbols, key=key)
        machine = task.machine(self.base)
        states = literal(symbols, *(f"[{name}]" for name in machine.names))
        tape = jnp.append(jnp.arange(self.base) + symbols.first_digit, symbols.token(BLANK))
        moves = literal(symbols, *MOVES)
        done = run(machine, numbers_in(problem.question))

        def step(state: Array, seen: Array, written: Array, moved: Array) -> Text:
            texts = [states[state][None], tape[seen], literal(symbols, ">")]
            return join([*texts, tape[written][None], moves[moved + 1], literal(symbols, ";")])

        trace = steps(step, done.state, done.seen, done.written, done.moves, count=done.count)
        return question, join([trace, states[done.last_state][None], answer])
