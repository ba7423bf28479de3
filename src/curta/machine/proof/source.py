"""The WebAssembly side: a function executed on terms, as far as it is asked to go.

A state is where the function is, its locals and operands (each a tuple of words), the registers
that are the same in every frame (globals, the size of the memory, lengths of passive segments) and
the *world*: the term of all that happened in order, loads, stores, calls, input and output. What
can trap is part of it, together with the shared registers, since their values can be seen later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from curta.machine.instructions import MEMORY_PAGES, TRAPS, WORD
from curta.machine.layout import (
    ARGUMENTS,
    ARGUMENTS_LENGTH,
    ENTRY_BYTES,
    ENVIRONMENT,
    ENVIRONMENT_LENGTH,
    STATE,
    TABLE,
)
from curta.machine.program import Callee, Place
from curta.machine.proof.meanings import MEANINGS, PARAMETERS, Words
from curta.machine.proof.modules import Refused, SourceFunction, Sources
from curta.machine.proof.terms import ONE, ZERO, Term, Terms, constant, located, word_of

_OUT_OF_BOUNDS = TRAPS.index("out of bounds memory access")
_UNREACHABLE = TRAPS.index("unreachable")
_UNDEFINED = TRAPS.index("undefined element")
_UNINITIALIZED = TRAPS.index("uninitialized element")
_MISMATCH = TRAPS.index("indirect call type mismatch")
_ALL_ONES = constant(-1)
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

    def is_at(self, place: Place) -> bool:
        """Whether the instruction at this place is next."""
        frame: Frame | None = self
        at: Place | None = place
        while frame is not None and at is not None:
            if frame.index != at.instruction or frame.function.callee != at.callee:
                return False
            frame, at = frame.parent, at.within
        return frame is None and at is None

    def place(self) -> Place:
        within = None if self.parent is None else self.parent.place()
        return Place(self.function.callee, self.index, within)


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
    inlined: Mapping[Place, Callee]
    """Calls of the library that the program has in line."""
    divided: Set[Place]
    """Where the program calls the library to divide, whatever the numbers are."""
    lemmas: set[str] = field(default_factory=set)
    state: State = field(init=False)
    is_thorough: bool = False
    """Whether words are compared with all facts in mind."""
    left: int = 0
    """How many more steps may be done."""
    other_world: Term | None = None
    """What had happened at the place where the program has come, if it was something else."""

    def __post_init__(self) -> None:
        own: dict[str, Callable[..., None]] = {
            name.removeprefix("do_").replace("__", "."): getattr(self, name)
            for name in dir(self)
            if name.startswith("do_")
        }
        self._do: dict[str, Callable[..., None]] = {
            **own,
            **dict.fromkeys(("block", "loop", "nop", "end"), self._pass),
            **dict.fromkeys(("br", "return"), self._branch),
            **dict.fromkeys(("i32.const", "f32.const"), self._constant),
            **dict.fromkeys(("i64.const", "f64.const"), self._wide_constant),
        }
        self._value = self.terms.value

    def run(
        self,
        state: State,
        place: Place | None = None,
        world: Term = ZERO,
        differs: Callable[[State], str | None] = lambda state: None,
    ) -> State:
        """Go on to a place, with this world and with nothing that differs from what is wanted, or,
        if there is no place, to the end of the function. A loop may come by several times.
        """
        self.state = state
        self.other_world = None
        why = ""
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
            self.step(state)
            state.moved = True
        raise Refused(why or f"WebAssembly does not get to {place}")

    def is_same(self, a: Term, b: Term) -> bool:
        if a != b and self.is_thorough:
            known = self.terms.as_known((a, b))
            a, b = known[a], known[b]
        return a == b

    def step(self, state: State) -> None:
        self.left -= 1
        if self.left < 0:
            raise Refused("WebAssembly goes on and on")
        frame = state.frame
        instruction = frame.function.body[frame.index]
        opcode = instruction.opcode
        meaning = MEANINGS.get(opcode)
        if meaning is not None:
            first = len(frame.stack) - PARAMETERS[opcode]
            try:
                result = meaning(self, *frame.stack[first:])
            except _Enter as entered:
                del frame.stack[first:]
                self._enter(entered.callee, entered.words)
                return
            frame.stack[first:] = [result]
            frame.index += 1
            if opcode[1] == "6" or opcode[0] == "f":
                self.lemmas.add(opcode)
            return
        do = self._do.get(opcode)
        if do is not None:
            do(frame, *instruction.operands)
        elif ".load" in opcode:
            self._load(frame, opcode, instruction.operands[1])
        else:
            self._store(frame, opcode, instruction.operands[1])

    # -- what meanings are written in -------------------------------------------------------------

    def value(self, operation: str, a: Term, b: Term = ZERO, c: Term = ZERO) -> Term:
        return self._value(operation, a, b, c)

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
        return divided(self, operation, a, b)

    def library(self, name: str, arguments: Words, results: int) -> Words:
        place = self.state.frame.place()
        callee = self.inlined.get(place)
        if callee is not None:
            name, arguments = self.sources.stand_in(callee, name, arguments)
            raise _Enter(callee, arguments)
        return self.call(self.sources.instruction(name), arguments, results)

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

    def _end(self, *how: object) -> None:
        self.state.ended = how

    def _go(self, frame: Frame, target: int) -> None:
        """Instruction `target` is next; behind the last one the function returns."""
        frame.index = target

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
            self._end("return", words)
            return
        caller = parent.function.body[parent.index]
        if caller.opcode == "call":
            types = parent.function.module.functions[caller.operands[0]].results
            parent.stack += split(words, types)
        else:  # an instruction that is a function of the library
            parent.stack.append(words)
        parent.index += 1
        self.state.frame = parent

    def do_if(self, frame: Frame, _: object, other: int) -> None:
        truth = self.terms.is_true(frame.stack[-1][0])
        frame.index = frame.index + 1 if self.decide(truth) else other + 1
        frame.stack.pop()
        if frame.index == len(frame.function.body):  # the construct's end is not the function's
            raise AssertionError

    def do_else(self, frame: Frame, end: int) -> None:
        frame.index = end

    def _branch(self, frame: Frame, *_: object) -> None:
        self._take(frame, 0)

    def do_br_if(self, frame: Frame, *_: object) -> None:
        taken = self.decide(self.terms.is_true(frame.stack[-1][0]))
        frame.stack.pop()
        if taken:
            self._take(frame, 0)
        else:
            frame.index += 1

    def do_br_table(self, frame: Frame, depths: tuple[int, ...], _: int) -> None:
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

    def do_unreachable(self, _: Frame) -> None:
        self._end("trap", _UNREACHABLE)

    # -- calls ------------------------------------------------------------------------------------

    def do_call(self, frame: Frame, index: int) -> None:
        module = frame.function.module
        callee = module.callee(index)
        type_ = module.functions[index]
        first = len(frame.stack) - len(type_.parameters)
        words = tuple(word for value in frame.stack[first:] for word in value)
        if isinstance(callee, str):
            results = self._native(callee, words, len(type_.results))
        else:
            inlined = self.inlined.get(frame.place())
            if inlined is not None and inlined == callee:
                del frame.stack[first:]
                self._enter(callee, words)
                return
            results = self.call(callee, words, word_count(type_.results))
        if self.state.ended is None:
            frame.stack[first:] = split(results, type_.results)
            frame.index += 1

    def do_call_indirect(self, frame: Frame, type_index: int, _: int) -> None:
        module = frame.function.module
        type_ = module.module.types[type_index]
        index = frame.stack[-1][0]
        if self.decide(self._value("ge_u", index, constant(module.table_size))):
            return self._end("trap", _UNDEFINED)
        entry = self._value("shl", index, constant(ENTRY_BYTES.bit_length() - 1))
        signature = self._access("peek32", entry, TABLE)
        number = constant(module.signatures[type_] + 1)
        if not self.decide(self.terms.equal(signature, number)):
            empty = self.decide(self.terms.equal(signature, ZERO))
            return self._end("trap", _UNINITIALIZED if empty else _MISMATCH)
        pointer = self._access("peek32", entry, TABLE + 4)
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

    def do_local__get(self, frame: Frame, index: int) -> None:
        frame.stack.append(frame.locals[index])
        frame.index += 1

    def do_local__set(self, frame: Frame, index: int) -> None:
        frame.locals[index] = frame.stack.pop()
        frame.index += 1

    def do_local__tee(self, frame: Frame, index: int) -> None:
        frame.locals[index] = frame.stack[-1]
        frame.index += 1

    def do_global__get(self, frame: Frame, index: int) -> None:
        held = frame.function.module.globals[index]
        shared = self.state.shared
        frame.stack.append(tuple(shared[word] if word >= 0 else word for word in held))
        frame.index += 1

    def do_global__set(self, frame: Frame, index: int) -> None:
        value = frame.stack.pop()
        for register, word in zip(frame.function.module.globals[index], value, strict=True):
            self.state.shared[register] = word
        frame.index += 1

    def do_drop(self, frame: Frame) -> None:
        frame.stack.pop()
        frame.index += 1

    def do_select(self, frame: Frame) -> None:
        *_, first, second, condition = frame.stack
        truth = self.terms.is_true(condition[0])
        frame.stack[-3:] = [
            tuple(self.terms.choose(truth, a, b) for a, b in zip(first, second, strict=True))
        ]
        frame.index += 1

    # -- memory -----------------------------------------------------------------------------------

    def _access(self, name: str, base: Term, offset: int, *stored: Term) -> Term:
        return accessed(self, self.state.world, name, base, offset, *stored)

    def _load(self, frame: Frame, opcode: str, offset: int) -> None:
        base = frame.stack[-1][0]
        kind, access = opcode.split(".")
        result: Words
        if access == "load" and kind[1] == "6":
            if offset + 4 >= WORD:
                return self._end("trap", _OUT_OF_BOUNDS)
            high = self._access("load32", base, offset + 4)
            result = self._access("load32", base, offset), high
        else:
            name = "load32" if access in ("load", "load32_u", "load32_s") else access
            low = self._access(name, base, offset)
            if kind != "i64":
                result = (low,)
            else:
                signed = access.endswith("_s")
                result = low, self._value("shr_s", low, constant(31), ZERO) if signed else ZERO
        frame.stack[-1] = result
        frame.index += 1
        return None

    def _store(self, frame: Frame, opcode: str, offset: int) -> None:
        base, value = frame.stack[-2][0], frame.stack[-1]
        kind, access = opcode.split(".")
        if access == "store" and kind[1] == "6":
            if offset + 4 >= WORD:
                return self._end("trap", _OUT_OF_BOUNDS)
            self._access("store32", base, offset + 4, value[1])
            self._access("store32", base, offset, value[0])
        else:
            name = access if access != "store" else "store32"
            self._access(name, base, offset, value[0])
        del frame.stack[-2:]
        frame.index += 1
        return None

    def do_memory__size(self, frame: Frame) -> None:
        frame.stack.append((self.state.shared[MEMORY_PAGES],))
        frame.index += 1

    def do_memory__grow(self, frame: Frame) -> None:
        """The size before, or -1 where there is no room."""
        shared, pages = self.state.shared, frame.stack[-1][0]
        before = shared[MEMORY_PAGES]
        room = self._value("sub", constant(frame.function.module.most_pages), before, ZERO)
        result = before
        if self.decide(self._value("gt_u", pages, room, ZERO)):
            result = _ALL_ONES
        else:
            shared[MEMORY_PAGES] = self._value("add", before, pages, ZERO)
        frame.stack[-1] = (result,)
        frame.index += 1

    def _stretch(self, frame: Frame, name: str, parameters: int, *more: Term) -> None:
        """An instruction on a stretch of memory or of the table is a function of the library."""
        first = len(frame.stack) - parameters
        words = tuple(word for (word,) in frame.stack[first:])
        self.call(self.sources.instruction(name), (*words, *more), 0)
        del frame.stack[first:]
        frame.index += 1

    def do_memory__fill(self, frame: Frame) -> None:
        self._stretch(frame, "memory.fill", 3)

    def do_memory__copy(self, frame: Frame) -> None:
        self._stretch(frame, "memory.copy", 3)

    def do_memory__init(self, frame: Frame, segment: int) -> None:
        passive = frame.function.module.data[segment]
        length = self.state.shared[passive.register]
        self._stretch(frame, "memory.init", 3, constant(passive.address), length)

    def do_data__drop(self, frame: Frame, segment: int) -> None:
        self.state.shared[frame.function.module.data[segment].register] = ZERO
        frame.index += 1

    def do_table__init(self, frame: Frame, segment: int, _: int) -> None:
        module = frame.function.module
        passive = module.elements[segment]
        length = self.state.shared[passive.register]
        size = constant(module.table_size)
        self._stretch(frame, "table.init", 3, size, constant(passive.address), length)

    def do_elem__drop(self, frame: Frame, segment: int) -> None:
        self.state.shared[frame.function.module.elements[segment].register] = ZERO
        frame.index += 1

    def do_table__copy(self, frame: Frame, *_: int) -> None:
        self._stretch(frame, "table.copy", 3, constant(frame.function.module.table_size))

    # -- functions of the machine -----------------------------------------------------------------

    def _native(self, name: str, words: Words, results: int) -> Words:
        value = self._value
        match name:
            case "add3" | "sub3" | "mul_high" | "carry":
                return (value(name, *words, *((ZERO,) if len(words) == 2 else ())),)
            case "funnel_shl" | "funnel_shr":
                high, low, amount = words
                return (value(name, high, amount, low),)
            case "trap":
                self._end("trap", self._trap_number(words[0]))
            case "exit":
                self._end("exit", words[0])
            case "write":
                errors = self.decide(self.terms.equal(words[0], constant(2)))
                self.happen("write_err" if errors else "write_out", written(words[1]))
            case "read":
                return (self.happen("read"),)
            case "argument":
                return (self._string_byte(ARGUMENTS_LENGTH, ARGUMENTS, words[0]),)
            case "environ":
                return (self._string_byte(ENVIRONMENT_LENGTH, ENVIRONMENT, words[0]),)
            case "load_state" | "store_state":
                place = value("shl", words[0], constant(2), ZERO)
                name = "peek32" if name == "load_state" else "poke32"
                return (self._access(name, place, STATE, *words[1:]),)[:results]
            case "peek8" | "peek32" | "poke8" | "poke32":
                return (self._access(name, words[0], 0, *words[1:]),)[:results]
            case _:  # an extension
                return (value(name, *words, *(ZERO,) * (3 - len(words))),)
        return ()

    def _trap_number(self, code: Term) -> int:
        word = word_of(code)
        last = len(TRAPS) - 1
        if word is not None:
            return min(word, last)
        for number in range(last):
            if self.decide(self.terms.equal(code, constant(number))):
                return number
        return last

    def _string_byte(self, length: int, place: int, index: Term) -> Term:
        """A byte of the arguments or the environment, or the end."""
        limit = self._access("peek32", ZERO, length)
        within = self.decide(self._value("lt_u", index, limit, ZERO))
        return self._access("peek8", index, place) if within else _ALL_ONES


# -- what both sides have in common -------------------------------------------------------------


def accessed(run: Any, world: Term, name: str, base: Term, offset: int, *stored: Term) -> Term:
    """A load or store. The private memory has no bounds: to read it changes nothing."""
    where = located(base, ~offset)
    if name in ("peek8", "peek32"):
        return run.terms.node(name, world, *where)  # type: ignore[no-any-return]
    return run.happen(name, *where, *stored, run.seen())  # type: ignore[no-any-return]


def written(byte: Term) -> Term:
    """Only the lowest byte of a word is written."""
    return byte if byte >= 0 else constant(~byte % 256)


def divided(run: Any, operation: str, a: Term, b: Term) -> Term:
    """A quotient or remainder: a shift or a mask for powers of two, an event if it may trap."""
    divisor = word_of(b)
    if divisor and not divisor & (divisor - 1) and operation.endswith("_u"):
        if operation == "div_u":
            return run.terms.value("shr_u", a, constant(divisor.bit_length() - 1))  # type: ignore[no-any-return]
        return run.terms.value("and", a, constant(divisor - 1))  # type: ignore[no-any-return]
    if divisor and (operation.endswith("_u") or divisor != WORD - 1):
        if divisor == 1:
            return a if operation == "div_s" else ZERO
        return run.terms.node(operation, a, b)  # type: ignore[no-any-return]
    return run.happen(operation, a, b, run.seen())  # type: ignore[no-any-return]


def split(words: Words, types: tuple[str, ...]) -> list[Words]:
    """Words as operands of these types."""
    operands, at = [], 0
    for type_ in types:
        count = 2 if type_[1:] == "64" else 1
        operands.append(words[at : at + count])
        at += count
    return operands


def word_count(types: tuple[str, ...]) -> int:
    return sum(2 if type_[1:] == "64" else 1 for type_ in types)


def start_frame(function: SourceFunction, words: Words, parent: Frame | None = None) -> Frame:
    """A function at its beginning: its parameters, and locals that are 0."""
    zeros = tuple(ZERO for _ in range(word_count(function.locals)))
    locals_ = split((*words, *zeros), (*function.type.parameters, *function.locals))
    return Frame(function, 0, locals_, [], parent)
