"""A small reader of WebAssembly binaries: sections, function bodies, instructions.

It knows the instructions that the runtime library may consist of and refuses every other, so
walking a file is already a check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA = range(1, 12)

STRUCTURE = {0x01: "nop", 0x02: "block", 0x03: "loop", 0x04: "if", 0x05: "else", 0x0B: "end"}
PLAIN = {0x00: "unreachable", 0x0F: "return", 0x1A: "drop", 0x1B: "select"}
WITH_INDEX = {
    0x0C: "br",
    0x0D: "br_if",
    0x10: "call",
    0x20: "local.get",
    0x21: "local.set",
    0x22: "local.tee",
    0x23: "global.get",
    0x24: "global.set",
}
ACCESSES = {
    0x28: "i32.load",
    0x2C: "i32.load8_s",
    0x2D: "i32.load8_u",
    0x2E: "i32.load16_s",
    0x2F: "i32.load16_u",
    0x36: "i32.store",
    0x3A: "i32.store8",
    0x3B: "i32.store16",
}
_COMPARE = "eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"
_ARITHMETIC = (
    "clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr"
)
NUMERIC = {0x45 + i: f"i32.{name}" for i, name in enumerate(_COMPARE.split())}
NUMERIC |= {0x67 + i: f"i32.{name}" for i, name in enumerate(_ARITHMETIC.split())}
NUMERIC |= {0xC0: "i32.extend8_s", 0xC1: "i32.extend16_s"}


class BinaryError(Exception):
    """The file holds something that the runtime library must not hold."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: its name, its immediate numbers, and where it lies."""

    name: str
    immediates: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Body:
    """A function's code: its index among all functions, its locals as raw bytes."""

    index: int
    locals_bytes: bytes
    instructions: tuple[Instruction, ...]


@dataclass
class Binary:
    """A parsed file. `sections` keeps the raw contents, in order."""

    data: bytes
    sections: list[tuple[int, bytes]] = field(default_factory=list)
    types: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    imports: list[tuple[str, str, int, int]] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    exports: dict[str, tuple[int, int]] = field(default_factory=dict)
    bodies: list[Body] = field(default_factory=list)

    @property
    def imported_functions(self) -> list[str]:
        """Names of the imported functions, in index order."""
        return [name for _, name, kind, _ in self.imports if kind == 0]

    def function_names(self) -> dict[int, str]:
        """Names by function index: imports and exports; others have none."""
        names = dict(enumerate(self.imported_functions))
        names |= {index: name for name, (kind, index) in self.exports.items() if kind == 0}
        return names


class Reader:
    """Reads numbers and names from bytes, left to right."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def take(self, count: int) -> bytes:
        self.position += count
        return self.data[self.position - count : self.position]

    def name(self) -> str:
        return self.take(self.unsigned()).decode()


def unsigned_bytes(value: int) -> bytes:
    """LEB128 of an unsigned number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_bytes(value: int) -> bytes:
    """LEB128 of a signed number."""
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def read_instructions(reader: Reader, end: int) -> Iterator[Instruction]:
    """The instructions up to byte `end`; any that the library must not use is an error."""
    while reader.position < end:
        start = reader.position
        code = reader.byte()
        immediates: tuple[int, ...] = ()
        if code in STRUCTURE:
            name = STRUCTURE[code]
            if name in ("block", "loop", "if"):
                immediates = (reader.signed(),)
        elif code in PLAIN:
            name = PLAIN[code]
        elif code in WITH_INDEX:
            name, immediates = WITH_INDEX[code], (reader.unsigned(),)
        elif code in ACCESSES:
            name, immediates = ACCESSES[code], (reader.unsigned(), reader.unsigned())
        elif code == 0x41:
            name, immediates = "i32.const", (reader.signed(),)
        elif code in NUMERIC:
            name = NUMERIC[code]
        else:
            raise BinaryError(f"opcode 0x{code:02x} at byte {start} is not one of the machine's")
        yield Instruction(name, immediates, start, reader.position)


def _read_types(binary: Binary, reader: Reader) -> None:
    for _ in range(reader.unsigned()):
        if reader.byte() != 0x60:
            raise BinaryError("a type that is no function type")
        parameters = tuple(reader.take(reader.unsigned()))
        results = tuple(reader.take(reader.unsigned()))
        if set(parameters + results) - {0x7F}:
            raise BinaryError(f"a parameter or result that is no i32: {parameters} -> {results}")
        binary.types.append((parameters, results))


def _read_imports(binary: Binary, reader: Reader) -> None:
    for _ in range(reader.unsigned()):
        module, name, kind = reader.name(), reader.name(), reader.byte()
        if kind == 0:
            binary.imports.append((module, name, kind, reader.unsigned()))
        elif kind == 2:
            flags = reader.byte()
            minimum = reader.unsigned()
            if flags & 1:
                reader.unsigned()
            binary.imports.append((module, name, kind, minimum))
        else:
            raise BinaryError(f"import {module}.{name} is neither a function nor a memory")


def _read_bodies(binary: Binary, reader: Reader) -> None:
    first = len(binary.imported_functions)
    for index in range(reader.unsigned()):
        end = reader.unsigned()
        end += reader.position
        start = reader.position
        for _ in range(reader.unsigned()):
            reader.unsigned()
            if reader.byte() != 0x7F:
                raise BinaryError(f"function {first + index} has a local that is no i32")
        locals_bytes = reader.data[start : reader.position]
        instructions = tuple(read_instructions(reader, end))
        binary.bodies.append(Body(first + index, locals_bytes, instructions))


def read_binary(data: bytes) -> Binary:
    """Parse a file, refusing what the library must not hold."""
    if data[:8] != b"\0asm\1\0\0\0":
        raise BinaryError("not a WebAssembly 1 file")
    binary = Binary(data)
    reader = Reader(data, 8)
    while reader.position < len(data):
        kind, size = reader.byte(), reader.unsigned()
        content = reader.take(size)
        binary.sections.append((kind, content))
        section = Reader(content)
        if kind == TYPE:
            _read_types(binary, section)
        elif kind == IMPORT:
            _read_imports(binary, section)
        elif kind == FUNCTION:
            binary.functions = [section.unsigned() for _ in range(section.unsigned())]
        elif kind == EXPORT:
            for _ in range(section.unsigned()):
                name = section.name()
                binary.exports[name] = (section.byte(), section.unsigned())
        elif kind == CODE:
            _read_bodies(binary, section)
    return binary


def listing(body: Body) -> str:
    """A function's code as indented text, for people."""
    lines = []
    depth = 0
    for instruction in body.instructions:
        depth -= instruction.name in ("end", "else")
        text = " ".join([instruction.name, *map(str, instruction.immediates)])
        lines.append("  " * depth + text)
        depth += instruction.name in ("block", "loop", "if", "else")
    return "\n".join(lines)
