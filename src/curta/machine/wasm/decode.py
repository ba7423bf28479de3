"""Decode: the binary format to a Module. The sections, one after another.

What is decoded: WebAssembly 1.0 with sign extension, saturating conversions, several results and
block parameters, bulk memory, and mutable globals that cross module boundaries. Everything later
is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from curta.errors import (
    InvalidModuleError,
    MalformedModuleError,
    ModuleError,
    UnsupportedFeatureError,
)
from curta.machine.wasm import ValueType
from curta.machine.wasm.decode_code import decode_expression
from curta.machine.wasm.module import (
    Data,
    Element,
    Export,
    Expression,
    ExternalKind,
    Function,
    FunctionType,
    Global,
    GlobalType,
    Import,
    Limits,
    MemoryType,
    Module,
    SegmentMode,
    TableType,
)
from curta.machine.wasm.opcodes import SEGMENT_USERS, VALUE_TYPES
from curta.machine.wasm.reader import Reader

MAGIC = b"\0asm"
VERSION = b"\1\0\0\0"
MAX_LOCALS = 50_000
"""Of one function, parameters left out: what browsers and stand-alone engines allow."""

SECTIONS = {
    1: "type",
    2: "import",
    3: "function",
    4: "table",
    5: "memory",
    6: "global",
    7: "export",
    8: "start",
    9: "element",
    12: "data count",
    10: "code",
    11: "data",
}
"""Names by number, in the order that they have in a file."""

_ORDER = {number: place for place, number in enumerate(SECTIONS)}
_KINDS: dict[int, ExternalKind] = {0: "func", 1: "table", 2: "memory", 3: "global"}


def decode(data: bytes) -> Module:
    """The module in `data`; an error says what is wrong with it, and at which byte."""
    data = bytes(data)
    reader = Reader(data, 0, len(data))
    _read_header(reader)
    sections: dict[str, Any] = {}
    names: tuple[tuple[int, str], ...] = ()
    last = -1
    while reader.at < reader.end:
        start = reader.at
        number = reader.byte()
        if number and number not in SECTIONS:
            _refuse_section(reader, number)
        part = reader.part(reader.unsigned())
        if number == 0:
            names = _custom(part) or names
            continue
        if _ORDER[number] <= last:
            raise reader.error(
                f"unexpected content after last section: the {SECTIONS[number]} section again, "
                "or in the wrong place",
                start,
            )
        last = _ORDER[number]
        sections[SECTIONS[number]] = _READERS[number](part)
        if part.at != part.end:
            raise part.error(f"section size mismatch: the {SECTIONS[number]} section is longer")
    return _assemble(sections, names, reader)


def _read_header(reader: Reader) -> None:
    for expected, complaint in (
        (MAGIC, "magic header not detected"),
        (VERSION, "unknown binary version"),
    ):
        at = reader.at
        got = reader.take(min(4, reader.end - at))
        if got != expected:
            if expected.startswith(got):
                raise reader.ends()
            raise reader.error(f"{complaint}: {got.hex(' ')}, not {expected.hex(' ')}", at)


def _refuse_section(reader: Reader, number: int) -> NoReturn:
    at = reader.at - 1
    if number == 13:
        _unsupported("exceptions", f"a tag section (at byte {at})")
    raise reader.error(f"malformed section id {number}", at)


def _unsupported(feature: str, what: str) -> NoReturn:
    raise UnsupportedFeatureError(f"{feature}: {what}; compile the program without it")


def _assemble(
    sections: dict[str, Any], names: tuple[tuple[int, str], ...], reader: Reader
) -> Module:
    """The sections put together, once all are read."""
    indices: tuple[int, ...] = sections.get("function", ())
    bodies: tuple[tuple[tuple[ValueType, ...], Expression], ...]
    bodies = sections.get("code", ())
    if len(indices) != len(bodies):
        raise reader.error(
            "function and code section have inconsistent lengths: "
            f"{len(indices)} declarations, {len(bodies)} bodies"
        )
    data: tuple[Data, ...] = sections.get("data", ())
    count: int | None = sections.get("data count")
    if count is not None and count != len(data):
        raise reader.error(
            "data count and data section have inconsistent lengths: "
            f"{count} promised, {len(data)} there"
        )
    if count is None:
        _check_no_data_indices(bodies)
    return Module(
        types=sections.get("type", ()),
        imports=sections.get("import", ()),
        functions=tuple(
            Function(index, locals_, body)
            for index, (locals_, body) in zip(indices, bodies, strict=True)
        ),
        tables=sections.get("table", ()),
        memories=sections.get("memory", ()),
        globals=sections.get("global", ()),
        exports=sections.get("export", ()),
        start=sections.get("start"),
        elements=sections.get("element", ()),
        data=data,
        function_names=names,
    )


def _check_no_data_indices(
    bodies: tuple[tuple[tuple[ValueType, ...], Expression], ...],
) -> None:
    for _, body in bodies:
        for instruction in body:
            if SEGMENT_USERS.get(instruction.opcode) == "data":
                raise MalformedModuleError(
                    f"data count section required: {instruction.opcode} is used",
                    instruction.offset,
                )


# -- types ----------------------------------------------------------------------------------------


def _value_type(reader: Reader) -> ValueType:
    byte = reader.byte()
    if byte not in VALUE_TYPES:
        at = reader.at - 1
        if byte == 0x7B:
            _unsupported("SIMD", f"the type v128 (at byte {at})")
        if byte in (0x63, 0x64, *range(0x69, 0x76)):
            _unsupported("reference types", f"a value of type 0x{byte:02x} (at byte {at})")
        raise reader.error(f"malformed value type 0x{byte:02x}", reader.at - 1)
    return VALUE_TYPES[byte]


def _function_type(reader: Reader) -> FunctionType:
    form = reader.byte()
    if form in (0x4D, 0x4E, 0x4F, 0x50, 0x5E, 0x5F):
        _unsupported("garbage collection", f"a type of form 0x{form:02x}")
    if form != 0x60:
        raise reader.error(f"malformed function type: form 0x{form:02x}", reader.at - 1)
    return FunctionType(reader.vector(_value_type), reader.vector(_value_type))


def _limits(reader: Reader, what: str) -> Limits:
    flags = reader.byte()
    if flags > 1:
        at = reader.at - 1
        if flags < 16 and what == "memory":
            names = {2: "threads", 4: "memory64", 8: "custom page sizes"}
            feature = next(name for bit, name in names.items() if flags & bit)
            _unsupported(feature, f"memory limits with flags {flags} (at byte {at})")
        if flags in (4, 5):
            _unsupported("memory64", f"table limits with flags {flags} (at byte {at})")
        raise reader.error(
            f"malformed limits flags {flags} (integer representation too long)", reader.at - 1
        )
    minimum = reader.unsigned()
    return Limits(minimum, reader.unsigned() if flags else None)


def _table_type(reader: Reader) -> TableType:
    byte = reader.byte()
    if byte == 0x40:
        _unsupported("typed function references", "a table with an initial value")
    _reference_type(reader, byte)
    return TableType(_limits(reader, "table"))


def _reference_type(reader: Reader, byte: int) -> None:
    if byte in (0x63, 0x64, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x71, 0x72, 0x73, 0x74):
        _unsupported("reference types", f"a reference of type 0x{byte:02x} that is not funcref")
    if byte != 0x70:
        raise reader.error(f"malformed reference type 0x{byte:02x}", reader.at - 1)


def _memory_type(reader: Reader) -> MemoryType:
    return MemoryType(_limits(reader, "memory"))


def _global_type(reader: Reader) -> GlobalType:
    value = _value_type(reader)
    mutability = reader.byte()
    if mutability > 1:
        raise reader.error(f"malformed mutability {mutability}", reader.at - 1)
    return GlobalType(value, mutability == 1)


# -- entries of sections --------------------------------------------------------------------------


def _import(reader: Reader) -> Import:
    module, name, number = reader.name(), reader.name(), reader.byte()
    if number == 4:
        _unsupported("exceptions", f'the imported tag "{module}" "{name}"')
    if number not in _KINDS:
        raise reader.error(f"malformed import kind {number}", reader.at - 1)
    readers: tuple[Callable[[Reader], int | TableType | MemoryType | GlobalType], ...]
    readers = (Reader.unsigned, _table_type, _memory_type, _global_type)
    return Import(module, name, _KINDS[number], readers[number](reader))


def _global(reader: Reader) -> Global:
    return Global(_global_type(reader), decode_expression(reader))


def _export(reader: Reader) -> Export:
    name, number = reader.name(), reader.byte()
    if number == 4:
        _unsupported("exceptions", f'the exported tag "{name}"')
    if number not in _KINDS:
        raise reader.error(f"malformed export kind {number}", reader.at - 1)
    return Export(name, _KINDS[number], reader.unsigned())


def _element(reader: Reader) -> Element:
    """Bit 0: not active; bit 1: an index (active) or declarative; bit 2: expressions."""
    flags = reader.unsigned()
    if flags > 7:
        raise reader.error(f"malformed elements segment kind {flags}")
    mode: SegmentMode = "active"
    table, offset = 0, Expression()
    if flags & 1:
        mode = "declarative" if flags & 2 else "passive"
    else:
        table = reader.unsigned() if flags & 2 else 0
        offset = decode_expression(reader)
    if flags & 3:
        byte = reader.byte()
        if flags & 4:
            _reference_type(reader, byte)
        elif byte != 0:
            raise reader.error(f"malformed element kind 0x{byte:02x}", reader.at - 1)
    item = _element_expression if flags & 4 else Reader.unsigned
    functions: tuple[int | None, ...] = reader.vector(item)
    return Element(mode, functions, table, offset)


def _element_expression(reader: Reader) -> int | None:
    """ref.func or ref.null func, the only constant expressions that make a funcref here."""
    at = reader.at
    code = reader.byte()
    function: int | None = None
    if code == 0xD2:
        function = reader.unsigned()
    elif code == 0xD0:
        _reference_type(reader, reader.byte())
    else:
        reader.at = at
        decode_expression(reader)
        raise InvalidModuleError(
            "type mismatch: the expression of an element must be ref.func or ref.null func "
            f"(at byte {at})"
        )
    if reader.byte() != 0x0B:
        raise InvalidModuleError(
            f"type mismatch: an element expression of several instructions (at byte {at})"
        )
    return function


def _body(reader: Reader) -> tuple[tuple[ValueType, ...], Expression]:
    part = reader.part(reader.unsigned())
    locals_: list[ValueType] = []
    for _ in range(part.unsigned()):
        at = part.at
        count = part.unsigned()
        if len(locals_) + count > MAX_LOCALS:
            raise part.error(f"too many locals: {len(locals_) + count}, more than {MAX_LOCALS}", at)
        locals_ += [_value_type(part)] * count
    body = decode_expression(part)
    if part.at != part.end:
        raise part.error("section size mismatch: the function goes on after its end")
    return tuple(locals_), body


def _data(reader: Reader) -> Data:
    flags = reader.unsigned()
    if flags > 2:
        raise reader.error(f"malformed data segment kind {flags}")
    if flags == 1:
        return Data("passive", reader.take(reader.length()))
    memory = reader.unsigned() if flags == 2 else 0
    offset = decode_expression(reader)
    return Data("active", reader.take(reader.length()), memory, offset)


_READERS: dict[int, Callable[[Reader], object]] = {
    1: lambda reader: reader.vector(_function_type),
    2: lambda reader: reader.vector(_import),
    3: lambda reader: reader.vector(Reader.unsigned),
    4: lambda reader: reader.vector(_table_type),
    5: lambda reader: reader.vector(_memory_type),
    6: lambda reader: reader.vector(_global),
    7: lambda reader: reader.vector(_export),
    8: Reader.unsigned,
    9: lambda reader: reader.vector(_element),
    10: lambda reader: reader.vector(_body),
    11: lambda reader: reader.vector(_data),
    12: Reader.unsigned,
}


def _custom(reader: Reader) -> tuple[tuple[int, str], ...]:
    """The names of functions, if this is the name section and well-formed."""
    if reader.name() != "name":
        return ()
    try:
        while reader.at < reader.end:
            kind = reader.byte()
            part = reader.part(reader.unsigned())
            if kind == 1:
                return part.vector(lambda entry: (entry.unsigned(), entry.name()))
    except ModuleError:
        return ()
    return ()
