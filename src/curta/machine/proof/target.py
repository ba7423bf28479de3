"""The core side: a program's instructions executed on terms, from one place where paths meet to the
next.

Registers of the frame are those that were written; reading another gives junk that equals nothing.
Shared registers are constants that only the beginning sets (whole_program finds them), or part of
the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from curta.machine.core_program import Callee
from curta.machine.instructions import (
    CORE,
    CoreInstruction,
    kind_of,
    operation_of,
)
from curta.machine.proof.events import accessed, divided, written
from curta.machine.proof.modules import Refused, Sources
from curta.machine.proof.source import State
from curta.machine.proof.terms import ONE, ZERO, Term, Terms, constant
from curta.machine.values import word_count
from curta.machine.wasm.module import FunctionType

Registers = dict[int, Term]


@dataclass(frozen=True)
class Target:
    """A program of core instructions as the prompt says it, and where its functions begin."""

    instructions: tuple[CoreInstruction, ...]
    starts: Mapping[int, Callee]
    constants: Mapping[int, int]
    """Shared registers that hold the same word from the beginning on."""
    shared: tuple[int, ...]
    """Shared registers that may change, in the order in which the source has them."""

    def successors(self, at: int, start: int) -> Iterator[int]:
        """The instructions that may follow within the function that begins at `start`."""
        instruction = self.instructions[at]
        name = instruction.operation
        if name == "jump":
            if not self.leaves(instruction, start):
                yield instruction.target
        elif operation_of(name).comparison is not None:
            yield at + 1
            yield instruction.target
        elif name == "jump_table":
            if at + 1 + instruction.immediate >= len(self.instructions):
                raise Refused(f"a table leads behind the last instruction, at {at}")
            yield from range(at + 1, at + 2 + instruction.immediate)
        elif name not in ("return", "trap", "exit", "await"):
            yield at + 1

    def reached(self, start: int) -> dict[int, tuple[int, ...]]:
        """The instructions of the function that begins at `start`, and what may follow each."""
        after: dict[int, tuple[int, ...]] = {}
        waiting = [start]
        while waiting:
            at = waiting.pop()
            if at not in after:
                if not 0 <= at < len(self.instructions):
                    raise Refused(f"it goes on behind the last instruction, at {at}")
                after[at] = tuple(self.successors(at, start))
                waiting += after[at]
        return after

    def called(self, reached: Iterable[int], start: int) -> set[Callee]:
        """The functions that these instructions call or end with."""
        callees = set()
        for at in reached:
            instruction = self.instructions[at]
            leaves = instruction.operation == "jump" and self.leaves(instruction, start)
            if (instruction.operation == "call" and instruction.target in self.starts) or leaves:
                callees.add(self.starts[instruction.target])
        return callees

    def leaves(self, jump: CoreInstruction, start: int) -> bool:
        """Whether a jump is a call at the end of a function."""
        return jump.target in self.starts and jump.target != start


@dataclass(slots=True)
class ExecutionPath:
    """One path through the program: what is next, the registers, and what has happened."""

    at: int
    registers: Registers
    world: Term
    state: State
    """Where WebAssembly was the last time that it was brought here."""
    origin: int
    """The meeting that it comes from."""
    facts: dict[Term, bool] = field(default_factory=dict)
    said: Term | None = None
    """The word that was said last, if nothing else was said since."""

    def fork_to(self, at: int) -> ExecutionPath:
        return replace(self, at=at, registers=self.registers.copy(), facts=self.facts.copy())


@dataclass(frozen=True, slots=True)
class PathEnd:
    """How a path ends: ("return", words), ("trap", number), ("exit", word), or ("meet",)."""

    path: ExecutionPath
    how: tuple[object, ...]


@dataclass
class TargetRun:
    """Follows paths on terms."""

    terms: Terms
    sources: Sources
    target: Target
    start: int
    returns_by: Term
    """What the return address is."""
    results: int
    catch_up: Callable[[ExecutionPath], list[ExecutionPath]]
    """Brings WebAssembly to where a path forks; it may fork on the way there."""
    indirect_type: Callable[[int], FunctionType]
    """The type that the call_indirect has for which an instruction is said to be there."""
    left: int = 0
    """How many more steps may be done."""
    path: ExecutionPath = field(init=False)

    def follow(self, path: ExecutionPath, meetings: frozenset[int]) -> Iterator[PathEnd]:
        """All ends of paths from here on: where paths meet, or the function ends."""
        waiting = [path]
        has_begun = path.origin < 0
        while waiting:
            self.path = path = waiting.pop()
            self.terms.facts = path.facts
            while True:
                self.left -= 1
                if self.left < 0:
                    raise Refused("it goes round and round")
                if has_begun and path.at in meetings:
                    yield PathEnd(path, ("meet",))
                    break
                after = self._step(path)
                if isinstance(after, PathEnd):
                    yield after
                    break
                if after is not None:
                    waiting += after
                    has_begun = True
                    break
                has_begun = True

    def _read(self, register: int) -> Term:
        held = self.path.registers.get(register)
        if held is not None:
            return held
        if register in self.target.constants:
            return ~self.target.constants[register]
        return self.terms.node("junk", len(self.terms.nodes))

    def _write(self, register: int, term: Term) -> None:
        if register in self.target.constants:
            raise Refused(f"shared register {register} is written, and others take it as constant")
        self.path.registers[register] = term

    def happen(self, what: str, *arguments: object) -> Term:
        """One more event; the term of its result."""
        path = self.path
        path.world = self.terms.node(what, path.world, *arguments)
        return self.terms.node("result", path.world, ZERO)

    def seen(self) -> Term:
        registers = self.path.registers
        return self.terms.node("shared", *[registers[one] for one in self.target.shared])

    # -- one instruction --------------------------------------------------------------------------

    def _step(self, path: ExecutionPath) -> PathEnd | list[ExecutionPath] | None:
        """An end, several paths, or None where the path just goes on."""
        instruction = self.target.instructions[path.at]
        name = instruction.operation
        match kind_of(name):
            case "value":
                self._say(instruction, self.terms.value(name, *self._given(instruction)))
            case "divide":
                a, b = self._read(instruction.a), self._second(instruction)
                self._say(instruction, divided(self, path.world, name, a, b))
            case "load":
                self._say(instruction, self._access(instruction))
            case "store":
                self._access(instruction, self._read(instruction.c))
                self._go_on()
            case "write":
                self.happen(name, written(self._second(instruction)))
                self._go_on()
            case "read":
                if name != "read":
                    raise Refused("a function waits for an invocation")
                self._say(instruction, self.happen("read"))
            case "jump":
                return self._jump(path, instruction)
            case "end":
                if name == "trap":
                    if instruction.b is not None:
                        raise Refused(f"a register says which trap it is, at {path.at}")
                    return PathEnd(path, ("trap", instruction.immediate))
                if path.said is None:
                    raise Refused("it exits without having said a word")
                return PathEnd(path, ("exit", path.said))
        return None

    def _given(self, instruction: CoreInstruction) -> tuple[Term, ...]:
        """The sources of a value; extensions have as many as the module says."""
        name = instruction.operation
        known = name in CORE
        operands = CORE[name].operands if known else "abc"[: self.sources.extensions[name]]
        a = self._read(instruction.a) if "a" in operands else ZERO
        c = self._read(instruction.c) if "c" in operands else ZERO
        fourth = (self._read(instruction.e),) if "e" in operands else ()
        return a, self._second(instruction), c, *fourth

    def _second(self, instruction: CoreInstruction) -> Term:
        if instruction.b is None:
            return constant(instruction.immediate)
        return self._read(instruction.b)

    def _go_on(self) -> None:
        """Behind what says something else than a word; the host takes a word for what it was asked
        only if that was said last.
        """
        self.path.said = None
        self.path.at += 1

    def _say(self, instruction: CoreInstruction, term: Term) -> None:
        self._write(instruction.d, term)
        self.path.said = term
        self.path.at += 1

    def _access(self, instruction: CoreInstruction, *stored: Term) -> Term:
        base = self._read(instruction.a)
        if instruction.b is not None:
            base = self.terms.value("add", base, self._read(instruction.b))
        name, offset = instruction.operation, instruction.immediate
        return accessed(self, self.path.world, name, base, offset, *stored)

    # -- jumps ------------------------------------------------------------------------------------

    def _jump(
        self, path: ExecutionPath, instruction: CoreInstruction
    ) -> PathEnd | list[ExecutionPath] | None:
        name = instruction.operation
        comparison = operation_of(name).comparison
        path.said = None
        if comparison is not None:
            a, b = self._read(instruction.a), self._second(instruction)
            truth = self.terms.value(comparison, a, b)
            return self._fork(path, truth, instruction.target)
        if name == "jump":
            if self.target.leaves(instruction, self.start):
                return self._leave(path, self.target.starts[instruction.target])
            path.at = instruction.target
            return None
        if name == "jump_table":
            if instruction.b is not None:
                raise Refused(f"a register says how many ways there are, at {path.at}")
            return self._table(path, self._read(instruction.a), instruction.immediate)
        if name == "return":
            if self._read(instruction.a) != self.returns_by:
                raise Refused("it returns by a register that may hold something else")
            return PathEnd(path, ("return", self._words(0, self.results)))
        if name == "call":
            callee = self.target.starts.get(instruction.target)
            if callee is None:
                raise Refused(f"a call of {instruction.target}, where no function begins")
            self._call(path, instruction, callee, self.sources.function(callee).type)
        else:  # of the callee only the type is known: the source says which
            pointer = self._read(instruction.a)
            self._call(path, instruction, pointer, self.indirect_type(path.at))
        return None

    def _fork(self, path: ExecutionPath, truth: Term, there: int) -> list[ExecutionPath] | None:
        if truth < 0:
            path.at = there if truth == ONE else path.at + 1
            return None
        paths: list[ExecutionPath] = []
        for each in self.catch_up(path):
            self.terms.facts = each.facts
            known = self.terms.known(truth)
            if known < 0:
                paths.append(each.fork_to(there if known == ONE else path.at + 1))
                continue
            fact, holds = self.terms.fact(known)
            taken, passed = each.fork_to(there), each.fork_to(path.at + 1)
            taken.facts[fact], passed.facts[fact] = holds, not holds
            paths += [taken, passed]
        return paths

    def _table(self, path: ExecutionPath, index: Term, count: int) -> list[ExecutionPath] | None:
        if index < 0:
            path.at += 1 + min(~index, count)
            return None
        return [one for each in self.catch_up(path) for one in self._choices(each, index, count)]

    def _choices(self, path: ExecutionPath, index: Term, count: int) -> Iterator[ExecutionPath]:
        left = path.fork_to(path.at + 1 + count)
        for number in range(count):
            self.terms.facts = left.facts
            truth = self.terms.equal(index, constant(number))
            if truth == ZERO:
                continue
            taken = left.fork_to(path.at + 1 + number)
            if truth < 0:
                yield taken
                return
            fact, holds = self.terms.fact(truth)
            taken.facts[fact], left.facts[fact] = holds, not holds
            yield taken
        yield left

    # -- calls ------------------------------------------------------------------------------------

    def _words(self, first: int, count: int) -> tuple[Term, ...]:
        return tuple(self._read(register) for register in range(first, first + count))

    def _leave(self, path: ExecutionPath, callee: Callee) -> PathEnd:
        """What the callee gives is what this function gives."""
        type_ = self.sources.function(callee).type
        takes, gives = word_count(type_.parameters), word_count(type_.results)
        if self._read(max(takes, gives)) != self.returns_by:
            raise Refused(f"it jumps to {callee} without the place to return to")
        return PathEnd(path, ("return", self._happen_call(callee, self._words(0, takes), gives)))

    def _call(
        self,
        path: ExecutionPath,
        instruction: CoreInstruction,
        callee: Callee | Term,
        type_: FunctionType,
    ) -> None:
        takes, gives = word_count(type_.parameters), word_count(type_.results)
        slot = instruction.immediate
        if instruction.d != slot + max(takes, gives):
            raise Refused(f"{callee} returns by another register than {instruction.d}")
        results = self._happen_call(callee, self._words(slot, takes), gives)
        # Nothing is left of the registers from the slot on but the results.
        kept = {
            r: term for r, term in path.registers.items() if r < slot or r in self.target.shared
        }
        kept.update(enumerate(results, slot))
        path.registers = kept
        path.at += 1

    def _happen_call(
        self, callee: Callee | Term, words: tuple[Term, ...], gives: int
    ) -> tuple[Term, ...]:
        path = self.path
        if isinstance(callee, tuple):
            callee, words = self.sources.plain_call(callee, words)
        path.world = self.terms.node("call", path.world, callee, words, ~gives, self.seen())
        if not isinstance(callee, tuple) or self.sources.changes_shared(callee):
            for register in self.target.shared:
                path.registers[register] = self.terms.node("shared after", path.world, ~register)
        return tuple(self.terms.node("result", path.world, ~n) for n in range(gives))
