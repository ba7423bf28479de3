"""The compiler: a list of passes."""

from __future__ import annotations

from collections.abc import Callable

from curta.compiler.certificate import prove
from curta.compiler.graph import Graph
from curta.compiler.layout import check_layout, schedule_to_layout
from curta.compiler.lower import lower
from curta.compiler.model import Model, describe_plan
from curta.compiler.resolve import resolve
from curta.compiler.schedule import check_schedule, tasks_to_schedule
from curta.compiler.tasks import circuit_to_tasks
from curta.compiler.weights import layout_to_plans, plans_to_weights
from curta.dyadic import ARITHMETICS, FLOAT64, Arithmetic, integer, short
from curta.errors import GraphError
from curta.garbage import uncollected

DEFAULT_MAX_TOKENS = 2**20
LONGEST = 2**FLOAT64.mantissa_bits


OnPass = Callable[[str], object]
"""Told the name of every pass when it begins: one of PASSES."""
PASSES = ("resolve", "lower", "tasks", "schedule", "layout", "certificate", "weights")


@uncollected()
def compile(
    graph: Graph,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    on_pass: OnPass | None = None,
    arithmetic: str = FLOAT64.name,
) -> Model:
    """Weights that compute the graph, exactly, on every sequence of at most max_tokens tokens.

    `arithmetic` is that of the transformer: "float64", or "float32", in which less fits.
    """
    begin = on_pass or (lambda _: None)
    max_tokens, numbers = checked_length(max_tokens), checked_arithmetic(arithmetic)
    begin("resolve")
    resolved = resolve(graph)
    begin("lower")
    circuit = lower(resolved, max_tokens, numbers)
    begin("tasks")
    task_graph = circuit_to_tasks(circuit)
    begin("schedule")
    schedule = tasks_to_schedule(task_graph)
    check_schedule(task_graph, schedule)
    begin("layout")
    layout = schedule_to_layout(task_graph, schedule)
    check_layout(layout)
    begin("certificate")
    certificate = prove(layout)
    begin("weights")
    plans = layout_to_plans(layout)
    weights = plans_to_weights(layout, plans)
    return Model(weights, describe_plan(layout, plans), certificate, resolved)


def checked_arithmetic(name: str) -> Arithmetic:
    if name not in ARITHMETICS:
        raise GraphError(f"arithmetic={name!r}: expected one of {', '.join(ARITHMETICS)}")
    return ARITHMETICS[name]


def checked_length(max_tokens: int) -> int:
    """A length that a certificate can be about."""
    length = integer(max_tokens, "max_tokens")
    if not 1 <= length <= LONGEST:
        raise GraphError(
            f"max_tokens={short(length)}: a sequence has at least one token, and positions are "
            "exact up to 2**53"
        )
    return length
