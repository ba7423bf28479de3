"""A module of the text format while it is read: its names, its types, its index spaces.

Two walks: the first one gives numbers to everything that has a name, the second one (`text_fields`)
builds. Types
that are used without being defined get defined behind the others, in the order of their use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from curta.errors import UnsupportedFeatureError
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
    TableType,
)
from curta.machine.wasm.opcodes import VALUE_TYPE_CODES, VALUE_TYPES, ValueType
from curta.machine.wasm.text_code import CodeText
from curta.machine.wasm.text_numbers import OutOfRangeError, parse_integer
from curta.machine.wasm.text_tree import Cursor, Group, Source

EXTERNAL_KINDS: dict[str, ExternalKind] = {
    kind: kind for kind in ("func", "table", "memory", "global")
}
REFUSED_TYPES = {
    "v128": "SIMD",
    **dict.fromkeys(("externref", "ref", "anyref", "exnref"), "reference types"),
}
FIELDS = ("type", "import", "func", "table", "memory", "global", "export", "start", "elem", "data")
_REFUSED_FIELDS = {"tag": "exceptions", "rec": "garbage collection"}


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A function type, its index if it has one, and the names of the parameters."""

    index: int
    type: FunctionType
    names: dict[str, int]


@dataclass(slots=True)
class Lists:
    """What becomes the Module, as it grows."""

    types: list[FunctionType] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    tables: list[TableType] = field(default_factory=list)
    memories: list[MemoryType] = field(default_factory=list)
    globals: list[Global] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    data: list[Data] = field(default_factory=list)


class ModuleText:
    """Builds the module that a list of fields describes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lists = Lists()
        self.start: int | None = None
        self.names: dict[str, dict[str, int]] = {
            space: {} for space in (*EXTERNAL_KINDS, "type", "elem", "data")
        }
        self.counts = dict.fromkeys(self.names, 0)

    # -- the first walk

    def number_field(self, fields: Cursor) -> None:
        head = fields.next_head()
        inner = fields.accept_group(head) if head in FIELDS else None
        if head is None or inner is None:
            self._refuse_field(fields, head)
        space = head
        if head == "import":
            inner.place += 2
            space = inner.next_head() or ""
            described = inner.accept_group(*EXTERNAL_KINDS)
            if described is None:
                inner.fail("unexpected token, an import's description expected")
            inner = described
        if space not in self.names:
            return
        at, name = inner.at, inner.take_id()
        if name is not None:
            self._name(self.names[space], name, self.counts[space], space, at)
        self.counts[space] += 1
        if space == "type":
            self.lists.types.append(self._type_definition(inner))
            inner.finish()
        # The inline segment of a table or a memory, which has no name.
        for kind, segment in (("table", "elem"), ("memory", "data")):
            if space == kind and any(
                Cursor(self.source, inner.group, place).next_head() == segment
                for place in range(inner.place, len(inner.items))
            ):
                self.counts[segment] += 1

    def _refuse_field(self, fields: Cursor, head: str | None) -> NoReturn:
        if head in _REFUSED_FIELDS:
            raise UnsupportedFeatureError(
                f"{_REFUSED_FIELDS[head]}: a {head} field; write the program without it"
            )
        fields.fail(f"unexpected token {head or ''}, a module field expected")

    def _name(self, names: dict[str, int], name: str, index: int, what: str, at: int) -> None:
        if name in names:
            self.source.fail(f"duplicate {what} {name}", at)
        names[name] = index

    def _type_definition(self, cursor: Cursor) -> FunctionType:
        if cursor.next_head() in ("struct", "array", "sub"):
            raise UnsupportedFeatureError(
                f"garbage collection: a {cursor.next_head()} type; write the program without it"
            )
        inner = cursor.accept_group("func")
        if inner is None:
            cursor.fail("unexpected token, (func ...) expected")
        type_ = FunctionType(self.parameters(inner, {}), self._results(inner))
        inner.finish()
        return type_

    # -- indices and types

    def natural(self, cursor: Cursor, what: str) -> int:
        """A number that is no more than 32 bits wide."""
        word, value = cursor.next_word(), None
        try:
            value = parse_integer(word, 32, signed=False) if word else None
        except OutOfRangeError:
            cursor.fail(f"i32 constant out of range: {word}")
        if value is None:
            cursor.fail(f"unexpected token, {what} expected")
        cursor.place += 1
        return value

    def resolve(self, cursor: Cursor, names: dict[str, int], what: str) -> int:
        at, name = cursor.at, cursor.take_id()
        if name is None:
            return self.natural(cursor, f"the index of a {what}")
        if name not in names:
            self.source.fail(f"unknown {what} {name}", at)
        return names[name]

    def index(self, cursor: Cursor, space: str) -> int:
        return self.resolve(cursor, self.names[space], space)

    def _value_type(self, cursor: Cursor) -> ValueType:
        word = cursor.next_word()
        if word not in VALUE_TYPE_CODES:
            refused = word or cursor.next_head()
            if refused in ("funcref", *REFUSED_TYPES):
                feature = REFUSED_TYPES.get(refused, "reference types")
                raise UnsupportedFeatureError(
                    f"{feature}: a value of type {refused}; write the program without them"
                )
            cursor.fail("unexpected token, a value type expected")
        cursor.place += 1
        return VALUE_TYPES[VALUE_TYPE_CODES[word]]

    def parameters(
        self, cursor: Cursor, names: dict[str, int], head: str = "param", first: int = 0
    ) -> tuple[ValueType, ...]:
        """(param $name i32) or (param i32 ...), and locals likewise; fills in their names."""
        types: list[ValueType] = []
        while inner := cursor.accept_group(head):
            at, name = inner.at, inner.take_id()
            if name is not None:
                self._name(names, name, first + len(types), "local", at)
                types.append(self._value_type(inner))
            while name is None and not inner.done:
                types.append(self._value_type(inner))
            inner.finish()
        return tuple(types)

    def _results(self, cursor: Cursor) -> tuple[ValueType, ...]:
        types: list[ValueType] = []
        while inner := cursor.accept_group("result"):
            while not inner.done:
                types.append(self._value_type(inner))
        return tuple(types)

    def type_index(self, type_: FunctionType) -> int:
        """The first type that is equal, or a new one."""
        if type_ not in self.lists.types:
            self.lists.types.append(type_)
        return self.lists.types.index(type_)

    def type_use(self, cursor: Cursor, *, define: bool = True, named: bool = False) -> TypeUse:
        """(type x), (param ...) and (result ...). Without `define`, the index may be -1."""
        explicit = cursor.accept_group("type")
        index = -1
        if explicit:
            index = self.index(explicit, "type")
            explicit.finish()
        at = cursor.at
        names: dict[str, int] = {}
        type_ = FunctionType(self.parameters(cursor, names), self._results(cursor))
        if names and not named:
            self.source.fail("unexpected token: parameters have no names here", at)
        if not explicit:
            return TypeUse(self.type_index(type_) if define else -1, type_, names)
        written = type_ != FunctionType()
        if index < len(self.lists.types):
            if written and type_ != self.lists.types[index]:
                self.source.fail(f"inline function type: {type_} is not type {index}", at)
            type_ = self.lists.types[index]
        elif written:
            self.source.fail(f"unknown type {index}", at)
        return TypeUse(index, type_, names)

    def limits(self, cursor: Cursor) -> Limits:
        if cursor.next_word() == "i64":
            raise UnsupportedFeatureError("memory64: limits of 64 bits; use 32 bits")
        cursor.accept("i32")  # the address type, which goes without saying
        minimum = self.natural(cursor, "a size")
        word = cursor.next_word() or ""
        maximum = self.natural(cursor, "a size") if word[:1].isdigit() else None
        if cursor.next_word() == "shared":
            raise UnsupportedFeatureError("threads: shared memory; write the program without it")
        if cursor.next_head() == "pagesize":
            raise UnsupportedFeatureError("custom page sizes: leave the page size out")
        return Limits(minimum, maximum)

    def table_type(self, cursor: Cursor) -> TableType:
        limits = self.limits(cursor)
        self.reference_type(cursor)
        return TableType(limits)

    def reference_type(self, cursor: Cursor) -> None:
        word = cursor.next_word() or cursor.next_head()
        if word in REFUSED_TYPES:
            raise UnsupportedFeatureError(f"reference types: {word}; only funcref is there")
        if not cursor.accept("funcref"):
            cursor.fail("unexpected token, funcref expected")

    def global_type(self, cursor: Cursor) -> GlobalType:
        inner = cursor.accept_group("mut")
        if inner is None:
            return GlobalType(self._value_type(cursor))
        type_ = GlobalType(self._value_type(inner), mutable=True)
        inner.finish()
        return type_

    # -- the second walk

    def external(
        self, cursor: Cursor, kind: ExternalKind, describe: Callable[[Cursor], Any]
    ) -> int | None:
        """Name, inline exports and inline import; the index, unless this was an import."""
        cursor.take_id()
        index = self.counts[kind]
        self.counts[kind] += 1
        while inner := cursor.accept_group("export"):
            self.lists.exports.append(Export(inner.take_name("a name"), kind, index))
            inner.finish()
        inner = cursor.accept_group("import")
        if inner is None:
            return index
        module, name = inner.take_name("a module"), inner.take_name("a name")
        inner.finish()
        self.add_import(cursor, module, name, kind, describe)
        return None

    def add_import(
        self,
        cursor: Cursor,
        module: str,
        name: str,
        kind: ExternalKind,
        describe: Callable[[Cursor], Any],
    ) -> None:
        lists = self.lists
        if lists.functions or lists.tables or lists.memories or lists.globals:
            cursor.fail("import after function, table, memory or global")
        lists.imports.append(Import(module, name, kind, describe(cursor)))

    def expression(self, cursor: Cursor) -> Expression:
        return CodeText(self, {}).read(cursor)

    def offset(self, cursor: Cursor) -> Expression:
        """(offset ...), or one folded instruction."""
        inner = cursor.accept_group("offset")
        if inner is not None:
            return self.expression(inner)
        node = cursor.next()
        if not isinstance(node, Group):
            cursor.fail("unexpected token, an offset expected")
        cursor.place += 1
        return self.expression(Cursor(self.source, Group(node.at, [node], node.end)))
