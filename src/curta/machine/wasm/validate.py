"""Validate: may this module run? The rules for everything outside of function bodies.

`validate` returns what every branch of each function does. It takes the targets of block, loop, if
and else as `decode` computed them: a module made by hand goes through `encode` and `decode` first.
"""

from __future__ import annotations

from curta.errors import InvalidModuleError, UnsupportedFeatureError
from curta.machine.wasm import MAX_PAGES, ValueType
from curta.machine.wasm.module import Expression, FunctionType, IndexSpaces, Limits, Module
from curta.machine.wasm.opcodes import OPCODES, Immediates
from curta.machine.wasm.validate_code import BodyValidator, Branches


def validate(module: Module) -> tuple[Branches, ...]:
    """Raise an error for the first rule that is broken; give the branches of each function."""
    _check_types(module)
    spaces = module.index_spaces()
    _check_sizes(spaces)
    _check_globals(module, spaces)
    _check_exports(module, spaces)
    _check_start(module, spaces)
    _check_elements(module, spaces)
    _check_data(module, spaces)
    return tuple(
        BodyValidator(module, spaces, index).run() for index in range(len(module.functions))
    )


def _require(index: int, count: int, what: str, where: str) -> None:
    if index >= count:
        raise InvalidModuleError(
            f"unknown {what}: index {index} in {where}, the module has {count}"
        )


def _check_types(module: Module) -> None:
    count = len(module.types)
    for entry in module.imports:
        if isinstance(entry.description, int):
            where = f'import "{entry.module}" "{entry.name}"'
            _require(entry.description, count, "type", where)
    for number, function in enumerate(module.functions, len(module.imported("func"))):
        if function.type_index >= count:
            where = f"function {module.function_name(number)}"
            _require(function.type_index, count, "type", where)


def _check_sizes(spaces: IndexSpaces) -> None:
    for table in spaces.tables:
        _check_limits(table.limits, "table")
    for memory in spaces.memories:
        for pages in (memory.limits.minimum, memory.limits.maximum):
            if pages is not None and pages > MAX_PAGES:
                raise InvalidModuleError(
                    f"memory size must be at most {MAX_PAGES} pages (4GiB): {pages} pages"
                )
        _check_limits(memory.limits, "memory")
    if len(spaces.tables) > 1:
        raise UnsupportedFeatureError(
            f"reference types: multiple tables, {len(spaces.tables)} of them; compile without them"
        )
    if len(spaces.memories) > 1:
        raise InvalidModuleError(f"multiple memories: {len(spaces.memories)} of them, at most one")


def _check_limits(limits: Limits, what: str) -> None:
    if limits.maximum is not None and limits.minimum > limits.maximum:
        raise InvalidModuleError(
            "size minimum must not be greater than maximum: "
            f"{what} of {limits.minimum} to {limits.maximum}"
        )


def _check_constant(
    module: Module, spaces: IndexSpaces, expression: Expression, expected: ValueType, where: str
) -> None:
    """A constant expression: constants and immutable globals that are imported."""
    found: list[str] = []
    for instruction in expression[:-1]:
        opcode = instruction.opcode
        row = OPCODES[opcode]
        if row.immediates in (Immediates.INTEGER, Immediates.FLOAT):
            found += row.results
        elif opcode == "global.get":
            index = instruction.operands[0]
            imported = len(module.imported("global"))
            _require(index, imported, "global", f"{where}, where only imported ones can be used")
            if spaces.globals[index].mutable:
                raise InvalidModuleError(
                    f"constant expression required: global {index} in {where} is mutable"
                )
            found.append(spaces.globals[index].value)
        elif opcode[0] == "i" and opcode[3:] in (".add", ".sub", ".mul"):
            raise UnsupportedFeatureError(
                f"extended constant expressions: {opcode} in {where}; compile without them"
            )
        else:
            raise InvalidModuleError(f"constant expression required: {opcode} in {where}")
    if found != [expected]:
        raise InvalidModuleError(
            f"type mismatch: [{' '.join(found)}] in {where}, [{expected}] expected"
        )


def _check_globals(module: Module, spaces: IndexSpaces) -> None:
    for number, entry in enumerate(module.globals, len(module.imported("global"))):
        _check_constant(module, spaces, entry.initial, entry.type.value, f"global {number}")


def _check_exports(module: Module, spaces: IndexSpaces) -> None:
    counts = {
        "func": ("function", len(spaces.functions)),
        "table": ("table", len(spaces.tables)),
        "memory": ("memory", len(spaces.memories)),
        "global": ("global", len(spaces.globals)),
    }
    seen: set[str] = set()
    for entry in module.exports:
        what, count = counts[entry.kind]
        _require(entry.index, count, what, f'export "{entry.name}"')
        if entry.name in seen:
            raise InvalidModuleError(f'duplicate export name: "{entry.name}"')
        seen.add(entry.name)


def _check_start(module: Module, spaces: IndexSpaces) -> None:
    if module.start is None:
        return
    _require(module.start, len(spaces.functions), "function", "the start section")
    type_ = module.types[spaces.functions[module.start]]
    if type_ != FunctionType():
        raise InvalidModuleError(
            f"start function: {module.function_name(module.start)} is of type {type_}, "
            f"not {FunctionType()}"
        )


def _check_elements(module: Module, spaces: IndexSpaces) -> None:
    for number, segment in enumerate(module.elements):
        where = f"elem segment {number}"
        if segment.mode == "active":
            _require(segment.table, len(spaces.tables), "table", where)
            _check_constant(module, spaces, segment.offset, "i32", where)
        for index in segment.functions:
            if index is not None:
                _require(index, len(spaces.functions), "function", where)


def _check_data(module: Module, spaces: IndexSpaces) -> None:
    for number, segment in enumerate(module.data):
        if segment.mode == "active":
            where = f"data segment {number}"
            _require(segment.memory, len(spaces.memories), "memory", where)
            _check_constant(module, spaces, segment.offset, "i32", where)
