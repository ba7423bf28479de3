"""Modules that go through pairs of instructions: each function is one chain.

A function takes two numbers of each integer type, and if it has to do with floats, their bits. It
gives the value of the chain, the locals that were written on the way, and perhaps a value that lay
on the stack below it all; floats as bits, so that no NaN passes through a host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from curta.machine.wasm import ValueType
from curta.machine.wasm.module import (
    Data,
    Element,
    Export,
    Function,
    FunctionType,
    Global,
    GlobalType,
    Instruction,
    Limits,
    MemoryType,
    Module,
    TableType,
)
from curta.machine.wasm.opcodes import OPCODES
from tests.machine.wasm.chain_nodes import Node, carries
from tests.machine.wasm.chain_table import KINDS, Step
from tests.machine.wasm.random_modules import CONSTANTS, VALUES

Arguments = tuple[int, ...]
INTEGER_PARAMETERS: tuple[ValueType, ...] = ("i32", "i32", "i64", "i64")
CARRIERS: dict[ValueType, ValueType] = {"i32": "i32", "i64": "i64", "f32": "i32", "f64": "i64"}
SMALL = 48
"""Addresses and offsets below it are those that constants have."""
TURNS = 5
"""How often a loop goes round at most."""

_EDGES = {
    "i32": (0, 1, 2, 7, 31, 32, 63, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    "i64": (
        *(0, 1, 2, 31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32),
        *((1 << 32) + 1, 0xFFFFFFFF00000000, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
        *((1 << 64) - 2, 0x123456789ABCDEF, 0xFFFFFFFF80000000),
    ),
    "f32": (
        *(0, 1 << 31, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF000000, 0x40490FDB, 0x4B7FFFFF),
        *(0x4F000000, 0xCF000000, 0x5F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0xFFC00000),
    ),
    "f64": (
        *(0, 1 << 63, 1, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000),
        *(0xBFE0000000000000, 0x400921FB54442D18, 0x41DFFFFFFFC00000, 0xC1E0000000000000),
        *(0x43E0000000000000, 0xC3E0000000000000, 0x43F0000000000000, 0x7FEFFFFFFFFFFFFF),
        *(0x7FF0000000000000, 0xFFF0000000000000, 0xFFF8000000000000, 0x47EFFFFFE0000000),
    ),
}
"""Of NaNs only the one that x86-64 makes: which of two NaNs a sum is, is the compiler's choice."""
_ONES = {"f32": (0x40600000, 0xC0100000), "f64": (0x400C000000000000, 0xC002000000000000)}
_CARRYING = {
    "i32": (1, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000001),
    "i64": (0xFFFFFFFF, 0x1FFFFFFFF, 0xFFFFFFFFFFFFFFFE, 0x80000000_80000001),
}
_ARITHMETIC = {
    "i32": ("add", "sub", "mul", "xor", "or", "shl", "shr_u", "rotl"),
    "i64": ("add", "sub", "mul", "xor", "or", "shl", "shr_u", "shr_s", "rotl", "rotr"),
    "f32": ("add", "mul", "sub"),
    "f64": ("add", "mul", "sub"),
}
_COMPARISONS = {
    type_: tuple(
        row.name
        for row in OPCODES.values()
        if row.signature and row.signature.parameters == (type_, type_) and 0x45 <= row.code < 0x67
    )
    for type_ in VALUES
}


@dataclass
class ChainFunction:
    """Writes the code of one chain."""

    node: Node
    random: Random
    code: list[Instruction] = field(default_factory=list)
    locals: list[ValueType] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    depth: int = 0
    """Of constructs, in the code so far."""
    targets: list[tuple[Node, int]] = field(default_factory=list)
    """Branches that carry a value, and the depth inside the block that they carry it out of."""

    def __post_init__(self) -> None:
        self.floats = bool(self.node.types() & {"f32", "f64"})
        self.parameters = INTEGER_PARAMETERS * (1 + self.floats)
        self.places: dict[ValueType, tuple[int, ...]] = {"i32": (0, 1), "i64": (2, 3)}
        if self.floats:
            for first, type_ in ((4, "f32"), (6, "f64")):
                self.places[type_] = self.local(type_), self.local(type_)
                for at, place in enumerate(self.places[type_], first):
                    self.emit("local.get", at)
                    self.emit(f"{type_}.reinterpret_{CARRIERS[type_]}")
                    self.emit("local.set", place)
        self.results = self.body()

    def emit(self, opcode: str, *operands: Any) -> None:
        self.code.append(Instruction(opcode, operands))
        self.depth += (opcode in ("block", "loop", "if")) - (opcode == "end")

    def local(self, type_: ValueType) -> int:
        self.locals.append(type_)
        return len(self.parameters) + len(self.locals) - 1

    def body(self) -> tuple[ValueType, ...]:
        results: list[ValueType] = []
        if self.random.random() < 0.3:  # something lies on the stack all the while
            kept = self.random.choice(("i32", "i64"))
            self.computed(kept)
            results.append(kept)
        results += self.step(self.node)
        for place in dict.fromkeys(self.written[:8]):
            self.emit("local.get", place)
            results.append(self.bits((*self.parameters, *self.locals)[place]))
        if self.random.random() < 0.2:
            self.emit("return")
        self.emit("end")
        return tuple(results)

    def bits(self, type_: ValueType) -> ValueType:
        """Makes an integer of the value on top of the stack."""
        if type_ != CARRIERS[type_]:
            self.emit(f"{CARRIERS[type_]}.reinterpret_{type_}")
        return CARRIERS[type_]

    def step(self, node: Node) -> list[ValueType]:
        """The outermost step, and what shows its effect; the types of that."""
        name = node.step.opcode
        self.value(node)
        if name == "return":
            return [self.bits(node.step.type)]
        if node.step.results:
            return [self.bits(node.step.results[0])]
        if ".store" in name:
            self.emit("i32.const", self.random.randrange(SMALL))
            self.emit("i64.load", 0, 0)
            return ["i64"]
        if name == "global.set":
            self.emit("global.get", VALUES.index(node.step.type))
            return [self.bits(node.step.type)]
        return []

    def value(self, node: Node | str, type_: ValueType | None = None) -> None:
        if isinstance(node, str):
            assert type_ is not None
            self.operand(node, type_)
            return
        name, step = node.step.opcode, node.step
        carried = [one for one in node.operands if carries(one)]
        if carried and not any(carried[0] is target for target, _ in self.targets):
            self.around_branch(node, carried[0])
            return
        match name:
            case "if":
                self.if_else(node)
            case "br_table":
                self.branch_table(node)
            case "br_if":
                (self.branch_with_value if step.results else self.branch)(node)
            case _:
                self.operands(node)
                self.plain(step)

    def operands(self, node: Node) -> None:
        for operand, type_ in zip(node.operands, node.step.parameters, strict=True):
            self.value(operand, type_)

    def plain(self, step: Step) -> None:
        name = step.opcode
        row = OPCODES[name]
        if row.width:
            self.emit(name, self.random.randrange(row.width.bit_length()), self.offset())
        elif name.endswith(".const"):
            self.constant(step.results[0])
        elif name in ("local.get", "local.set", "local.tee"):
            place = self.random.choice(self.places[step.type])
            self.emit(name, place)
            if name != "local.get":
                self.written.append(place)
        elif name in ("global.get", "global.set"):
            self.emit(name, VALUES.index(step.type))
        elif name == "call":
            self.emit("call", VALUES.index(step.type))
        elif name == "call_indirect":
            self.emit(name, VALUES.index(step.type), 0)
        elif name != "return":
            self.emit(name)

    # -- steps with more code around them

    def if_else(self, node: Node) -> None:
        self.operands(node)
        type_ = node.step.type
        self.emit("if", type_, 0)
        self.operand(self.random.choice(KINDS), type_)
        self.emit("else", 0)
        self.operand(self.random.choice(KINDS), type_)
        self.emit("end")

    def around_branch(self, node: Node, branch: Node) -> None:
        """A branch that is not taken leaves its value to the step, which is all in its block."""
        type_ = branch.step.type
        self.emit("block", type_, 0)
        self.targets.append((branch, self.depth))
        self.value(node)
        self.targets.pop()
        results = [self.keep(result) for result in node.step.results]
        self.operand(self.random.choice(KINDS), type_)
        self.emit("end")
        self.keep(type_)
        for place in results:
            self.emit("local.get", place)

    def keep(self, type_: ValueType) -> int:
        """A local that has the value on top of the stack."""
        place = self.local(type_)
        self.written.append(place)
        self.emit("local.set", place)
        return place

    def branch_with_value(self, node: Node) -> None:
        type_ = node.step.type
        for target, depth in self.targets:
            if target is node:
                self.operands(node)
                self.emit("br_if", self.depth - depth)
                return
        self.emit("block", type_, 0)
        self.operands(node)
        self.emit("br_if", 0)
        if self.random.random() < 0.5:
            self.emit("drop")
            self.operand(self.random.choice(KINDS), type_)
        self.emit("end")

    def branch(self, node: Node) -> None:
        """Forwards over a change, or backwards a few times."""
        count = self.local("i32")
        self.written.append(count)
        if self.random.random() < 0.5:
            self.emit("block", None, 0)
            self.operands(node)
            self.emit("br_if", 0)
            self.increase(count, 1)
            self.emit("end")
            return
        self.emit("block", None, 0)
        self.emit("loop", None, 0)
        self.increase(count, 1)
        self.emit("local.get", count)
        self.emit("i32.const", TURNS)
        self.emit("i32.gt_u")
        self.emit("br_if", 1)
        self.operands(node)
        self.emit("br_if", 0)
        self.emit("end")
        self.emit("end")

    def branch_table(self, node: Node) -> None:
        count = self.local("i32")
        self.written.append(count)
        for _ in range(3):
            self.emit("block", None, 0)
        self.operands(node)
        self.emit("br_table", tuple(self.random.randrange(3) for _ in range(4)), 1)
        for number in range(3):
            self.emit("end")
            self.increase(count, 4**number)

    def increase(self, place: int, by: int) -> None:
        for name, operand in (("local.get", place), ("i32.const", by)):
            self.emit(name, operand)
        self.emit("i32.add")
        self.emit("local.set", place)

    # -- operands of each kind

    def operand(self, kind: str, type_: ValueType) -> None:
        OPERANDS[kind](self, type_)

    def read(self, type_: ValueType) -> int:
        place = self.random.choice(self.places[type_])
        self.emit("local.get", place)
        return place

    def constant(self, type_: ValueType) -> None:
        values = _EDGES[type_] if self.random.random() < 0.6 else CONSTANTS[type_]
        if type_ == "i32" and self.random.random() < 0.3:
            values = range(SMALL)
        self.emit(f"{type_}.const", self.random.choice(values))

    def offset(self) -> int:
        return self.random.choice((0, 0, 1, 8, SMALL))

    def load(self, name: str) -> None:
        self.emit("i32.const", self.random.randrange(SMALL))
        self.emit(name, 0, self.offset())

    def extended(self, type_: ValueType, letter: str) -> None:
        """A number that is known to have fewer bits than its type."""
        if type_[0] == "f":
            self.read("i32")
            self.emit(f"{type_}.convert_i32_{letter}")
            return
        widths = ("8", "16") if type_ == "i32" else ("8", "16", "32")
        choice = self.random.randrange(4)
        if choice > 1 and type_ == "i64":
            self.read("i32")
            self.emit(f"i64.extend_i32_{letter}")
        elif choice and letter == "s":
            self.read(type_)
            self.emit(f"{type_}.extend{self.random.choice(widths)}_s")
        else:
            self.load(f"{type_}.load{self.random.choice(widths)}_{letter}")

    def zero_extended(self, type_: ValueType) -> None:
        self.extended(type_, "u")

    def sign_extended(self, type_: ValueType) -> None:
        self.extended(type_, "s")

    def comparison(self, type_: ValueType) -> None:
        kind = self.random.choice(tuple(self.places))
        self.read(kind)
        self.read(kind)
        self.emit(self.random.choice(_COMPARISONS[kind]))
        if type_ == "i64":
            self.emit(f"i64.extend_i32_{self.random.choice('us')}")
        elif type_ != "i32":
            self.emit(f"{type_}.convert_i32_{self.random.choice('us')}")

    def of_local(self, type_: ValueType) -> None:
        self.read(type_)

    def of_written_local(self, type_: ValueType) -> None:
        place = self.read(type_)
        self.computed(type_)
        self.emit("local.set", place)
        self.written.append(place)

    def of_global(self, type_: ValueType) -> None:
        self.emit("global.get", VALUES.index(type_))

    def of_written_global(self, type_: ValueType) -> None:
        self.of_global(type_)
        if self.random.random() < 0.5:
            self.called(type_)
            self.emit("drop")
        else:
            self.computed(type_)
            self.emit("global.set", VALUES.index(type_))

    def loaded(self, type_: ValueType) -> None:
        self.load(f"{type_}.load")

    def computed(self, type_: ValueType) -> None:
        self.read(type_)
        self.read(type_)
        self.emit(f"{type_}.{self.random.choice(_ARITHMETIC[type_])}")

    def kept(self, type_: ValueType) -> None:
        place = self.local(type_)
        self.computed(type_)
        self.emit("local.tee", place)
        self.written.append(place)

    def called(self, type_: ValueType) -> None:
        self.read(type_)
        self.read(type_)
        self.emit("call", VALUES.index(type_))


OPERANDS: dict[str, Callable[[ChainFunction, ValueType], None]] = dict(
    zip(
        KINDS,
        (
            ChainFunction.constant,
            ChainFunction.zero_extended,
            ChainFunction.sign_extended,
            ChainFunction.comparison,
            ChainFunction.of_local,
            ChainFunction.of_written_local,
            ChainFunction.of_global,
            ChainFunction.of_written_global,
            ChainFunction.loaded,
            ChainFunction.computed,
            ChainFunction.kept,
            ChainFunction.called,
        ),
        strict=True,
    )
)


# -- modules


def chain_module(nodes: Iterable[Node], random: Random) -> Module:
    """One exported function, "f0", "f1", ..., for each chain."""
    functions = [ChainFunction(node, random) for node in nodes]
    types = [FunctionType((type_, type_), (type_,)) for type_ in VALUES]
    code = [Function(at, (), _callee(type_)) for at, type_ in enumerate(VALUES)]
    for function in functions:
        type_ = FunctionType(function.parameters, function.results)
        if type_ not in types:
            types.append(type_)
        code.append(Function(types.index(type_), tuple(function.locals), tuple(function.code)))
    indirect = any(one.opcode == "call_indirect" for function in functions for one in function.code)
    return Module(
        types=tuple(types),
        functions=tuple(code),
        tables=(TableType(Limits(16)),) if indirect else (),
        memories=(MemoryType(Limits(1, 3)),),
        globals=tuple(
            Global(GlobalType(type_, True), _constant(type_, CONSTANTS[type_][5]))
            for type_ in VALUES
        ),
        exports=(
            *(Export(f"f{at}", "func", at + len(VALUES)) for at in range(len(functions))),
            Export("memory", "memory", 0),
        ),
        elements=(
            (Element("active", (0, 1, 2, 3, 0, 1, 2, 3), 0, _constant("i32", 0)),)
            if indirect
            else ()
        ),
        data=(Data("active", bytes(range(1, 250, 2)), 0, _constant("i32", 0)),),
    )


def _constant(type_: ValueType, value: int) -> tuple[Instruction, ...]:
    return Instruction(f"{type_}.const", (value,)), Instruction("end")


def _callee(type_: ValueType) -> tuple[Instruction, ...]:
    """Leaves one of its arguments in the global of its type, and gives a mixture of both."""
    mixing = f"{type_}.sub" if type_[0] == "i" else f"{type_}.copysign"
    return (
        Instruction("local.get", (1,)),
        Instruction("global.set", (VALUES.index(type_),)),
        Instruction("local.get", (0,)),
        Instruction("local.get", (1,)),
        Instruction(mixing),
        Instruction("end"),
    )


def draw_arguments(parameters: Sequence[ValueType], random: Random, number: int) -> Arguments:
    """Small numbers first, that are good addresses; then those that carry; then edges, and now and
    then anything.
    """
    drawn = []
    for at, carrier in enumerate(parameters):
        type_ = carrier if at < 4 else "f" + carrier[1:]
        if number == 0:
            drawn.append(_ONES[type_][at % 2] if type_ in _ONES else random.randrange(1, SMALL))
        elif number == 1 and type_ in _CARRYING:
            drawn.append(random.choice(_CARRYING[type_]))
        elif random.random() < 0.15:
            drawn.append(random.getrandbits(int(type_[1:])))
        else:
            drawn.append(random.choice(_EDGES[type_]))
    return tuple(drawn)
