"""The compiler: a list of passes."""

from __future__ import annotations

from curta.compiler.certificate import prove
from curta.compiler.graph import Graph
from curta.compiler.layout import check_layout, schedule_to_layout
from curta.compiler.lower import lower
from curta.compiler.model import Model, describe_plan
from curta.compiler.numbers import MANTISSA_BITS, integer, short
from curta.compiler.resolve import resolve
from curta.compiler.schedule import check_schedule, work_to_schedule
from curta.compiler.tasks import circuit_to_work
from curta.compiler.weights import layout_to_plans, plans_to_weights
from curta.errors import GraphError

DEFAULT_MAX_TOKENS = 2**20
LONGEST = 2**MANTISSA_BITS


def compile(graph: Graph, max_tokens: int = DEFAULT_MAX_TOKENS) -> Model:
    """Weights that compute the graph, exactly, on every sequence of at most max_tokens tokens."""
    max_tokens = checked_length(max_tokens)
    resolved = resolve(graph)
    circuit = lower(resolved, max_tokens)
    work = circuit_to_work(circuit)
    schedule = work_to_schedule(work)
    check_schedule(work, schedule)
    layout = schedule_to_layout(work, schedule)
    check_layout(layout)
    certificate = prove(layout)
    plans = layout_to_plans(layout)
    weights = plans_to_weights(layout, plans)
    return Model(weights, describe_plan(layout, plans), certificate, resolved)


def checked_length(max_tokens: int) -> int:
    """A length that a certificate can be about."""
    length = integer(max_tokens, "max_tokens")
    if not 1 <= length <= LONGEST:
        raise GraphError(
            f"max_tokens={short(length)}: a sequence has at least one token, and positions are "
            "exact up to 2**53"
        )
    return length
