"""Why a changed instruction changes nothing: arguments that do not need the validator.

One walk over the function's instructions, backwards: a register is read later, or it is not. Calls
read their arguments and all shared registers, and leave nothing in what lies above their frame.
"""

from __future__ import annotations

from collections.abc import Iterator

from curta.machine.core_program import CoreProgram
from curta.machine.instructions import GLOBALS, CoreInstruction, kind_of

_THREE = ("select", "add3", "sub3", "funnel_shl", "funnel_shr")
_SHARED = -1
"""Stands for all shared registers: they are always read later."""


def explain(right: CoreProgram, wrong: CoreProgram) -> str:
    """The argument that two programs are equal; empty if there is none."""
    if right.segments != wrong.segments or right.entries != wrong.entries:
        return ""
    pairs = zip(right.instructions, wrong.instructions, strict=False)
    places = [at for at, (one, other) in enumerate(pairs) if one != other]
    if len(right.instructions) != len(wrong.instructions) or len(places) != 1:
        return ""
    at = places[0]
    one, other = right.instructions[at], wrong.instructions[at]
    if at not in _reachable(right):
        return "the instruction is not reached"
    if _essence(one) == _essence(other):
        return "the field is not read"
    if _is_pure(one) and _is_pure(other) and not {one.d, other.d} & _live_after(right, at):
        return "the result is not read"
    return ""


def _is_pure(one: CoreInstruction) -> bool:
    return kind_of(one.operation) == "value" and one.d < GLOBALS


def _essence(one: CoreInstruction) -> tuple[object, ...]:
    """What counts of an instruction."""
    kind, name = kind_of(one.operation), one.operation
    reads = tuple(sorted(_reads(one))) if name in ("add", "and", "or", "xor", "mul") else None
    ordered = None if reads else (one.a if _takes_a(one) else 0, one.b)
    third = one.c if name in _THREE or kind == "store" else 0
    immediate = one.immediate if one.b is None or kind in ("load", "store", "jump") else 0
    jumps = kind == "jump" and name not in ("call_to", "return", "jump_table")
    return (
        name,
        reads,
        ordered,
        third,
        one.d if kind != "store" else 0,
        immediate,
        (one.target if jumps else 0),
    )


def _takes_a(one: CoreInstruction) -> bool:
    return one.operation not in ("copy", "jump", "call", "write_out", "write_err", "trap", "exit")


def _reads(one: CoreInstruction) -> Iterator[int]:
    if _takes_a(one) and kind_of(one.operation) != "read":
        yield one.a
    if one.b is not None:
        yield one.b
    if one.operation in _THREE or kind_of(one.operation) == "store":
        yield one.c


def _ways(core: CoreProgram, at: int) -> Iterator[int]:
    """Where it goes on, calls and entries included."""
    one = core.instructions[at]
    name = one.operation
    if name == "jump_table":
        yield from range(at + 1, at + 2 + one.immediate)
    elif name not in ("jump", "return", "exit", "trap"):
        yield at + 1
    if kind_of(name) == "jump" and name not in ("return", "call_to", "jump_table"):
        yield one.target


def _reachable(core: CoreProgram) -> set[int]:
    """From the beginning, and from all that tables may hold."""
    waiting = [0, *core.claims.functions.values()]
    found = set(waiting)
    while waiting:
        for way in _ways(core, waiting.pop()):
            if way not in found and way < len(core.instructions):
                found.add(way)
                waiting.append(way)
    return found


def _live_after(core: CoreProgram, place: int) -> set[int]:
    """The registers that may be read behind an instruction, within its function."""
    starts = sorted({0, *core.claims.functions.values(), len(core.instructions)})
    begin = max(start for start in starts if start <= place)
    end = min(start for start in starts if start > place)
    live: dict[int, set[int]] = {at: set() for at in range(begin, end)}
    changed = True
    while changed:
        changed = False
        for at in range(end - 1, begin - 1, -1):
            now = _before(core, at, _after(core, at, live))
            if now != live[at]:
                live[at], changed = now, True
    return _after(core, place, live)


def _after(core: CoreProgram, at: int, live: dict[int, set[int]]) -> set[int]:
    one = core.instructions[at]
    found: set[int] = set()
    for way in _ways(core, at):
        if one.operation == "call" and way == one.target:
            continue
        # A jump to another function leaves it all registers.
        found |= live.get(way, set(range(one.target and 64)))
    return found


def _before(core: CoreProgram, at: int, after: set[int]) -> set[int]:
    one = core.instructions[at]
    if one.operation in ("call", "call_to"):
        kept = {register for register in after if register < one.immediate}
        given = set(range(one.immediate, one.d))
        return kept | given | ({one.a} if one.operation == "call_to" else set())
    if one.operation == "return":
        return set(range(one.a + 1))
    written = {one.d} if kind_of(one.operation) in ("value", "divide", "load", "read") else set()
    return (after - written) | set(_reads(one))
