"""The residual stream that exact arithmetic gives: every wire of the circuit, brute force.

The slow definition of what the levels below `evaluate` compute. It shares neither geometry nor
floating point with them: attention is a maximum over fractions, a mean is a fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from curta.compiler.graph import Graph
from curta.compiler.lower import lower
from curta.compiler.model import Model
from curta.compiler.nodes import (
    Assume,
    Gate,
    Linear,
    Mean,
    Piecewise,
    PositionFeature,
    Restore,
    Retrieve,
    TokenFeature,
)
from curta.compiler.numbers import Number, ceil_log2, exact, power_of_two, simplify
from curta.compiler.weights import rounding_constant
from curta.engine.base import Residuals
from curta.errors import FileError


def expected_residuals(model: Model, ids: Sequence[int]) -> Residuals:
    """[position, period, slot], each the float64 nearest to the exact value."""
    graph = lower(model.graph, model.certificate.max_tokens).graph
    history = wire_values(graph, ids, model.certificate.max_tokens)
    periods = 2 * model.plan["schedule"]["layers"] + 1
    streams = np.zeros((len(ids), periods, model.plan["width"]))
    streams[:, :, 0] = 1.0
    last = max((m["node"] for slot in model.plan["slots"] for m in slot["members"]), default=0)
    if last >= len(graph.operations):
        raise FileError(f"the plan speaks of node {last}, which the graph does not have")
    for carrier in model.plan["slots"]:
        end = periods if carrier["erased"] is None else carrier["erased"]
        for member in carrier["members"]:
            operation = graph.operations[member["node"]]
            rounding = isinstance(operation, Restore)
            first = member["written"] - 2 * rounding
            values = np.array([float(v[member["node"]] * exact(member["weight"])) for v in history])
            streams[:, first:end, carrier["slot"]] += values[:, None]
            if isinstance(operation, Restore):
                offset = float(rounding_constant(operation.step))
                streams[:, first : first + 2, carrier["slot"]] += offset
    return streams


def wire_values(graph: Graph, ids: Sequence[int], max_tokens: int) -> list[list[Number]]:
    """Every node of a circuit at every position."""
    history: list[list[Number]] = []
    recency = power_of_two(-ceil_log2(max_tokens))
    for position, token in enumerate(ids):
        values: list[Number] = []
        history.append(values)
        for operation in graph.operations:
            match operation:
                case TokenFeature(table):
                    value = table[token]
                case PositionFeature():
                    value = operation.at(position)
                case Linear(terms, constant):
                    value = constant + sum(c * values[i] for i, c in terms)
                case Gate(condition, amount):
                    value = max(values[condition], 0) * values[amount]
                case Piecewise(argument):
                    value = operation.at(values[argument])
                case Assume(promised):
                    value = values[promised]
                case Mean(amount):
                    value = sum(row[amount] for row in history) * Fraction(1, position + 1)
                case Restore(mean):
                    value = values[mean] * (position + 1)
                case Retrieve():
                    value = history[winner(operation, history, recency)][operation.value]
                case _:
                    raise TypeError(f"{operation} is no circuit node")
            values.append(simplify(value))
    return history


def winner(operation: Retrieve, history: list[list[Number]], recency: Number) -> int:
    """The position with the largest score, the latest of equals."""
    query = [history[-1][i] for i in operation.query]
    unit = recency if operation.recency else 0

    def score(position: int) -> tuple[Number, int]:
        row = history[position]
        match_ = sum(2 * q * row[k] for q, k in zip(query, operation.key, strict=True))
        return match_ - row[operation.square] + unit * position, position

    return max(range(len(history)), key=score)
