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
from curta.compiler.nodes import Assume, Mean, Operation, Restore, Retrieve
from curta.compiler.weights import rounding_constant
from curta.dyadic import ARITHMETICS, Number, ceil_log2, exact, power_of_two
from curta.engine.base import Residuals
from curta.engine.evaluate import GraphSession
from curta.errors import FileError


def expected_residuals(model: Model, ids: Sequence[int]) -> Residuals:
    """[position, period, slot], each the float64 nearest to the exact value."""
    arithmetic = ARITHMETICS[model.certificate.arithmetic]
    graph = lower(model.graph, model.certificate.max_tokens, arithmetic).graph
    session = CircuitSession(graph, model.certificate.max_tokens)
    history = [session.compute(token) for token in ids]
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
                offset = float(rounding_constant(arithmetic, operation.step))
                streams[:, first : first + 2, carrier["slot"]] += offset
    return streams


class CircuitSession(GraphSession):
    """The values of all nodes of a circuit, at all positions so far. Promises are not looked at."""

    def __init__(self, circuit: Graph, max_tokens: int) -> None:
        super().__init__(circuit)
        self.history: list[list[Number]] = []
        self.recency = power_of_two(-ceil_log2(max_tokens))

    def compute(self, token: int) -> list[Number]:
        values = super().compute(token)
        self.history.append(values)
        return values

    def value(self, index: int, operation: Operation, token: int) -> Number:
        match operation:
            case Assume(promised):
                return self.values[promised]
            case Mean(amount):
                total = sum((row[amount] for row in self.history), self.values[amount])
                return total * Fraction(1, self.position + 1)
            case Restore(mean):
                return self.values[mean] * (self.position + 1)
            case Retrieve():
                return self.winner(operation)[operation.value]
            case _:
                return super().value(index, operation, token)

    def winner(self, operation: Retrieve) -> list[Number]:
        """The values at the position with the largest score, the latest of equals."""
        rows = [*self.history, self.values]
        query = [self.values[i] for i in operation.query]
        unit = self.recency if operation.recency else 0

        def score(position: int) -> tuple[Number, int]:
            row = rows[position]
            match_ = sum(2 * q * row[k] for q, k in zip(query, operation.key, strict=True))
            return match_ - row[operation.square] + unit * position, position

        return rows[max(range(len(rows)), key=score)]
