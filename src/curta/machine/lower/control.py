"""Constructs, branches, calls.

At a label all ways have to agree about where values are: the results of a construct are in their
cells, what lay below is where it was when the construct began. A construct to which nothing
branches is no label, and its results may stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from curta.machine.instructions import MEMORY_PAGES, TRAPS
from curta.machine.lower.body import Body
from curta.machine.lower.code import NO_LABEL, words
from curta.machine.lower.conditions import (
    branch,
    constant_truth,
    invert,
    pop_condition,
)
from curta.machine.lower.layout import ENTRY_BYTES, TABLE
from curta.machine.lower.natives import call_native
from curta.machine.wasm.module import BlockType

UNREACHABLE = TRAPS.index("unreachable")
UNDEFINED = TRAPS.index("undefined element")
UNINITIALIZED = TRAPS.index("uninitialized element")
MISMATCH = TRAPS.index("indirect call type mismatch")


@dataclass(slots=True)
class Construct:
    """A block, loop or if that is open. `height` is the stack below its parameters, in words."""

    opcode: str
    label: int
    height: int
    parameters: int
    results: int
    other: int = NO_LABEL
    """Where an if goes on when its condition does not hold, until its else."""
    other_reached: bool = True
    saved: list[int] = field(default_factory=list)
    saved_known: dict[int, int] = field(default_factory=dict)
    agreed: dict[int, int] | None = None
    """What is known on all ways to the label so far; None: there is none."""

    @property
    def arity(self) -> int:
        return self.parameters if self.opcode == "loop" else self.results


class Constructs:
    """The constructs that are open, and what is assigned within each."""

    def __init__(self, body: Body) -> None:
        self.open: list[Construct] = []
        self.assigned = find_assigned(body)
        self.exit_label = NO_LABEL
        """Where there is a return of what is in the right registers already."""
        self.traps: dict[int, int] = {}
        """Labels of traps, by their numbers."""

    def trap(self, body: Body, number: int) -> int:
        """A label where the function traps."""
        if number not in self.traps:
            self.traps[number] = body.new_label()
        return self.traps[number]


def find_assigned(body: Body) -> dict[int, set[int]]:
    """For every construct, by its index, the registers that may change in it."""
    found: dict[int, set[int]] = {}
    open_: list[set[int]] = [set()]
    globals_, mutable = body.context.globals, body.context.mutable
    for index, instruction in enumerate(body.code):
        opcode = instruction.opcode
        if opcode in ("block", "loop", "if"):
            open_.append(set())
            found[index] = open_[-1]
        elif opcode == "end":
            inner = open_.pop()
            if open_:
                open_[-1] |= inner
        elif opcode in ("local.set", "local.tee"):
            open_[-1].update(body.local_registers[instruction.operands[0]])
        elif opcode == "global.set":
            open_[-1].update(globals_[instruction.operands[0]])
        elif opcode in ("call", "call_indirect"):
            open_[-1].update(mutable)
        elif opcode == "memory.grow":
            open_[-1].add(MEMORY_PAGES)
    return found


# -- constructs -----------------------------------------------------------------------------------


def enter(body: Body, constructs: Constructs, written: BlockType, _: int) -> None:
    """block, loop, if."""
    opcode = body.code[body.index].opcode
    condition = pop_condition(body) if opcode == "if" else None
    type_ = body.context.module.block_type(written)
    takes, gives = words(type_.parameters), words(type_.results)
    height = len(body.stack) - takes
    assigned = constructs.assigned[body.index]
    body.settle(len(body.stack) if opcode == "block" else height, assigned)
    construct = Construct(opcode, body.new_label(), height, takes, gives)
    constructs.open.append(construct)
    if opcode == "loop":
        for register in assigned:
            body.forget(register)
        body.put_label(construct.label)
    elif condition is not None:
        construct.other = body.new_label()
        construct.saved = body.stack.copy()
        construct.saved_known = body.known.copy()
        truth = constant_truth(condition)
        construct.other_reached = truth is not True
        branch(body, invert(condition), construct.other)
        body.live = truth is not False


def otherwise(body: Body, constructs: Constructs, _: int) -> None:
    """else."""
    construct = constructs.open[-1]
    if body.live:
        body.settle(construct.height)
        agree(body, construct)
        body.jump("jump", construct.label)
    body.put_label(construct.other)
    body.stack, body.known = construct.saved, construct.saved_known
    body.live = construct.other_reached
    construct.other = NO_LABEL


def leave(body: Body, constructs: Constructs) -> None:
    """end."""
    if not constructs.open:
        finish(body, constructs)
        return
    construct = constructs.open.pop()
    height = construct.height
    if construct.opcode == "loop":
        if not body.live:
            del body.stack[height:]
        return
    if construct.other != NO_LABEL and construct.other_reached:
        known, body.known = body.known, construct.saved_known
        agree(body, construct)
        body.known = known
    if construct.agreed is not None:
        if body.live:
            body.settle(height)
            agree(body, construct)
        body.put_label(construct.label)
        if construct.other != NO_LABEL:
            body.put_label(construct.other)
        first = body.cell(height)
        body.stack[height:] = range(first, first + construct.results)
        body.top = max(body.top, first + construct.results)
        body.known = construct.agreed
        body.live = True
    elif not body.live:
        del body.stack[height:]


def agree(body: Body, construct: Construct) -> None:
    """One more way to the label: what is known there is what all ways agree on."""
    if construct.opcode == "loop":
        return
    if construct.agreed is None:
        construct.agreed = body.known.copy()
    elif construct.agreed:
        known = body.known
        construct.agreed = {
            register: operand
            for register, operand in construct.agreed.items()
            if known.get(register) == operand
        }


def finish(body: Body, constructs: Constructs) -> None:
    """The end of the function."""
    moves = result_moves(body) if body.live else []
    if body.live and moves:
        give_back(body, moves)
    if constructs.exit_label != NO_LABEL:
        body.put_label(constructs.exit_label)
    if (body.live and not moves) or constructs.exit_label != NO_LABEL:
        give_back(body, [])
    body.steps += body.rare
    for number, label in constructs.traps.items():
        body.put_label(label)
        body.trap(number)
    body.live = False


# -- branches -------------------------------------------------------------------------------------


def result_moves(body: Body) -> list[tuple[int, int]]:
    """From the top of the stack to where the function's results belong."""
    first = len(body.stack) - body.results
    return [(d, word) for d, word in enumerate(body.stack[first:]) if d != word]


def give_back(body: Body, moves: list[tuple[int, int]]) -> None:
    body.move(moves)
    body.add("return", a=body.return_register).gives = body.results


def target_of(constructs: Constructs, depth: int) -> Construct | None:
    """The construct that a branch leads out of; None is the function."""
    return constructs.open[-1 - depth] if depth < len(constructs.open) else None


def branch_moves(body: Body, target: Construct | None) -> list[tuple[int, int]]:
    """What has to be copied on the way to a label."""
    if target is None:
        return result_moves(body)
    first = len(body.stack) - target.arity
    home = body.cell(target.height)
    body.top = max(body.top, home + target.arity)
    return [
        (home + place, word)
        for place, word in enumerate(body.stack[first:])
        if word != home + place
    ]


def go(body: Body, target: Construct | None, moves: list[tuple[int, int]]) -> None:
    """Do what a branch does."""
    if target is None:
        give_back(body, moves)
        return
    agree(body, target)
    body.move(moves)
    body.jump("jump", target.label)


def landing(body: Body, constructs: Constructs, target: Construct | None) -> int:
    """A label to which one can jump without copying anything."""
    if target is not None:
        agree(body, target)
        return target.label
    if constructs.exit_label == NO_LABEL:
        constructs.exit_label = body.new_label()
    return constructs.exit_label


def br(body: Body, constructs: Constructs, depth: int) -> None:
    target = target_of(constructs, depth)
    go(body, target, branch_moves(body, target))
    body.live = False


def br_if(body: Body, constructs: Constructs, depth: int) -> None:
    condition = pop_condition(body)
    truth = constant_truth(condition)
    if truth is not None:
        if truth:
            br(body, constructs, depth)
        return
    target = target_of(constructs, depth)
    moves = branch_moves(body, target)
    if not moves:
        branch(body, condition, landing(body, constructs, target))
        return
    past = body.new_label()
    branch(body, invert(condition), past)
    go(body, target, moves)
    body.put_label(past)


def br_table(body: Body, constructs: Constructs, depths: tuple[int, ...], default: int) -> None:
    index = body.pop()
    if index < 0:
        br(body, constructs, depths[~index] if ~index < len(depths) else default)
        return
    before = body.aside()
    ways: dict[int, int] = {}
    for depth in (*depths, default):
        if depth not in ways:
            target = target_of(constructs, depth)
            moves = branch_moves(body, target)
            if moves:
                ways[depth] = body.new_label()
                body.put_label(ways[depth])
                go(body, target, moves)
            else:
                ways[depth] = landing(body, constructs, target)
    landings, body.steps = body.steps, before
    if len(depths) <= 1:
        if depths and ways[depths[0]] != ways[default]:
            body.jump("jump_eq", ways[depths[0]], index)
        body.jump("jump", ways[default])
    else:
        step = body.add("jump_table", a=index, immediate=len(depths))
        step.ways = tuple(ways[depth] for depth in (*depths, default))
    body.steps += landings
    body.live = False


def return_(body: Body, _: Constructs) -> None:
    give_back(body, result_moves(body))
    body.live = False


def unreachable(body: Body, _: Constructs) -> None:
    body.trap(UNREACHABLE)


# -- calls ----------------------------------------------------------------------------------------


def call(body: Body, _: Constructs, index: int) -> None:
    callee = body.context.callee(index)
    if isinstance(callee, str):
        call_native(body, callee)
        return
    type_ = body.context.functions[index]
    body.call(callee, (words(type_.parameters), words(type_.results)))


def call_indirect(body: Body, constructs: Constructs, type_index: int, _: int) -> None:
    context = body.context
    type_ = context.module.types[type_index]
    index = body.register(body.pop())
    body.jump("jump_ge_u", constructs.trap(body, UNDEFINED), index, immediate=context.table_size)
    entry, signature, pointer = (body.temporary() for _ in range(3))
    body.add("shl", entry, index, immediate=ENTRY_BYTES.bit_length() - 1)
    body.add("peek32", signature, entry, immediate=TABLE)
    wrong = body.new_label()
    number = context.signatures[type_] + 1
    body.jump("jump_ne", wrong, signature, immediate=number)
    body.add("peek32", pointer, entry, immediate=TABLE + 4)
    body.call(None, (words(type_.parameters), words(type_.results)), pointer)
    before = body.aside()
    body.put_label(wrong)
    body.jump("jump_eq", constructs.trap(body, UNINITIALIZED), signature)
    body.jump("jump", constructs.trap(body, MISMATCH))
    body.rarely(body.steps)
    body.steps = before


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
