"""Tasks: a circuit in, the work of its layers out, before anyone has said which layer does what.

A *carrier* is what occupies one slot of the residual stream: a weighted sum of wires that all
readers use in the same proportions, such as the two halves of a step function. Wires that share a
carrier never need to be told apart, so they are added up where they are written.

Time. The embedding is sublayer 0, the attention of layer l is sublayer 2l + 1, its feed-forward
part 2l + 2. Period t lies between sublayers t and t + 1. What a sublayer writes can be read by
later ones. A restored sum takes two feed-forward parts: it is written onto a large constant,
which rounds it, and the next part takes the constant away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from curta.compiler.gate_copies import copy_shared_gates
from curta.compiler.graph import Graph
from curta.compiler.linear_forms import (
    ONE,
    LinearForm,
    OutputRule,
    Task,
    Wire,
    bend_of,
    linear_form,
    partial_sums,
)
from curta.compiler.lower import Circuit
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
from curta.dyadic import (
    Number,
    ceil_log2,
    common_factor,
    divided,
    power_of_two,
)


@dataclass(frozen=True, slots=True)
class Carrier:
    """The content of one slot: a sum of wires, each with its weight."""

    members: tuple[tuple[Wire, Number], ...]


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Everything that has to be laid out in layers."""

    circuit: Circuit
    features: tuple[Wire, ...]
    tasks: tuple[Task, ...]
    outputs: tuple[OutputRule, ...]
    carriers: tuple[Carrier, ...]
    carrier_of: dict[Wire, int]
    share_of: dict[Wire, Number]
    """The weight of a wire in its carrier."""


def circuit_to_tasks(circuit: Circuit) -> TaskGraph:
    """The tasks of a circuit, and which wires share a carrier."""
    forms = LinearForms(circuit.graph)
    outputs = output_rules(circuit, forms)
    tasks = [
        Task(index, *described)
        for index in range(len(circuit.graph.operations))
        if (described := describe(circuit, forms, index)) is not None
    ]
    tasks += [Task(guard, "guard", (forms[guard],)) for guard in circuit.guards]
    tasks, outputs = copy_shared_gates(circuit, needed(tasks, outputs), outputs)
    tasks = needed(tasks, outputs)
    readers = all_reads(tasks, outputs)
    features = tuple(
        wire
        for wire in sorted({w for form in readers for w in form.wires if w != ONE})
        if isinstance(circuit.graph.operations[wire], TokenFeature | PositionFeature)
    )
    computed = [task.node for task in tasks if task.kind != "guard"]
    carriers = share_carriers(circuit, [*features, *computed], readers)
    carrier_of = {w: n for n, carrier in enumerate(carriers) for w, _ in carrier.members}
    share_of = dict(member for carrier in carriers for member in carrier.members)
    return TaskGraph(circuit, features, tuple(tasks), outputs, carriers, carrier_of, share_of)


class LinearForms:
    """Nodes as linear forms over wires: sums are flat, promises are what they promise about."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[int, LinearForm] = {}

    def __getitem__(self, index: int) -> LinearForm:
        if index not in self._known:
            self._known[index] = self._expand(index)
        return self._known[index]

    def _expand(self, index: int) -> LinearForm:
        match self.graph.operations[index]:
            case Linear(terms, constant):
                total: dict[Wire, Number] = {ONE: constant}
                for inner, coefficient in terms:
                    for wire, weight in self[inner].terms:
                        total[wire] = total.get(wire, 0) + coefficient * weight
                return linear_form(total)
            case Assume(value):
                return self[value]
            case _:
                return LinearForm(((index, 1),))


def describe(
    circuit: Circuit, forms: LinearForms, index: int
) -> tuple[str, tuple[LinearForm, ...]] | None:
    """(kind, reads) of the task that computes a node; None for what needs no task."""
    match circuit.graph.operations[index]:
        case Gate(condition, value):
            return "gate", (forms[condition], forms[value])
        case Piecewise(argument):
            return "piecewise", (forms[argument],)
        case Mean(value):
            return "attention", (forms[value],)
        case Restore(mean):
            position = circuit.graph.position.index
            return "restore", (forms[position] + LinearForm(((ONE, 1),)), forms[mean])
        case Retrieve(query, key, square, value, recency):
            penalty = forms[square].scaled(-1)
            if recency:
                unit = power_of_two(-ceil_log2(circuit.max_tokens))
                penalty = penalty + forms[circuit.graph.position.index].scaled(unit)
            digits = (forms[i] for i in (*query, *key))
            return "attention", (*digits, penalty, forms[value])
        case _:
            return None


def output_rules(circuit: Circuit, forms: LinearForms) -> tuple[OutputRule, ...]:
    """The families of tokens as forms; `when` becomes a bonus that outweighs every score."""
    bonus = winning_bonus(circuit)
    rules = []
    for family in circuit.graph.families:
        base = forms[family.base]
        if family.when is not None:
            base = base + forms[family.when].scaled(bonus)
        rules.append(OutputRule(family.tokens, forms[family.linear], forms[family.square], base))
    return tuple(rules)


def winning_bonus(circuit: Circuit) -> Number:
    """A power of two above the difference of any two scores."""
    ranges = circuit.ranges
    lows: list[Number] = []
    highs: list[Number] = []
    for family in circuit.graph.families:
        linear, square = ranges[family.linear], ranges[family.square]
        for digit in {0, 1, len(family.tokens) - 1}:
            score = ranges[family.base] + linear.scaled(digit) + square.scaled(-digit * digit)
            lows.append(score.low)
            highs.append(score.high)
        largest = (len(family.tokens) - 1) * linear.magnitude
        highs.append(ranges[family.base].high + largest)
        lows.append(ranges[family.base].low - largest)
    return power_of_two(ceil_log2(max(highs) - min(lows) + 1))


def needed(tasks: list[Task], outputs: tuple[OutputRule, ...]) -> list[Task]:
    """The tasks that an output or a promise depends on."""
    by_wire = {task.node: task for task in tasks if task.kind != "guard"}
    wanted: set[Wire] = set()
    stack = [w for rule in outputs for f in (rule.linear, rule.square, rule.base) for w in f.wires]
    stack += [w for task in tasks if task.kind == "guard" for w in task.inputs]
    while stack:
        wire = stack.pop()
        if wire not in wanted:
            wanted.add(wire)
            if wire in by_wire:
                stack.extend(by_wire[wire].inputs)
    return [task for task in tasks if task.kind == "guard" or task.node in wanted]


def all_reads(tasks: Iterable[Task], outputs: Iterable[OutputRule]) -> list[LinearForm]:
    reads = [form for task in tasks for form in task.reads]
    return reads + [f for rule in outputs for f in (rule.linear, rule.square, rule.base)]


def share_carriers(
    circuit: Circuit, wires: list[Wire], readers: list[LinearForm]
) -> tuple[Carrier, ...]:
    """Group the wires that every reader uses in the same proportions."""
    uses: dict[Wire, list[tuple[int, Number]]] = {wire: [] for wire in wires}
    for number, form in enumerate(readers):
        for wire, coefficient in form.terms:
            if wire != ONE:
                uses[wire].append((number, coefficient))
    groups: dict[object, list[tuple[Wire, Number]]] = {}
    for wire in wires:
        lead = uses[wire][0][1]
        signature: object = tuple((n, divided(c, lead)) for n, c in uses[wire])
        if isinstance(circuit.graph.operations[wire], Restore | Mean):
            signature = wire
        groups.setdefault(signature, []).append((wire, lead))
    carriers: list[Carrier] = []
    for group in groups.values():
        carriers += split_by_exactness(circuit, group)
    return tuple(carriers)


def split_by_exactness(circuit: Circuit, group: list[tuple[Wire, Number]]) -> list[Carrier]:
    """One carrier if its partial sums are exact whatever their order.

    Else one for every set of gates that bend one value along one direction, such as the three gates
    that mask a look-up: these may be large, and their sum small. Else one per wire.
    """
    unit = common_factor(coefficient for _, coefficient in group)
    members = tuple((wire, divided(c, unit)) for wire, c in group)
    if circuit.arithmetic.holds(*partial_sums(circuit, members)):
        return [Carrier(members)]
    parts: dict[object, list[tuple[Wire, Number]]] = {}
    for wire, coefficient in group:
        parts.setdefault(bend_of(circuit, wire), []).append((wire, coefficient))
    if len(parts) == 1:
        return [Carrier(((wire, 1),)) for wire, _ in group]
    return [carrier for part in parts.values() for carrier in split_by_exactness(circuit, part)]
