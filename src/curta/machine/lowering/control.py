"""Constructs, branches, calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from curta.machine.instructions import MEMORY_PAGES, TRAPS
from curta.machine.layout import ENTRY_BYTES, TABLE
from curta.machine.lowering.builder import Builder, Join, To, Values
from curta.machine.lowering.code import Return, words
from curta.machine.lowering.conditions import branch, pop_condition
from curta.machine.lowering.natives import call_native
from curta.machine.lowering.rules import Operation
from curta.machine.wasm.module import BlockType

UNREACHABLE = TRAPS.index("unreachable")
UNDEFINED = TRAPS.index("undefined element")
UNINITIALIZED = TRAPS.index("uninitialized element")
MISMATCH = TRAPS.index("indirect call type mismatch")


@dataclass(frozen=True, slots=True)
class Construct:
    """A block, loop or if that is open. Branches bring `arity` words to its label."""

    join: Join
    arity: int
    results: int
    is_loop: bool = False
    other: To | None = None
    """Where an if goes on when its condition does not hold, if it has an else."""


@dataclass(frozen=True, slots=True)
class Change:
    """What may change in a construct: words of locals, shared registers."""

    locals: set[int]
    registers: set[int]


class Constructs:
    """The constructs that are open, what is assigned within loops, and ways out of the function."""

    def __init__(self, b: Builder) -> None:
        self.open: list[Construct] = []
        self.changes = find_changes(b)
        self.returns: dict[Values, Join] = {}
        """Where certain values are given back."""
        self.traps: dict[int, Join] = {}

    def trap(self, b: Builder, number: int) -> To:
        """To where the function traps."""
        if number not in self.traps:
            self.traps[number] = b.new_join()
        return To(self.traps[number])

    def give_back(self, b: Builder, values: Values) -> To:
        """To where the function returns."""
        if values not in self.returns:
            self.returns[values] = b.new_join()
        return To(self.returns[values])

    def target(self, b: Builder, depth: int) -> To:
        """Where a branch leads, with the values on the stack."""
        if depth == len(self.open):
            return self.give_back(b, _top(b, b.code.results))
        construct = self.open[-1 - depth]
        return To(construct.join, _top(b, construct.arity))


def _top(b: Builder, count: int) -> Values:
    return tuple(b.stack[len(b.stack) - count :])


def find_changes(b: Builder) -> dict[int, Change]:
    """What may change in each construct, by its index."""
    found: dict[int, Change] = {}
    open_ = [Change(set(), set())]
    context = b.context
    for index, instruction in enumerate(b.body):
        match instruction.opcode:
            case "block" | "loop" | "if":
                open_.append(Change(set(), set()))
                found[index] = open_[-1]
            case "end" if len(open_) > 1:
                inner = open_.pop()
                open_[-1].locals.update(inner.locals)
                open_[-1].registers.update(inner.registers)
            case "local.set" | "local.tee":
                open_[-1].locals.update(b.local_words[instruction.operands[0]])
            case "global.set":
                open_[-1].registers.update(context.global_registers[instruction.operands[0]])
            case "call" | "call_indirect" | "data.drop" | "elem.drop":
                open_[-1].registers.update(context.mutable)
            case "memory.grow":
                open_[-1].registers.add(MEMORY_PAGES)
    return found


# -- constructs -----------------------------------------------------------------------------------


def enter(b: Builder, constructs: Constructs, written: BlockType, going_on: int) -> None:
    """block, loop, if."""
    opcode = b.body[b.index].opcode
    type_ = b.context.module.block_type(written)
    takes, gives = words(type_.parameters), words(type_.results)
    if opcode == "loop":
        change = constructs.changes[b.index]
        loop = b.begin_loop(tuple(sorted(change.locals)), change.registers, takes)
        constructs.open.append(Construct(loop, takes, gives, is_loop=True))
        return
    condition = pop_condition(b) if opcode == "if" else None
    arguments = b.pop_words(takes)
    join = b.new_join()
    if condition is None:
        constructs.open.append(Construct(join, gives, gives))
        b.stack += arguments
        return
    inside = To(b.new_join(), arguments)
    has_else = b.body[going_on].opcode == "else"
    other = To(b.new_join() if has_else else join, arguments)
    branch(b, condition, inside, other)
    b.stack += b.begin(inside.join, after=1)
    constructs.open.append(Construct(join, gives, gives, other=other if has_else else None))


def otherwise(b: Builder, constructs: Constructs, _: int) -> None:
    """else."""
    construct = constructs.open[-1]
    assert construct.other is not None  # it was an if
    if b.live:
        b.jump(construct.join, *b.pop_words(construct.results))
    b.stack += b.begin(construct.other.join, after=1)


def leave(b: Builder, constructs: Constructs) -> None:
    """end."""
    if not constructs.open:
        finish(b, constructs)
        return
    construct = constructs.open.pop()
    if construct.is_loop:
        return
    if b.live:
        b.jump(construct.join, *b.pop_words(construct.results))
    values = b.begin(construct.join, after=1)
    b.push(*values)


def finish(b: Builder, constructs: Constructs) -> None:
    """The end of the function."""
    if b.live:
        return_(b, constructs)
    for values, join in constructs.returns.items():
        b.begin_end(join)
        b.end(Return(values, b.place))
    for number, join in constructs.traps.items():
        b.begin_end(join, rare=True)
        b.trap(number)


# -- branches -------------------------------------------------------------------------------------


def return_(b: Builder, _: Constructs) -> None:
    b.end(Return(_top(b, b.code.results), b.place))


def br(b: Builder, constructs: Constructs, depth: int) -> None:
    if depth == len(constructs.open):
        return_(b, constructs)
        return
    to = constructs.target(b, depth)
    b.jump(to.join, *to.values)


def br_if(b: Builder, constructs: Constructs, depth: int) -> None:
    condition = pop_condition(b)
    if not isinstance(condition, Operation):
        if b.word(condition):
            br(b, constructs, depth)
        return
    past = b.new_join()
    branch(b, condition, constructs.target(b, depth), To(past))
    b.begin(past, after=1)


def br_table(b: Builder, constructs: Constructs, depths: tuple[int, ...], default: int) -> None:
    index = b.pop()
    word = b.word(index)
    if word is not None or not depths:
        br(b, constructs, depths[word] if word is not None and word < len(depths) else default)
        return
    ways = [constructs.target(b, depth) for depth in (*depths, default)]
    if len(ways) == 2 and depths[0] != default:
        branch(b, Operation("eq", (index, b.constant(0))), ways[0], ways[1])
    elif len(ways) == 2:
        br(b, constructs, default)
    else:
        b.table(index, ways)


def unreachable(b: Builder, _: Constructs) -> None:
    b.trap(UNREACHABLE)


# -- calls ----------------------------------------------------------------------------------------


def call(b: Builder, _: Constructs, index: int) -> None:
    callee = b.context.callee(index)
    if isinstance(callee, str):
        call_native(b, callee)
        return
    type_ = b.context.functions[index]
    b.call(callee, words(type_.parameters), words(type_.results))


def call_indirect(b: Builder, constructs: Constructs, type_index: int, _: int) -> None:
    context = b.context
    type_ = context.module.types[type_index]
    index = b.pop()
    within, right, wrong = (To(b.new_join()) for _ in range(3))
    outside = Operation("ge_u", (index, b.constant(context.table_size)))
    branch(b, outside, constructs.trap(b, UNDEFINED), within, rare=1)
    b.begin(within.join)
    if not b.live:
        return
    entry = b.value("shl", index, b.constant(ENTRY_BYTES.bit_length() - 1))
    signature = b.load("peek32", entry, TABLE)
    expected = b.constant(context.signatures[type_] + 1)
    branch(b, Operation("ne", (signature, expected)), wrong, right, rare=1)
    b.begin(wrong.join, rare=True)
    null = Operation("eq", (signature, b.constant(0)))
    branch(b, null, constructs.trap(b, UNINITIALIZED), constructs.trap(b, MISMATCH))
    b.begin(right.join)
    pointer = b.load("peek32", entry, TABLE + 4)
    b.call(None, words(type_.parameters), words(type_.results), pointer)


CONTROL: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("block", "loop", "if"), enter),
    "else": otherwise,
    "end": leave,
    "br": br,
    "br_if": br_if,
    "br_table": br_table,
    "return": return_,
    "unreachable": unreachable,
    "call": call,
    "call_indirect": call_indirect,
}
"""What the instructions do that need to know of the constructs around them."""
