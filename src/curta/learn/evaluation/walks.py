"""Walks: long computations whose every step is asked of the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.evaluation.decode import generate
from curta.learn.experiment import Setup
from curta.learn.keys import new_key
from curta.learn.language import Language, Rows
from curta.learn.models.transformer import Transformer
from curta.learn.numbers import Number
from curta.learn.tasks.steps import StepTask, Walk


@dataclass(frozen=True)
class WalkCell:
    """Walks of one operation over numbers of one length."""

    operation: str
    digits: int
    samples: int
    exact: int
    steps: int
    """Of all walks together."""


def walk_accuracy(
    model: Transformer,
    setup: Setup,
    lengths: Iterable[int],
    samples: int,
    *,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> list[WalkCell]:
    """Random numbers of each length, computed by walking, compared with Python's."""
    task = stepping(setup)
    replies = Replies(model, setup)
    cells = []
    for operation in task.operations:
        for digits in lengths:
            dice = random.Random(f"{seed} {operation} {digits}")
            pairs = [operands(operation, digits, dice) for _ in range(samples)]
            walks = [task.walk(operation, str(a), str(b)) for a, b in pairs]
            results, steps = walked(walks, replies)
            right = [expected(operation, a, b) for a, b in pairs]
            exact = sum(said == true for said, true in zip(results, right, strict=True))
            cells.append(WalkCell(operation, digits, samples, exact, steps))
            done()
    return cells


def stepping(setup: Setup) -> StepTask:
    """The task, if it is one of steps that walks can be made of."""
    task, language = setup.language.task, setup.language
    if not isinstance(task, StepTask):
        raise ExperimentError(
            f"walks: task {task.name} has no steps to walk; leave walks out, or choose digit_step "
            "or machine_step"
        )
    if language.alphabet.base != 10:
        raise ExperimentError(
            f"base = {language.alphabet.base}: walks are along decimal numbers; choose base 10"
        )
    plain = Language(task, catalogue.format_("plain"))
    if first_step(language) != first_step(plain):
        raise ExperimentError(
            f"walks: steps are asked as in {first_step(plain)!r}, format {setup.experiment.format} "
            f"writes {first_step(language)!r}; choose --format plain, without pauses"
        )
    return task


def first_step(language: Language) -> str:
    """A step as a language writes it."""

    def written() -> Array:
        none = jnp.zeros((1,), jnp.int32)
        given = Number(none[:, None], none, none.astype(bool), none)
        return language.row(language.problem(given, key=new_key(0))).tokens

    return language.alphabet.decode(np.asarray(jax.jit(written)()))


def operands(operation: str, digits: int, dice: random.Random) -> tuple[int, int]:
    """Two numbers of so many digits, as the operation wants them."""
    low, high = (1 if digits == 1 else 10 ** (digits - 1)), 10**digits - 1
    a, b = dice.randint(low, high), dice.randint(low, high)
    if operation == "-":
        return max(a, b), min(a, b)
    if operation == "?" and dice.random() < 0.5:
        # Random numbers differ in their first digit: half of them get to differ late.
        place = dice.randrange(digits)
        b = a - a % 10**place + dice.randrange(10**place) if place else a
    if operation == "/":
        b = dice.randint(1, 10 ** max(1, digits // 2) - 1)
    return a, b


def expected(operation: str, a: int, b: int) -> str:
    """What Python says."""
    match operation:
        case "+":
            return str(a + b)
        case "-":
            return str(a - b)
        case "*":
            return str(a * b)
        case "/":
            return f"{a // b} {a % b}"
    return "<" if a < b else ">" if a > b else "="


class Replies:
    """What the model says to a question; asked once, since greedy decoding says it every time."""

    def __init__(self, model: Transformer, setup: Setup) -> None:
        self.model, self.setup = model, setup
        self.known: dict[str, str] = {}

    def to(self, questions: Iterable[str]) -> dict[str, str]:
        """The replies to all questions."""
        new = sorted(set(questions) - set(self.known))
        width, alphabet = self.setup.sampler.width, self.setup.language.alphabet
        # A fixed number of rows at a time, so that decoding is compiled once.
        for first in range(0, len(new), 64):
            some = new[first : first + 64]
            encoded = [alphabet.encode(question) for question in some]
            tokens = np.full((64, width), alphabet.end)
            for row, question_tokens in enumerate(encoded):
                tokens[row, : len(question_tokens)] = question_tokens
            lengths = np.array([len(question) for question in encoded] + [1] * (64 - len(some)))
            rows = Rows(
                jnp.asarray(tokens), jnp.asarray(lengths), jnp.asarray(lengths), jnp.ones(64, bool)
            )
            said = np.asarray(said_to(self.model, self.setup, rows))
            for row, question in enumerate(some):
                answer = alphabet.decode(said[row, lengths[row] :])
                self.known[question] = answer.removesuffix(alphabet.symbols[alphabet.end])
        return self.known


@eqx.filter_jit
def said_to(model: Transformer, setup: Setup, rows: Rows) -> Array:
    """Greedy decoding, compiled once for the models of all seeds."""
    return generate(model, setup, rows)


def walked(walks: list[Walk], replies: Replies) -> tuple[list[str | None], int]:
    """The results of all walks, None for those that broke off, and how many steps they took."""
    results: list[str | None] = [None] * len(walks)
    waiting: dict[int, str] = {}

    def go_on(index: int, answer: str | None) -> None:
        walk = walks[index]
        try:
            waiting[index] = next(walk) if answer is None else walk.send(answer)
        except StopIteration as end:
            results[index] = end.value

    for index in range(len(walks)):
        go_on(index, None)
    steps = 0
    while waiting:
        known = replies.to(waiting.values())
        asked = dict(waiting)
        waiting.clear()
        steps += len(asked)
        for index, question in asked.items():
            # Anything else than a symbol and a state is no step: the walk breaks off.
            if len(known[question]) == 2:
                go_on(index, known[question])
    return results, steps
