"""What chains are drawn from: a step, and for each of its operands another one or a kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeGuard

from curta.machine.wasm import ValueType
from tests.machine.wasm.chain_table import KINDS, Pair, Slot, Step, slots, steps
from tests.machine.wasm.random_modules import VALUES

ROUNDS = 2


@dataclass
class Node:
    """A step, and for each operand another one or the kind it is of."""

    step: Step
    operands: list[Node | str]

    def types(self) -> frozenset[ValueType]:
        below = (operand.types() for operand in self.operands if isinstance(operand, Node))
        return self.step.types.union(*below)


def carries(node: Node | str) -> TypeGuard[Node]:
    """Whether it is a branch that carries a value."""
    return isinstance(node, Node) and node.step.opcode == "br_if"


def nodes_of(pair: Pair, random: Random, rounds: int = ROUNDS) -> Iterator[Node]:
    """Chains that cover a pair: in every round each slot has each kind once.

    In the first round all slots have the same kind at a time, in others the kinds are mixed.
    """
    for number in range(rounds):
        shifts = {slot: random.randrange(len(KINDS)) if number else 0 for slot in slots(pair)}
        for turn in range(len(KINDS) if shifts else 1):
            yield _node(
                pair, {slot: KINDS[(turn + by) % len(KINDS)] for slot, by in shifts.items()}
            )


def node_of(pair: Pair, random: Random) -> Node:
    """One chain of the pair."""
    return _node(pair, {slot: random.choice(KINDS) for slot in slots(pair)})


def _node(pair: Pair, kinds: dict[Slot, str]) -> Node:
    producer = pair.producer
    inner = Node(producer, [kinds["producer", at] for at in range(len(producer.parameters))])
    outer = Node(pair.consumer, [kinds.get(("consumer", at), "") for at in range(_arity(pair))])
    outer.operands[pair.position] = inner
    return outer


def _arity(pair: Pair) -> int:
    return len(pair.consumer.parameters)


def random_node(
    random: Random, depth: int, result: ValueType | None = None, *, floats: bool = True
) -> Node:
    """A chain of so many steps; now and then another one is in its first operand."""
    types = [type_ for type_ in VALUES if floats or type_[0] == "i"]
    # Types first: most instructions are integers'.
    type_ = random.choice(types)
    rows = [
        row
        for row in steps()
        if row.parameters[:1] == (type_,)
        and row.types <= {*types}
        and row.opcode != "return"
        and (result is None or row.results == (result,))
    ]
    if not rows:  # nothing makes this of that
        return random_node(random, depth, result, floats=floats)
    row = random.choice(rows)
    operands: list[Node | str] = [random.choice(KINDS) for _ in row.parameters]
    if depth > 1:
        for at in {random.randrange(len(operands)), *((0,) if random.random() < 0.2 else ())}:
            operands[at] = random_node(random, depth - 1, row.parameters[at], floats=floats)
    return Node(row, operands)
