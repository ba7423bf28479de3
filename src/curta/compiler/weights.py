"""Weights: a layout in, the matrices of an ordinary transformer out.

    x    = embedding[token] + sum over f of position_weight[:, f] * feature f of the position
    x   += output @ concat over heads of softmax(query x . key x_earlier) value x_earlier
    x   += contract @ (relu(gate @ x) * (expand @ x))
    next = argmax(unembedding @ x)

No biases, no norms, no scaling of scores: slot 0 is the constant 1, and queries carry a power of
two so large that one step of score is worth a factor e**1024, which float64 rounds to zero: the
softmax is a hard maximum, exactly. Every head of a layer has the width of the widest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curta.compiler.layout import Layout, Row
from curta.compiler.linear_forms import LinearForm, Task, partial_sums
from curta.compiler.nodes import (
    Mean,
    Piecewise,
    PositionFeature,
    Restore,
    Retrieve,
    TokenFeature,
)
from curta.dyadic import Arithmetic, Number, ceil_log2, power_of_two
from curta.errors import CertificateError

Matrix = npt.NDArray[np.float64]

HARDNESS_BITS = 10
"""Scores that differ by one step differ by 2**10 before the softmax; exp(-746) is already 0."""


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """What one attention head does: a mean, or the retrieval of some values under one key."""

    kind: str  # "mean" or "retrieve"
    query: tuple[LinearForm, ...]
    key: tuple[LinearForm, ...]
    penalty: LinearForm
    recency: bool
    nearest: bool
    tasks: tuple[Task, ...]

    @property
    def width(self) -> int:
        return max(2, len(self.key) + 1)


@dataclass(frozen=True, slots=True)
class Unit:
    """One hidden unit of a feed-forward part: relu(gate) * expand, added to some slots."""

    name: str
    gate: Row
    expand: Row
    contract: Row


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """All heads and hidden units of a layer, in their order in the matrices."""

    heads: tuple[HeadPlan, ...]
    head_width: int
    units: tuple[Unit, ...]


def layout_to_plans(layout: Layout) -> tuple[LayerPlan, ...]:
    """What every head and every hidden unit is for."""
    starting: list[list[Task]] = [[] for _ in range(2 * layout.schedule.layers + 3)]
    for task, start in zip(layout.task_graph.tasks, layout.schedule.start, strict=True):
        starting[start].append(task)
    return tuple(plan_layer(layout, number, starting) for number in range(layout.schedule.layers))


def plan_layer(layout: Layout, number: int, starting: list[list[Task]]) -> LayerPlan:
    """One layer; `starting` are the tasks of every sublayer."""
    attention, feed_forward = 2 * number + 1, 2 * number + 2
    heads = pack_heads(layout, starting[attention])
    width = max((head.width for head in heads), default=2)
    ending = [task for task in starting[feed_forward - 2] if task.kind == "restore"]
    return LayerPlan(heads, width, plan_units(layout, feed_forward, starting[feed_forward], ending))


def pack_heads(layout: Layout, tasks: list[Task]) -> tuple[HeadPlan, ...]:
    """Put values that are looked up with the same query and key into common heads."""
    graph = layout.task_graph.circuit.graph
    groups: dict[HeadPlan, list[Task]] = {}
    for task in tasks:
        operation = graph.operations[task.node]
        if isinstance(operation, Mean):
            plan = HeadPlan("mean", (), (), LinearForm(()), False, False, ())
        else:
            assert isinstance(operation, Retrieve)
            digits = len(operation.key)
            plan = HeadPlan(
                "retrieve",
                task.reads[:digits],
                task.reads[digits : 2 * digits],
                task.reads[-2],
                operation.recency,
                operation.nearest,
                (),
            )
        groups.setdefault(plan, []).append(task)
    return tuple(
        HeadPlan(
            p.kind, p.query, p.key, p.penalty, p.recency, p.nearest, tuple(group[i : i + p.width])
        )
        for p, group in groups.items()
        for i in range(0, len(group), p.width)
    )


def plan_units(
    layout: Layout, sublayer: int, starting: list[Task], ending: list[Task]
) -> tuple[Unit, ...]:
    """Gates, tables, restored sums and erasures of one feed-forward part.

    Restored sums that were started one part earlier are ending.
    """
    graph = layout.task_graph.circuit.graph
    units: list[Unit] = []
    for task in starting:
        if task.kind in ("gate", "restore"):
            gate, expand = (layout.row(form) for form in task.reads)
            units.append(Unit(graph.name_of(task.node), gate, expand, target(layout, task.node)))
    units += plan_bends(layout, starting)
    one: Row = ((0, 1),)
    constants = [rounding(layout, task, 1) for task in starting if task.kind == "restore"]
    constants += [rounding(layout, task, -1) for task in ending]
    if constants:
        units.append(Unit("rounding constants", one, one, tuple(constants)))
    for slot in layout.erasures_at(sublayer):
        units.append(Unit(f"erase slot {slot}", one, ((slot, 1),), ((slot, -1),)))
    return tuple(units)


def rounding(layout: Layout, task: Task, sign: int) -> tuple[int, Number]:
    """The slot of a restored sum, and the large constant that it is added to."""
    circuit = layout.task_graph.circuit
    operation = circuit.graph.operations[task.node]
    assert isinstance(operation, Restore)
    ((slot, _),) = target(layout, task.node)
    return slot, sign * rounding_constant(circuit.arithmetic, operation.step)


def plan_bends(layout: Layout, tasks: list[Task]) -> list[Unit]:
    """Tables of one part and one argument: a unit opens at a place, and turns all that bend there.

    So the columns of a table cost no more units than there are rows.
    """
    graph = layout.task_graph.circuit.graph
    turns: dict[tuple[Row, Number], dict[int, Number]] = {}
    names: dict[Row, str] = {}
    for task in tasks:
        operation = graph.operations[task.node]
        if task.kind != "piecewise" or not isinstance(operation, Piecewise):
            continue
        argument = layout.row(task.reads[0])
        names.setdefault(argument, graph.name_of(operation.argument))
        ((slot, share),) = target(layout, task.node)
        for place, weight in operation.bends:
            turned = turns.setdefault((argument, place), {})
            turned[slot] = turned.get(slot, 0) + weight * share
    one: Row = ((0, 1),)
    return [
        Unit(f"{names[argument]} > {place}", moved(argument, -place), one, tuple(turned.items()))
        for (argument, place), turned in sorted(turns.items())
    ]


def moved(row: Row, by: Number) -> Row:
    """The row, with a number added."""
    weights = dict(row)
    weights[0] = weights.get(0, 0) + by
    return tuple(sorted(weights.items()))


def rounding_constant(arithmetic: Arithmetic, step: int) -> Number:
    """Added to a number below a third of it, this leaves a multiple of 2**step, rightly rounded."""
    return 3 * power_of_two(arithmetic.mantissa_bits - 2 + step)


def target(layout: Layout, wire: int) -> Row:
    """Where a wire is written, and with what weight."""
    task_graph = layout.task_graph
    return ((layout.slot[task_graph.carrier_of[wire]], task_graph.share_of[wire]),)


# -- matrices -------------------------------------------------------------------------------------


def plans_to_weights(
    layout: Layout, plans: tuple[LayerPlan, ...]
) -> dict[str, npt.NDArray[np.generic]]:
    """All tensors of the model, under the names of the PyTorch module's parameters."""
    dtype = np.dtype(layout.task_graph.circuit.arithmetic.name)
    weights: dict[str, npt.NDArray[np.generic]] = {}
    weights.update(embedding_weights(layout))
    for number, plan in enumerate(plans):
        for name, matrix in layer_weights(layout, number, plan).items():
            weights[f"layers.{number}.{name}"] = matrix
    weights["unembedding.weight"] = unembedding(layout)
    return {name: narrowed(name, tensor, dtype) for name, tensor in weights.items()}


def narrowed(
    name: str, tensor: npt.NDArray[np.generic], dtype: np.dtype[np.generic]
) -> npt.NDArray[np.generic]:
    """The same numbers, as the model's arithmetic has them."""
    if tensor.dtype.kind != "f" or tensor.dtype == dtype:
        return tensor
    with np.errstate(over="ignore"):
        found = tensor.astype(dtype)
    if not np.array_equal(found, tensor):
        raise CertificateError(
            f"{name}: {dtype} does not hold its numbers exactly; use a coarser step, or float64"
        )
    return found


def embedding_weights(layout: Layout) -> dict[str, npt.NDArray[np.generic]]:
    graph = layout.task_graph.circuit.graph
    embedding = np.zeros((len(graph.tokens), layout.width))
    embedding[:, 0] = 1.0
    positions: list[tuple[PositionFeature, int, Number]] = []
    for wire in layout.task_graph.features:
        ((slot, weight),) = target(layout, wire)
        operation = graph.operations[wire]
        if isinstance(operation, TokenFeature):
            embedding[:, slot] += [float(weight * value) for value in operation.values]
        elif isinstance(operation, PositionFeature):
            positions.append((operation, slot, weight))
    position_weight = np.zeros((layout.width, len(positions)))
    for column, (_, slot, weight) in enumerate(positions):
        position_weight[slot, column] = float(weight)
    fields = ("divisor", "modulus", "power", "offset")
    return {
        "embedding.weight": embedding,
        "position.weight": position_weight,
        **{
            f"position.{field}": np.array(
                [getattr(p, field) for p, _, _ in positions], dtype=np.int64
            )
            for field in fields
        },
    }


def layer_weights(
    layout: Layout, number: int, plan: LayerPlan
) -> dict[str, npt.NDArray[np.generic]]:
    width, heads = layout.width, len(plan.heads)
    query, key, value = (np.zeros((heads * plan.head_width, width)) for _ in range(3))
    output = np.zeros((width, heads * plan.head_width))
    for head_number, head in enumerate(plan.heads):
        first = head_number * plan.head_width
        write_scores(layout, head, query[first:], key[first:])
        for place, task in enumerate(head.tasks):
            write_row(value, first + place, layout.row(task.reads[-1]))
            ((slot, weight),) = target(layout, task.node)
            output[slot, first + place] = float(weight)
    gate, expand = (np.zeros((len(plan.units), width)) for _ in range(2))
    contract = np.zeros((width, len(plan.units)))
    for place, unit in enumerate(plan.units):
        write_row(gate, place, unit.gate)
        write_row(expand, place, unit.expand)
        for slot, weight in unit.contract:
            contract[slot, place] = float(weight)
    return {
        "attention.query.weight": query,
        "attention.key.weight": key,
        "attention.value.weight": value,
        "attention.output.weight": output,
        "feed_forward.gate.weight": gate,
        "feed_forward.expand.weight": expand,
        "feed_forward.contract.weight": contract,
        "attention.head_width": np.array(plan.head_width, dtype=np.int64),
    }


def write_scores(layout: Layout, head: HeadPlan, query: Matrix, key: Matrix) -> None:
    """(q, 1) * hardness against (2k, recency * position - |k|^2). A mean has scores of zero."""
    if head.kind == "mean":
        return
    hardness = float(power_of_two(score_exponent(layout, head)))
    for place, (q, k) in enumerate(zip(head.query, head.key, strict=True)):
        write_row(query, place, layout.row(q), hardness)
        write_row(key, place, layout.row(k), 2.0)
    last = len(head.key)
    query[last, 0] = hardness
    write_row(key, last, layout.row(head.penalty))


def score_exponent(layout: Layout, head: HeadPlan) -> int:
    """The power of two that queries are multiplied by."""
    recency_bits = ceil_log2(layout.task_graph.circuit.max_tokens) if head.recency else 0
    return HARDNESS_BITS + recency_bits


def write_row(matrix: Matrix, place: int, row: Row, factor: float = 1.0) -> None:
    for slot, weight in row:
        matrix[place, slot] = float(weight) * factor


def unembedding(layout: Layout) -> Matrix:
    """One row of scores per token. Tokens without a rule score below all others."""
    graph = layout.task_graph.circuit.graph
    matrix = np.zeros((len(graph.tokens), layout.width))
    ruled: set[int] = set()
    lowest: Number = 1
    for rule in layout.task_graph.outputs:
        for digit, token in enumerate(rule.tokens):
            logit = rule.logit(digit)
            write_row(matrix, token, layout.row(logit))
            bound, _ = partial_sums(layout.task_graph.circuit, logit.terms)
            lowest = max(lowest, bound + 1)
            ruled.add(token)
    for token in set(graph.tokens.values()) - ruled:
        matrix[token, 0] = -float(power_of_two(ceil_log2(lowest)))
    return matrix
