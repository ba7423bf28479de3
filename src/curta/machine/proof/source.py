"""The WebAssembly side: a function executed on terms, as far as it is asked to go.

A state is where the function is, its locals and operands (each a tuple of words), the registers
that are the same in every frame (globals, the size of the memory, lengths of passive segments) and
the *world*: the term of all that happened in order, loads, stores, calls, input and output. What
can trap is part of it, together with the shared registers, since their values can be seen later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice

from curta.machine.core_program import USER, Callee, WasmLocation
from curta.machine.instructions import TRAPS, WORD
from curta.machine.layout import ENTRY_BYTES, TABLE
from curta.machine.library import instruction_function
from curta.machine.proof.events import divided
from curta.machine.proof.meanings import MEANINGS, PARAMETERS, Words
from curta.machine.proof.modules import Refused, SourceFunction, Sources
from curta.machine.proof.outside import OUTSIDE, access, native
from curta.machine.proof.terms import ONE, ZERO, Term, Terms, constant, word_of
from curta.machine.values import word_count
from curta.machine.wasm import ValueType

_UNREACHABLE = TRAPS.index("unreachable")
_UNDEFINED = TRAPS.index("undefined element")
_UNINITIALIZED = TRAPS.index("uninitialized element")
_MISMATCH = TRAPS.index("indirect call type mismatch")
_LONGEST = 1000
"""Steps, more than three times through the function: between meetings no loop goes round twice."""


class Undecided(Exception):  # noqa: N818
    """A way forks here."""

    def __init__(self, truth: Term) -> None:
        super().__init__(truth)
        self.truth = truth


class _Enter(Exception):  # noqa: N818
    """A call of the library is in line here: its function is executed."""

    def __init__(self, callee: Callee, words: Words) -> None:
        super().__init__()
        self.callee, self.words = callee, words


@dataclass(slots=True)
class Frame:
    """A function that is being executed; `parent` is the one that it is in line in."""

    function: SourceFunction
    index: int
    locals: list[Words]
    stack: list[Words]
    parent: Frame | None = None

    def copy(self) -> Frame:
        parent = self.parent and self.parent.copy()
        return Frame(self.function, self.index, self.locals.copy(), self.stack.copy(), parent)

    def is_at(self, place: WasmLocation) -> bool:
        """Whether the instruction at this place is next."""
        frame: Frame | None = self
        at: WasmLocation | None = place
        while frame is not None and at is not None:
            if frame.index != at.instruction or frame.function.callee != at.callee:
                return False
            frame, at = frame.parent, at.within
        return frame is None and at is None

    def place(self) -> WasmLocation:
        within = None if self.parent is None else self.parent.place()
        return WasmLocation(self.function.callee, self.index, within)


@dataclass(slots=True)
class State:
    frame: Frame
    shared: dict[int, Term]
    world: Term
    ended: tuple[object, ...] | None = None
    """How the function ended: ("return", words), ("trap", number) or ("exit", word)."""
    moved: bool = False

    def copy(self) -> State:
        return State(self.frame.copy(), self.shared.copy(), self.world, self.ended, self.moved)


@dataclass
class SourceRun:
    """Executes states; an Algebra for what instructions mean."""

    terms: Terms
    sources: Sources
    inlined: Mapping[WasmLocation, Callee]
    """Calls of the library that the program has in line."""
    divided: Set[WasmLocation]
    """Where the program calls the library to divide, whatever the numbers are."""
    lemmas: set[str] = field(default_factory=set)
    state: State = field(init=False)
    is_thorough: bool = False
    """Whether words are compared with all facts in mind."""
    left: int = 0
    """How many more steps may be done."""
    other_world: Term | None = None
    """What had happened at the place where the program has come, if it was something else."""

    def run(
        self,
        state: State,
        place: WasmLocation | None,
        world: Term,
        differs: Callable[[State], str | None] = lambda state: None,
    ) -> State:
        """Go on to a place, with this world and with nothing that differs from what is wanted, or,
        if there is no place, to the end of the function. A loop may come by several times.
        """
        self.state = state
        self.other_world = None
        why = ""
        past = set(self.terms.past(world))
        events = len(self.terms.past(state.world))
        for _ in range(3 * len(state.frame.function.body) + _LONGEST):
            if state.ended is not None:
                if place is None:
                    return state
                why = why or f"WebAssembly ends ({state.ended[0]}) where the program goes on"
                break
            if place is not None and state.moved and state.frame.is_at(place):
                if not self.is_same(state.world, world):
                    self.other_world = None if why else self.other_world or state.world
                else:
                    difference = differs(state)
                    if difference is None:
                        return state
                    why = why or difference
            self.left -= 1
            if self.left < 0:
                why = why or "WebAssembly goes on and on"
                break
            before = state.world
            self.step(state)
            state.moved = True
            if state.world != before:
                events += 1
                if events > len(past) or not (self.is_thorough or state.world in past):
                    self.other_world = None if why else state.world
                    break  # what has happened is not what the program did, nor will it be
        raise Refused(why or f"WebAssembly does not get to {place}")

    def is_same(self, a: Term, b: Term) -> bool:
        if a != b and self.is_thorough:
            known = self.terms.as_known((a, b))
            a, b = known[a], known[b]
        return a == b

    def step(self, state: State) -> None:
        frame = state.frame
        instruction = frame.function.body[frame.index]
        opcode = instruction.opcode
        meaning = MEANINGS.get(opcode)
        if meaning is not None:
            if opcode[1] == "6" or opcode[0] == "f":
                self.lemmas.add(opcode)
            first = len(frame.stack) - PARAMETERS[opcode]
            try:
                result = meaning(self, *frame.stack[first:])
            except _Enter as entered:
                del frame.stack[first:]
                self._enter(entered.callee, entered.words)
                return
            frame.stack[first:] = [result]
            frame.index += 1
            return
        _DO[opcode](self, frame, *instruction.operands)

    # -- what meanings are written in -------------------------------------------------------------

    def value(self, operation: str, a: Term, b: Term = ZERO, c: Term = ZERO, *fourth: Term) -> Term:
        return self.terms.value(operation, a, b, c, *fourth)

    def choose(self, truth: Term, a: Term, b: Term) -> Term:
        return self.terms.choose(truth, a, b)

    def is_true(self, term: Term) -> Term:
        return self.terms.is_true(term)

    def decide(self, truth: Term) -> bool:
        known = self.terms.known(truth)
        if known >= 0:
            raise Undecided(self.terms.undecided(known))
        return known == ONE

    def is_called(self) -> bool:
        return self.state.frame.place() in self.divided

    def divide(self, operation: str, a: Term, b: Term) -> Term:
        return divided(self, self.state.world, operation, a, b)

    def library(self, name: str, arguments: Words, results: int) -> Words:
        callee = self.inlined.get(self.state.frame.place())
        if callee is not None:
            raise _Enter(*self.sources.stand_in(callee, name, arguments))
        return self.call(instruction_function(name), arguments, results)

    # -- what happens -----------------------------------------------------------------------------

    def happen(self, what: str, *arguments: object) -> Term:
        """One more event; the term of its result."""
        state = self.state
        state.world = self.terms.node(what, state.world, *arguments)
        return self.terms.node("result", state.world, ZERO)

    def seen(self) -> Term:
        """The shared registers, as a trap would leave them."""
        return self.terms.node("shared", *self.state.shared.values())

    def call(self, callee: Callee | Term, words: Words, results: int) -> Words:
        """A function of the module changes what is shared, one of a library does not."""
        state = self.state
        state.world = self.terms.node("call", state.world, callee, words, ~results, self.seen())
        if not isinstance(callee, tuple) or self.sources.changes_shared(callee):
            for register in state.shared:
                state.shared[register] = self.terms.node("shared after", state.world, ~register)
        return tuple(self.terms.node("result", state.world, ~n) for n in range(results))

    def _enter(self, callee: Callee, words: Words) -> None:
        """Execute a library function in line."""
        function = self.sources.function(callee)
        state = self.state
        state.frame = start_frame(function, words, state.frame)

    def end(self, *how: object) -> None:
        self.state.ended = how

    # -- control ----------------------------------------------------------------------------------

    def _pass(self, frame: Frame, *_: object) -> None:
        if frame.index == len(frame.function.body) - 1:
            self._return(frame)
        else:
            frame.index += 1

    def _return(self, frame: Frame) -> None:
        results = len(frame.function.type.results)
        values = frame.stack[len(frame.stack) - results :]
        words = tuple(word for value in values for word in value)
        parent = frame.parent
        if parent is None:
            self.end("return", words)
            return
        caller = parent.function.body[parent.index]
        if caller.opcode == "call":
            types = parent.function.module.functions[caller.operands[0]].results
            parent.stack += split(words, types)
        else:  # an instruction that is a function of the library
            parent.stack.append(words)
        parent.index += 1
        self.state.frame = parent

    def _if(self, frame: Frame, _: object, other: int) -> None:
        truth = self.terms.is_true(frame.stack[-1][0])
        frame.index = frame.index + 1 if self.decide(truth) else other + 1
        frame.stack.pop()

    def _else(self, frame: Frame, end: int) -> None:
        frame.index = end

    def _branch(self, frame: Frame, *_: object) -> None:
        self._take(frame, 0)

    def _br_if(self, frame: Frame, *_: object) -> None:
        taken = self.decide(self.terms.is_true(frame.stack[-1][0]))
        frame.stack.pop()
        if taken:
            self._take(frame, 0)
        else:
            frame.index += 1

    def _br_table(self, frame: Frame, depths: tuple[int, ...], _: int) -> None:
        index = frame.stack[-1][0]
        way = self._way(index, len(depths))
        frame.stack.pop()
        self._take(frame, way)

    def _way(self, index: Term, count: int) -> int:
        word = word_of(index)
        if word is not None:
            return min(word, count)
        truths = [self.terms.equal(index, constant(number)) for number in range(count)]
        if ONE in truths:
            return truths.index(ONE)
        for truth in truths:
            if truth != ZERO:
                raise Undecided(truth)
        return count

    def _take(self, frame: Frame, way: int) -> None:
        branch = frame.function.branches[frame.index][way]
        kept = frame.stack[len(frame.stack) - branch.arity :] if branch.arity else []
        frame.stack[branch.height :] = kept
        frame.index = min(branch.target, len(frame.function.body) - 1)

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, frame: Frame, index: int) -> None:
        module = frame.function.module
        callee = module.callee(index)
        type_ = module.functions[index]
        first = len(frame.stack) - len(type_.parameters)
        words = tuple(word for value in frame.stack[first:] for word in value)
        if isinstance(callee, str):
            results = native(self, callee, words, len(type_.results))
        else:
            if callee[0] != USER and self.inlined.get(frame.place()) == callee:
                del frame.stack[first:]
                self._enter(callee, words)
                return
            results = self.call(callee, words, word_count(type_.results))
        if self.state.ended is None:
            frame.stack[first:] = split(results, type_.results)
            frame.index += 1

    def _call_indirect(self, frame: Frame, type_index: int, _: int) -> None:
        module = frame.function.module
        type_ = module.module.types[type_index]
        index = frame.stack[-1][0]
        if self.decide(self.value("ge_u", index, constant(module.table_size))):
            return self.end("trap", _UNDEFINED)
        entry = self.value("shl", index, constant(ENTRY_BYTES.bit_length() - 1))
        signature = access(self, "peek32", entry, TABLE)
        number = constant(module.signatures[type_] + 1)
        if not self.decide(self.terms.equal(signature, number)):
            empty = self.decide(self.terms.equal(signature, ZERO))
            return self.end("trap", _UNINITIALIZED if empty else _MISMATCH)
        pointer = access(self, "peek32", entry, TABLE + 4)
        first = len(frame.stack) - 1 - len(type_.parameters)
        words = tuple(word for value in frame.stack[first:-1] for word in value)
        results = self.call(pointer, words, word_count(type_.results))
        frame.stack[first:] = split(results, type_.results)
        frame.index += 1
        return None

    # -- variables --------------------------------------------------------------------------------

    def _constant(self, frame: Frame, value: int) -> None:
        frame.stack.append((~value,))
        frame.index += 1

    def _wide_constant(self, frame: Frame, value: int) -> None:
        frame.stack.append((~(value % WORD), ~(value >> 32)))
        frame.index += 1

    def _local_get(self, frame: Frame, index: int) -> None:
        frame.stack.append(frame.locals[index])
        frame.index += 1

    def _local_set(self, frame: Frame, index: int) -> None:
        frame.locals[index] = frame.stack.pop()
        frame.index += 1

    def _local_tee(self, frame: Frame, index: int) -> None:
        frame.locals[index] = frame.stack[-1]
        frame.index += 1

    def _global_get(self, frame: Frame, index: int) -> None:
        held = frame.function.module.globals[index]
        shared = self.state.shared
        frame.stack.append(tuple(shared[word] if word >= 0 else word for word in held))
        frame.index += 1

    def _global_set(self, frame: Frame, index: int) -> None:
        value = frame.stack.pop()
        for register, word in zip(frame.function.module.globals[index], value, strict=True):
            self.state.shared[register] = word
        frame.index += 1

    def _drop(self, frame: Frame) -> None:
        frame.stack.pop()
        frame.index += 1

    def _select(self, frame: Frame) -> None:
        *_, first, second, condition = frame.stack
        truth = self.terms.is_true(condition[0])
        frame.stack[-3:] = [
            tuple(self.terms.choose(truth, a, b) for a, b in zip(first, second, strict=True))
        ]
        frame.index += 1


_DO: dict[str, Callable[..., None]] = {
    **OUTSIDE,
    **dict.fromkeys(("block", "loop", "nop", "end"), SourceRun._pass),
    "if": SourceRun._if,
    "else": SourceRun._else,
    **dict.fromkeys(("br", "return"), SourceRun._branch),
    "br_if": SourceRun._br_if,
    "br_table": SourceRun._br_table,
    "unreachable": lambda run, _: run.end("trap", _UNREACHABLE),
    "call": SourceRun._call,
    "call_indirect": SourceRun._call_indirect,
    **dict.fromkeys(("i32.const", "f32.const"), SourceRun._constant),
    **dict.fromkeys(("i64.const", "f64.const"), SourceRun._wide_constant),
    "local.get": SourceRun._local_get,
    "local.set": SourceRun._local_set,
    "local.tee": SourceRun._local_tee,
    "global.get": SourceRun._global_get,
    "global.set": SourceRun._global_set,
    "drop": SourceRun._drop,
    "select": SourceRun._select,
}
"""What all other instructions do, given the run, the frame and their operands."""


def split(words: Words, types: Sequence[ValueType]) -> list[Words]:
    """Words as operands of these types."""
    left = iter(words)
    return [tuple(islice(left, word_count((type_,)))) for type_ in types]


def start_frame(function: SourceFunction, words: Words, parent: Frame | None = None) -> Frame:
    """A function at its beginning: its parameters, and locals that are 0."""
    zeros = (ZERO,) * word_count(function.locals)
    locals_ = split((*words, *zeros), (*function.type.parameters, *function.locals))
    return Frame(function, 0, locals_, [], parent)
