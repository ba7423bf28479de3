"""Broken modules: bytes changed in a binary, or instructions and entries changed in a module."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any

from curta.machine.wasm.module import (
    BlockType,
    FunctionType,
    GlobalType,
    Instruction,
    Limits,
    Module,
)
from curta.machine.wasm.opcodes import OPCODES, VALUE_TYPE_CODES, Immediates, Opcode

_BYTES = (0, 1, 2, 3, 0x0B, 0x10, 0x20, 0x3F, 0x40, 0x60, 0x6F, 0x70, 0x7B, 0x7C, 0x7F, 0x80, 0xFC)
_VALUES = tuple(VALUE_TYPE_CODES)


def mutate_bytes(binary: bytes, other: bytes, random: Random) -> bytes:
    """One to three changes of bytes behind the header; pieces may come from another binary."""
    changed = bytearray(binary)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(8, len(changed)) if len(changed) > 8 else 0
        match random.randrange(8):
            case 0:
                changed[at:] = b""
            case 1:
                changed[at : at + 1] = bytes(
                    b ^ 1 << random.randrange(8) for b in changed[at : at + 1]
                )
            case 2:
                changed[at : at + random.randint(1, 4)] = b""
            case 3:
                changed[at:at] = bytes(random.choices(_BYTES, k=random.randint(1, 3)))
            case 4:
                begin = random.randrange(len(other))
                piece = other[begin : begin + random.randint(1, 8)]
                changed[at : at + len(piece)] = piece
            case 5:
                changed[at : at + 1] = bytes([changed[at] | 0x80, 0]) if at < len(changed) else b""
            case _:
                changed[at : at + 1] = bytes([random.choice(_BYTES)])
    return bytes(changed)


def mutate_sections(binary: bytes, random: Random) -> bytes:
    """Whole sections dropped, repeated, exchanged, cut short, or with another size or number."""
    pieces = list(sections(binary))
    at, other = random.randrange(len(pieces)), random.randrange(len(pieces))
    number, content = pieces[at]
    size = None
    match random.randrange(7):
        case 0:
            del pieces[at]
        case 1:
            pieces.insert(other, pieces[at])
        case 2:
            pieces[at], pieces[other] = pieces[other], pieces[at]
        case 3:
            pieces[at] = number, content[: random.randrange(len(content) + 1)]
        case 4:
            pieces[at] = random.randrange(14), content
        case 5:
            size = random.choice((0, len(content) - 1, len(content) + 1, 2**28, 2**32 - 1))
        case _:
            pieces[at] = number, content + random.randbytes(random.randint(1, 3))
    written = bytearray(binary[:8])
    for place, (number, content) in enumerate(pieces):
        told = len(content) if size is None or place != at else max(0, size)
        written += bytes([number]) + unsigned(told) + content
    return bytes(written)


def sections(binary: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and contents, of a module that is valid."""
    at = 8
    while at < len(binary):
        number, size, shift = binary[at], 0, 0
        while True:
            at += 1
            size |= (binary[at] & 127) << shift
            shift += 7
            if binary[at] < 128:
                break
        yield number, binary[at + 1 : at + 1 + size]
        at += 1 + size


def unsigned(number: int) -> bytes:
    """LEB128."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes((*written, number))


def mutate_module(module: Module, random: Random) -> Module:
    """A module whose binary is well-formed, with one to three changes to what it says."""
    for _ in range(random.choice((1, 1, 2, 3))):
        if module.functions and random.random() < 0.75:
            place = random.randrange(len(module.functions))
            function = module.functions[place]
            change = random.random()
            if change < 0.9:
                code = _mutate_code(list(function.body[:-1]), random)
                function = dataclasses.replace(function, body=(*code, function.body[-1]))
            elif change < 0.95:
                locals_ = tuple(random.choices(_VALUES, k=random.randrange(4)))
                function = dataclasses.replace(function, locals=locals_)
            else:
                function = dataclasses.replace(function, type_index=_index(random))
            module = dataclasses.replace(module, functions=_with(module.functions, place, function))
        else:
            module = _mutate_entries(module, random)
    return module


def _mutate_code(code: list[Instruction], random: Random) -> list[Instruction]:
    """Constructs stay closed; everything else may happen."""
    plain = [at for at, one in enumerate(code) if one.opcode not in _CONSTRUCTS]
    at = random.choice(plain) if plain else 0
    new = random_instruction(random)
    match random.randrange(7):
        case 0 if plain:
            del code[at]
        case 1 if plain:
            code[at] = new
        case 2 if plain:
            code.insert(random.choice(plain), code[at])
        case 3 if plain:
            code[at] = Instruction(code[at].opcode, _other_operands(code[at], random))
        case 4:
            end = random.randint(at, len(code))
            if all(one.opcode not in _CONSTRUCTS for one in code[at:end]):
                opening = random.choice(("block", "loop"))
                code[at:end] = [
                    Instruction(opening, (random_block_type(random), 0)),
                    *code[at:end],
                    Instruction("end"),
                ]
        case 5:
            for place, one in enumerate(code):
                if one.opcode in ("block", "loop", "if") and random.random() < 0.3:
                    code[place] = Instruction(one.opcode, (random_block_type(random), 0))
        case _:
            code.insert(at, new)
    return code


_CONSTRUCTS = ("block", "loop", "if", "else", "end")


def random_block_type(random: Random) -> BlockType:
    return random.choice((None, None, *_VALUES, random.randrange(6)))


def random_instruction(random: Random) -> Instruction:
    row = random.choice([row for row in OPCODES.values() if row.name not in _CONSTRUCTS])
    return Instruction(row.name, _operands(row, random))


def _other_operands(instruction: Instruction, random: Random) -> tuple[Any, ...]:
    return _operands(OPCODES[instruction.opcode], random)


def _index(random: Random) -> int:
    return random.choice((0, 0, 1, 1, 2, 3, 4, 5, 9, 300))


def _operands(row: Opcode, random: Random) -> tuple[Any, ...]:
    match row.immediates:
        case Immediates.INTEGER | Immediates.FLOAT:
            return (random.getrandbits(row.bits),)
        case Immediates.ACCESS:
            most = row.width.bit_length() + 1
            return random.randrange(most), random.choice((0, 1, 8, 2**32 - 1))
        case Immediates.LABELS:
            count = random.randrange(4)
            return tuple(random.randrange(3) for _ in range(count)), random.randrange(3)
    if row.indices == ("table", "table"):
        return 0, random.choice((0, 0, 0, 0, 1))
    if len(row.indices) == 2 and row.indices[1] == "table":
        return random.randrange(5), random.choice((0, 0, 0, 0, 1))
    return tuple(_index(random) for space in row.indices if space != "memory")


def _with(entries: tuple[Any, ...], place: int, entry: Any) -> tuple[Any, ...]:
    return (*entries[:place], entry, *entries[place + 1 :])


_LISTS = ("types", "imports", "tables", "memories", "globals", "exports", "elements", "data")


def _mutate_entries(module: Module, random: Random) -> Module:
    name = random.choice((*_LISTS, "start"))
    if name == "start":
        return dataclasses.replace(module, start=random.choice((None, _index(random))))
    entries = getattr(module, name)
    if not entries:
        return module
    place = random.randrange(len(entries))
    match random.randrange(4):
        case 0:
            return dataclasses.replace(module, **{name: entries[:place] + entries[place + 1 :]})
        case 1:
            return dataclasses.replace(module, **{name: (*entries, entries[place])})
        case _:
            new = _mutate_entry(entries[place], random)
            return dataclasses.replace(module, **{name: _with(entries, place, new)})


def _mutate_entry(entry: Any, random: Random) -> Any:
    """One field of an entry, or of what is in it, gets another value."""
    match entry:
        case FunctionType():
            few = random.choices(_VALUES, k=random.randrange(3))
            return dataclasses.replace(entry, **{random.choice(("parameters", "results")): few})
        case Limits():
            sizes = (0, 1, 2, 65536, 65537)
            most = random.choice((None, *sizes))
            return Limits(random.choice(sizes), most)
        case GlobalType():
            return GlobalType(random.choice(_VALUES), random.random() < 0.5)
    fields = [field.name for field in dataclasses.fields(entry)]
    name = random.choice(fields)
    value = getattr(entry, name)
    if isinstance(value, FunctionType | Limits | GlobalType) or dataclasses.is_dataclass(value):
        new: Any = _mutate_entry(value, random)
    elif name in ("index", "table", "memory", "description"):
        new = _index(random)
    elif name in ("initial", "offset"):
        new = tuple(_mutate_code(list(value[:-1]), random)) + value[-1:]
    elif name == "functions":
        new = (*value, random.choice((None, _index(random))))
    elif name == "kind" and type(entry).__name__ == "Export":
        new = random.choice(("func", "table", "memory", "global"))
    else:
        new = value
    return dataclasses.replace(entry, **{name: new})
