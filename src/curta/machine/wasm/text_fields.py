"""The fields of a module in the text format: one function for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from curta.errors import UnsupportedFeatureError
from curta.machine.wasm.module import (
    PAGE_BYTES,
    Data,
    Element,
    Export,
    Expression,
    ExternalKind,
    Function,
    Global,
    Instruction,
    Limits,
    MemoryType,
    Module,
    SegmentMode,
    TableType,
)
from curta.machine.wasm.opcodes import unsupported_name
from curta.machine.wasm.text_code import CodeText
from curta.machine.wasm.text_module import EXTERNAL_KINDS, REFUSED_TYPES, Lists, ModuleText
from curta.machine.wasm.text_tree import Cursor, Group, Source, String


def build_module(source: Source, fields: Cursor) -> Module:
    """The module that a list of fields describes."""
    text = ModuleText(source)
    first = fields.place
    while not fields.done:
        text.number_field(fields)
    text.counts = dict.fromkeys(text.counts, 0)
    fields.place = first
    while not fields.done:
        head = fields.next_head() or ""
        inner = fields.accept_group(head)
        assert inner is not None  # the first walk has seen it
        _BUILD[head](text, inner)
        inner.finish()
    built = {name: tuple(getattr(text.lists, name)) for name in Lists.__slots__}
    names = ((index, name[1:]) for name, index in text.names["func"].items())
    return Module(**built, start=text.start, function_names=tuple(names))


def _described_function(module: ModuleText, cursor: Cursor) -> int:
    return module.type_use(cursor, named=True).index


_DESCRIBE: dict[ExternalKind, Callable[[ModuleText, Cursor], Any]] = {
    "func": _described_function,
    "table": ModuleText.table_type,
    "memory": lambda module, cursor: MemoryType(module.limits(cursor)),
    "global": ModuleText.global_type,
}


def _external(module: ModuleText, cursor: Cursor, kind: ExternalKind) -> int | None:
    return module.external(cursor, kind, lambda inner: _DESCRIBE[kind](module, inner))


# -- one function for each field ------------------------------------------------------------------


def _type(_: ModuleText, cursor: Cursor) -> None:
    cursor.place = len(cursor.items)  # defined in the first walk


def _import(module: ModuleText, cursor: Cursor) -> None:
    name = cursor.take_name("a module"), cursor.take_name("a name")
    kind = EXTERNAL_KINDS[cursor.next_head() or ""]
    inner = cursor.accept_group(kind)
    assert inner is not None  # the first walk has seen it
    inner.take_id()
    module.counts[kind] += 1
    module.add_import(inner, *name, kind, lambda inside: _DESCRIBE[kind](module, inside))
    inner.finish()


def _func(module: ModuleText, cursor: Cursor) -> None:
    if _external(module, cursor, "func") is None:
        return
    use = module.type_use(cursor, named=True)
    names = dict(use.names)
    locals_ = module.parameters(cursor, names, "local", len(use.type.parameters))
    body = CodeText(module, names).read(cursor)
    module.lists.functions.append(Function(use.index, locals_, body))


def _table(module: ModuleText, cursor: Cursor) -> None:
    index = _external(module, cursor, "table")
    if index is None:
        return
    if cursor.next_word() != "funcref" and cursor.next_word() not in REFUSED_TYPES:
        module.lists.tables.append(module.table_type(cursor))
        if isinstance(cursor.next(), Group):
            raise UnsupportedFeatureError(
                "typed function references: a table with an initial value; use (elem ...)"
            )
        return
    module.reference_type(cursor)
    inner = cursor.accept_group("elem")
    if inner is None:
        cursor.fail("unexpected token, (elem ...) expected")
    functions = _functions(module, inner, expressions=isinstance(inner.next(), Group))
    module.lists.tables.append(TableType(Limits(len(functions), len(functions))))
    module.counts["elem"] += 1
    module.lists.elements.append(Element("active", functions, index, _ZERO))


def _memory(module: ModuleText, cursor: Cursor) -> None:
    index = _external(module, cursor, "memory")
    if index is None:
        return
    place = cursor.place
    cursor.accept("i32")  # the address type, as in limits
    inner = cursor.accept_group("data")
    if inner is None:
        cursor.place = place
        module.lists.memories.append(MemoryType(module.limits(cursor)))
        return
    content = _strings(inner)
    pages = -(-len(content) // PAGE_BYTES)
    module.lists.memories.append(MemoryType(Limits(pages, pages)))
    module.lists.data.append(Data("active", content, index, _ZERO))


def _global(module: ModuleText, cursor: Cursor) -> None:
    if _external(module, cursor, "global") is not None:
        type_ = module.global_type(cursor)
        module.lists.globals.append(Global(type_, module.expression(cursor)))


def _export(module: ModuleText, cursor: Cursor) -> None:
    name = cursor.take_name("a name")
    kind = EXTERNAL_KINDS.get(cursor.next_head() or "")
    inner = cursor.accept_group(kind) if kind else None
    if kind is None or inner is None:
        cursor.fail("unexpected token, what is exported expected")
    module.lists.exports.append(Export(name, kind, module.index(inner, kind)))
    inner.finish()


def _start(module: ModuleText, cursor: Cursor) -> None:
    if module.start is not None:
        cursor.fail("multiple start sections")
    module.start = module.index(cursor, "func")


def _elem(module: ModuleText, cursor: Cursor) -> None:
    cursor.take_id()
    mode: SegmentMode = "passive"
    table, offset = 0, Expression()
    if cursor.accept("declare"):
        mode = "declarative"
    else:
        table, offset = _place(module, cursor, "table", "ref.func", "ref.null", "item")
        mode = "active" if offset else "passive"
    expressions = False
    if cursor.accept("func"):
        pass
    elif cursor.next_word() == "funcref" or cursor.next_word() in REFUSED_TYPES:
        module.reference_type(cursor)
        expressions = True
    elif mode != "active":
        cursor.fail("unexpected token, func or funcref expected")
    module.lists.elements.append(
        Element(mode, _functions(module, cursor, expressions), table, offset)
    )


def _place(module: ModuleText, cursor: Cursor, space: str, *items: str) -> tuple[int, Expression]:
    """Where an active segment goes: (table x) or x, if not the only one, and the offset."""
    inner = cursor.accept_group(space)
    index = 0
    word = cursor.next_word() or ""
    if inner is not None:
        index = module.index(inner, space)
        inner.finish()
    elif word[:1].isdigit() or word.startswith("$"):
        index = module.index(cursor, space)
    elif not isinstance(cursor.next(), Group) or cursor.next_head() in items:
        return 0, ()
    return index, module.offset(cursor)


def _functions(module: ModuleText, cursor: Cursor, expressions: bool) -> tuple[int | None, ...]:
    functions: list[int | None] = []
    while not cursor.done:
        if expressions:
            functions.append(_element_expression(module, cursor))
        else:
            functions.append(module.index(cursor, "func"))
    return tuple(functions)


def _element_expression(module: ModuleText, cursor: Cursor) -> int | None:
    """(item ref.func x), (item (ref.func x)), (ref.func x), and the same with ref.null func."""
    inner = cursor.accept_group("item") or cursor
    nested = inner.accept_group("ref.func", "ref.null")
    if nested is None and inner is not cursor and inner.next_word() in ("ref.func", "ref.null"):
        nested = inner
        nested.place += 1
    if nested is None:
        feature = unsupported_name(inner.next_head() or inner.next_word() or "")
        if feature:
            raise UnsupportedFeatureError(f"{feature}: an element other than ref.func, ref.null")
        inner.fail("unexpected token, ref.func or ref.null expected")
    if nested.items[nested.place - 1].text == "ref.func":  # type: ignore[union-attr]
        function: int | None = module.index(nested, "func")
    else:
        function = None
        if nested.next_word() == "extern":
            raise UnsupportedFeatureError("reference types: ref.null extern; only func is there")
        if not nested.accept("func"):
            nested.fail("unexpected token, func expected")
    nested.finish()
    if inner is not cursor:
        inner.finish()
    return function


def _data(module: ModuleText, cursor: Cursor) -> None:
    cursor.take_id()
    memory, offset = _place(module, cursor, "memory")
    mode: SegmentMode = "active" if offset else "passive"
    module.lists.data.append(Data(mode, _strings(cursor), memory, offset))


def _strings(cursor: Cursor) -> bytes:
    parts = []
    while isinstance(cursor.next(), String):
        parts.append(cursor.take_string("data"))
    cursor.finish()
    return b"".join(parts)


_ZERO = (Instruction("i32.const", (0,)), Instruction("end"))
_BUILD: dict[str, Callable[[ModuleText, Cursor], None]] = {
    "type": _type,
    "import": _import,
    "func": _func,
    "table": _table,
    "memory": _memory,
    "global": _global,
    "export": _export,
    "start": _start,
    "elem": _elem,
    "data": _data,
}
