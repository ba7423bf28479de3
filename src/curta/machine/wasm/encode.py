"""Encode: a Module to the binary format, every number as short as can be.

The targets in the operands of block, loop, if and else are not read: they follow from the order of
the instructions. There is a data count section if and only if an instruction needs one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from curta.machine.wasm import ValueType
from curta.machine.wasm.decode import MAGIC, SECTIONS, VERSION
from curta.machine.wasm.module import (
    BlockType,
    Data,
    Element,
    Expression,
    Function,
    FunctionType,
    Import,
    Instruction,
    Limits,
    MemoryType,
    Module,
    TableType,
)
from curta.machine.wasm.opcodes import OPCODES, SEGMENT_USERS, VALUE_TYPE_CODES, Immediates, Opcode

_FUNCREF = b"\x70"
_KIND_CODES = {"func": 0, "table": 1, "memory": 2, "global": 3}
_SECTION_CODES = {name: number for number, name in SECTIONS.items()}


def encode(module: Module) -> bytes:
    """The module in the binary format."""
    parts = [MAGIC, VERSION]
    for name, content in _sections(module).items():
        if content is not None:
            parts.append(bytes([_SECTION_CODES[name]]) + _sized(content))
    if module.function_names:
        entries = [_unsigned(index) + _name(name) for index, name in module.function_names]
        content = _name("name") + b"\1" + _sized(_vector(entries))
        parts.append(b"\0" + _sized(content))
    return b"".join(parts)


def custom_section(name: str, content: bytes) -> bytes:
    """A section that means nothing to WebAssembly, to be put behind a module."""
    return b"\0" + _sized(_name(name) + content)


def _sections(module: Module) -> dict[str, bytes | None]:
    """The contents of the sections in their order; None for those that are left out."""
    return {
        "type": _entries(_function_type(entry) for entry in module.types),
        "import": _entries(_import(entry) for entry in module.imports),
        "function": _entries(_unsigned(entry.type_index) for entry in module.functions),
        "table": _entries(_table(entry) for entry in module.tables),
        "memory": _entries(_limits(entry.limits) for entry in module.memories),
        "global": _entries(
            _global(entry.type.value, entry.type.mutable) + _expression(entry.initial)
            for entry in module.globals
        ),
        "export": _entries(
            _name(entry.name) + bytes([_KIND_CODES[entry.kind]]) + _unsigned(entry.index)
            for entry in module.exports
        ),
        "start": None if module.start is None else _unsigned(module.start),
        "element": _entries(_element(entry) for entry in module.elements),
        "data count": _unsigned(len(module.data)) if _uses_data_indices(module) else None,
        "code": _entries(_sized(_body(entry)) for entry in module.functions),
        "data": _entries(_data(entry) for entry in module.data),
    }


def _uses_data_indices(module: Module) -> bool:
    return any(
        SEGMENT_USERS.get(instruction.opcode) == "data"
        for function in module.functions
        for instruction in function.body
    )


# -- numbers, names, vectors ----------------------------------------------------------------------


def _unsigned(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _signed(value: int) -> bytes:
    written = bytearray()
    while not -0x40 <= value < 0x40:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value & 0x7F)
    return bytes(written)


def _sized(content: bytes) -> bytes:
    return _unsigned(len(content)) + content


def _name(name: str) -> bytes:
    return _sized(name.encode())


def _vector(entries: Iterable[bytes]) -> bytes:
    listed = list(entries)
    return _unsigned(len(listed)) + b"".join(listed)


def _entries(entries: Iterable[bytes]) -> bytes | None:
    listed = list(entries)
    return _vector(listed) if listed else None


# -- types and entries ----------------------------------------------------------------------------


def _value_types(types: tuple[ValueType, ...]) -> bytes:
    return _sized(bytes([VALUE_TYPE_CODES[value] for value in types]))


def _function_type(type_: FunctionType) -> bytes:
    return b"\x60" + _value_types(type_.parameters) + _value_types(type_.results)


def _limits(limits: Limits) -> bytes:
    if limits.maximum is None:
        return b"\0" + _unsigned(limits.minimum)
    return b"\1" + _unsigned(limits.minimum) + _unsigned(limits.maximum)


def _table(type_: TableType) -> bytes:
    return _FUNCREF + _limits(type_.limits)


def _global(value: ValueType, mutable: bool) -> bytes:
    return bytes([VALUE_TYPE_CODES[value], mutable])


def _import(entry: Import) -> bytes:
    description = entry.description
    if isinstance(description, int):
        content = _unsigned(description)
    elif isinstance(description, TableType):
        content = _table(description)
    elif isinstance(description, MemoryType):
        content = _limits(description.limits)
    else:
        content = _global(description.value, description.mutable)
    return _name(entry.module) + _name(entry.name) + bytes([_KIND_CODES[entry.kind]]) + content


def _element(segment: Element) -> bytes:
    """See `decode` for the flags."""
    expressions = None in segment.functions
    flags = 4 * expressions
    start = b""
    if segment.mode == "active":
        if segment.table:
            flags |= 2
            start = _unsigned(segment.table)
        start += _expression(segment.offset)
    else:
        flags |= 3 if segment.mode == "declarative" else 1
    if flags & 3:
        start += _FUNCREF if expressions else b"\0"
    if expressions:
        items = [
            b"\xd0\x70\x0b" if index is None else b"\xd2" + _unsigned(index) + b"\x0b"
            for index in segment.functions
        ]
    else:
        items = [_unsigned(index) for index in segment.functions if index is not None]
    return bytes([flags]) + start + _vector(items)


def _data(segment: Data) -> bytes:
    if segment.mode == "passive":
        return b"\1" + _sized(segment.content)
    memory = b"\2" + _unsigned(segment.memory) if segment.memory else b"\0"
    return memory + _expression(segment.offset) + _sized(segment.content)


def _body(function: Function) -> bytes:
    runs = [
        _unsigned(len(list(run))) + bytes([VALUE_TYPE_CODES[value]])
        for value, run in groupby(function.locals)
    ]
    return _vector(runs) + _expression(function.body)


# -- instructions ---------------------------------------------------------------------------------


def _expression(code: Expression) -> bytes:
    return b"".join([_instruction(instruction) for instruction in code])


def _instruction(instruction: Instruction) -> bytes:
    row = OPCODES[instruction.opcode]
    code = bytes([row.code]) if row.code < 0x100 else b"\xfc" + _unsigned(row.code - 0xFC00)
    return code + _operands(row, instruction.operands)


def _operands(row: Opcode, operands: tuple[Any, ...]) -> bytes:
    match row.immediates:
        case Immediates.BLOCK:
            return _block_type(operands[0])
        case Immediates.LABELS:
            depths, default = operands
            return _vector(_unsigned(depth) for depth in depths) + _unsigned(default)
        case Immediates.INTEGER:
            value = operands[0]
            return _signed(value - (value >> row.bits - 1 << row.bits))
        case Immediates.FLOAT:
            return int(operands[0]).to_bytes(row.bits // 8, "little")
        case Immediates.ACCESS:
            return _unsigned(operands[0]) + _unsigned(operands[1])
        case _:
            left = iter(operands)
            indices = (0 if space == "memory" else next(left) for space in row.indices)
            return b"".join(map(_unsigned, indices))


def _block_type(written: BlockType) -> bytes:
    if written is None:
        return b"\x40"
    if isinstance(written, int):
        return _signed(written)
    return bytes([VALUE_TYPE_CODES[written]])
