"""Counts executed instructions: a copy of a binary that adds them up in two globals.

Two counts. *Instructions* are all that WebAssembly executes but the structure (block, loop,
end, else, nop). *Operations* leave out moves as well (local.get, local.set, local.tee,
i32.const, drop), which a register machine folds into the operand fields of other instructions.

Straight-line stretches are counted as a whole, before anything that may leave them.
"""

from __future__ import annotations

from tests.machine.runtime.runtime_binary import (
    CODE,
    EXPORT,
    GLOBAL,
    STRUCTURE,
    Binary,
    Instruction,
    Reader,
    read_binary,
    signed_bytes,
    unsigned_bytes,
)

MOVES = frozenset({"local.get", "local.set", "local.tee", "i32.const", "drop"})
NOT_COUNTED = frozenset(STRUCTURE.values()) - {"if"}
STRETCH_ENDS = frozenset(
    {"block", "loop", "if", "else", "end", "br", "br_if", "return", "unreachable", "call"}
)


def _add_to_global(index: int, amount: int) -> bytes:
    number = unsigned_bytes(index)
    return b"\x23" + number + b"\x41" + signed_bytes(amount) + b"\x6a\x24" + number


def _counted_code(binary: Binary, instructions: tuple[Instruction, ...], first: int) -> bytes:
    out = bytearray()
    code = next(content for kind, content in binary.sections if kind == CODE)
    stretch = bytearray()
    executed = operations = 0
    for instruction in instructions:
        executed += instruction.name not in NOT_COUNTED
        operations += instruction.name not in NOT_COUNTED | MOVES
        if instruction.name in STRETCH_ENDS:
            if executed:
                out += _add_to_global(first, executed) + _add_to_global(first + 1, operations)
            out += stretch + code[instruction.start : instruction.end]
            stretch.clear()
            executed = operations = 0
        else:
            stretch += code[instruction.start : instruction.end]
    return bytes(out + stretch)


def _section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + unsigned_bytes(len(content)) + content


def counted(data: bytes) -> bytes:
    """The same library with `counter.instructions` and `counter.operations` as exports."""
    binary = read_binary(data)
    globals_content = dict(binary.sections).get(GLOBAL, b"\0")
    reader = Reader(globals_content)
    first = reader.unsigned()
    globals_content = (
        unsigned_bytes(first + 2) + globals_content[reader.position :] + b"\x7f\x01\x41\x00\x0b" * 2
    )
    bodies = []
    for body in binary.bodies:
        code = body.locals_bytes + _counted_code(binary, body.instructions, first)
        bodies.append(unsigned_bytes(len(code)) + code)
    out = bytearray(data[:8])
    written_globals = False
    for kind, content in binary.sections:
        if kind >= GLOBAL and not written_globals:
            out += _section(GLOBAL, globals_content)
            written_globals = True
        if kind == EXPORT:
            reader = Reader(content)
            count = reader.unsigned()
            extra = b"".join(
                unsigned_bytes(len(name)) + name + b"\x03" + unsigned_bytes(first + offset)
                for offset, name in enumerate((b"counter.instructions", b"counter.operations"))
            )
            out += _section(EXPORT, unsigned_bytes(count + 2) + content[reader.position :] + extra)
        elif kind == CODE:
            out += _section(CODE, unsigned_bytes(len(bodies)) + b"".join(bodies))
        elif kind != GLOBAL:
            out += _section(kind, content)
    return bytes(out)
