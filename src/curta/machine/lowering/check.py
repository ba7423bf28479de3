"""Check: what every pass has to leave behind, and what the next one may rest on.

- every value is written once, and no constant is
- on every way to a read, the value was written before it
- edges lead to blocks of the function, with an argument for every parameter
- operations are known, and have the sources that they should have
"""

from __future__ import annotations

from curta.machine.instructions import COMPARISONS, kind_of
from curta.machine.lowering.code import (
    Block,
    Branch,
    Call,
    Code,
    Step,
    Value,
    edges,
    writes,
)
from curta.machine.lowering.liveness import live_before, members
from curta.machine.lowering.operations import PRIVATE, SET, sources


class CodeError(Exception):
    """A pass has left code that means nothing: an error of the compiler."""


def check(code: Code, behind: str) -> Code:
    """The same code, if it keeps the rules; else an error that names what is wrong."""
    problem = find_problem(code)
    if problem is not None:
        raise CodeError(f"{code.name} behind {behind}: {problem}")
    return code


def find_problem(code: Code) -> str | None:
    """What is wrong with the code, if anything is."""
    written: set[Value] = set(code.constants)
    known: dict[str, str | None] = {}
    for label, block in code.blocks.items():
        if label != block.label:
            return f"block {label} says that it is block {block.label}"
        for step in block.steps:
            if not isinstance(step, Call) and (problem := _problem_of(step, known)):
                return f"{problem} in block {label}: {step}"
        for value in _written_in(block):
            if value in written:
                return f"value {value} is written once more in block {label}"
            written.add(value)
        if problem := _problem_of_ways(code, block):
            return f"{problem} in block {label}: {block.end}"
    unwritten = live_before(code)[code.entry.label]
    if unwritten:
        return f"value {next(members(unwritten))} may be read before it is written"
    return None


def _written_in(block: Block) -> list[Value]:
    written = list(block.parameters)
    for step in block.steps:
        written += writes(step)
    return written


def _problem_of(step: Step, known: dict[str, str | None]) -> str | None:
    name = step.operation
    if name not in known:
        known[name] = sources(name)
    expected = known[name]
    kind = kind_of(name)
    gives = kind in ("value", "divide", "load", "read") and name != SET
    if gives != (step.d is not None):
        return "a value too few or too many is written"
    if kind in ("jump", "end"):
        return "a jump is no step"
    if expected is None:
        return None
    if kind in ("load", "store") and step.b is not None and name not in PRIVATE:
        expected += "b"
    for source, value in zip("abc", step[2:5], strict=True):
        if (value is not None) != (source in expected):
            return f"source {source} is {value}"
    return None


def _problem_of_ways(code: Code, block: Block) -> str | None:
    end = block.end
    if isinstance(end, Branch) and end.comparison not in COMPARISONS:
        return f"{end.comparison} is no comparison"
    for edge in edges(end):
        there = code.blocks.get(edge.label)
        if there is None:
            return f"there is no block {edge.label}"
        if len(there.parameters) != len(edge.arguments):
            return f"{len(edge.arguments)} arguments for {len(there.parameters)} parameters"
        if there is code.entry and there.parameters:
            return "an edge leads to the entry of a function that takes something"
    return None
