"""Operations as the passes see them: which sources they have, and what else they do."""

from __future__ import annotations

from collections.abc import Mapping

from curta.machine.instructions import CORE, kind_of, operation_of
from curta.machine.lower.code import Call, Code, Step, Value

GET, SET = "get.shared", "set.shared"
_ALL_ONES = 0xFFFF_FFFF
_OPERANDS = {GET: "d", SET: "c", **{name: one.operands for name, one in CORE.items()}}


def operands(operation: str) -> str | None:
    """Which of a, b, c, e and d an operation has; None for extensions, each of which has its own.

    Accesses of the program's memory may have b, too.
    """
    return _OPERANDS.get(operation)


def shared_registers(code: Code) -> set[int]:
    """The shared registers that a function reads or writes."""
    return {
        step.immediate
        for block in code.blocks.values()
        for step in block.steps
        if isinstance(step, Step) and step.operation in (GET, SET)
    }


def gives_value(operation: str) -> bool:
    """Whether an operation computes a word from its sources, and does nothing else; all extensions
    do.
    """
    return operation not in (GET, SET) and kind_of(operation) == "value"


def may_trap(step: Step, code: Code) -> bool:
    """Whether a step can end the program."""
    if kind_of(step.operation) == "divide":
        divisor = None if step.b is None else code.constants.get(step.b)
        return divisor in (None, 0, _ALL_ONES)
    return bool(operation_of(step.operation).traps)


def is_needless(step: Step | Call, code: Code) -> bool:
    """Whether a step may be left out if nobody reads what it writes."""
    if isinstance(step, Call) or step.d is None:
        return False
    return kind_of(step.operation) != "read" and not may_trap(step, code)


def takes_immediate(operation: str) -> bool:
    """Whether a constant b is part of the instruction: an access has its offset there."""
    return kind_of(operation) not in ("load", "store")


def replaced(step: Step | Call, names: Mapping[Value, Value]) -> Step | Call:
    """The step with other sources; those that have no other name keep theirs."""
    if isinstance(step, Call):
        if not any(v in names for v in step.arguments) and step.pointer not in names:
            return step
        pointer = step.pointer if step.pointer is None else names.get(step.pointer, step.pointer)
        arguments = tuple(names.get(v, v) for v in step.arguments)
        return step._replace(arguments=arguments, pointer=pointer)
    if not any(source in names for source in (step.a, step.b, step.c, step.e)):
        return step

    def renamed(source: Value | None) -> Value | None:
        return None if source is None else names.get(source, source)

    return step._replace(a=renamed(step.a), b=renamed(step.b), c=renamed(step.c), e=renamed(step.e))
