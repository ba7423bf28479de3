"""Graphs as JSON: one list per node, its kind first, then its fields in order."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from curta.compiler import nodes
from curta.compiler.graph import Family, Graph
from curta.compiler.numbers import exact
from curta.errors import GraphError

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        nodes.TokenFeature,
        nodes.PositionFeature,
        nodes.Linear,
        nodes.Gate,
        nodes.Lookup,
        nodes.RunningSum,
        nodes.Assume,
    )
}


def graph_to_json(graph: Graph) -> dict[str, Any]:
    return {
        "tokens": list(graph.tokens),
        "nodes": [
            [type(op).__name__, *(to_json(getattr(op, f.name)) for f in fields(op))]
            for op in graph.operations
        ],
        "names": {str(index): name for index, name in graph.names.items()},
        "families": [[list(f.tokens), f.linear, f.square, f.base, f.when] for f in graph.families],
        "stops": sorted(graph.stops),
    }


def graph_from_json(data: dict[str, Any]) -> Graph:
    graph = Graph(data["tokens"])
    for place, (kind, *values) in enumerate(data["nodes"]):
        operation = KINDS[kind](*(from_json(value) for value in values))
        if any(operand >= place or operand < 0 for operand in nodes.operands(operation)):
            raise GraphError(f"node {place} reads a node that comes after it")
        if graph.intern(operation).index != place:
            raise GraphError(f"node {place} is a copy of an earlier one")
    graph.names = {int(index): name for index, name in data["names"].items()}
    graph.families = [
        Family(tuple(tokens), linear, square, base, when)
        for tokens, linear, square, base, when in data["families"]
    ]
    graph.stops = set(data["stops"])
    return graph


def to_json(value: object) -> object:
    """Tuples become lists; fractions become text."""
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    return value


def from_json(value: object) -> Any:
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    if isinstance(value, dict):
        return exact(Fraction(value["fraction"]))
    return value
