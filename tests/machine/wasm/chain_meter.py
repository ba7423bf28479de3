"""Measures what modules are made of: which pairs of instructions, with which kinds of operand.

It reads any valid module, whoever drew it, and follows the operand stack of each function, so that
it is known of every operand which instruction left it there. See `chain_table` for the terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from curta.machine.wasm import ValueType
from curta.machine.wasm.module import FunctionType, Instruction, Module
from curta.machine.wasm.opcodes import OPCODES
from tests.machine.wasm.chain_table import Item, Pair, Slot, items, pairs

WRITTEN = " written since"
ENDING = ("br", "br_table", "return", "unreachable")
"""What follows them is dead."""


@dataclass(slots=True)
class Operand:
    """A value on the stack."""

    type: ValueType
    producer: str
    kind: str
    operands: Sequence[Operand] = ()
    place: int = -1
    """The index of the local or global that it was read from."""


@dataclass
class Label:
    """A construct: what branches to it carry, what it leaves, and the stack's height below it."""

    carried: Sequence[ValueType]
    type: FunctionType
    height: int
    opcode: str
    condition: Sequence[Operand] = ()
    """What an `if` was decided by."""


@dataclass
class Meter:
    """Reads modules; `found` counts what there was of each item."""

    found: Counter[Item] = field(default_factory=Counter)
    modules: int = 0
    functions: int = 0
    instructions: int = 0

    def read(self, module: Module) -> None:
        self.modules += 1
        for function in module.functions:
            self.functions += 1
            self.instructions += len(function.body)
            type_ = module.types[function.type_index]
            _Walk(self.found, module, type_, function.locals).run(function.body)

    def share(self, of: Iterable[Pair]) -> tuple[int, int]:
        """How many of the pairs' items were found, and how many there are."""
        wanted = {item for pair in of for item in items(pair)}
        return len(wanted & self.found.keys()), len(wanted)

    def missing(self, of: Iterable[Pair]) -> list[Item]:
        return [item for pair in of for item in items(pair) if item not in self.found]

    def report(self) -> str:
        """A small table: the share of pairs, and that of their operands' kinds."""
        table = pairs()
        names = {item[:3] for item in self.found}
        drawn = sum((p.producer.name, p.consumer.name, p.position) in names for p in table)
        by_kind: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for pair in table:
            for item in items(pair):
                wanted[item.kind] += 1
                by_kind[item.kind] += item in self.found
        rows = [
            f"{self.modules:,} modules, {self.functions:,} functions, "
            f"{self.instructions:,} instructions",
            f"{'pairs of instructions':28}{drawn:9,} of {len(table):9,} {drawn / len(table):6.1%}",
        ]
        for kind, count in wanted.items():
            rows.append(
                f"{'  ' + (kind or 'no other operand'):28}{by_kind[kind]:9,} of {count:9,} "
                f"{by_kind[kind] / count:6.1%}"
            )
        return "\n".join(rows)


@dataclass
class _Walk:
    """One function, from its first instruction to its last."""

    found: Counter[Item]
    module: Module
    type: FunctionType
    declared: Sequence[ValueType]
    stack: list[Operand] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    dead: int = 0
    """How many constructs deep the walk is in dead code, from the first on; 0 in live code."""

    def __post_init__(self) -> None:
        self.locals = (*self.type.parameters, *self.declared)
        imported = self.module.imported("global")
        self.globals = [
            *(entry.description.value for entry in imported),
            *(entry.type.value for entry in self.module.globals),
        ]
        self.functions = self.module.index_spaces().functions

    def run(self, body: Sequence[Instruction]) -> None:
        self.labels.append(Label(self.type.results, self.type, 0, "function"))
        for instruction in body:
            if self.dead:
                self.skip(instruction)
            else:
                self.live(instruction)

    def skip(self, instruction: Instruction) -> None:
        match instruction.opcode:
            case "block" | "loop" | "if":
                self.dead += 1
            case "end":
                self.dead -= 1
                if not self.dead:
                    self.end()
            case "else" if self.dead == 1:
                self.dead = 0
                self.otherwise()

    def live(self, instruction: Instruction) -> None:
        name = instruction.opcode
        row = OPCODES[name]
        match name:
            case "block" | "loop" | "if":
                self.construct(instruction)
            case "else":
                self.otherwise()
            case "end":
                if len(self.labels) == 1:
                    self.take(self.type.results, "return")
                self.end()
            case "br" | "br_if" | "br_table":
                self.branch(instruction)
            case "return":
                self.take(self.type.results, "return")
            case "drop":
                self.stack.pop()
            case "select":
                type_ = self.stack[-2].type
                self.apply(f"select {type_}", (type_, type_, "i32"), (type_,))
            case "call":
                type_ = self.module.types[self.functions[instruction.operands[0]]]
                self.call(name, type_, ())
            case "call_indirect":
                self.call(name, self.module.types[instruction.operands[0]], ("i32",))
            case _ if name.startswith(("local.", "global.")):
                self.variable(name, instruction.operands[0])
            case _ if row.signature is not None:
                self.apply(name, row.signature.parameters, row.signature.results)
        if name in ENDING:
            self.dead = 1

    # -- what instructions do to the stack

    def take(self, types: Sequence[ValueType], consumer: str) -> list[Operand]:
        """Pops the operands of a step; a step of several values is as many steps of one."""
        count = len(types)
        operands = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        if consumer == "return":
            for operand in operands:
                self.record(operand, f"return {operand.type}", 0, ())
        else:
            for at, operand in enumerate(operands):
                self.record(operand, consumer, at, operands)
        return operands

    def record(
        self, value: Operand, consumer: str, position: int, operands: Sequence[Operand]
    ) -> None:
        others = [(Slot("producer", at), one.kind) for at, one in enumerate(value.operands)]
        others += [
            (Slot("consumer", at), one.kind) for at, one in enumerate(operands) if at != position
        ]
        for slot, kind in others or [(None, "")]:
            self.found[Item(value.producer, consumer, position, slot, kind)] += 1

    def apply(
        self, name: str, parameters: Sequence[ValueType], results: Sequence[ValueType]
    ) -> None:
        operands = self.take(parameters, name)
        for type_ in results:
            self.stack.append(Operand(type_, name, kind_of(name, operands), operands))

    def call(self, name: str, type_: FunctionType, more: Sequence[ValueType]) -> None:
        """All globals may be others afterwards."""
        step = f"{name} {type_.results[0]}" if len(type_.results) == 1 else name
        self.apply(step, (*type_.parameters, *more), type_.results)
        for operand in self.stack[: len(self.stack) - len(type_.results)]:
            if operand.kind == "global":
                operand.kind += WRITTEN

    def variable(self, name: str, place: int) -> None:
        scope, action = name.split(".")
        type_ = (self.locals if scope == "local" else self.globals)[place]
        step = f"{name} {type_}"
        if action == "get":
            self.stack.append(Operand(type_, step, scope, (), place))
            return
        operands = self.take((type_,), step)
        for operand in self.stack:
            if operand.kind == scope and operand.place == place:
                operand.kind += WRITTEN
        if action == "tee":
            self.stack.append(Operand(type_, step, "kept and used again", operands))

    # -- constructs

    def construct(self, instruction: Instruction) -> None:
        name = instruction.opcode
        type_ = self.module.block_type(instruction.operands[0])
        condition: Sequence[Operand] = ()
        if name == "if":
            condition = self.take(("i32",), f"if {type_.results[0]}" if type_.results else "br_if")
        carried = type_.parameters if name == "loop" else type_.results
        height = len(self.stack) - len(type_.parameters)
        self.labels.append(Label(carried, type_, height, name, condition))

    def otherwise(self) -> None:
        label = self.labels[-1]
        del self.stack[label.height :]
        for type_ in label.type.parameters:
            self.stack.append(Operand(type_, "block", "computed"))

    def end(self) -> None:
        label = self.labels.pop()
        del self.stack[label.height :]
        name = "if" if label.opcode == "if" else "block"
        for type_ in label.type.results:
            self.stack.append(Operand(type_, f"{name} {type_}", "computed", label.condition))

    def branch(self, instruction: Instruction) -> None:
        name = instruction.opcode
        if name == "br":
            return
        label = self.labels[-1 - (instruction.operands[0] if name == "br_if" else 0)]
        if name == "br_if" and len(label.carried) == 1:
            (type_,) = label.carried
            self.apply(f"br_if {type_}", (type_, "i32"), (type_,))
        else:
            self.take(("i32",), name)


def kind_of(name: str, operands: Sequence[Operand]) -> str:
    """Of what an instruction leaves."""
    compared = ("eq", "ne", "lt", "gt", "le", "ge")
    suffix = name.partition(".")[2]
    if suffix == "const":
        return "constant"
    if suffix.split("_")[0] in (*compared, "eqz"):
        return "comparison"
    if name.startswith(("call", "call_indirect")):
        return "called"
    if ".load" in name:
        return {"s": "sign-extended", "u": "zero-extended"}.get(suffix[-1], "loaded")
    if suffix.startswith(("extend", "convert_i32")):
        if operands and operands[0].kind == "comparison":
            return "comparison"
        return "zero-extended" if name.endswith("_u") else "sign-extended"
    return "computed"
