"""Random modules made livelier: less of what they compute is lost.

Most random code traps soon, or drops its results; then a wrong result is not seen. So most
divisors and table indices are made harmless, and of some instructions the results are recorded:
they are given to functions that store them one after another, behind the rest of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from curta.machine.wasm import ValueType
from curta.machine.wasm.module import (
    Export,
    Function,
    FunctionType,
    Global,
    GlobalType,
    Instruction,
    Limits,
    MemoryType,
    Module,
)
from curta.machine.wasm.opcodes import OPCODES
from tests.machine.fuzz.probes import PAGE, code
from tests.machine.wasm.random_modules import VALUES

RECORDS = "probe.records"
"""How many bytes were recorded since it was invoked for the last time."""
HARMLESS = 0.97
RECORDED = 0.4


def livelier(module: Module, random: Random) -> Module:
    """The module, with `RECORDS` exported; the records are in its second page."""
    first = len(module.imported("func")) + len(module.functions)
    recorders = {kind: first + place for place, kind in enumerate(VALUES)}
    module = _with_all_types(module)
    table = _table(module)
    functions = []
    for function in module.functions:
        kept = len(module.types[function.type_index].parameters) + len(function.locals)
        body = _recording(_harmless(function.body, module, table, random), recorders, kept, random)
        functions.append(replace(function, locals=(*function.locals, *VALUES), body=tuple(body)))
    pointer, types = len(module.globals), len(module.types)
    at = Global(GlobalType("i32", True), (Instruction("i32.const", (0,)), Instruction("end")))
    return replace(
        module,
        types=(
            *module.types,
            *(FunctionType((kind,), ()) for kind in VALUES),
            FunctionType((), ("i32",)),
        ),
        functions=(
            *functions,
            *(
                Function(types + place, (), _recorder(kind, pointer))
                for place, kind in enumerate(VALUES)
            ),
            Function(types + len(VALUES), (), _records(pointer)),
        ),
        globals=(*module.globals, at),
        memories=tuple(
            MemoryType(
                Limits(one.limits.minimum + 1, one.limits.maximum and one.limits.maximum + 1)
            )
            for one in module.memories
        ),
        exports=(*module.exports, Export(RECORDS, "func", first + len(VALUES))),
    )


def _recorder(kind: ValueType, pointer: int) -> tuple[Instruction, ...]:
    return code(f"""
        global.get {pointer}
        local.get 0
        {kind}.store 0 {PAGE}
        global.get {pointer}
        i32.const 8
        i32.add
        i32.const {PAGE - 8}
        i32.and
        global.set {pointer}
        end
    """)


def _records(pointer: int) -> tuple[Instruction, ...]:
    return code(f"global.get {pointer}\ni32.const 0\nglobal.set {pointer}\nend")


def _with_all_types(module: Module) -> Module:
    """The first element segment begins with a function of every type; not the last one, though,
    which gives fuel.
    """
    defined = module.index_spaces().functions[:-1]
    of_types = tuple(defined.index(index) for index in sorted(set(defined)))
    first, *others = module.elements
    functions = (*of_types, *first.functions[len(of_types) :])
    return replace(module, elements=(replace(first, functions=functions), *others))


def _table(module: Module) -> dict[int, list[int]]:
    """For each type, the places of the table that hold such functions at the start."""
    places: dict[int, list[int]] = {}
    spaces = module.index_spaces()
    for element in module.elements:
        if element.mode != "active":
            continue
        start = element.offset[0].operands[0]
        for place, function in enumerate(element.functions, start):
            if function is not None:
                type_ = module.types[spaces.functions[function]]
                for index, other in enumerate(module.types):
                    if other == type_:
                        places.setdefault(index, []).append(place)
    return places


def _harmless(
    body: tuple[Instruction, ...], module: Module, table: dict[int, list[int]], random: Random
) -> Iterator[Instruction]:
    for instruction in body:
        name = instruction.opcode
        if random.random() < HARMLESS:
            if ".div_" in name or ".rem_" in name:
                kind = name[:3]
                yield Instruction(f"{kind}.const", (random.choice((1, 2, 3, 5, 64, 255)),))
                yield Instruction(f"{kind}.or")
            elif ".trunc_f" in name:
                name = name.replace(".trunc_f", ".trunc_sat_f")
            elif name == "call_indirect" and instruction.operands[0] in table:
                yield Instruction("drop")
                yield Instruction("i32.const", (random.choice(table[instruction.operands[0]]),))
            elif name == "call_indirect":
                yield from _instead_of_call(module.types[instruction.operands[0]])
                continue
            elif name in ("table.init", "table.copy"):
                yield Instruction("drop")
                yield Instruction("i32.const", (0,))
        yield Instruction(name, instruction.operands)


def _instead_of_call(type_: FunctionType) -> Iterator[Instruction]:
    """No function has this type: its arguments and the index are dropped."""
    for _ in range(len(type_.parameters) + 1):
        yield Instruction("drop")
    for kind in type_.results:
        yield Instruction(f"{kind}.const", (0,))


def _recording(
    body: Iterator[Instruction], recorders: dict[ValueType, int], spare: int, random: Random
) -> Iterator[Instruction]:
    """`spare` is the first of the locals that are free: one of each type."""
    for instruction in body:
        yield instruction
        signature = OPCODES[instruction.opcode].signature
        if signature is None or not signature.results or ".const" in instruction.opcode:
            continue
        if random.random() < RECORDED:
            (kind,) = signature.results
            place = spare + VALUES.index(kind)
            yield Instruction("local.tee", (place,))
            yield Instruction("local.get", (place,))
            yield Instruction("call", (recorders[kind],))
