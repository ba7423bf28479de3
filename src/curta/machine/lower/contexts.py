"""Contexts: what is known of each module before its functions are translated."""

from __future__ import annotations

from curta.errors import LinkError, UnsupportedFeatureError
from curta.machine.instructions import MEMORY_PAGES, PAGE
from curta.machine.layout import DATA, ELEMENTS, ENTRY_BYTES, MOST_TABLE_ELEMENTS
from curta.machine.lower.code import USER, Callee, words
from curta.machine.lower.context import ModuleContext, PassiveSegment, SharedRegisters
from curta.machine.lower.library import (
    WASI_MODULES,
    library_module,
    wasi_function,
)
from curta.machine.lower.natives import MODULE as NATIVES
from curta.machine.lower.natives import check_native
from curta.machine.lower.options import LowerOptions
from curta.machine.wasm.module import (
    Expression,
    GlobalType,
    Import,
    Module,
)


def user_context(
    module: Module, registers: SharedRegisters, options: LowerOptions
) -> ModuleContext:
    """The module that is to be run."""
    _check_imports(module)
    spaces = module.index_spaces()
    context = ModuleContext(USER, module, registers)
    context.extensions = {extension.name: extension for extension in options.extensions}
    context.imports = tuple(_resolve(context, entry) for entry in module.imported("func"))
    context.functions = tuple(module.types[index] for index in spaces.functions)
    _take_globals(context)
    _measure(context, options)
    _take_segments(context)
    return context


def library_context(name: str, registers: SharedRegisters) -> ModuleContext:
    """A library: its memory is the user's, and all that it imports is native."""
    module = library_module(name)
    context = ModuleContext(name, module, registers)
    context.imports = tuple(entry.name for entry in module.imported("func"))
    context.functions = tuple(module.types[index] for index in module.index_spaces().functions)
    return context


def _check_imports(module: Module) -> None:
    what = {"memory": "a memory", "table": "a table", "global": "a global"}
    for entry in module.imports:
        if entry.kind in what:
            raise LinkError(
                f'unknown import: "{entry.module}" "{entry.name}" is {what[entry.kind]}, and '
                "nothing provides one; define it in the module"
            )


def _resolve(context: ModuleContext, entry: Import) -> Callee | str:
    """What an imported function is."""
    assert isinstance(entry.description, int)  # a function's
    type_ = context.module.types[entry.description]
    if entry.module == NATIVES:
        check_native(entry.name, type_, context.extensions)
        return entry.name
    if entry.module in WASI_MODULES:
        return wasi_function(entry.module, entry.name, type_)
    raise LinkError(
        f'unknown import: nothing provides "{entry.module}" "{entry.name}"; programs can import '
        f"functions of WASI preview 1 ({WASI_MODULES[0]}), and host functions are not supported"
    )


def constant_words(expression: Expression, type_: GlobalType) -> tuple[int, ...]:
    """The words of a constant expression. No globals are imported, so it is a number."""
    value: int = expression[0].operands[0]
    if words((type_.value,)) == 2:
        return value & 0xFFFF_FFFF, value >> 32
    return (value,)


def _take_globals(context: ModuleContext) -> None:
    """Registers for globals that change; the others are constants."""
    entries = context.module.globals
    context.global_words = tuple(constant_words(entry.initial, entry.type) for entry in entries)
    context.global_registers = {
        number: tuple(context.registers.take(f"global {number}") for _ in initial)
        for number, initial in enumerate(context.global_words)
        if entries[number].type.mutable
    }
    changing = {word for taken in context.global_registers.values() for word in taken}
    if context.module.memories:
        changing.add(MEMORY_PAGES)
    context.mutable = frozenset(changing)


def _measure(context: ModuleContext, options: LowerOptions) -> None:
    """Sizes of memory and table."""
    module = context.module
    if module.memories:
        limits = module.memories[0].limits
        most = options.max_memory_pages
        if limits.minimum > most:
            raise LinkError(
                f"a memory of {limits.minimum} pages, {most} are allowed; "
                "allow more with LowerOptions.max_memory_pages"
            )
        context.most_pages = most if limits.maximum is None else min(most, limits.maximum)
    if module.tables:
        context.table_size = module.tables[0].limits.minimum
        if context.table_size > MOST_TABLE_ELEMENTS:
            raise UnsupportedFeatureError(
                f"a table of {context.table_size} elements, at most {MOST_TABLE_ELEMENTS} fit; "
                "make it smaller"
            )
    for type_ in module.types:
        context.signatures.setdefault(type_, len(context.signatures))


def _take_segments(context: ModuleContext) -> None:
    """Places and registers for segments that instructions refer to."""
    module = context.module
    used: dict[str, set[int]] = {"data": set(), "elem": set()}
    for function in module.functions:
        for instruction in function.body:
            if instruction.opcode in ("memory.init", "data.drop"):
                used["data"].add(instruction.operands[0])
            elif instruction.opcode in ("table.init", "elem.drop"):
                used["elem"].add(instruction.operands[0])
    data, elements = [], []
    at = DATA
    for number, segment in enumerate(module.data):
        passive = segment.mode == "passive" and number in used["data"]
        length = len(segment.content) if passive else 0
        register = context.registers.take(f"data {number}") if number in used["data"] else 0
        data.append(PassiveSegment(at, register, length))
        at += length
    if at > DATA + (1 << 31) - PAGE:
        raise UnsupportedFeatureError(
            f"{at - DATA} bytes of passive data segments, at most 2 GiB fit; make them smaller"
        )
    at = ELEMENTS
    for number, entry in enumerate(module.elements):
        passive = entry.mode == "passive" and number in used["elem"]
        length = len(entry.functions) if passive else 0
        register = context.registers.take(f"elem {number}") if number in used["elem"] else 0
        elements.append(PassiveSegment(at, register, length))
        at += ENTRY_BYTES * length
    context.data, context.elements = tuple(data), tuple(elements)
    lengths = [data[number].length_register for number in used["data"]]
    lengths += [elements[number].length_register for number in used["elem"]]
    context.mutable = context.mutable.union(lengths)
