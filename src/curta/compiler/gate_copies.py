"""Copies of gates that several sums share in different proportions.

A sum of relus along one direction may be small although the relus are large: a comparison, a digit,
a table. It is exact if its gates share a slot, where they cancel; and they share one if all readers
use them in the same proportions. Where one gate belongs to several such sums, as in x >= 8 beside
x == 8, or in the columns of one table, each sum gets copies of its own. A copy costs a hidden unit,
a gate that is not copied may cost a slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from curta.compiler.linear_forms import (
    LinearForm,
    OutputRule,
    Task,
    Wire,
    bend_of,
    linear_form,
    partial_sums,
)
from curta.compiler.lower import Circuit
from curta.compiler.nodes import Gate, GateCopy
from curta.dyadic import Number, divided

LARGE_TABLE = 64
"""Sums of more gates than this get a slot of their own, though they might do without."""

Proportions = tuple[tuple[Wire, Number], ...]
"""Gates and their weights, the first of which is 1."""
Signature = int
"""Stands for certain proportions."""


@dataclass(frozen=True, slots=True)
class GateGroup:
    """The gates of one sum that bend one value along one direction."""

    wires: tuple[Wire, ...]
    signature: Signature


def copy_shared_gates(
    circuit: Circuit, tasks: list[Task], outputs: tuple[OutputRule, ...]
) -> tuple[list[Task], tuple[OutputRule, ...]]:
    """The same work, in which sums that need it have gates of their own."""
    forms = [form for task in tasks for form in task.reads]
    forms += [form for rule in outputs for form in (rule.linear, rule.square, rule.base)]
    copier = Copier(circuit, forms)
    rewritten = [replace(task, reads=tuple(map(copier.rewrite, task.reads))) for task in tasks]
    rules = tuple(
        replace(
            rule,
            linear=copier.rewrite(rule.linear),
            square=copier.rewrite(rule.square),
            base=copier.rewrite(rule.base),
        )
        for rule in outputs
    )
    return [*rewritten, *copier.tasks(rewritten)], rules


class Copier:
    """Knows which sums need copies, and makes them."""

    def __init__(self, circuit: Circuit, forms: Iterable[LinearForm]) -> None:
        self.circuit = circuit
        self.made: dict[tuple[Wire, Signature], Wire] = {}
        self.count: dict[Wire, int] = {}
        self.signatures: dict[Proportions, Signature] = {}
        self.known: dict[object, dict[Proportions, None]] = {}
        self.parts: dict[tuple[object, Proportions], list[Proportions]] = {}
        by_bend = {form: self._by_bend(form) for form in dict.fromkeys(forms)}
        self.groups = {form: self._groups(gates) for form, gates in by_bend.items()}
        shared: dict[Wire, set[Signature]] = {}
        needed: set[Signature] = set()
        for form, groups in self.groups.items():
            exact = circuit.arithmetic.holds(*partial_sums(circuit, form.terms))
            for group in groups:
                for wire in group.wires:
                    shared.setdefault(wire, set()).add(group.signature)
                if len(group.wires) > (1 if not exact else LARGE_TABLE):
                    needed.add(group.signature)
        contested = {s for signatures in shared.values() if len(signatures) > 1 for s in signatures}
        self.needed = needed & contested

    def _by_bend(self, form: LinearForm) -> dict[object, Proportions]:
        """The gates of a sum by what they bend, in proportion to the first of each group."""
        groups: dict[object, list[tuple[Wire, Number]]] = {}
        operations = self.circuit.graph.operations
        for wire, coefficient in form.terms:
            if wire >= 0 and isinstance(operations[wire], Gate):
                groups.setdefault(bend_of(self.circuit, wire), []).append((wire, coefficient))
        by_bend = {bend: in_proportion(group) for bend, group in groups.items()}
        for bend, proportions in by_bend.items():
            self.known.setdefault(bend, {}).setdefault(proportions)
        return by_bend

    def _groups(self, by_bend: dict[object, Proportions]) -> list[GateGroup]:
        """The groups of a sum, those that are sums of others taken apart."""
        parts = []
        for bend, proportions in by_bend.items():
            if (bend, proportions) not in self.parts:
                self.parts[bend, proportions] = list(apart(proportions, self.known[bend]))
            parts += self.parts[bend, proportions]
        return [self._group(part) for part in parts]

    def _group(self, part: Proportions) -> GateGroup:
        signature = self.signatures.setdefault(part, len(self.signatures))
        return GateGroup(tuple(wire for wire, _ in part), signature)

    def rewrite(self, form: LinearForm) -> LinearForm:
        weights = dict(form.terms)
        for group in self.groups[form]:
            if group.signature in self.needed:
                for wire in group.wires:
                    weights[self.copy(wire, group.signature)] = weights.pop(wire)
        return linear_form(weights)

    def copy(self, wire: Wire, signature: Signature) -> Wire:
        """The copy of a gate that a sum reads."""
        if (wire, signature) not in self.made:
            number = self.count.get(wire, 0)
            self.count[wire] = number + 1
            graph = self.circuit.graph
            gate = graph.operations[wire]
            assert isinstance(gate, Gate)
            node = graph.intern(GateCopy(gate.condition, gate.value, number))
            if wire in graph.names:
                node.named(graph.names[wire])
            self.made[wire, signature] = node.index
        return self.made[wire, signature]

    def tasks(self, tasks: list[Task]) -> list[Task]:
        """The tasks that compute the copies."""
        task_of = {task.node: task for task in tasks if task.kind != "guard"}
        return [replace(task_of[wire], node=copy) for (wire, _), copy in self.made.items()]


def in_proportion(group: Iterable[tuple[Wire, Number]]) -> Proportions:
    terms = tuple(group)
    lead = terms[0][1]
    return tuple((wire, divided(weight, lead)) for wire, weight in terms)


def apart(group: Proportions, known: Iterable[Proportions]) -> Iterator[Proportions]:
    """A group as the largest other groups that it contains, and what is left of it."""
    left = dict(group)
    for other in sorted(known, key=len, reverse=True):
        if 1 < len(other) < len(left) and all(wire in left for wire, _ in other):
            factor = left[other[0][0]]
            if all(left[wire] == factor * weight for wire, weight in other):
                yield other
                for wire, _ in other:
                    del left[wire]
    yield in_proportion(left.items())
