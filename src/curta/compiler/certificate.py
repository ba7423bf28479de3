"""Certificate: the proof that the weights compute exactly, for sequences of at most T tokens.

Every value is a multiple of 2**step below 2**(53 + step) in magnitude, partial sums included, so
float64 rounds nowhere and the order of summation does not matter. (In float32 the same holds with
24 bits in place of 53.) What is checked, one by one:

    sum       a form that some gate, head or rule reads: slots times weights, in any order
    product   relu(condition) * value of a gate
    slot      a carrier, while its members are being added up
    score     2 q . k - |k|^2 + recency of a head: exact, so two keys never seem equal unless they
              are; one step apart means a factor exp(-1024) = 0 in the softmax: a hard maximum
    total     a running sum, for the hull and native levels, which add up exactly
    rounding  the same through softmax: n equal weights 1/n, a dot product of n terms and a factor
              n are off by less than n (n + 4) max|v| / 2**53, which has to stay below half a step
              for the rounding constant to remove it

The last is the only place where softmax is weaker than the hard engines: `softmax_tokens` says how
far the proof reaches there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import isqrt

from curta.compiler.layout import Layout
from curta.compiler.linear_forms import ONE, LinearForm, Task, partial_sums
from curta.compiler.nodes import Gate, Piecewise, Restore, Retrieve
from curta.dyadic import (
    STEP_OF_ZERO,
    Arithmetic,
    Number,
    Range,
    ceil_log2,
    distance,
    divided,
    power_of_two,
    simplify,
    step_of,
)
from curta.errors import CertificateError


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound: `bits` of the mantissa are used, at most `limit` may be."""

    kind: str
    node: str
    bits: int
    limit: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """What has been proved, and the tightest bound of every kind."""

    max_tokens: int
    softmax_tokens: int
    arithmetic: str
    bounds_checked: int
    tightest: tuple[Bound, ...]
    promises: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, object]) -> Certificate:
        fields = dict(data)
        fields["tightest"] = tuple(Bound(**bound) for bound in fields["tightest"])  # type: ignore[attr-defined]
        fields["promises"] = tuple(fields["promises"])  # type: ignore[arg-type]
        return Certificate(**fields)  # type: ignore[arg-type]

    def __str__(self) -> str:
        text = f"exact for sequences of up to {self.max_tokens:,} tokens, in {self.arithmetic}"
        if self.softmax_tokens < self.max_tokens:
            text += f"; through softmax up to {self.softmax_tokens:,}"
        return text


def prove(layout: Layout) -> Certificate:
    """The certificate of a layout, or an error that names the node and the bound."""
    tightest: dict[str, Bound] = {}
    count = 0
    for bound in bounds(layout):
        count += 1
        if bound.bits > bound.limit:
            raise CertificateError(
                f"{bound.node}: this {bound.kind} needs {bound.bits} bits and "
                f"{layout.task_graph.circuit.arithmetic.name} leaves {bound.limit} for it; narrow "
                "its operands with assume, or use a coarser step"
            )
        if bound.kind not in tightest or bound.bits > tightest[bound.kind].bits:
            tightest[bound.kind] = bound
    circuit = layout.task_graph.circuit
    names = [f"{circuit.graph.name_of(g)} in {circuit.ranges[g]}" for g in circuit.guards]
    return Certificate(
        circuit.max_tokens,
        softmax_tokens(layout),
        circuit.arithmetic.name,
        count,
        tuple(tightest[kind] for kind in sorted(tightest)),
        tuple(names),
    )


def bounds(layout: Layout) -> Iterator[Bound]:
    task_graph = layout.task_graph
    slots = Slots(layout)
    name_of, arithmetic = task_graph.circuit.graph.name_of, task_graph.circuit.arithmetic
    for task in task_graph.tasks:
        name = name_of(task.node)
        for form in task.reads:
            yield bound_of("sum", name, slots.sums(form), arithmetic)
        if task.kind == "gate":
            yield product_bound(slots, task, name)
        elif task.kind == "piecewise":
            yield bends_bound(slots, task, name)
        elif task.kind == "attention" and len(task.reads) > 1:
            yield score_bound(slots, task, name)
        elif task.kind == "restore":
            total = task_graph.circuit.ranges[task.node]
            extent = total.magnitude, total.step
            yield bound_of("total", name, extent, arithmetic, spare=2)
    for carrier in task_graph.carriers:
        name = task_graph.circuit.graph.name_of_terms(carrier.members)
        extent = partial_sums(task_graph.circuit, carrier.members)
        yield bound_of("slot", name, extent, arithmetic)
    tokens = list(task_graph.circuit.graph.tokens)
    for rule in task_graph.outputs:
        for digit, token in enumerate(rule.tokens):
            name = f"score of token {tokens[token]!r}"
            yield bound_of("sum", name, slots.sums(rule.logit(digit)), arithmetic)


def bound_of(
    kind: str, node: str, extent: tuple[Number, int], arithmetic: Arithmetic, spare: int = 0
) -> Bound:
    """What a (magnitude, step) needs: the smallest b >= 0 with magnitude <= 2**(b + step)."""
    (magnitude, step), most = extent, arithmetic.largest_exponent
    if step < -most or magnitude > power_of_two(most):
        raise CertificateError(
            f"{node}: this {kind} may reach 2**{ceil_log2(magnitude)} in steps of 2**{step}, and "
            f"has to stay between 2**-{most} and 2**{most}; scale the operands"
        )
    bits = ceil_log2(Fraction(magnitude) / power_of_two(step))
    return Bound(kind, node, bits, arithmetic.mantissa_bits - spare)


def product_bound(slots: Slots, task: Task, name: str) -> Bound:
    opening, amount = (slots.sums(form) for form in task.reads)
    operation = slots.task_graph.circuit.graph.operations[task.node]
    assert isinstance(operation, Gate)
    ranges = slots.task_graph.circuit.ranges
    condition, value = ranges[operation.condition], ranges[operation.value]
    largest = max(condition.high, 0) * value.magnitude
    extent = largest, opening[1] + amount[1]
    return bound_of("product", name, extent, slots.task_graph.circuit.arithmetic)


def bends_bound(slots: Slots, task: Task, name: str) -> Bound:
    """argument - place, partial sums included, at the largest place; the relus are smaller."""
    operation = slots.task_graph.circuit.graph.operations[task.node]
    assert isinstance(operation, Piecewise)
    magnitude, step = slots.sums(task.reads[0])
    places = [place for place, _ in operation.bends]
    largest = max(distance(place, 0) for place in places)
    extent = magnitude + largest, min(step, *map(step_of, places))
    return bound_of("product", name, extent, slots.task_graph.circuit.arithmetic)


def score_bound(slots: Slots, task: Task, name: str) -> Bound:
    """All partial sums of 2 q . k - |k|^2 + recency * position, in steps of the recency."""
    ranges = slots.task_graph.circuit.ranges
    operation = slots.task_graph.circuit.graph.operations[task.node]
    assert isinstance(operation, Retrieve)
    total = Range.constant(1 if operation.recency else 0)
    for q, k in zip(operation.query, operation.key, strict=True):
        largest = 2 * ranges[q].magnitude * ranges[k].magnitude + ranges[k].magnitude ** 2
        total = total + Range(0, largest, ranges[q].step + ranges[k].step)
    penalty = slots.sums(task.reads[-2])
    extent = total.high, min(total.step, penalty[1])
    return bound_of("score", name, extent, slots.task_graph.circuit.arithmetic)


class Slots:
    """What the slots of a layout hold when they are read: the range of every carrier.

    Relus that cancel each other within a carrier have done so by then.
    """

    def __init__(self, layout: Layout) -> None:
        self.task_graph = layout.task_graph
        ranges = layout.task_graph.circuit.ranges
        self.held = [ranges.sum_of(carrier.members) for carrier in layout.task_graph.carriers]

    def sums(self, form: LinearForm) -> tuple[Number, int]:
        """(largest magnitude, step) of the partial sums of a form; a matrix reads whole slots."""
        carrier_of, share_of = self.task_graph.carrier_of, self.task_graph.share_of
        factors: dict[int, Number] = {}
        total: Number = 0
        step = STEP_OF_ZERO
        for wire, weight in form.terms:
            if wire == ONE:
                total, step = distance(weight, 0), min(step, step_of(weight))
            elif carrier_of[wire] not in factors:
                factors[carrier_of[wire]] = divided(weight, share_of[wire])
        for carrier, factor in factors.items():
            held = self.held[carrier]
            total += held.magnitude * distance(factor, 0)
            step = min(step, held.step + step_of(factor))
        return simplify(total), step


def softmax_tokens(layout: Layout) -> int:
    """How many tokens running sums survive the rounding of a softmax over equal scores."""
    circuit = layout.task_graph.circuit
    most = circuit.max_tokens
    for task in layout.task_graph.tasks:
        operation = circuit.graph.operations[task.node]
        if isinstance(operation, Restore):
            value = circuit.ranges[operation.mean].magnitude
            # n (n + 4) value < 2**(52 + step); (n + 2)**2 = n (n + 4) + 4
            bits = circuit.arithmetic.mantissa_bits - 1 + operation.step
            limit = power_of_two(bits) / Fraction(value) + 4
            most = min(most, isqrt(int(limit)) - 2)
    return max(most, 0)
