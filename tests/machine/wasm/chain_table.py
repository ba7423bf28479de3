"""What chains are made of: every ordered pair of instructions, with every kind of operand.

A *step* is an instruction as the operand stack sees it: what it takes and what it leaves. Where the
opcode does not say the type (`select`, locals, calls, branches), the name of the step does. In a
*pair* the result of one step, the producer, is an operand of another one, the consumer. All other
operands of both are *slots*; each slot is filled with every *kind* of operand.

`claims` lists what follows from that; `chain_draw` draws it and `chain_meter` measures it, the
latter from nothing but modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from curta.machine.wasm import ValueType
from curta.machine.wasm.opcodes import OPCODES
from tests.machine.wasm.random_modules import VALUES, Types

KINDS = (
    "constant",
    "zero-extended",
    "sign-extended",
    "comparison",
    "local",
    "local written since",
    "global",
    "global written since",
    "loaded",
    "computed",
    "kept and used again",
    "called",
)
"""Where an operand comes from. "Written since" are values that stay on the stack while the place
they were read from gets another one.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction's name, with its type where that is not in the name, and what it does."""

    name: str
    parameters: Types
    results: Types

    @property
    def opcode(self) -> str:
        return self.name.split()[0]

    @property
    def type(self) -> ValueType:
        """That of an instruction that has no type in its name."""
        return next(type_ for type_ in VALUES if self.name.endswith(f" {type_}"))

    @property
    def types(self) -> frozenset[ValueType]:
        return frozenset((*self.parameters, *self.results))


class Pair(NamedTuple):
    """The consumer's operand at `position` is what the producer leaves."""

    producer: Step
    consumer: Step
    position: int


class Slot(NamedTuple):
    """An operand of a pair that is not the pair's own value."""

    owner: str
    """"producer" or "consumer"."""
    position: int


class Item(NamedTuple):
    """One thing to cover: a pair, and the kind of one of its other operands, if it has any."""

    producer: str
    consumer: str
    position: int
    slot: Slot | None
    kind: str


def _typed(opcode: str, parameters: int, results: int, *others: ValueType) -> list[Step]:
    """The instruction for every type: so many of them, and then others."""
    return [
        Step(f"{opcode} {type_}", (*(type_,) * parameters, *others), (type_,) * results)
        for type_ in VALUES
    ]


@cache
def steps() -> tuple[Step, ...]:
    """All instructions that take values or leave one, but for those on whole stretches of memory
    and tables.
    """
    rows = [
        Step(row.name, row.signature.parameters, row.signature.results)
        for row in OPCODES.values()
        if row.signature is not None and row.code < 0xFC08
    ]
    return (
        *rows,
        *_typed("select", 2, 1, "i32"),
        *_typed("local.get", 0, 1),
        *_typed("local.set", 1, 0),
        *_typed("local.tee", 1, 1),
        *_typed("global.get", 0, 1),
        *_typed("global.set", 1, 0),
        *_typed("call", 2, 1),
        *_typed("call_indirect", 2, 1, "i32"),
        *(Step(f"return {type_}", (type_,), ()) for type_ in ("i32", "i64")),  # floats go as bits
        *_typed("br_if", 1, 1, "i32"),
        *(Step(f"if {type_}", ("i32",), (type_,)) for type_ in VALUES),
        Step("br_if", ("i32",), ()),
        Step("br_table", ("i32",), ()),
    )


@cache
def pairs() -> tuple[Pair, ...]:
    """All that types allow; a branch's value is used in its block, where nothing returns."""
    return tuple(
        Pair(producer, consumer, position)
        for consumer in steps()
        for position, type_ in enumerate(consumer.parameters)
        for producer in steps()
        if producer.results == (type_,)
        and (producer.opcode, consumer.opcode) != ("br_if", "return")
    )


def slots(pair: Pair) -> tuple[Slot, ...]:
    """Of the producer first; what else is returned is no operand of the value that is."""
    return (
        *(Slot("producer", place) for place in range(len(pair.producer.parameters))),
        *(
            Slot("consumer", place)
            for place in range(len(pair.consumer.parameters))
            if place != pair.position
        ),
    )


def before(pair: Pair) -> tuple[Slot, ...]:
    """The consumer's operands that are on the stack when the producer is executed."""
    return tuple(Slot("consumer", place) for place in range(pair.position))


def items(pair: Pair) -> Iterator[Item]:
    """What there is to cover of a pair."""
    names = pair.producer.name, pair.consumer.name, pair.position
    calls = pair.producer.opcode.startswith("call")
    for slot in slots(pair):
        for kind in KINDS:
            # A call may write what lies on the stack since before.
            if not (calls and kind == "global" and slot in before(pair)):
                yield Item(*names, slot, kind)
    if not slots(pair):
        yield Item(*names, None, "")
