"""What instructions do: control, variables, memory, tables, and numbers as the table says.

Each function takes the frame of the call and the operands of the instruction. It returns the
function to be called, if the instruction is a call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from curta.errors import Trap
from curta.machine.wasm.numeric import Meaning
from curta.machine.wasm.opcodes import MEMORY_ACCESSES, NUMERIC, OPCODES, Opcode

if TYPE_CHECKING:
    from curta.machine.wasm.interpret import Frame
    from curta.machine.wasm.store import FunctionObject

# -- control --------------------------------------------------------------------------------------


def _mark(frame: Frame, *_: object) -> None:
    pass


def _unreachable(frame: Frame) -> None:
    raise Trap("unreachable")


def _if(frame: Frame, _: object, other: int) -> None:
    if not frame.stack.pop():
        frame.at = other + 1


def _else(frame: Frame, end: int) -> None:
    """Reached from above: the other part is done."""
    frame.at = end + 1


def _br(frame: Frame, _: int) -> None:
    frame.take()


def _br_if(frame: Frame, _: int) -> None:
    if frame.stack.pop():
        frame.take()


def _br_table(frame: Frame, depths: tuple[int, ...], _: int) -> None:
    frame.take(min(frame.stack.pop(), len(depths)))


def _return(frame: Frame) -> None:
    frame.take()


def _call(frame: Frame, index: int) -> FunctionObject:
    return frame.instance.functions[index]


def _call_indirect(frame: Frame, type_index: int, table: int) -> FunctionObject:
    index = frame.stack.pop()
    elements = frame.instance.tables[table].elements
    if index >= len(elements):
        raise Trap("undefined element")
    function = elements[index]
    if function is None:
        raise Trap("uninitialized element")
    if function.type != frame.instance.module.types[type_index]:
        raise Trap("indirect call type mismatch")
    return function


# -- numbers --------------------------------------------------------------------------------------


def _of_one(meaning: Meaning, frame: Frame) -> None:
    stack = frame.stack
    stack[-1] = meaning(stack[-1])


def _of_two(meaning: Meaning, frame: Frame) -> None:
    stack = frame.stack
    second = stack.pop()
    stack[-1] = meaning(stack[-1], second)


# -- operands and variables -----------------------------------------------------------------------


def _drop(frame: Frame) -> None:
    frame.stack.pop()


def _select(frame: Frame) -> None:
    condition = frame.stack.pop()
    second = frame.stack.pop()
    if not condition:
        frame.stack[-1] = second


def _constant(frame: Frame, value: int) -> None:
    frame.stack.append(value)


def _local_get(frame: Frame, index: int) -> None:
    frame.stack.append(frame.locals[index])


def _local_set(frame: Frame, index: int) -> None:
    frame.locals[index] = frame.stack.pop()


def _local_tee(frame: Frame, index: int) -> None:
    frame.locals[index] = frame.stack[-1]


def _global_get(frame: Frame, index: int) -> None:
    frame.stack.append(frame.instance.globals[index].value)


def _global_set(frame: Frame, index: int) -> None:
    frame.instance.globals[index].value = frame.stack.pop()


# -- memory ---------------------------------------------------------------------------------------


def _load(row: Opcode, frame: Frame, _: int, offset: int) -> None:
    content = frame.instance.memories[0].read(frame.stack.pop() + offset, row.width)
    value = int.from_bytes(content, "little", signed=row.signed)
    frame.stack.append(value % (1 << row.bits))


def _store(row: Opcode, frame: Frame, _: int, offset: int) -> None:
    value = frame.stack.pop() % (1 << 8 * row.width)
    content = value.to_bytes(row.width, "little")
    frame.instance.memories[0].write(frame.stack.pop() + offset, content)


def _memory_size(frame: Frame) -> None:
    frame.stack.append(frame.instance.memories[0].size)


def _memory_grow(frame: Frame) -> None:
    frame.stack.append(frame.instance.memories[0].grow(frame.stack.pop()) % (1 << 32))


def _three(frame: Frame) -> tuple[int, int, int]:
    """Destination, source or value, and count."""
    count, source, destination = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    return destination, source, count


def _memory_init(frame: Frame, segment: int) -> None:
    destination, source, count = _three(frame)
    content = frame.instance.data[segment]
    if source + count > len(content):
        raise Trap("out of bounds memory access")
    frame.instance.memories[0].write(destination, content[source : source + count])


def _data_drop(frame: Frame, segment: int) -> None:
    frame.instance.data[segment] = b""


def _memory_copy(frame: Frame) -> None:
    destination, source, count = _three(frame)
    memory = frame.instance.memories[0]
    memory.write(destination, memory.read(source, count))


def _memory_fill(frame: Frame) -> None:
    destination, value, count = _three(frame)
    memory = frame.instance.memories[0]
    memory.check(destination, count)
    memory.write(destination, bytes([value & 0xFF]) * count)


# -- tables ---------------------------------------------------------------------------------------


def _table_init(frame: Frame, segment: int, table: int) -> None:
    destination, source, count = _three(frame)
    elements = frame.instance.elements[segment]
    if source + count > len(elements):
        raise Trap("out of bounds table access")
    frame.instance.tables[table].write(destination, elements[source : source + count])


def _elem_drop(frame: Frame, segment: int) -> None:
    frame.instance.elements[segment] = []


def _table_copy(frame: Frame, target: int, origin: int) -> None:
    destination, source, count = _three(frame)
    tables = frame.instance.tables
    tables[target].write(destination, tables[origin].read(source, count))


EXECUTE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("block", "loop", "end", "nop"), _mark),
    "unreachable": _unreachable,
    "if": _if,
    "else": _else,
    "br": _br,
    "br_if": _br_if,
    "br_table": _br_table,
    "return": _return,
    "call": _call,
    "call_indirect": _call_indirect,
    "drop": _drop,
    "select": _select,
    "local.get": _local_get,
    "local.set": _local_set,
    "local.tee": _local_tee,
    "global.get": _global_get,
    "global.set": _global_set,
    "memory.size": _memory_size,
    "memory.grow": _memory_grow,
    "memory.init": _memory_init,
    "memory.copy": _memory_copy,
    "memory.fill": _memory_fill,
    "data.drop": _data_drop,
    "table.init": _table_init,
    "table.copy": _table_copy,
    "elem.drop": _elem_drop,
    **{name: _constant for name in OPCODES if name.endswith(".const")},
    **{
        name: partial(_load if row.results else _store, row)
        for name, row in MEMORY_ACCESSES.items()
    },
    **{
        name: partial(_of_one if len(OPCODES[name].parameters) == 1 else _of_two, meaning)
        for name, meaning in NUMERIC.items()
    },
}
