"""Gradients into programs: holes of a graph, and blanks of a prompt, are fitted to examples.

A *hole* is a node that was declared and not defined: one number, or one for each of some tokens. A
*blank* is a token of the prompt that is not known. Both begin at random, as many times as there are
seeds, all at once; the program runs at a temperature that falls (`soft.py`), and what it says is
moved towards what the examples say. In the end numbers are rounded and blanks are the likeliest
tokens, and the exact program, of which nothing is soft, answers all examples again. What is right
there is right in the weights: the program is compiled and certified like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from curta.compiler.graph import Graph
from curta.compiler.resolve import resolve
from curta.dyadic import Number, simplify
from curta.engine.evaluate import GraphSession
from curta.errors import DataError, GraphError, RegionError
from curta.hybrid.fit_config import FitConfig
from curta.hybrid.soft import Numbers, SoftProgram, SoftSequence, holes

UNKNOWN = "?"
"""Stands in what is said for a token that no example tells."""


@dataclass(frozen=True)
class Hole:
    """Numbers that a declared node may be: drawn between two at first, multiples of a step at last.

    tokens: it has a number for each of these, and 0 for others; of none, it is one number
    """

    low: float
    high: float
    step: Fraction = Fraction(1)
    tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.low <= self.high or self.step <= 0:
            raise DataError(f"a hole from {self.low} to {self.high} in steps of {self.step}: none")


class Example(NamedTuple):
    """A prompt, whose blanks stand in it by their names, and what is to be said after it."""

    prompt: tuple[str, ...]
    said: tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """What is known of a program.

    build:  its graph, made anew, with the holes declared
    blanks: the tokens that each may be
    """

    build: Callable[[], Graph]
    examples: Sequence[Example]
    holes: Mapping[str, Hole] = field(default_factory=dict)
    blanks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what cannot be fitted."""
        graph, there = self.build(), holes(self.build())
        if there.keys() != self.holes.keys():
            raise GraphError(
                f"declared and not defined: {', '.join(there) or 'nothing'}; to be fitted: "
                f"{', '.join(self.holes) or 'nothing'}; these have to be the same"
            )
        if not self.examples:
            raise DataError("nothing to fit to: give at least one example")
        known = {*graph.tokens, *self.blanks}
        for example in self.examples:
            strange = [token for token in example.prompt if token not in known]
            strange += [token for token in example.said if token not in {*graph.tokens, UNKNOWN}]
            if strange or not example.said:
                what = f"unknown token {strange[0]!r}" if strange else "nothing is said"
                raise DataError(f"example {' '.join(example.prompt)!r}: {what}")


@dataclass(frozen=True)
class Solution:
    """One program: the numbers of the holes, by token or one for all, and the tokens of blanks."""

    numbers: Mapping[str, tuple[Number, ...]]
    tokens: Mapping[str, str]
    right: float
    """The share of examples that the exact program gets right."""

    def graph(self, problem: Problem) -> Graph:
        """The program with its holes filled."""
        return filled(problem, self.numbers)


@dataclass(frozen=True)
class Fit:
    """What came of every seed; the best first."""

    solutions: tuple[Solution, ...]

    @property
    def best(self) -> Solution:
        return self.solutions[0]

    @property
    def solved(self) -> int:
        """How many seeds found a program that gets all examples right."""
        return sum(solution.right == 1 for solution in self.solutions)


def fit(
    problem: Problem,
    config: FitConfig | None = None,
    on_step: Callable[[int, float], object] = lambda step, loss: None,
) -> Fit:
    """Fit the holes and blanks; `on_step` is told the step, and the least loss of a seed."""
    problem.check()
    chosen = config or FitConfig()
    unknowns = Unknowns(problem, chosen.seeds, chosen.seed)
    soft = SoftProgram(problem.build())
    batches = groups(problem, soft.graph)
    generator = torch.Generator().manual_seed(chosen.seed)
    sizes = torch.tensor([float(len(batch.prompts)) for batch in batches])
    optimiser = torch.optim.Adam(unknowns.parameters, lr=chosen.learning_rate)
    for step in range(chosen.steps):
        temperature = chosen.temperature(step, numbers=bool(problem.holes))
        batch = batches[int(torch.multinomial(sizes, 1, generator=generator))]
        rows = torch.randperm(len(batch.prompts), generator=generator)[: chosen.batch]
        examples = Batch(batch.prompts[rows], batch.said[rows])
        losses = loss_of(soft, unknowns, examples, temperature)
        optimiser.zero_grad()
        losses.sum().backward()  # type: ignore[no-untyped-call]
        for parameter in unknowns.parameters:
            assert parameter.grad is not None
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        optimiser.step()
        on_step(step + 1, float(losses.detach().min()))
    return Fit(tuple(sorted(unknowns.solutions(), key=lambda one: -one.right)))


class Batch(NamedTuple):
    """Examples of one shape: ids [example, place], those of blanks behind those of tokens; -1 in
    what is said is a token that nobody tells.
    """

    prompts: Tensor
    said: Tensor


def groups(problem: Problem, graph: Graph) -> list[Batch]:
    """The examples, by the lengths of their parts."""
    ids = {name: number for number, name in enumerate([*graph.tokens, *problem.blanks])}

    def shape(example: Example) -> tuple[int, int]:
        return len(example.prompt), len(example.said)

    return [
        Batch(
            torch.tensor([[ids[token] for token in one.prompt] for one in same]),
            torch.tensor([[graph.tokens.get(token, -1) for token in one.said] for one in same]),
        )
        for _, group in groupby(sorted(problem.examples, key=shape), shape)
        for same in [list(group)]
    ]


class Unknowns:
    """The holes and blanks of all seeds, as tensors that move."""

    def __init__(self, problem: Problem, seeds: int, seed: int) -> None:
        self.problem, self.seeds = problem, seeds
        self.tokens = problem.build().tokens
        generator = torch.Generator().manual_seed(seed)
        self.numbers: dict[str, Tensor] = {}
        self.leanings: dict[str, Tensor] = {}
        for name, hole in problem.holes.items():
            shape = seeds, 1, len(hole.tokens) or 1
            share = torch.rand(shape, generator=generator, dtype=torch.float64)
            self.numbers[name] = (hole.low + (hole.high - hole.low) * share).requires_grad_()
        for name, may in problem.blanks.items():
            leaning = torch.randn((seeds, 1, len(may)), generator=generator, dtype=torch.float64)
            self.leanings[name] = (0.5 * leaning).requires_grad_()
        self.parameters = [*self.numbers.values(), *self.leanings.values()]

    def by_token(self) -> Numbers:
        """The numbers of holes as a soft program reads them."""
        holes = self.problem.holes
        return {
            name: self.spread(value, holes[name].tokens) if holes[name].tokens else value
            for name, value in self.numbers.items()
        }

    def distributions(self) -> Tensor:
        """What tokens are, and what blanks are likely to be, [seed, token or blank, token]."""
        tokens = torch.eye(len(self.tokens), dtype=torch.float64)[None]
        blanks = [
            self.spread(value.softmax(-1), self.problem.blanks[name])
            for name, value in self.leanings.items()
        ]
        return torch.cat([tokens.expand(self.seeds, -1, -1), *blanks], 1) if blanks else tokens

    def spread(self, value: Tensor, tokens: Sequence[str]) -> Tensor:
        """Numbers of some tokens as numbers of all."""
        everything = value.new_zeros(*value.shape[:-1], len(self.tokens))
        return everything.index_copy(-1, torch.tensor([self.tokens[t] for t in tokens]), value)

    def solutions(self) -> list[Solution]:
        """Rounded, and measured by the exact program."""
        holes, blanks = self.problem.holes, self.problem.blanks
        found: dict[object, Solution] = {}
        solutions = []
        for seed in range(self.seeds):
            numbers: dict[str, tuple[Number, ...]] = {}
            for name, value in self.numbers.items():
                step, drawn = holes[name].step, value[seed, 0].tolist()
                numbers[name] = tuple(simplify(round(Fraction(x) / step) * step) for x in drawn)
            tokens = {
                name: blanks[name][int(value[seed, 0].argmax())]
                for name, value in self.leanings.items()
            }
            key = (*numbers.values(), *tokens.values())
            if key not in found:
                right = share_right(self.problem, numbers, tokens)
                found[key] = Solution(numbers, tokens, right)
            solutions.append(found[key])
        return solutions


def loss_of(soft: SoftProgram, unknowns: Unknowns, batch: Batch, temperature: float) -> Tensor:
    """Of every seed: the mean cross-entropy of the tokens that the examples tell."""
    sequence = SoftSequence(soft, unknowns.by_token(), temperature)
    tokens = unknowns.distributions()
    for ids in batch.prompts.T:
        logits = sequence.feed(tokens[:, ids])
    losses: list[Tensor] = []
    for place, wanted in enumerate(batch.said.T, 1):
        told = wanted >= 0
        likely = logits.log_softmax(-1).expand(unknowns.seeds, len(wanted), -1)
        if told.any():
            losses.append(-likely[:, told, wanted[told]].clamp(min=-1e3).mean(1))
        if place < batch.said.shape[1]:
            known = one_hot(wanted.clamp(min=0), likely.shape[-1]).to(torch.float64)
            logits = sequence.feed(torch.where(told[:, None], known, likely.exp()))
    return torch.stack(losses).mean(0)


# -- the exact program ----------------------------------------------------------------------------


def filled(problem: Problem, numbers: Mapping[str, Sequence[Number]]) -> Graph:
    """The graph with numbers in its holes."""
    graph = problem.build()
    for name, index in holes(graph).items():
        tokens, found = problem.holes[name].tokens, numbers[name]
        value = graph.feature(name, dict(zip(tokens, found, strict=True))) if tokens else found[0]
        graph.define(graph.node_at(index), value)
    return graph


def share_right(
    problem: Problem, numbers: Mapping[str, Sequence[Number]], tokens: Mapping[str, str]
) -> float:
    """How many of the examples the exact program answers as they say."""
    graph = resolve(filled(problem, numbers))
    right = sum(answers(graph, example, tokens) for example in problem.examples)
    return right / len(problem.examples)


def answers(graph: Graph, example: Example, tokens: Mapping[str, str]) -> bool:
    """Does it say what the example tells?"""
    session, names = GraphSession(graph), list(graph.tokens)
    try:
        for token in example.prompt:
            said = session.feed(graph.tokens[tokens.get(token, token)])
        for place, wanted in enumerate(example.said):
            if wanted not in (UNKNOWN, names[said]):
                return False
            if place + 1 < len(example.said):
                said = session.feed(said)
    except RegionError:
        return False
    return True
