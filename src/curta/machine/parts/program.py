"""The program: instructions filed by the prompt, fetched by the program counter.

An instruction is a record of tokens; its last token files all fields under the number of
instructions before it. The program counter is a running sum of what tokens add to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from curta.compiler import Graph, Node, back, equals, select
from curta.machine.instructions import OPERATIONS
from curta.machine.parts.token import Token
from curta.machine.vocabulary import BYTES, FIELDS, OPERATION_TOKENS, RECORD

MOST_INSTRUCTIONS = 1 << 20
NOWHERE = -1


@dataclass(frozen=True)
class Fetched:
    """The fields of one instruction."""

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
        tests = (equals(self.operation, OPERATIONS.index(name)) for name in names)
        return sum(tests, graph.constant(0))


@dataclass(frozen=True)
class Program:
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


def program_parts(graph: Graph, token: Token) -> Program:
    total = graph.running_sum(token.step).named("program counter")
    counter = graph.assume(total - token.far, 0, MOST_INSTRUCTIONS - 1).named("instruction")
    done_at = graph.assume(
        total - token.step - token.far_before, -4096, MOST_INSTRUCTIONS - 1
    ).named("instruction done")
    filing = Filing(graph)
    return Program(
        counter=counter,
        running=running(graph),
        now=filing.fetch(counter),
        done=filing.fetch(done_at),
        done_at=done_at,
        frame_before=filing.field("immediate", counter - 1),
    )


def running(graph: Graph) -> Node:
    started = graph.is_token("start")
    return graph.lookup(query=1, key=started, value=started, missing=0).named("running")


class Filing:
    """Records of the prompt as fields, filed under the number of their instruction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        number = {name: i % len(OPERATIONS) for i, name in enumerate(OPERATION_TOKENS)}
        operation = graph.feature("operation", number)
        immediate_mode = graph.is_token(*(n for n in OPERATION_TOKENS if n.endswith("#")))
        is_operation = graph.is_token(*OPERATION_TOKENS)
        byte = graph.feature("byte", {name: b for b, name in enumerate(BYTES)})
        ends = back(RECORD - 1, is_operation)
        count = graph.running_sum(is_operation).named("instructions so far")
        self.key = select(ends, graph.assume(count - 1, -1, MOST_INSTRUCTIONS - 1), NOWHERE)
        self.fields = {
            "operation": back(RECORD - 1, operation),
            "immediate_mode": back(RECORD - 1, immediate_mode),
        }
        after = RECORD - 1
        for name, size in FIELDS.items():
            places = range(after - 1, after - 1 - size, -1)
            self.fields[name] = sum(
                (256 ** (place - after + size) * back(place, byte) for place in places),
                graph.constant(0),
            )
            after -= size

    def field(self, name: str, number: Node) -> Node:
        value = self.fields[name]
        return self.graph.lookup(query=number, key=self.key, value=value, missing=0).named(name)

    def fetch(self, number: Node) -> Fetched:
        return Fetched(**{name: self.field(name, number) for name in self.fields})
