"""Faults in what comes out: one field of one instruction, one byte of memory, one entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random

from curta.machine.instructions import CORE, GLOBALS, Instruction, kind_of
from curta.machine.program import CoreProgram, Entry, Segment
from tests.machine.faults.fault import Fault, MismatchError
from tests.machine.faults.judging import Right
from tests.machine.faults.source_faults import SIBLINGS

_READERS = {"a", "b", "c"}
_JUMPS = {"jump_eq": "jump_ne", "jump_ne": "jump_eq", "call": "jump", "jump": "call"}


def program_fault(right: Right, random: Random) -> Fault:
    """One change of a lowered program, drawn."""
    core, name = right.core, right.program.name
    if random.random() < 0.08:
        return _of_memory(core, name, random)
    at = random.randrange(len(core.instructions))
    return instruction_fault(core, name, at, random)


def instruction_fault(core: CoreProgram, program: str, at: int, random: Random) -> Fault:
    """One change of an instruction."""
    instruction = core.instructions[at]
    kind, changed = random.choice(list(_changes(core, instruction, random)))
    return _fault(kind, program, core, at, changed)


def _fault(kind: str, program: str, core: CoreProgram, at: int, changed: Instruction) -> Fault:
    told = f"{program}: {at}: {shown(core.instructions[at])}  ->  {shown(changed)}"
    return Fault(
        f"program, {kind}", told, change=partial(_put, at, changed), programs=frozenset([program])
    )


def target_faults(right: Right, reach: int) -> Iterator[Fault]:
    """Every jump and call leads to every instruction that is near."""
    core = right.core
    for at, one in enumerate(core.instructions):
        if kind_of(one.operation) != "jump" or one.operation in ("jump_table", "call_to", "return"):
            continue
        first, behind = max(0, one.target - reach), one.target + reach + 1
        for target in range(first, min(behind, len(core.instructions))):
            if target != one.target:
                yield _fault("target", right.program.name, core, at, replace(one, target=target))


def _put(at: int, changed: Instruction, core: CoreProgram) -> CoreProgram:
    instructions = (*core.instructions[:at], changed, *core.instructions[at + 1 :])
    return replace(core, instructions=instructions)


def shown(instruction: Instruction) -> str:
    one = instruction
    second = f"#{one.immediate:#x}" if one.b is None else f"r{one.b}+{one.immediate:#x}"
    return f"{one.operation} a=r{one.a} b={second} c=r{one.c} d=r{one.d} to {one.target}"


def _changes(
    core: CoreProgram, one: Instruction, random: Random
) -> Iterator[tuple[str, Instruction]]:
    """Kinds and changed instructions."""
    name, kind = one.operation, kind_of(one.operation)
    compares = name.startswith("jump_") and name != "jump_table"
    if kind in ("value", "divide", "load", "read") or name.startswith("call"):
        yield "result register", replace(one, d=_other_register(core, one.d, random))
    if (name != "copy" and kind in ("value", "divide", "load", "store")) or compares:
        yield "source register", replace(one, a=_other_register(core, one.a, random))
    if name in ("call_to", "return", "jump_table"):
        yield "source register", replace(one, a=_other_register(core, one.a, random))
    if kind == "store" or name in ("select", "add3", "sub3", "funnel_shl", "funnel_shr"):
        yield "source register", replace(one, c=_other_register(core, one.c, random))
    if one.b is not None and (kind in ("value", "divide", "load", "store") or compares):
        yield "source register", replace(one, b=_other_register(core, one.b, random))
        yield "register or immediate", replace(one, b=None)
        if one.a != one.b and name != "copy":
            yield "operands exchanged", replace(one, a=one.b, b=one.a)
    elif kind in ("value", "divide", "store", "load") or compares:
        yield "register or immediate", replace(one, b=one.a)
    if kind in ("load", "store") or (one.b is None and (kind == "value" or compares)):
        for word in (
            one.immediate + 1,
            one.immediate - 1,
            one.immediate ^ 1 << random.randrange(32),
        ):
            yield "immediate", replace(one, immediate=word % (1 << 32))
    if name == "trap":
        yield "immediate", replace(one, immediate=(one.immediate + 1) % 10)
    if name.startswith("call"):
        yield "call slot", replace(one, immediate=one.immediate + random.choice((1, -1, 2)) & 32767)
    if name == "jump_table":
        yield "immediate", replace(one, immediate=one.immediate + random.choice((1, -1)) & 32767)
    if name == "call" or name == "jump" or compares:
        step = random.choice((1, -1, random.randrange(2, 20), -random.randrange(2, 20)))
        yield "target", replace(one, target=(one.target + step) % len(core.instructions))
    yield from _other_operations(one, name)


def _other_operations(one: Instruction, name: str) -> Iterator[tuple[str, Instruction]]:
    bare = name.removeprefix("jump_")
    if name in CORE and bare in SIBLINGS:
        yield "operation", replace(one, operation=name[: len(name) - len(bare)] + SIBLINGS[bare])
    other = {"write_out": "write_err", "write_err": "write_out", "call": "jump"}.get(name)
    yield "operation", replace(one, operation=other or _JUMPS.get(name, "copy"))


def _other_register(core: CoreProgram, register: int, random: Random) -> int:
    """A neighbour, or one that the program uses somewhere."""
    if random.random() < 0.5 and register not in (0, GLOBALS):
        return register + random.choice((1, -1))
    used = [one.d for one in random.choices(core.instructions, k=20) if one.d != register]
    return random.choice(used) if used else register + 1


# -- memory and entries ---------------------------------------------------------------------------


def _of_memory(core: CoreProgram, program: str, random: Random) -> Fault:
    if not core.segments or random.random() < 0.2:
        return _of_entries(core, program, random)
    number = random.randrange(len(core.segments))
    segment = core.segments[number]
    if not segment.content:
        return _of_entries(core, program, random)
    at = random.randrange(len(segment.content))
    content = bytearray(segment.content)
    content[at] ^= 1 << random.randrange(8)
    moved = Segment(segment.address + random.choice((1, 4, 65536)), segment.content)
    changed, told = (
        (Segment(segment.address, bytes(content)), f"bit of byte {at}")
        if random.random() < 0.8
        else (moved, f"moved to {moved.address:#x}")
    )
    segments = (*core.segments[:number], changed, *core.segments[number + 1 :])
    return Fault(
        "program, memory",
        f"{program}: segment {number} at {segment.address:#x}: {told}",
        change=partial(_with_segments, segments),
        programs=frozenset([program]),
    )


def _with_segments(segments: tuple[Segment, ...], core: CoreProgram) -> CoreProgram:
    return replace(core, segments=segments)


def _of_entries(core: CoreProgram, program: str, random: Random) -> Fault:
    """Two exports change their numbers."""
    names = sorted(core.entries)
    one, other = random.choice(names), random.choice(names)
    return Fault(
        "program, entry",
        f"{program}: the entries {one} and {other} change places",
        change=partial(_exchange_entries, one, other),
        programs=frozenset([program]),
    )


def _exchange_entries(one: str, other: str, core: CoreProgram) -> CoreProgram:
    if one == other:
        raise MismatchError
    first, second = core.entries[one], core.entries[other]
    changed: dict[str, Entry] = {
        **core.entries,
        one: replace(first, number=second.number),
        other: replace(second, number=first.number),
    }
    return replace(core, entries=changed)
