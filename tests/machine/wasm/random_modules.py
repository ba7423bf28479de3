"""Random valid modules that end: every kind of instruction, in any nesting, with dead code.

Every function and every loop takes one from a global counter when it begins, and traps when
nothing is left, so that jumps and calls may go anywhere. The module imports one host function and
exports its functions ("f0", "f1", ...), its memory, and "refuel". All choices come from one
function: hypothesis (`modules`), or a generator with a seed (`draw_module`), quicker and more even.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from curta.machine.wasm import ValueType
from curta.machine.wasm.module import (
    BlockType,
    Data,
    Element,
    Export,
    Function,
    FunctionType,
    Global,
    GlobalType,
    Import,
    Instruction,
    Limits,
    MemoryType,
    Module,
    TableType,
)
from curta.machine.wasm.opcodes import NUMERIC, OPCODES, VALUE_TYPE_CODES, Opcode

Item = TypeVar("Item")
Types = tuple[ValueType, ...]
Number = Callable[[int], int]
"""Draws a number below another one."""

VALUES: Types = tuple(VALUE_TYPE_CODES)
HOST_TYPE = FunctionType(("i32", "i64"), ("i32",))
FUEL = 60
STATEMENT_BUDGET = 50
FUEL_GLOBAL = 0
TABLE_SIZE = 12
DATA_SEGMENTS = 2
ELEMENT_SEGMENTS = 2

_INTEGERS = (0, 1, 2, 5, 8, 31, 32, 100, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1)
CONSTANTS: dict[str, tuple[int, ...]] = {
    "i32": _INTEGERS,
    "i64": (*_INTEGERS, 2**63 - 1, 2**63, 2**64 - 1, 0x123456789ABCDEF),
    "f32": (0, 1 << 31, 0x3F800000, 0xC0200000, 0x4F000000, 0x7F7FFFFF, 0x7F800000, 0x3DCCCCCD, 1),
    "f64": (
        *(0, 1 << 63, 0x3FF0000000000000, 0xC004000000000000, 0x41E0000000000000),
        *(0x43E0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFF0000000000000, 0x3FB999999999999A, 1),
    ),
}
_NANS = {"f32": (0x7FC00000, 0xFFA00001), "f64": (0x7FF8000000000000, 0xFFF4000000000001)}


def _rows(result: Types, wanted: Callable[[Opcode], bool]) -> list[Opcode]:
    return [
        row
        for row in OPCODES.values()
        if row.signature and row.signature.results == result and wanted(row)
    ]


_COMPUTE = {type_: _rows((type_,), lambda row: row.name in NUMERIC) for type_ in VALUES}
_LOADS = {type_: _rows((type_,), lambda row: row.width > 0) for type_ in VALUES}
_STORES = _rows((), lambda row: row.width > 0)


class CodeDraw:
    """Draws the body of one function. `labels` are the types that branches to them carry."""

    def __init__(
        self,
        number: Number,
        types: Sequence[FunctionType],
        functions: Sequence[int],
        globals_: Types,
        place: int,
        own: FunctionType,
        locals_: Types,
        calm: bool = False,
    ) -> None:
        self.calm = calm
        self.number = number
        self.types = types
        self.functions = functions
        self.globals = globals_
        self.place = place
        self.own = own
        self.locals = own.parameters + locals_
        self.labels: list[Types] = [own.results]
        self.loops: list[bool] = [False]
        self.code: list[Instruction] = []
        self.budget = 0  # of instructions, until only short ones are drawn

    def body(self) -> tuple[Instruction, ...]:
        self.burn()
        for _ in range(2 + self.number(7)):
            self.budget = STATEMENT_BUDGET
            self.statement()
        for type_ in self.own.results:
            self.budget = STATEMENT_BUDGET
            self.expression(type_)
        self.emit("end")
        return tuple(self.code)

    # -- small things

    def pick(self, options: Sequence[Item]) -> Item:
        return options[self.number(len(options))]

    def emit(self, opcode: str, *operands: Any) -> None:
        self.code.append(Instruction(opcode, operands))
        self.budget -= 1

    def depth(self) -> int:
        """Of any label, rarely of a loop, where the counter soon runs out."""
        depth = self.number(len(self.labels))
        if self.calm:
            depth = min(depth, self.number(len(self.labels)))
        if self.loops[-1 - depth] and self.number(4):
            return len(self.labels) - 1
        return depth

    def constant(self, type_: ValueType) -> None:
        values = CONSTANTS[type_] + _NANS.get(type_, ())
        self.emit(f"{type_}.const", self.pick(values))

    def burn(self) -> None:
        """Takes one from the counter, or traps."""
        self.emit("global.get", FUEL_GLOBAL)
        self.emit("i32.eqz")
        self.emit("if", None, 0)
        self.emit("unreachable")
        self.emit("end")
        self.emit("global.get", FUEL_GLOBAL)
        self.emit("i32.const", 1)
        self.emit("i32.sub")
        self.emit("global.set", FUEL_GLOBAL)

    def places(self, types: Types, wanted: ValueType, first: int = 0) -> list[int]:
        return [index for index, type_ in enumerate(types) if type_ == wanted and index >= first]

    def small(self, most: int) -> None:
        """An i32 from 0 to `most` (one less than a power of two), rarely more."""
        self.expression("i32")
        if self.number(2000 if self.calm else 30):
            self.emit("i32.const", most)
            self.emit("i32.and")

    def keep(self, types: Types, wanted: ValueType | None) -> None:
        """Values of these types are on the stack: leave one of the wanted type, or none."""
        keeps = wanted is not None and types[:1] == (wanted,)
        for type_ in reversed(types[1:] if keeps else types):
            places = self.places(self.locals, type_)
            if places and self.number(2):
                self.emit("local.set", self.pick(places))
            else:
                self.emit("drop")
        if wanted is not None and not keeps:
            self.constant(wanted)

    # -- one value

    def expression(self, type_: ValueType) -> None:
        self.budget -= 1
        if self.budget <= 0:
            self.leaf(type_)
            return
        kinds = (
            *(self.compute,) * 10,
            *(
                self.leaf,
                self.load,
                self.load,
                self.select,
                self.tee,
                self.construct,
                self.construct,
            ),
            *(self.branch_if, self.memory_value),
            *(self.calls() if not self.calm or not self.number(10) else ()),
            *(() if self.number(400 if self.calm else 8) else (self.dead,) * 8),
        )
        self.pick(kinds)(type_)

    def leaf(self, type_: ValueType) -> None:
        places = self.places(self.locals, type_)
        globals_ = self.places(self.globals, type_, FUEL_GLOBAL + 1)
        choice = self.number(4)
        if places and choice < 2:
            self.emit("local.get", self.pick(places))
        elif globals_ and choice < 3:
            self.emit("global.get", self.pick(globals_))
        else:
            self.constant(type_)

    def compute(self, type_: ValueType) -> None:
        row = self.pick(_COMPUTE[type_])
        assert row.signature is not None
        for operand in row.signature.parameters:
            self.expression(operand)
        self.emit(row.name)

    def load(self, type_: ValueType) -> None:
        row = self.pick(_LOADS[type_])
        self.small(0xFFFF)
        self.emit(row.name, self.number(row.width.bit_length()), self.number(16))

    def select(self, type_: ValueType) -> None:
        self.expression(type_)
        self.expression(type_)
        self.expression("i32")
        self.emit("select")

    def tee(self, type_: ValueType) -> None:
        self.expression(type_)
        places = self.places(self.locals, type_)
        if places:
            self.emit("local.tee", self.pick(places))

    def memory_value(self, type_: ValueType) -> None:
        if type_ != "i32":
            self.leaf(type_)
        elif self.number(3):
            self.emit("memory.size")
        else:
            self.small(1)
            self.emit("memory.grow")

    def branch_if(self, type_: ValueType) -> None:
        """A conditional branch carries values, and leaves them if it is not taken."""
        depth = self.depth()
        label = self.labels[-1 - depth]
        for value in label:
            self.expression(value)
        self.expression("i32")
        self.emit("br_if", depth)
        self.keep(label, type_)

    def dead(self, type_: ValueType) -> None:
        """A jump, then an instruction that takes its operands out of nothing."""
        self.jump()
        row = self.pick(_COMPUTE[type_])
        assert row.signature is not None
        for operand in row.signature.parameters[1:] if self.number(2) else ():
            self.leaf(operand)
        self.emit(row.name)

    # -- calls and constructs, for a value or for none

    def call(self, wanted: ValueType | None = None) -> None:
        known = self.place if self.number(8) else len(self.functions)  # rarely a recursion
        index = self.number(known)
        type_ = self.types[self.functions[index]]
        for operand in type_.parameters:
            self.expression(operand)
        self.emit("call", index)
        self.keep(type_.results, wanted)

    def indirect(self, wanted: ValueType | None = None) -> None:
        index = self.number(len(self.types))
        for operand in self.types[index].parameters:
            self.expression(operand)
        self.small(15)
        self.emit("call_indirect", index, 0)
        self.keep(self.types[index].results, wanted)

    def calls(self) -> tuple[Callable[..., None], ...]:
        return self.call, self.indirect

    def construct(self, wanted: ValueType | None = None) -> None:
        """block, loop or if, with operands of any type."""
        opcode = self.pick(("block", "loop", "if"))
        written: BlockType = wanted
        type_ = FunctionType((), () if wanted is None else (wanted,))
        if not self.number(3):
            written = self.number(len(self.types))
            type_ = self.types[written]
        for operand in type_.parameters:
            self.expression(operand)
        if opcode == "if":
            self.expression("i32")
        self.emit(opcode, written, 0)
        self.labels.append(type_.parameters if opcode == "loop" else type_.results)
        self.loops.append(opcode == "loop")
        if opcode == "loop":
            self.burn()
        self.inside(type_)
        if opcode == "if" and (type_.parameters != type_.results or self.number(2)):
            self.emit("else", 0)
            self.inside(type_)
        self.emit("end")
        self.labels.pop()
        self.loops.pop()
        self.keep(type_.results, wanted)

    def inside(self, type_: FunctionType) -> None:
        self.keep(type_.parameters, None)
        for _ in range(self.number(3)):
            self.statement()
        for value in type_.results:
            self.expression(value)

    # -- no value

    def statement(self) -> None:
        if self.budget <= 0:
            self.emit("nop")
            return
        kinds: tuple[Callable[..., None], ...] = (
            *(self.set_local, self.set_local, self.set_global, self.store, self.store, self.drop),
            *(self.construct, self.construct, self.construct, self.bulk),
            *(self.calls() if not self.calm or not self.number(3) else ()),
            *(self.bulk, self.segments, self.segments, self.maybe_jump, self.nop),
        )
        self.pick(kinds)()

    def set_local(self) -> None:
        if self.locals:
            index = self.number(len(self.locals))
            self.expression(self.locals[index])
            self.emit("local.set", index)

    def set_global(self) -> None:
        index = FUEL_GLOBAL + 1 + self.number(len(self.globals) - FUEL_GLOBAL - 1)
        self.expression(self.globals[index])
        self.emit("global.set", index)

    def store(self) -> None:
        row = self.pick(_STORES)
        assert row.signature is not None
        self.small(0xFFFF)
        self.expression(row.signature.parameters[1])
        self.emit(row.name, self.number(row.width.bit_length()), self.number(16))

    def drop(self) -> None:
        self.expression(self.pick(VALUES))
        self.emit("drop")

    def nop(self) -> None:
        self.emit("nop")

    def bulk(self) -> None:
        opcode = self.pick(("memory.fill", "memory.copy", "memory.init"))
        self.small(0xFFFF)
        self.small(7 if opcode == "memory.init" else 0xFFFF)
        self.small(7)
        self.emit(opcode, *((self.number(DATA_SEGMENTS),) if opcode == "memory.init" else ()))

    def segments(self) -> None:
        opcode = self.pick(("data.drop", "elem.drop", "table.init", "table.copy"))
        if opcode.endswith("drop"):
            # Only now and then: what is dropped is of no use to anybody later.
            if not self.number(3):
                self.emit(opcode, self.number(2))
            return
        for _ in range(3):
            self.small(3)
        self.emit(
            opcode, *((self.number(ELEMENT_SEGMENTS), 0) if opcode == "table.init" else (0, 0))
        )

    def maybe_jump(self) -> None:
        """Conditionally, so that more of the code is alive."""
        self.expression("i32")
        self.emit("if", None, 0)
        self.labels.append(())
        self.loops.append(False)
        self.jump()
        self.emit("end")
        self.labels.pop()
        self.loops.pop()

    def jump(self) -> None:
        depth = self.depth()
        match self.number(4):
            case 0:
                for value in self.own.results:
                    self.leaf(value)
                self.emit("return")
            case 1:
                label = self.labels[-1 - depth]
                others = [
                    other for other, types in enumerate(reversed(self.labels)) if types == label
                ]
                for value in label:
                    self.leaf(value)
                self.small(3)
                depths = tuple(self.pick(others) for _ in range(self.number(4)))
                self.emit("br_table", depths, depth)
            case 2 if not self.number(4):
                self.emit("unreachable")
            case _:
                for value in self.labels[-1 - depth]:
                    self.leaf(value)
                self.emit("br", depth)


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """Drawn by hypothesis, which finds a small one if a test fails."""
    return draw_module(lambda count: draw(_below(count)))


@cache
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def draw_module(number: Number, functions: int | None = None, *, calm: bool = False) -> Module:
    """`functions` is how many it defines: two or three by default. What is calm seldom jumps, so
    that most of its code is executed.
    """

    def values(most: int) -> Types:
        return tuple(VALUES[number(len(VALUES))] for _ in range(number(most + 1)))

    types = [HOST_TYPE, FunctionType(), *(FunctionType(values(3), values(2)) for _ in range(3))]
    count = 2 + number(2) if functions is None else functions
    defined = [2 + number(len(types) - 2) for _ in range(count)]
    all_types = [0, *defined]
    globals_: Types = ("i32", *VALUES)
    code = []
    for place, index in enumerate(defined, 1):
        locals_ = values(4)
        given = (number, types, all_types, globals_, place, types[index], locals_, calm)
        code.append(Function(index, locals_, CodeDraw(*given).body()))
    elements = tuple(number(len(all_types)) for _ in range(6))
    return Module(
        types=tuple(types),
        imports=(Import("env", "host", "func", 0),),
        functions=(*code, Function(1, (), (*_const("i32", FUEL)[:-1], _SET_FUEL, _END))),
        tables=(TableType(Limits(TABLE_SIZE)),),
        memories=(MemoryType(Limits(1, 3)),),
        globals=tuple(Global(GlobalType(one, True), _const(one, 0)) for one in globals_),
        exports=(
            *(Export(f"f{place}", "func", place + 1) for place in range(len(code))),
            Export("refuel", "func", len(all_types)),
            Export("memory", "memory", 0),
            *(Export(f"g{place}", "global", place) for place in range(len(globals_))),
        ),
        elements=(
            Element("active", elements, 0, _const("i32", number(4))),
            Element("passive", (*elements[::-1], None)),
        ),
        data=(
            Data("passive", b"passive!"),
            Data("active", bytes(range(200, 256)), 0, _const("i32", number(64))),
        ),
    )


_END = Instruction("end")
_SET_FUEL = Instruction("global.set", (FUEL_GLOBAL,))


def _const(type_: ValueType, value: int) -> tuple[Instruction, ...]:
    return Instruction(f"{type_}.const", (value,)), _END
