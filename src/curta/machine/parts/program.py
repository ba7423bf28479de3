"""The program: instructions fetched by the program counter.

In the prompt an instruction is a record of tokens; its last token files all fields under the number
of instructions before it. In a baked machine the fields are functions of the number.

The program counter is a running sum of what tokens add to it, less what it was when the latest run
ended: the next one begins with instruction 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from curta.compiler import Graph, Node, back, equals, large_table, select
from curta.machine.instructions import MOST_INSTRUCTIONS, CoreInstruction
from curta.machine.parts.operations import Operations
from curta.machine.parts.token import Token
from curta.machine.vocabulary import BYTES, FIELDS, RECORD, START

NOWHERE = -1
"""Where records are filed that are not complete."""
UNSTARTED = -(1 << 20)
"""The program counter while the prompt is read: no instruction is there, nor as far on as words of
registers move it (vocabulary.MOST_REGISTERS), before a jump takes it back.
"""


@dataclass(frozen=True)
class Fetched:
    """The fields of one instruction."""

    operations: Operations
    operation: Node
    immediate_mode: Node
    a: Node
    b: Node
    c: Node
    d: Node
    immediate: Node
    target: Node

    def is_any(self, *names: str) -> Node:
        """1 if the operation is one of these."""
        graph = self.operation.graph
        tests = (equals(self.operation, self.operations.number(name)) for name in names)
        return sum(tests, graph.constant(0))


@dataclass(frozen=True)
class ProgramState:
    """The instruction to execute, and the one that was executed when this token ended a step."""

    counter: Node
    running: Node
    """1 once the prompt is complete."""
    now: Fetched
    done: Fetched
    done_at: Node
    """The number of the instruction that was executed."""
    frame_before: Node
    """By how much the call before the instruction to execute moved the frame."""


class Fields(Protocol):
    """Where the fields of instructions come from."""

    operations: Operations
    most: int
    """How many instructions there are at most."""

    def field(self, name: str, number: Node) -> Node:
        """A field of the instruction of that number."""


def fetch(fields: Fields, number: Node) -> Fetched:
    names = ("operation", "immediate_mode", *FIELDS)
    return Fetched(fields.operations, **{name: fields.field(name, number) for name in names})


def is_running(graph: Graph) -> Node:
    """1 from `start` on."""
    started = graph.is_token(START)
    return graph.lookup(query=1, key=started, value=started, missing=0).named("running")


def program_parts(graph: Graph, token: Token, fields: Fields, running: Node) -> ProgramState:
    total = since_reset(graph, graph.running_sum(token.step), token.ends_run, UNSTARTED)
    counter = graph.assume(total - token.far, UNSTARTED, fields.most - 1).named("instruction")
    done_at = graph.assume(total - token.step - token.far_before, UNSTARTED - 4096, fields.most - 1)
    return ProgramState(
        counter=counter,
        running=running,
        now=fetch(fields, counter),
        done=fetch(fields, done_at.named("instruction done")),
        done_at=done_at,
        frame_before=fields.field("immediate", counter - 1),
    )


def since_reset(graph: Graph, total: Node, resets: Node, never: int = 0) -> Node:
    """A running sum, counted from the latest position where the machine began anew.

    As long as it never did, the sum begins with another number.
    """
    before = graph.lookup(query=1, key=resets, value=total + never, missing=0)
    return total - before + never


class Filing:
    """Records of the prompt as fields, filed under the number of their instruction."""

    most = MOST_INSTRUCTIONS

    def __init__(self, graph: Graph, operations: Operations, running: Node) -> None:
        self.graph = graph
        self.operations = operations
        is_operation = graph.is_token(*operations.tokens)
        byte = graph.feature("byte", {name: b for b, name in enumerate(BYTES)})
        is_record = back(RECORD - 1, is_operation)
        ends = graph.gate(1 - running, is_record)
        count = graph.running_sum(is_operation).named("instructions so far")
        number = graph.assume(count - 1, -1, MOST_INSTRUCTIONS - 1)
        self.key = select(ends, number, NOWHERE)
        fields = {
            "operation": back(RECORD - 1, operations.feature(graph)),
            "immediate_mode": back(RECORD - 1, operations.immediate_mode(graph)),
        }
        after = RECORD - 1
        for name, size in FIELDS.items():
            places = range(after - 1, after - 1 - size, -1)
            fields[name] = sum(
                (256 ** (place - after + size) * back(place, byte) for place in places),
                graph.constant(0),
            )
            after -= size
        # Once the program runs nothing is filed: then these are constants.
        self.fields = {name: graph.gate(1 - running, field) for name, field in fields.items()}

    def field(self, name: str, number: Node) -> Node:
        value = self.fields[name]
        return self.graph.lookup(query=number, key=self.key, value=value, missing=0).named(name)


class Baked:
    """The fields of a program that is known when the machine is built: tables over the number."""

    def __init__(self, operations: Operations, program: Sequence[CoreInstruction]) -> None:
        self.operations = operations
        self.most = len(program)
        self.columns: dict[str, list[int]] = {
            "operation": [operations.number(one.operation) for one in program],
            "immediate_mode": [int(one.b is None) for one in program],
            **{name: [getattr(one, name) or 0 for one in program] for name in FIELDS},
        }

    def field(self, name: str, number: Node) -> Node:
        """Low and high half of a column, apart: together they would rise by too much at once."""
        column = self.columns[name]
        low = large_table(number, [value % 2**16 for value in column]).named(f"low {name}")
        high = large_table(number, [value // 2**16 for value in column]).named(f"high {name}")
        return (low + 2**16 * high).named(name)
