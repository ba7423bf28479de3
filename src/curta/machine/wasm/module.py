"""A module as data: what `decode` makes, `validate` checks, and everything later reads.

Code is a flat tuple of instructions, `end` and `else` among them, and not a tree. A register-code
compiler and an interpreter both want to jump by index, a validator wants a linear walk, and a flat
list has no nesting depth that could overrun anybody's stack. What a tree would give, the place
where a construct ends, is in the operands:

    block  (block type, index of its end)
    loop   (block type, index of its end)
    if     (block type, index of its else, or of its end if there is none)
    else   (index of the end,)

A block type is None, one value type, or the index of a function type, as it was written;
`Module.block_type` gives the function type. Branches carry label depths; `validate` says which
instruction each of them leads to, and what it does to the operand stack.

Numbers are unsigned bit patterns everywhere, floats too, so that the payload of a NaN is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from curta.machine.wasm import ValueType

BlockType = ValueType | int | None
ExternalKind = Literal["func", "table", "memory", "global"]
SegmentMode = Literal["active", "passive", "declarative"]


@dataclass(frozen=True, slots=True)
class FunctionType:
    parameters: tuple[ValueType, ...] = ()
    results: tuple[ValueType, ...] = ()

    def __str__(self) -> str:
        return f"[{' '.join(self.parameters)}] -> [{' '.join(self.results)}]"


@dataclass(frozen=True, slots=True)
class Limits:
    """The size of a table in elements or of a memory in pages; no maximum is None."""

    minimum: int
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class TableType:
    """A table of functions."""

    limits: Limits


@dataclass(frozen=True, slots=True)
class MemoryType:
    limits: Limits


@dataclass(frozen=True, slots=True)
class GlobalType:
    value: ValueType
    mutable: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """An opcode and its operands (see `Immediates`); the offset is where it was in the file.

    Where it was is not what it is: offsets do not count when instructions are compared.
    """

    opcode: str
    operands: tuple[Any, ...] = ()
    offset: int = field(default=0, compare=False)


Expression = tuple[Instruction, ...]
"""Instructions up to and including the last `end`."""


@dataclass(frozen=True, slots=True)
class Import:
    """`description` is a type index for a function."""

    module: str
    name: str
    kind: ExternalKind
    description: int | TableType | MemoryType | GlobalType


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the module defines; `locals` leaves the parameters out."""

    type_index: int
    locals: tuple[ValueType, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Global:
    type: GlobalType
    initial: Expression


@dataclass(frozen=True, slots=True)
class Export:
    name: str
    kind: ExternalKind
    index: int


@dataclass(frozen=True, slots=True)
class Element:
    """Functions for a table; None is a null reference. Only an active one has an offset."""

    mode: SegmentMode
    functions: tuple[int | None, ...]
    table: int = 0
    offset: Expression = ()


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes for the memory. Only an active one has an offset."""

    mode: SegmentMode
    content: bytes
    memory: int = 0
    offset: Expression = ()


@dataclass(frozen=True, slots=True)
class IndexSpaces:
    """What the indices of a module refer to: imports first, then definitions."""

    functions: tuple[int, ...]  # type indices
    tables: tuple[TableType, ...]
    memories: tuple[MemoryType, ...]
    globals: tuple[GlobalType, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """Definitions only; imports come before them in every index space."""

    types: tuple[FunctionType, ...] = ()
    imports: tuple[Import, ...] = ()
    functions: tuple[Function, ...] = ()
    tables: tuple[TableType, ...] = ()
    memories: tuple[MemoryType, ...] = ()
    globals: tuple[Global, ...] = ()
    exports: tuple[Export, ...] = ()
    start: int | None = None
    elements: tuple[Element, ...] = ()
    data: tuple[Data, ...] = ()
    function_names: tuple[tuple[int, str], ...] = ()

    def imported(self, kind: ExternalKind) -> tuple[Import, ...]:
        return tuple(entry for entry in self.imports if entry.kind == kind)

    def index_spaces(self) -> IndexSpaces:
        functions: list[int] = []
        tables: list[TableType] = []
        memories: list[MemoryType] = []
        globals_: list[GlobalType] = []
        for entry in self.imports:
            match entry.description:
                case TableType():
                    tables.append(entry.description)
                case MemoryType():
                    memories.append(entry.description)
                case GlobalType():
                    globals_.append(entry.description)
                case _:
                    functions.append(entry.description)
        return IndexSpaces(
            (*functions, *(function.type_index for function in self.functions)),
            (*tables, *self.tables),
            (*memories, *self.memories),
            (*globals_, *(entry.type for entry in self.globals)),
        )

    def block_type(self, written: BlockType) -> FunctionType:
        """What a block takes from the stack and leaves there."""
        if isinstance(written, int):
            return self.types[written]
        return FunctionType((), () if written is None else (written,))

    def function_name(self, index: int) -> str:
        """For messages: the index and, where the file or an export tells, the name."""
        for number, name in self.function_names:
            if number == index:
                return f"{index} (${name})"
        for entry in self.exports:
            if entry.kind == "func" and entry.index == index:
                return f'{index} ("{entry.name}")'
        return str(index)
