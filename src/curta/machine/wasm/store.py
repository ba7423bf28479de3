"""What a running module consists of: memories, tables, globals and functions.

They are objects of their own because modules share them: what one exports, another one imports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from curta.errors import LinkError, Trap
from curta.machine.wasm.module import (
    MAX_PAGES,
    PAGE_BYTES,
    Function,
    FunctionType,
    GlobalType,
    Import,
    Limits,
    MemoryType,
    Module,
    TableType,
)
from curta.machine.wasm.validate_code import FunctionInfo

if TYPE_CHECKING:
    from curta.machine.wasm.interpret import Instance


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function in Python. It gets the instance that calls it, then the arguments as unsigned
    bit patterns, and returns its results in the same form: a list or tuple, one integer, or None.
    """

    type: FunctionType
    call: Callable[..., Sequence[int] | int | None]


@dataclass(frozen=True, slots=True, eq=False)
class DefinedFunction:
    """A function of a module, with the instance that it belongs to."""

    instance: Instance
    index: int
    type: FunctionType
    function: Function
    info: FunctionInfo


FunctionObject = HostFunction | DefinedFunction


@dataclass(slots=True, eq=False)
class Memory:
    """Bytes. `most_pages` is the most that this memory is let grow to, whatever its type says."""

    limits: Limits
    most_pages: int = MAX_PAGES
    content: bytearray = field(init=False)

    def __post_init__(self) -> None:
        if self.limits.minimum > self.most_pages:
            raise LinkError(
                f"a memory of {self.limits.minimum} pages, {self.most_pages} are allowed; "
                "allow more with RunLimits.memory_pages"
            )
        self.content = bytearray(self.limits.minimum * PAGE_BYTES)

    @property
    def size(self) -> int:
        """In pages."""
        return len(self.content) // PAGE_BYTES

    def grow(self, pages: int) -> int:
        """The size before, or -1 if there is no room for so many more."""
        before = self.size
        most = MAX_PAGES if self.limits.maximum is None else self.limits.maximum
        if before + pages > min(most, self.most_pages):
            return -1
        self.content += bytes(pages * PAGE_BYTES)
        return before

    def check(self, address: int, count: int) -> None:
        if address + count > len(self.content):
            raise Trap("out of bounds memory access")

    def read(self, address: int, count: int) -> bytes:
        self.check(address, count)
        return bytes(self.content[address : address + count])

    def write(self, address: int, content: bytes) -> None:
        self.check(address, len(content))
        self.content[address : address + len(content)] = content


@dataclass(slots=True, eq=False)
class Table:
    """References to functions; None is null."""

    limits: Limits
    most_elements: int = 10_000_000
    elements: list[FunctionObject | None] = field(init=False)

    def __post_init__(self) -> None:
        if self.limits.minimum > self.most_elements:
            raise LinkError(
                f"a table of {self.limits.minimum} elements, {self.most_elements} are allowed; "
                "allow more with RunLimits.table_elements"
            )
        self.elements = [None] * self.limits.minimum

    def read(self, index: int, count: int) -> list[FunctionObject | None]:
        if index + count > len(self.elements):
            raise Trap("out of bounds table access")
        return self.elements[index : index + count]

    def write(self, index: int, elements: Sequence[FunctionObject | None]) -> None:
        if index + len(elements) > len(self.elements):
            raise Trap("out of bounds table access")
        self.elements[index : index + len(elements)] = elements


@dataclass(slots=True, eq=False)
class GlobalCell:
    type: GlobalType
    value: int


ExternalObject = HostFunction | DefinedFunction | Memory | Table | GlobalCell
Imports = dict[tuple[str, str], ExternalObject]


def resolve_import(module: Module, entry: Import, imports: Imports) -> Any:
    """The object that an import stands for, if there is one of the right type."""
    place = f'"{entry.module}" "{entry.name}"'
    if (entry.module, entry.name) not in imports:
        raise LinkError(f"unknown import: nothing was given for {place}")
    given = imports[entry.module, entry.name]
    expected = entry.description
    match given, expected:
        case HostFunction(), int():
            fits = given.type == module.types[expected]
        case DefinedFunction(), int():
            fits = given.type == module.types[expected]
        case Memory(), MemoryType():
            fits = _fits(given.size, given.limits, expected.limits)
        case Table(), TableType():
            fits = _fits(len(given.elements), given.limits, expected.limits)
        case GlobalCell(), GlobalType():
            fits = given.type == expected
        case _:
            fits = False
    if not fits:
        wanted = module.types[expected] if isinstance(expected, int) else expected
        raise LinkError(f"incompatible import type: {place} is not {entry.kind} {wanted}")
    return given


def _fits(size: int, given: Limits, expected: Limits) -> bool:
    if size < expected.minimum:
        return False
    return expected.maximum is None or (
        given.maximum is not None and given.maximum <= expected.maximum
    )
