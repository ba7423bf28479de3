"""Constructs, branches, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from curta.machine.instructions import MEMORY_PAGES, TRAPS
from curta.machine.layout import ENTRY_BYTES, TABLE
from curta.machine.lower.builder import Builder, Join, Loop, To
from curta.machine.lower.code import Return, Trap, words
from curta.machine.lower.conditions import branch, pop_condition
from curta.machine.lower.natives import call_native
from curta.machine.lower.rules import Operation
from curta.machine.wasm.module import BlockType

UNREACHABLE = TRAPS.index("unreachable")
UNDEFINED = TRAPS.index("undefined element")
UNINITIALIZED = TRAPS.index("uninitialized element")
MISMATCH = TRAPS.index("indirect call type mismatch")


class Construct(NamedTuple):
    """A block, loop or if that is open. Branches bring `arity` words to its label."""

    join: Join
    arity: int
    other: To | None = None
    """Where an if goes on when its condition does not hold, if it has an else."""


class Constructs:
    """The constructs that are open, and ways out of the function that branches share."""

    def __init__(self) -> None:
        self.open: list[Construct] = []
        self.out: dict[Return | Trap, Join] = {}

    def leave(self, b: Builder, end: Return | Trap) -> To:
        """To where the function returns or traps."""
        if end not in self.out:
            self.out[end] = b.new_join()
        return To(self.out[end])

    def target(self, b: Builder, depth: int) -> To:
        """Where a branch leads, with the values on the stack."""
        if depth == len(self.open):
            return self.leave(b, Return(b.top(b.code.results)))
        construct = self.open[-1 - depth]
        return To(construct.join, b.top(construct.arity))


def find_changes(b: Builder, last: int) -> tuple[set[int], set[int]]:
    """Words of locals, and shared registers, that instructions up to the last one may change."""
    locals_: set[int] = set()
    registers: set[int] = set()
    for opcode, operands in ((i.opcode, i.operands) for i in b.body[b.index : last]):
        match opcode:
            case "local.set" | "local.tee":
                locals_.update(b.local_words[operands[0]])
            case "global.set":
                registers.update(b.context.global_registers[operands[0]])
            case "call" | "call_indirect" | "data.drop" | "elem.drop":
                registers |= b.context.mutable
            case "memory.grow":
                registers.add(MEMORY_PAGES)
    return locals_, registers


# -- constructs -----------------------------------------------------------------------------------


def enter(b: Builder, constructs: Constructs, written: BlockType, going_on: int) -> None:
    """block, loop, if."""
    opcode = b.body[b.index].opcode
    type_ = b.context.module.block_type(written)
    takes, gives = words(type_.parameters), words(type_.results)
    if opcode == "loop":
        locals_, registers = find_changes(b, going_on)
        loop = b.begin_loop(tuple(sorted(locals_)), registers, takes)
        constructs.open.append(Construct(loop, takes))
        return
    condition = pop_condition(b) if opcode == "if" else None
    arguments = b.pop_words(takes)
    join = b.new_join()
    if condition is None:
        constructs.open.append(Construct(join, gives))
        b.stack += arguments
        return
    inside = To(b.new_join(), arguments)
    has_else = b.body[going_on].opcode == "else"
    other = To(b.new_join() if has_else else join, arguments)
    branch(b, condition, inside, other)
    b.stack += b.begin(inside.join, after=1)
    constructs.open.append(Construct(join, gives, other if has_else else None))


def otherwise(b: Builder, constructs: Constructs, _: int) -> None:
    """else."""
    construct = constructs.open[-1]
    assert construct.other is not None  # it was an if
    if b.live:
        b.jump(construct.join, *b.pop_words(construct.arity))
    b.stack += b.begin(construct.other.join, after=1)


def leave(b: Builder, constructs: Constructs) -> None:
    """end."""
    if not constructs.open:
        finish(b, constructs)
        return
    construct = constructs.open.pop()
    if isinstance(construct.join, Loop):
        return
    if b.live:
        b.jump(construct.join, *b.pop_words(construct.arity))
    b.push(*b.begin(construct.join, after=1))


def finish(b: Builder, constructs: Constructs) -> None:
    """The end of the function."""
    if b.live:
        return_(b, constructs)
    for end, join in constructs.out.items():
        b.open((), join.label, rare=isinstance(end, Trap))
        b.end(end._replace(place=b.place))


# -- branches -------------------------------------------------------------------------------------


def return_(b: Builder, _: Constructs) -> None:
    b.end(Return(b.top(b.code.results), b.place))


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
    branch(b, outside, constructs.leave(b, Trap(UNDEFINED)), within, rare=1)
    b.begin(within.join)
    if not b.live:
        return
    entry = b.value("shl", index, b.constant(ENTRY_BYTES.bit_length() - 1))
    signature = b.load("peek32", entry, TABLE)
    expected = b.constant(context.signatures[type_] + 1)
    branch(b, Operation("ne", (signature, expected)), wrong, right, rare=1)
    b.begin(wrong.join, rare=True)
    null = Operation("eq", (signature, b.constant(0)))
    branch(b, null, constructs.leave(b, Trap(UNINITIALIZED)), constructs.leave(b, Trap(MISMATCH)))
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
