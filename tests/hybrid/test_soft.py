"""A cold soft program is the program itself; a warm one has the gradients that differences show."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import one_hot

from curta.compiler import Graph, at_least, maximum
from curta.compiler import product as times
from curta.compiler.resolve import resolve
from curta.engine.evaluate import GraphSession
from curta.errors import GraphError
from curta.gallery import PROGRAMS
from curta.hybrid.soft import SoftProgram, SoftSequence, holes
from tests.support.slow import some

LONGEST = 24
COLD = 1e-12
"""A gate at 0 is off by T log 2 times its value, and keys are compared with that."""


LARGE_NUMBERS = {"subleq"}
"""Numbers of 16 bits multiply what a gate leaves over at 0: no temperature was cold enough."""


def said_exactly(graph: Graph, prompt: list[int]) -> list[int]:
    """What follows the prompt, to a stop or LONGEST."""
    session, said = GraphSession(resolve(graph)), list[int]()
    for token in prompt:
        following = session.feed(token)
    while len(said) < LONGEST:
        said.append(following)
        if following in graph.stops:
            break
        following = session.feed(following)
    return said


@pytest.mark.parametrize("name", some(10, sorted(PROGRAMS.keys() - LARGE_NUMBERS)))
def test_cold_it_says_what_the_graph_says(name: str) -> None:
    program = PROGRAMS[name]
    graph = program.build()
    prompts = (program.encode(case.input) for case in program.cases)
    prompt = [graph.tokens[token] for token in max(prompts, key=lambda some: len(some[:LONGEST]))]
    prompt = prompt[:LONGEST]
    said = said_exactly(graph, prompt)
    sequence = SoftSequence(SoftProgram(graph), {}, COLD)
    tokens = one_hot(torch.tensor([*prompt, *said]), len(graph.tokens)).to(torch.float64)
    likeliest = [int(sequence.feed(token).argmax()) for token in tokens]
    assert likeliest[len(prompt) - 1 : -1] == said


def test_batches_and_distributions_are_computed_alike() -> None:
    """A batch is its rows; a distribution with one token in it is that token."""
    graph = PROGRAMS["parity"].build()
    count = len(graph.tokens)
    rows = torch.randint(0, count, (2, 2, 5), generator=torch.Generator().manual_seed(0))
    tokens = one_hot(rows, count).to(torch.float64)
    together, soft = [], SoftProgram(graph)
    sequence = SoftSequence(soft, {}, 0.7)
    for place in range(rows.shape[-1]):
        together.append(sequence.feed(tokens[:, :, place]))
    for i in range(2):
        for j in range(2):
            alone = SoftSequence(soft, {}, 0.7)
            for place, logits in enumerate(together):
                torch.testing.assert_close(alone.feed(tokens[i, j, place]), logits[i, j])


def looking_back() -> Graph:
    """All kinds of node, and two holes: a number, and one for each token."""
    graph = Graph(["a", "b", "c"])
    number, by_token = graph.declare("number"), graph.declare("by token")
    fetched = graph.lookup(query=by_token, key=graph.position, value=by_token, missing="nearest")
    exact = graph.lookup(query=number, key=by_token, value=graph.position, missing=0.5)
    total = graph.running_sum(times(fetched, number))
    bent = graph.piecewise(total, [(0, 1), (2, -1.5)])
    graph.emit(["a", "b", "c"], maximum(bent, exact) + at_least(fetched, 1))
    return graph


def test_gradients_are_what_finite_differences_are() -> None:
    graph = looking_back()
    assert set(holes(graph)) == {"number", "by token"}
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    def logits(number: torch.Tensor, by_token: torch.Tensor, leaning: torch.Tensor) -> torch.Tensor:
        sequence = SoftSequence(soft, {"number": number, "by token": by_token}, 0.8)
        for token in leaning.softmax(-1).unbind(-2):
            said = sequence.feed(token)
        return sequence.feed(said.softmax(-1))  # through a token that it said itself

    soft = SoftProgram(graph)
    assert torch.autograd.gradcheck(logits, (draw(1, 1, 1), draw(1, 1, 3), draw(1, 2, 3, 3)))


def test_a_value_cannot_depend_on_itself() -> None:
    graph = Graph(["a", "b"])
    here = graph.declare("here")
    graph.define(here, graph.lookup(query=0, key=here, value=1, missing="nearest"))
    graph.emit(["a", "b"], here)
    with pytest.raises(GraphError, match="cannot depend on itself"):
        SoftProgram(graph)
