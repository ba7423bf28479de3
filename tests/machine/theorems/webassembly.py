"""WebAssembly functions run on terms in place of numbers: all paths at once.

Where control splits, each side goes on under its own condition; where it meets again, a local is
`if condition then the one else the other`. So a function becomes one term for each result. Calls
are put in place, or replaced by what has been proved of the callee. Loops are unrolled for as long
as their conditions can hold at all, which constants decide or z3 does.

The code is what the library's .wasm files hold: the C compiler need not be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import z3

from curta.machine.wasm.module import Instruction, Module
from tests.machine.theorems.words import ONE, ZERO, Exact, Word, bit, choose, negation, truth, word

Condition = z3.BoolRef
MOST_TURNS = 80
TRUE = z3.BoolVal(True)


@dataclass
class State:
    """Locals and operands at one place of the code, if control reaches it: under `when`."""

    when: Condition
    locals: list[Word]
    stack: list[Word] = field(default_factory=list)

    def copy(self, when: Condition) -> State:
        return State(when, list(self.locals), list(self.stack))


@dataclass
class Label:
    """Where branches arrive: the height of the stack there, and how many operands are kept."""

    height: int
    arity: int
    arrivals: list[State] = field(default_factory=list)


def merge(states: Sequence[State]) -> State | None:
    """One state of several, of which at most one is reached."""
    alive = [state for state in states if not z3.is_false(state.when)]
    if not alive:
        return None
    merged = alive[-1].copy(z3.simplify(z3.Or([state.when for state in alive])))
    for state in reversed(alive[:-1]):
        for ours, theirs in ((merged.locals, state.locals), (merged.stack, state.stack)):
            for place, value in enumerate(theirs):
                ours[place] = choose(state.when, value, ours[place])
    return merged


@dataclass
class Trap:
    """That a function traps, when, and with which code."""

    when: Condition
    code: Word


class Executor:
    """Runs functions of one module; `natives` are what it imports from "curta"."""

    def __init__(
        self,
        module: Module,
        words: Exact | None = None,
        replaced: dict[str, Callable[..., list[Word]]] | None = None,
        turns: int = MOST_TURNS,
    ) -> None:
        self.module = module
        self.words = words or Exact()
        self.turns = turns
        self.types = module.index_spaces().functions
        self.imports = [entry.name for entry in module.imported("func")]
        self.exports = {e.name: e.index for e in module.exports if e.kind == "func"}
        self.replaced = {self.exports[name]: f for name, f in (replaced or {}).items()}
        self.traps: list[Trap] = []

    def run(self, name: str, arguments: Sequence[Word], when: Condition = TRUE) -> list[Word]:
        """The results of an exported function, where it does not trap (see `traps`)."""
        finished = self.call(self.exports[name], list(arguments), when)
        return finished.stack if finished else []

    def trapped(self) -> Word:
        """The code of the trap that is reached, or 0."""
        code = ZERO
        for trap in reversed(self.traps):
            code = choose(trap.when, trap.code, code)
        return code

    # -- functions ----------------------------------------------------------------------------

    def call(self, index: int, arguments: list[Word], when: Condition) -> State | None:
        if index in self.replaced:
            return State(when, [], self.replaced[index](*arguments))
        if index < len(self.imports):
            return self.native(self.imports[index], arguments, when)
        function = self.module.functions[index - len(self.imports)]
        arity = len(self.module.types[function.type_index].results)
        state = State(when, [*arguments, *(ZERO for _ in function.locals)])
        label = Label(0, arity)
        state_after = self.sequence(function.body, 0, len(function.body) - 1, state, [label])
        return self.arrive(label, state_after)

    def native(self, name: str, arguments: list[Word], when: Condition) -> State | None:
        if name == "trap":
            self.traps.append(Trap(when, arguments[0]))
            return None
        if name.startswith("funnel"):
            high, low, amount = arguments
            return State(when, [], [self.words.value(name, high, amount, low)])
        return State(when, [], [self.words.value(name, *arguments)])

    def arrive(self, label: Label, fallen: State | None) -> State | None:
        """The state after a construct: that of its branches, and of falling out of it."""
        if fallen is not None:
            self.leave(label, fallen)
        return merge(label.arrivals)

    def leave(self, label: Label, state: State) -> None:
        kept = state.stack[len(state.stack) - label.arity :]
        state.stack = [*state.stack[: label.height], *kept]
        label.arrivals.append(state)

    # -- code ---------------------------------------------------------------------------------

    def sequence(
        self,
        code: tuple[Instruction, ...],
        start: int,
        end: int,
        state: State | None,
        labels: list[Label],
    ) -> State | None:
        """Execute the instructions from `start` up to `end`."""
        at = start
        while at < end and state is not None and not z3.is_false(state.when):
            instruction = code[at]
            if instruction.opcode in ("block", "loop", "if"):
                state = self.construct(code, at, state, labels)
                at = self.end_of(code, at)
            else:
                state = self.step(instruction, state, labels)
            at += 1
        return state

    @staticmethod
    def end_of(code: tuple[Instruction, ...], at: int) -> int:
        place = code[at].operands[1]
        return place if code[place].opcode == "end" else code[place].operands[0]

    def construct(
        self, code: tuple[Instruction, ...], at: int, state: State, labels: list[Label]
    ) -> State | None:
        opcode, (written, after) = code[at].opcode, code[at].operands
        kind = self.module.block_type(written)
        end = self.end_of(code, at)
        condition = truth(state.stack.pop()) if opcode == "if" else TRUE
        height = len(state.stack) - len(kind.parameters)
        if opcode == "loop":
            return self.loop(code, at + 1, end, state, labels, Label(height, len(kind.parameters)))
        label = Label(height, len(kind.results))
        inner = [*labels, label]
        if opcode == "block":
            return self.arrive(label, self.sequence(code, at + 1, end, state, inner))
        then, otherwise = self.split(state, condition)
        fallen = self.sequence(code, at + 1, after, then, inner)
        if fallen is not None:
            self.leave(label, fallen)
        if after != end:
            otherwise = self.sequence(code, after + 1, end, otherwise, inner)
        return self.arrive(label, otherwise)

    def split(self, state: State, condition: Condition) -> tuple[State | None, State | None]:
        """The state where the condition holds, and where it does not."""
        sides = []
        for side in (condition, negation(condition)):
            when = z3.simplify(z3.And(state.when, side))
            sides.append(None if z3.is_false(when) else state.copy(when))
        return sides[0], sides[1]

    def loop(
        self,
        code: tuple[Instruction, ...],
        start: int,
        end: int,
        state: State | None,
        labels: list[Label],
        label: Label,
    ) -> State | None:
        left: list[State] = []
        for _ in range(self.turns):
            label = Label(label.height, label.arity)
            fallen = self.sequence(code, start, end, state, [*labels, label])
            if fallen is not None:
                left.append(fallen)
            state = merge(label.arrivals)
            if state is None or not self.may_hold(state.when):
                return merge(left)
        raise AssertionError(f"a loop goes on after {self.turns} turns")

    def may_hold(self, condition: Condition) -> bool:
        return z3.is_true(condition) or not z3.is_false(condition)

    def step(self, instruction: Instruction, state: State, labels: list[Label]) -> State | None:
        opcode, operands = instruction.opcode, instruction.operands
        stack = state.stack
        match opcode:
            case "local.get":
                stack.append(state.locals[operands[0]])
            case "local.set":
                state.locals[operands[0]] = stack.pop()
            case "local.tee":
                state.locals[operands[0]] = stack[-1]
            case "i32.const":
                stack.append(word(operands[0]))
            case "drop":
                stack.pop()
            case "nop":
                pass
            case "select":
                condition, otherwise, then = truth(stack.pop()), stack.pop(), stack.pop()
                stack.append(choose(condition, then, otherwise))
            case "call":
                return self.calling(operands[0], state)
            case "br" | "return":
                self.leave(labels[0] if opcode == "return" else labels[-1 - operands[0]], state)
                return None
            case "br_if":
                taken, state_after = self.split(state, truth(stack.pop()))
                if taken is not None:
                    self.leave(labels[-1 - operands[0]], taken)
                return state_after
            case "unreachable":
                self.traps.append(Trap(state.when, word(-1)))
                return None
            case _:
                self.compute(opcode, state)
        return state

    def calling(self, index: int, state: State) -> State | None:
        count = len(self.module.types[self.types[index]].parameters)
        arguments = state.stack[len(state.stack) - count :]
        finished = self.call(index, arguments, state.when)
        if finished is None:
            return None
        stack = [*state.stack[: len(state.stack) - count], *finished.stack]
        return State(finished.when, state.locals, stack)

    def compute(self, opcode: str, state: State) -> None:
        """An i32 instruction on the operands at the top of the stack."""
        kind, name = opcode.split(".")
        if kind != "i32":
            raise NotImplementedError(opcode)
        stack = state.stack
        if name in ("clz", "ctz", "popcnt", "extend8_s", "extend16_s"):
            stack.append(self.words.value(name.removesuffix("_s"), stack.pop(), ZERO))
        elif name == "eqz":
            stack.append(bit(negation(truth(stack.pop()))))
        else:
            b, a = stack.pop(), stack.pop()
            if name.startswith(("div", "rem")):
                self.check_division(name, a, b, state)
            stack.append(self.words.value(name, a, b))

    def check_division(self, name: str, a: Word, b: Word, state: State) -> None:
        """A division may trap; after it, control goes on where it did not."""
        by_zero = z3.simplify(b == 0)
        bad = by_zero
        if not z3.is_false(by_zero):
            self.traps.append(Trap(z3.And(state.when, by_zero), ONE))
        if name == "div_s":
            overflow = z3.simplify(z3.And(a == 1 << 31, b == word(-1)))
            self.traps.append(Trap(z3.And(state.when, overflow), word(2)))
            bad = z3.Or(by_zero, overflow)
        state.when = z3.simplify(z3.And(state.when, z3.Not(bad)))
