"""Validation of function bodies, and what it finds out that a compiler needs.

One walk with a stack of operand types and a stack of control frames, as the specification's
appendix describes it. After a branch that is always taken the stack is polymorphic: it yields
whatever type is asked for. The operand stack is a chain of pairs (rest, type), so that it can be
put back as it was without copying it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from curta.errors import InvalidModuleError
from curta.machine.wasm import ValueType
from curta.machine.wasm.module import FunctionType, IndexSpaces, Instruction, Module
from curta.machine.wasm.opcodes import MEMORY_ACCESSES, OPCODES, Space

Types = tuple[ValueType, ...]
Chain = tuple[Any, ValueType | None] | None
"""(what lies below, the type on top; None for a type that is not known in dead code)."""


@dataclass(frozen=True, slots=True)
class Branch:
    """What taking a branch does: the top `arity` operands are moved down so that they lie on
    `height` others, and the instruction at index `target` is next. A target just behind the body
    returns from the function.
    """

    target: int
    arity: int
    height: int


Branches = dict[int, tuple[Branch, ...]]
"""The ways that a br, br_if, br_table (the default last) or return can take, by its index in the
body; of those that control can come by.
"""


@dataclass(slots=True)
class Frame:
    """A construct that is open. `chain` and `height` are the stack below it."""

    opcode: str
    type: FunctionType
    height: int
    chain: Chain
    target: int  # of branches to its label
    dead: bool  # nothing in it can be reached
    unreachable: bool = False

    @property
    def label(self) -> Types:
        return self.type.parameters if self.opcode == "loop" else self.type.results


class BodyValidator:
    """The state of the walk through one function."""

    def __init__(self, module: Module, spaces: IndexSpaces, index: int) -> None:
        self.module = module
        self.spaces = spaces
        self.index = index
        self.function = module.functions[index]
        self.type = module.types[self.function.type_index]
        self.locals = self.type.parameters + self.function.locals
        self.counts = {
            "func": len(spaces.functions),
            "type": len(module.types),
            "table": len(spaces.tables),
            "memory": len(spaces.memories),
            "global": len(spaces.globals),
            "data": len(module.data),
            "elem": len(module.elements),
            "local": len(self.locals),
        }
        self.chain: Chain = None
        self.height = 0
        self.frames = [Frame("func", self.type, 0, None, len(self.function.body), False)]
        self.at = 0
        self.branches: Branches = {}

    def run(self) -> Branches:
        signatures, rules = _SIGNATURES, _RULES
        for at, instruction in enumerate(self.function.body):
            self.at = at
            opcode = instruction.opcode
            if opcode in signatures:
                parameters, results = signatures[opcode]
                for expected in parameters:
                    self.pop(expected)
                for value in results:
                    self.chain = (self.chain, value)
                    self.height += 1
            if opcode in rules:
                rules[opcode](self, instruction)
        return self.branches

    # -- the operand stack

    def push(self, types: Types) -> None:
        for value in types:
            self.chain = (self.chain, value)
            self.height += 1

    def pop(self, expected: ValueType | None) -> ValueType | None:
        """The type on top, which has to be the expected one (None: any)."""
        frame = self.frames[-1]
        if self.height == frame.height:
            if frame.unreachable:
                return None
            wanted = f"{expected} expected" if expected else "a value expected"
            self.fail("type mismatch", f"{wanted}, nothing on the stack")
        assert self.chain is not None  # the height says so
        self.chain, got = self.chain
        self.height -= 1
        if got != expected and got is not None and expected is not None:
            self.fail("type mismatch", f"{expected} expected, {got} on the stack")
        return got

    def pop_all(self, types: Types) -> None:
        for expected in reversed(types):
            self.pop(expected)

    def require_top(self, types: Types) -> None:
        """The same check, leaving the stack as it is."""
        chain, height = self.chain, self.height
        self.pop_all(types)
        self.chain, self.height = chain, height

    def rest_is_dead(self) -> None:
        frame = self.frames[-1]
        frame.unreachable = True
        self.chain, self.height = frame.chain, frame.height

    # -- control

    def open(self, opcode: str, type_: FunctionType, target: int) -> None:
        outer = self.frames[-1]
        self.frames.append(
            Frame(opcode, type_, self.height, self.chain, target, outer.unreachable or outer.dead)
        )
        self.push(type_.parameters)

    def close(self) -> Frame:
        frame = self.frames[-1]
        self.pop_all(frame.type.results)
        if self.height != frame.height:
            surplus = self.height - frame.height
            self.fail("type mismatch", f"{surplus} more values on the stack than results")
        self.frames.pop()
        return frame

    def label(self, depth: int) -> Frame:
        if depth >= len(self.frames):
            self.fail("unknown label", f"depth {depth}, {len(self.frames)} constructs are open")
        return self.frames[-1 - depth]

    def branch_to(self, frames: list[Frame]) -> None:
        """Notes where the present instruction can lead to."""
        here = self.frames[-1]
        if not (here.unreachable or here.dead):
            self.branches[self.at] = tuple(
                Branch(frame.target, len(frame.label), frame.height) for frame in frames
            )

    # -- what indices refer to

    def require(self, space: Space, index: int) -> None:
        count = self.counts[space]
        if index >= count:
            owner = "function" if space == "local" else "module"
            what = _WORDS.get(space, space)
            self.fail(f"unknown {what}", f"index {index}, the {owner} has {count}")

    def fail(self, wording: str, detail: str) -> NoReturn:
        instruction = self.function.body[self.at]
        number = self.index + len(self.spaces.functions) - len(self.module.functions)
        raise InvalidModuleError(
            f"{wording}: {detail}; at {instruction.opcode}, instruction {self.at} of function "
            f"{self.module.function_name(number)} (at byte {instruction.offset})"
        )


_WORDS = {"func": "function", "data": "data segment", "elem": "elem segment"}


# -- one rule for each instruction that its signature does not describe in full -------------------


def _unreachable(body: BodyValidator, _: Instruction) -> None:
    body.rest_is_dead()


def _nop(_body: BodyValidator, _: Instruction) -> None:
    pass


def _construct(body: BodyValidator, instruction: Instruction) -> None:
    written, end = instruction.operands
    if isinstance(written, int):
        body.require("type", written)
    if instruction.opcode == "if":
        body.pop("i32")
        other = body.function.body[end]
        end = other.operands[0] if other.opcode == "else" else end
    type_ = body.module.block_type(written)
    body.pop_all(type_.parameters)
    target = body.at + 1 if instruction.opcode == "loop" else end + 1
    body.open(instruction.opcode, type_, target)


def _else(body: BodyValidator, _: Instruction) -> None:
    frame = body.close()
    body.chain, body.height = frame.chain, frame.height
    body.open("else", frame.type, frame.target)


def _end(body: BodyValidator, _: Instruction) -> None:
    frame = body.close()
    if frame.opcode == "if" and frame.type.parameters != frame.type.results:
        body.fail("type mismatch", f"an if without else cannot be of type {frame.type}")
    body.chain, body.height = frame.chain, frame.height
    body.push(frame.type.results)


def _br(body: BodyValidator, instruction: Instruction) -> None:
    frame = body.label(instruction.operands[0])
    body.require_top(frame.label)
    body.branch_to([frame])
    body.rest_is_dead()


def _br_if(body: BodyValidator, instruction: Instruction) -> None:
    frame = body.label(instruction.operands[0])
    body.pop("i32")
    body.branch_to([frame])
    body.pop_all(frame.label)
    body.push(frame.label)


def _br_table(body: BodyValidator, instruction: Instruction) -> None:
    depths, default = instruction.operands
    body.pop("i32")
    frames = [body.label(depth) for depth in (*depths, default)]
    arity = len(frames[-1].label)
    for label in dict.fromkeys(frame.label for frame in frames):
        if len(label) != arity:
            body.fail("type mismatch", "labels with different numbers of values")
        body.require_top(label)
    body.branch_to(frames)
    body.rest_is_dead()


def _return(body: BodyValidator, _: Instruction) -> None:
    body.require_top(body.type.results)
    body.branch_to([body.frames[0]])
    body.rest_is_dead()


def _call(body: BodyValidator, instruction: Instruction) -> None:
    index = instruction.operands[0]
    body.require("func", index)
    type_ = body.module.types[body.spaces.functions[index]]
    body.pop_all(type_.parameters)
    body.push(type_.results)


def _call_indirect(body: BodyValidator, instruction: Instruction) -> None:
    type_index, table = instruction.operands
    body.require("table", table)
    body.require("type", type_index)
    type_ = body.module.types[type_index]
    body.pop("i32")
    body.pop_all(type_.parameters)
    body.push(type_.results)


def _drop(body: BodyValidator, _: Instruction) -> None:
    body.pop(None)


def _select(body: BodyValidator, _: Instruction) -> None:
    body.pop("i32")
    first = body.pop(None)
    second = body.pop(first)
    body.chain = (body.chain, first or second)
    body.height += 1


def _local(body: BodyValidator, instruction: Instruction) -> None:
    index = instruction.operands[0]
    body.require("local", index)
    value = body.locals[index]
    if instruction.opcode != "local.get":
        body.pop(value)
    if instruction.opcode != "local.set":
        body.push((value,))


def _global(body: BodyValidator, instruction: Instruction) -> None:
    index = instruction.operands[0]
    body.require("global", index)
    type_ = body.spaces.globals[index]
    if instruction.opcode == "global.get":
        body.push((type_.value,))
        return
    if not type_.mutable:
        body.fail("global is immutable", f"global {index}")
    body.pop(type_.value)


def _access(body: BodyValidator, instruction: Instruction) -> None:
    body.require("memory", 0)
    width = OPCODES[instruction.opcode].width
    if 1 << instruction.operands[0] > width:
        body.fail(
            "alignment must not be larger than natural",
            f"2**{instruction.operands[0]} for {width} bytes",
        )


def _refer(body: BodyValidator, instruction: Instruction) -> None:
    """Tables and memories before segments; the number of the memory is no operand."""
    row = OPCODES[instruction.opcode]
    for space, index in reversed([*zip(row.indices, (*instruction.operands, 0), strict=False)]):
        body.require(space, index)


_RULES = {
    "unreachable": _unreachable,
    "nop": _nop,
    **dict.fromkeys(("block", "loop", "if"), _construct),
    "else": _else,
    "end": _end,
    "br": _br,
    "br_if": _br_if,
    "br_table": _br_table,
    "return": _return,
    "call": _call,
    "call_indirect": _call_indirect,
    "drop": _drop,
    "select": _select,
    **dict.fromkeys(("local.get", "local.set", "local.tee"), _local),
    **dict.fromkeys(("global.get", "global.set"), _global),
    **dict.fromkeys(MEMORY_ACCESSES, _access),
    **{name: _refer for name, row in OPCODES.items() if row.indices and row.signature},
}

# Parameters in the order in which they are popped.
_SIGNATURES = {
    name: (tuple(reversed(row.signature.parameters)), row.signature.results)
    for name, row in OPCODES.items()
    if row.signature
}
