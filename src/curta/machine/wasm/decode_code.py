"""Decoding of expressions: the instructions of function bodies and of constant expressions.

This is where a decoder spends its time, so it is written for speed: lists indexed by the
opcode's byte, and numbers of one byte read in place. Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterator

from curta.errors import UnsupportedFeatureError
from curta.machine.wasm.module import BlockType, Instruction
from curta.machine.wasm.opcodes import BY_CODE, VALUE_TYPES, Immediates, Space, unsupported_code
from curta.machine.wasm.reader import Reader

_ROWS = [BY_CODE.get(code) for code in range(256)]
_NAMES = [row.name if row else "" for row in _ROWS]
_KINDS = [row.immediates if row else None for row in _ROWS]
_HOW_MANY = [
    len(row.indices) if row and row.immediates is Immediates.INDICES else None for row in _ROWS
]
_REFUSED_BLOCK_TYPES = {0x7B: "SIMD", 0x70: "reference types", 0x6F: "reference types"}


def decode_expression(reader: Reader) -> tuple[Instruction, ...]:
    """Instructions up to the matching end."""
    code: list[Instruction] = []
    append = code.append
    data, limit = reader.data, reader.end
    names, kinds, how_many = _NAMES, _KINDS, _HOW_MANY
    opened: list[int] = []  # indices of the constructs that wait for their end
    at = reader.at
    while at < limit:
        start = at
        number = data[at]
        at += 1
        indices = how_many[number]
        if indices == 0:
            append(Instruction(names[number], (), start))
            continue
        if indices == 1 and at < limit and data[at] < 0x80:
            append(Instruction(names[number], (data[at],), start))
            at += 1
            continue
        reader.at = at
        kind = kinds[number]
        if kind is Immediates.BLOCK:
            opened.append(len(code))
            append(Instruction(names[number], (_block_type(reader), 0), start))
        elif kind is Immediates.END:
            append(Instruction("end", (), start))
            if not opened:
                return tuple(code)
            _close(code, opened.pop())
        elif kind is Immediates.ELSE:
            _switch(code, opened, reader, start)
        elif kind is Immediates.ACCESS:
            operands = _access(reader)
            append(Instruction(names[number], operands, start))
        else:
            append(_other(reader, number, start))
        at = reader.at
    raise reader.ends() if opened else reader.error("END opcode expected", limit)


def _close(code: list[Instruction], first: int) -> None:
    """The construct that begins at `first` ends with the last instruction."""
    end = len(code) - 1
    opening = code[first]
    if opening.opcode == "else":
        code[first] = Instruction("else", (end,), opening.offset)
    else:
        written: BlockType = opening.operands[0]
        code[first] = Instruction(opening.opcode, (written, end), opening.offset)


def _switch(code: list[Instruction], opened: list[int], reader: Reader, start: int) -> None:
    """An `else`: it ends the part before it, and waits for the end in its place."""
    if not opened or code[opened[-1]].opcode != "if":
        raise reader.error("illegal opcode: else without an if that it belongs to", start)
    code.append(Instruction("else", (0,), start))
    _close(code, opened[-1])
    opened[-1] = len(code) - 1


def _block_type(reader: Reader) -> BlockType:
    at = reader.at
    first = reader.byte()
    if first == 0x40:
        return None
    if first in VALUE_TYPES:
        return VALUE_TYPES[first]
    reader.at = at
    index = reader.signed(33)
    if index < 0:
        if first in _REFUSED_BLOCK_TYPES:
            raise UnsupportedFeatureError(
                f"{_REFUSED_BLOCK_TYPES[first]}: block type 0x{first:02x} "
                f"(at byte {at}); compile the program without them"
            )
        raise reader.error("malformed block type", at)
    return index


def _access(reader: Reader) -> tuple[int, int]:
    at = reader.at
    alignment = reader.unsigned()
    if alignment >= 32:
        if 64 <= alignment < 128:
            raise UnsupportedFeatureError(
                f"multi-memory: a memory index in a load or store (at byte {at}); "
                "compile the program without it"
            )
        raise reader.error("malformed memop flags: alignment too large", at)
    return alignment, reader.unsigned()


def _other(reader: Reader, number: int, start: int) -> Instruction:
    """Instructions that are rarer than those above, and numbers of several bytes."""
    row = _ROWS[number]
    if number == 0xFC:
        number = 0xFC00 + min(reader.unsigned(), 0xFFFFF)
        row = BY_CODE.get(number)
    if row is None:
        raise _unknown(reader, number, start)
    operands: tuple[object, ...] = ()
    match row.immediates:
        case Immediates.INTEGER:
            operands = (reader.signed(row.bits) % (1 << row.bits),)
        case Immediates.FLOAT:
            operands = (int.from_bytes(reader.take(row.bits // 8), "little"),)
        case Immediates.LABELS:
            operands = (reader.vector(Reader.unsigned), reader.unsigned())
        case Immediates.ZERO_BYTE:
            if reader.byte() != 0:
                raise reader.error("zero byte expected", reader.at - 1)
        case _:
            operands = tuple(_indices(reader, row.indices))
    return Instruction(row.name, operands, start)


def _indices(reader: Reader, spaces: tuple[Space, ...]) -> Iterator[int]:
    for space in spaces:
        at = reader.at
        index = reader.unsigned()
        if space != "memory":
            yield index
        elif index:
            raise UnsupportedFeatureError(
                f"multi-memory: memory {index} (at byte {at}); compile the program without it"
            )


def _unknown(reader: Reader, number: int, start: int) -> Exception:
    code = f"0x{number:02x}" if number < 0x100 else f"0xfc {number - 0xFC00}"
    feature = unsupported_code(number)
    if feature:
        return UnsupportedFeatureError(
            f"{feature}: opcode {code} (at byte {start}); compile the program without them"
        )
    return reader.error(f"illegal opcode {code}", start)
