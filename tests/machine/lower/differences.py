"""Where a lowered module differs from wasmtime: both get the same calls, one after another.

Functions take and give integers. The lowered module runs on the reference machine, which says what
the weights say. Whether it can be proved to be right is counted too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

import wasmtime

from curta.machine.core_program import CoreProgram
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import lower
from curta.machine.proof import prove
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.floats import F32, F64, is_nan
from curta.machine.wasm.module import FunctionType, Module
from tests.machine.lower.core_run import CoreInstance
from tests.machine.wasm.oracle import FUEL, SAME_TRAP, Outcome, trap_reason

ENGINE = wasmtime.Engine()
MEMORY = "memory"
Arguments = Sequence[int]
Draw = Callable[[Sequence[str], Random, int], Arguments]
"""Arguments of the types, for the call of that number."""


@dataclass(frozen=True)
class Difference:
    """A call that gave something else here than in wasmtime."""

    name: str
    arguments: tuple[int, ...]
    here: object
    there: object

    def __str__(self) -> str:
        given = ", ".join(map(hex, self.arguments))
        return f"{self.name}({given}): {shown(self.here)}, in wasmtime {shown(self.there)}"


def shown(outcome: object) -> str:
    return str(list(map(hex, outcome))) if isinstance(outcome, tuple) else str(outcome)


@dataclass
class Tally:
    """What was compared."""

    modules: int = 0
    functions: int = 0
    calls: int = 0
    traps: int = 0
    nans: int = 0
    """Calls that agree but for the bits of a NaN."""
    differences: list[Difference] = field(default_factory=list)
    proved: int = 0
    """Functions, those of libraries included."""
    refused: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.modules:,} modules, {self.functions:,} functions, {self.calls:,} calls of "
            f"which {self.traps:,} trap and {self.nans} give another NaN, "
            f"{len(self.differences):,} functions differ; {self.proved:,} are proved, "
            f"{len(self.refused):,} refused"
        )


class Remembered:
    """What was proved before, while this process runs."""

    def __init__(self) -> None:
        self.lemmas: dict[bytes, tuple[str, ...]] = {}

    def find(self, fingerprint: str) -> tuple[str, ...] | None:
        return self.lemmas.get(sha256(fingerprint.encode()).digest())

    def keep(self, fingerprint: str, lemmas: tuple[str, ...]) -> None:
        self.lemmas[sha256(fingerprint.encode()).digest()] = lemmas


REMEMBERED = Remembered()


def count_proved(module: Module, program: CoreProgram, tally: Tally) -> None:
    prompt = LoadedProgram.from_core(program).prompt()
    for verdict in prove(module, program, prompt, MAX_PAGES, lemma_store=REMEMBERED):  # type: ignore[arg-type]
        if verdict.refused is None:
            tally.proved += 1
        else:
            tally.refused.append(f"{verdict.name}: {verdict.refused}")


class IntegerCalls:
    """An instance in wasmtime whose functions take and give integers only."""

    def __init__(self, binary: bytes) -> None:
        self.store = wasmtime.Store(ENGINE)
        instance = wasmtime.Instance(self.store, wasmtime.Module(ENGINE, binary), [])
        self.exports = dict(instance.exports(self.store).items())

    def invoke(self, name: str, type_: FunctionType, arguments: Arguments) -> Outcome:
        given = [
            value - (value >> 31 << 32) if kind == "i32" else value - (value >> 63 << 64)
            for kind, value in zip(type_.parameters, arguments, strict=True)
        ]
        try:
            returned = self.exports[name](self.store, *given)
        except wasmtime.Trap as trap:
            return trap_reason(trap)
        if returned is None:
            return ()
        found = returned if isinstance(returned, list) else [returned]
        return tuple(
            value % (1 << int(kind[1:])) for kind, value in zip(type_.results, found, strict=True)
        )

    def memory(self) -> bytes | None:
        found = self.exports.get(MEMORY)
        return bytes(found.read(self.store)) if isinstance(found, wasmtime.Memory) else None


class Here(CoreInstance):
    """The lowered module; a call that goes on for too long ends as if it had used up its fuel."""

    def outcome(self, name: str, arguments: Arguments) -> Outcome:
        try:
            got = self.invoke(name, *arguments)
        except RuntimeError:
            return FUEL
        except (IndexError, AssertionError, OverflowError) as error:
            return f"the machine fails: {error!r}"
        assert isinstance(got, tuple | str)
        return SAME_TRAP.get(got, got) if isinstance(got, str) else got


def differ_in_nans(got: Outcome, expected: Outcome) -> bool:
    """Which of two NaNs a sum is, the specification leaves open, and so does Cranelift: an operand
    in memory is its second. Bits of a NaN may be an integer's, too, so these calls are counted.
    """
    if isinstance(got, str) or isinstance(expected, str):
        return False
    return all(
        one == other or (is_any_nan(one) and is_any_nan(other))
        for one, other in zip(got, expected, strict=True)
    )


def has_floats(module: Module, index: int) -> bool:
    body = module.functions[index - len(module.imported("func"))].body
    return any(instruction.opcode[0] == "f" for instruction in body)


def is_any_nan(pattern: int) -> bool:
    return is_nan(pattern, F32 if pattern < 1 << 32 else F64)


def compare(module: Module, draw: Draw, random: Random, calls: int, tally: Tally) -> None:
    """Every exported function so many times; what differs is noted once for each function."""
    binary = encode(module)
    tally.modules += 1
    decoded = decode(binary)
    program = lower(decoded)
    count_proved(decoded, program, tally)
    here, there = Here(program), IntegerCalls(binary)
    types = module.index_spaces().functions
    for entry in module.exports:
        if entry.kind != "func":
            continue
        type_ = module.types[types[entry.index]]
        tally.functions += 1
        for number in range(calls):
            arguments = draw(type_.parameters, random, number)
            tally.calls += 1
            got = here.outcome(entry.name, arguments)
            expected = there.invoke(entry.name, type_, arguments)
            tally.traps += isinstance(expected, str)
            if got == expected:
                continue
            if has_floats(module, entry.index) and differ_in_nans(got, expected):
                tally.nans += 1
            else:
                tally.differences.append(Difference(entry.name, tuple(arguments), got, expected))
            here, there = Here(program), IntegerCalls(binary)
            break
    if (memory := there.memory()) is not None and here.memory() != memory:
        tally.differences.append(Difference(MEMORY, (), "other bytes", "these bytes"))
