"""A library of idioms, run three times: in the weights, in wasmtime, and as native code."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import wasmtime

from curta import Machine
from curta.machine.load import lower_program
from curta.machine.toolchain import Compilation
from tests.machine.fuzz.c_idioms import IdiomLibrary, function_text
from tests.machine.fuzz.rounds import LEVELS
from tests.machine.fuzz.weights_run import WeightsInstance

FLAGS = ("-fwrapv", "-ffp-contract=off", "-w")
MOST_TOKENS = 2**26
NATIVE_COMPILER = shutil.which("gcc")
ENGINE = wasmtime.Engine()
Run = Callable[[str, int, int, int], int]
"""Calls "run" or "call" of the library with a function, a number and perhaps a count."""


@dataclass
class Idioms:
    """What was run, and the source of each function that differed."""

    libraries: int = 0
    functions: int = 0
    calls: int = 0
    calls_in_native_code: int = 0
    tokens: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.libraries} libraries of C, {self.functions:,} functions, {self.calls:,} calls "
            f"({self.calls_in_native_code:,} of them in native code, too), {self.tokens:,} tokens, "
            f"{len(self.differences)} functions differ"
        )


@dataclass
class LibraryRun:
    """One library of so many functions; each is called so many times."""

    machine: Machine
    folder: Path
    seed: str
    functions: int
    calls: int
    quads: bool = False
    levels: Sequence[str] = LEVELS

    def check(self, tally: Idioms) -> None:
        random = Random(self.seed)
        self.text = IdiomLibrary(random, self.functions, quads=self.quads).text
        self.source = self.folder / "library.c"
        self.source.write_text(self.text)
        level = random.choice(self.levels)
        self.binary = Compilation((str(self.source),), (*FLAGS, level), library=True).compile()
        self.program = lower_program(self.binary)
        runs = {"wasmtime": self.in_wasmtime(), "the weights": self.in_the_weights()}
        if NATIVE_COMPILER and not self.quads:
            runs["native code"] = self.in_native_code(random.choice(LEVELS))
        tally.libraries += 1
        for function in range(self.functions):
            digests = {name: run("run", function, 0, self.calls) for name, run in runs.items()}
            if len({*digests.values()}) > 1:
                tally.differences.append(self.description(function, level, digests))
        tally.functions += self.functions
        tally.calls += self.functions * self.calls
        tally.calls_in_native_code += self.functions * self.calls * ("native code" in runs)
        tally.tokens += self.weights.generated

    def description(self, function: int, level: str, digests: dict[str, int]) -> str:
        """The first call of a function that differs; what it finds as it comes, the other calls
        having been made already, may agree now.
        """
        there, here = self.in_wasmtime(), self.in_the_weights()
        lines = [f"library {self.seed!r} {level}: {digests}", function_text(self.text, function)]
        for other in range(function):
            there("run", other, 0, self.calls)
            here("run", other, 0, self.calls)
        for number in range(self.calls):
            expected, got = (run("call", function, number, 0) for run in (there, here))
            if got != expected:
                words = [hex(there("operand", function, number, place)) for place in range(4)]
                lines.append(f"of {words}: {got:#x}, in wasmtime {expected:#x}")
                break
        return "\n".join(lines)

    def in_wasmtime(self) -> Run:
        store, linker = wasmtime.Store(ENGINE), wasmtime.Linker(ENGINE)
        linker.define_wasi()  # without optimisation there are guards of the stack, drawn at random
        store.set_wasi(wasmtime.WasiConfig())
        instance = linker.instantiate(store, wasmtime.Module(ENGINE, self.binary))
        exports = dict(instance.exports(store).items())
        exports["_initialize"](store)

        def run(name: str, *words: int) -> int:
            given = words if name != "call" else words[:2]
            return int(exports[name](store, *given)) % (1 << 64)

        return run

    def in_the_weights(self) -> Run:
        self.weights = WeightsInstance(self.machine, self.program, MOST_TOKENS, keep_trace=False)
        self.weights.invoke("_initialize")
        weights = self.weights

        def run(name: str, *words: int) -> int:
            outcome = weights.invoke(name, words if name != "call" else words[:2])
            return outcome[0] if isinstance(outcome, tuple) else hash(outcome)

        return run

    def in_native_code(self, level: str) -> Run:
        program = self.folder / f"{self.source.stem}_{abs(hash(self.seed))}.so"
        command = [str(NATIVE_COMPILER), *FLAGS, level, "-shared", "-fPIC", "-o", str(program)]
        subprocess.run([*command, str(self.source), "-lm"], check=True)
        library = ctypes.CDLL(str(program))
        program.unlink()

        def run(name: str, *words: int) -> int:
            function = library[name]
            function.restype = ctypes.c_uint64
            return int(function(*words))

        return run
