"""What every level says to a prompt, token by token: the comparison behind most of these tests."""

from __future__ import annotations

from collections.abc import Sequence

from curta.compiler import Graph, Model, Node
from curta.engine import LEVELS, Level, load
from curta.errors import RegionError

STOPPED = -1


def said_by(level: Level, model: Model, prompt: Sequence[int]) -> list[int]:
    """The token after every position of the prompt; a run that is stopped ends with STOPPED."""
    session, said = load(model, level).session(), []
    for token in prompt:
        try:
            said.append(session.feed(token))
        except RegionError:
            return [*said, STOPPED]
    return said


def agreed(model: Model, prompt: Sequence[int], levels: Sequence[Level] = LEVELS) -> list[int]:
    """What the definition says; a failure names the level that says something else."""
    expected = said_by("evaluate", model, prompt)
    for level in levels:
        actual = said_by(level, model, prompt)
        assert actual == expected, f"{level}: {actual}, evaluate: {expected}"
    return expected


def carrying(values: Sequence[object], spare: int = 0) -> tuple[Graph, Node]:
    """A graph whose token n carries values[n], and the node that holds it."""
    names = [f"t{number}" for number in range(len(values) + spare)]
    graph = Graph(names)
    return graph, graph.feature("x", dict(zip(names, values, strict=False)))


def kept(node: Node) -> Node:
    """The same number, fetched by attention, so that nothing can be tabulated per token."""
    position = node.graph.position
    return node.graph.lookup(query=position, key=position, value=node, missing="nearest")
