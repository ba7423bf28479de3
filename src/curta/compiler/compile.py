"""The compiler: a list of passes."""

from __future__ import annotations

from curta.compiler.certificate import prove
from curta.compiler.graph import Graph
from curta.compiler.layout import check_layout, schedule_to_layout
from curta.compiler.lower import lower
from curta.compiler.model import Model, describe_plan
from curta.compiler.resolve import resolve
from curta.compiler.schedule import check_schedule, work_to_schedule
from curta.compiler.tasks import circuit_to_work
from curta.compiler.weights import layout_to_plans, plans_to_weights
from curta.errors import GraphError

DEFAULT_MAX_TOKENS = 2**20


def compile(graph: Graph, max_tokens: int = DEFAULT_MAX_TOKENS) -> Model:
    """Weights that compute the graph, exactly, on every sequence of at most max_tokens tokens."""
    if max_tokens < 1:
        raise GraphError(f"max_tokens={max_tokens}: a sequence has at least one token")
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
