"""Runs functions as values in blocks (lowering/code.py), as the definition of what passes keep.

Slow and obvious: every function call has a dictionary of its values.
"""

from __future__ import annotations

from collections.abc import Callable

from curta.machine.core_program import PRIVATE
from curta.machine.instructions import CORE, MEMORY_PAGES, PAGE, TRAPS, VALUES, WORD, ZERO, kind_of
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Callee,
    Code,
    Edge,
    Exit,
    Jump,
    Return,
    Step,
    Switch,
    TailCall,
    TrapEnd,
    Value,
)
from curta.machine.reference import TrappedError, divided

MOST_STEPS = 3_000_000


class ExitedError(Exception):
    """The program ended itself, with this exit code."""


class CodeMachine:
    """Executes functions. `find` gives the code of one; memory is a dictionary of bytes."""

    def __init__(self, find: Callable[[Callee], Code], extensions: tuple[object, ...] = ()) -> None:
        self.find = find
        self.registers: dict[int, int] = {}
        self.memory: dict[int, int] = {}
        self.output: list[tuple[str, int]] = []
        self.steps = 0
        self.starts: dict[int, Callee] = {}
        """What numbers in tables stand for."""

    def call(self, callee: Callee, arguments: tuple[int, ...]) -> tuple[int, ...]:
        while True:
            code = self.find(callee)
            result = self.run(code, arguments)
            if not isinstance(result, TailCall):
                return result
            callee, arguments = result.callee, self.given

    def run(self, code: Code, arguments: tuple[int, ...]) -> tuple[int, ...] | TailCall:
        values: dict[Value, int] = dict(code.constants)
        block, given = code.entry, arguments
        while True:
            values.update(zip(block.parameters, given, strict=True))
            for step in block.steps:
                self.steps += 1
                if self.steps > MOST_STEPS:
                    raise RuntimeError("too many steps")
                self.do(step, values)
            end = block.end
            edge: Edge
            match end:
                case Jump():
                    edge = end.edge
                case Branch():
                    holds = VALUES[end.comparison](values[end.a], values[end.b], 0)
                    edge = end.then if holds else end.otherwise
                case Switch():
                    edge = end.edges[min(values[end.chosen], len(end.edges) - 1)]
                case Return():
                    return tuple(values[value] for value in end.values)
                case TailCall():
                    self.given = tuple(values[value] for value in end.arguments)
                    return end
                case TrapEnd():
                    raise TrappedError(TRAPS[end.number])
                case Exit():
                    raise ExitedError(values[end.code])
            block = self.following(code, edge)
            given = tuple(values[value] for value in edge.arguments)

    def following(self, code: Code, edge: Edge) -> Block:
        return code.blocks[edge.label]

    def do(self, step: Step | Call, values: dict[Value, int]) -> None:
        if isinstance(step, Call):
            callee = step.callee
            if step.pointer is not None:
                callee = self.starts[values[step.pointer]]
            assert callee is not None
            given = tuple(values[value] for value in step.arguments)
            values.update(zip(step.results, self.call(callee, given), strict=True))
            return
        a, b, c = (0 if v is None else values[v] for v in (step.a, step.b, step.c))
        if step.b is None and step.operation not in ("get", "set"):
            b = step.immediate
        d = step.d
        match step.operation:
            case "get":
                values[_written(d)] = self.registers.get(step.immediate, 0)
                return
            case "set":
                assert step.immediate != ZERO
                self.registers[step.immediate] = c
                return
        match kind_of(step.operation):
            case "value":
                values[_written(d)] = VALUES[step.operation](a, b, c)
            case "divide":
                values[_written(d)] = divided(step.operation, a, b)
            case "load" | "store" as kind:
                place = a + step.immediate
                if step.b is not None:
                    place = (a + b) % WORD + step.immediate
                at = self.address(step.operation, place)
                if kind == "load":
                    found = bytes(self.memory.get(n, 0) for n in at)
                    signed = step.operation.endswith("_s")
                    values[_written(d)] = int.from_bytes(found, "little", signed=signed) % WORD
                else:
                    for shift, n in enumerate(at):
                        self.memory[n] = c >> 8 * shift & 255
            case "write":
                self.output.append((step.operation, b % 256))
            case _:
                raise NotImplementedError(step.operation)

    def address(self, name: str, place: int) -> range:
        if not CORE[name].has_bounds:
            place += PRIVATE
        elif place + CORE[name].size > self.registers.get(MEMORY_PAGES, 0) * PAGE:
            raise TrappedError("out of bounds memory access")
        return range(place, place + CORE[name].size)


def _written(d: Value | None) -> Value:
    assert d is not None
    return d
