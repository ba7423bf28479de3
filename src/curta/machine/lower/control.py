"""Constructs, branches, calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import TRAPS
from curta.machine.layout import ENTRY_BYTES, TABLE
from curta.machine.library import NATIVES
from curta.machine.lower.builder import Builder, Construct, Join, To, Values, flat, grouped
from curta.machine.lower.code import Return, TrapEnd
from curta.machine.lower.conditions import branch, pop_condition
from curta.machine.lower.effects import COMPUTED
from curta.machine.lower.numbers import value
from curta.machine.lower.rules import Operation
from curta.machine.values import word_count
from curta.machine.wasm.module import BlockType, FunctionType

UNDEFINED = TRAPS.index("undefined element")
UNINITIALIZED = TRAPS.index("uninitialized element")
MISMATCH = TRAPS.index("indirect call type mismatch")


# -- constructs -----------------------------------------------------------------------------------


def enter(b: Builder, written: BlockType, going_on: int) -> None:
    """block, loop, if. No way leads out of those that are not reached."""
    if not b.live:
        nowhere = Join(-1, tuple(b.stack))
        b.constructs.append(Construct(nowhere, 0, To(nowhere)))
        return
    opcode = b.body[b.index].opcode
    type_ = b.context.module.block_type(written)
    takes, gives = len(type_.parameters), len(type_.results)
    if opcode == "loop":
        inside = b.body[b.index : going_on]
        assigned = {i.operands[0] for i in inside if i.opcode in ("local.set", "local.tee")}
        loop = b.begin_loop(tuple(sorted(assigned)), takes)
        b.constructs.append(Construct(loop, takes))
        return
    condition = pop_condition(b) if opcode == "if" else None
    arguments = b.pop(takes)
    join = b.new_join()
    if condition is None:
        b.constructs.append(Construct(join, gives))
        b.stack += arguments
        return
    then = To(b.new_join(), arguments)
    has_else = b.body[going_on].opcode == "else"
    other = To(b.new_join() if has_else else join, arguments)
    branch(b, condition, then, other)
    b.push(*b.begin(then.join, after=1))
    b.constructs.append(Construct(join, gives, other if has_else else None))


def otherwise(b: Builder, _: int) -> None:
    """else."""
    construct = b.constructs[-1]
    assert construct.other is not None  # it was an if
    if b.live:
        b.jump(b.target(0))
    b.push(*b.begin(construct.other.join, after=1))


def leave(b: Builder) -> None:
    """end."""
    if not b.constructs:
        finish(b)
        return
    construct = b.constructs[-1]
    if construct.join.assigned is None:
        if b.live:
            b.jump(b.target(0))
        b.push(*b.begin(construct.join, after=1))
    b.constructs.pop()


def finish(b: Builder) -> None:
    """The end of the function."""
    if b.live:
        return_(b)
    for end, join in b.exits.items():
        b.open((), join.label, rare=isinstance(end, TrapEnd))
        b.end(end._replace(place=b.place))


# -- branches -------------------------------------------------------------------------------------


def return_(b: Builder) -> None:
    b.end(Return(flat(b.top(len(b.type.results))), b.place))


def br(b: Builder, depth: int) -> None:
    if depth == len(b.constructs):
        return_(b)
    else:
        b.jump(b.target(depth))


def br_if(b: Builder, depth: int) -> None:
    condition, past = pop_condition(b), To(b.new_join())
    branch(b, condition, b.target(depth), past)
    b.begin(past.join, after=1)


def br_table(b: Builder, depths: tuple[int, ...], default: int) -> None:
    b.switch(b.pop_word(), [b.target(depth) for depth in (*depths, default)])


# -- calls ----------------------------------------------------------------------------------------


def call(b: Builder, index: int) -> None:
    callee, type_ = b.context.callee(index), b.context.functions[index]
    arguments = flat(b.pop(len(type_.parameters)))
    if isinstance(callee, str):
        native = COMPUTED.get(f"{NATIVES}.{callee}") or partial(value, callee)
        _push_results(b, type_, native(b, *arguments) or ())
    else:
        _push_results(b, type_, b.call(callee, arguments, word_count(type_.results)))


def call_indirect(b: Builder, type_index: int, _: int) -> None:
    context = b.context
    type_ = context.module.types[type_index]
    index = b.pop_word()
    within, right, wrong = (To(b.new_join()) for _ in range(3))
    outside = Operation("ge_u", (index, b.constant(context.table_size)))
    branch(b, outside, b.exit(TrapEnd(UNDEFINED)), within, rare=1)
    b.begin(within.join)
    if not b.live:
        return
    entry = b.value("shl", index, b.constant(ENTRY_BYTES.bit_length() - 1))
    signature = b.load("peek32", entry, TABLE)
    expected = b.constant(context.signatures[type_] + 1)
    branch(b, Operation("ne", (signature, expected)), wrong, right, rare=1)
    b.begin(wrong.join, rare=True)
    null = Operation("eq", (signature, b.constant(0)))
    branch(b, null, b.exit(TrapEnd(UNINITIALIZED)), b.exit(TrapEnd(MISMATCH)))
    b.begin(right.join)
    pointer = b.load("peek32", entry, TABLE + 4)
    arguments = flat(b.pop(len(type_.parameters)))
    _push_results(b, type_, b.call(None, arguments, word_count(type_.results), pointer))


def _push_results(b: Builder, type_: FunctionType, results: Values) -> None:
    b.push(*grouped(results, (word_count((result,)) for result in type_.results)))


CONTROL: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("block", "loop", "if"), enter),
    "else": otherwise,
    "end": leave,
    "br": br,
    "br_if": br_if,
    "br_table": br_table,
    "return": return_,
    "unreachable": lambda b: b.trap(TRAPS.index("unreachable")),
    "call": call,
    "call_indirect": call_indirect,
}
"""What the instructions do that need to know of the constructs around them."""
