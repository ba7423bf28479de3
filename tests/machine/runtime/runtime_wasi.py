"""Runs WASI programs on the library under wasmtime, and on wasmtime's own WASI.

The library takes 64-bit parameters as two words, so an adapter module with WASI's signatures
stands between program and library; it is generated from the signatures below.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import wasmtime

from curta.machine.flags import FLAGS
from curta.machine.runtime.build import WASI
from tests.machine.runtime.runtime_wasi_signatures import SIGNATURES
from tests.machine.wasm.c_programs import compile_wasi


def adapter_text() -> str:
    """A module with WASI's signatures that calls the library's."""
    imports, functions = [], []
    for name, signature in SIGNATURES.items():
        words = " i32" * (len(signature) + signature.count("I"))
        result = "" if name == "proc_exit" else "(result i32)"
        imports.append(f'(import "library" "{name}" (func ${name} (param{words}) {result}))')
        parameters = " ".join("i64" if kind == "I" else "i32" for kind in signature)
        arguments = []
        for index, kind in enumerate(signature):
            value = f"(local.get {index})"
            if kind == "I":
                arguments.append(f"(i32.wrap_i64 {value})")
                value = f"(i32.wrap_i64 (i64.shr_u {value} (i64.const 32)))"
            arguments.append(value)
        body = f"(call ${name} {' '.join(arguments)})"
        functions.append(f'(func (export "{name}") (param {parameters}) {result} {body})')
    return "(module\n" + "\n".join(imports + functions) + ")"


@dataclass
class Surroundings:
    """What a program is given."""

    arguments: Sequence[str] = ("program",)
    environment: Sequence[tuple[str, str]] = ()
    standard_input: bytes = b""
    seed: int = 1


@dataclass
class Run:
    """What a program did."""

    code: int = 0
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)


class ProgramExitError(Exception):
    """Raised by curta.exit."""


class Host:
    """The machine's native instructions, in Python."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.run = Run()
        self.input = surroundings.standard_input
        self.position = 0
        self.state = [surroundings.seed] + [0] * 15
        self.exited = False
        variables = [f"{name}={value}" for name, value in surroundings.environment]
        self.arguments = b"".join(text.encode() + b"\0" for text in surroundings.arguments)
        self.variables = b"".join(text.encode() + b"\0" for text in variables)

    def write(self, file: int, byte: int) -> None:
        (self.run.output if file == 1 else self.run.errors).append(byte)

    def read(self) -> int:
        self.position += 1
        if self.position > len(self.input):
            return -1
        return self.input[self.position - 1]

    def argument(self, index: int) -> int:
        return self.arguments[index] if index < len(self.arguments) else -1

    def environ(self, index: int) -> int:
        return self.variables[index] if index < len(self.variables) else -1

    def exit(self, code: int) -> None:
        self.run.code = code
        self.exited = True
        raise ProgramExitError

    def load_state(self, word: int) -> int:
        value = self.state[word]
        return value - (1 << 32) if value >> 31 else value

    def store_state(self, word: int, value: int) -> None:
        self.state[word] = value & 0xFFFFFFFF

    def add3(self, a: int, b: int, c: int) -> int:
        return wrapped(a + b + c)

    def sub3(self, a: int, b: int, c: int) -> int:
        return wrapped(a - b - c)

    def carry(self, a: int, b: int) -> int:
        return (a % WORD + b % WORD) // WORD


WORD = 1 << 32


def wrapped(value: int) -> int:
    """As a signed number of 32 bits."""
    return (value + WORD // 2) % WORD - WORD // 2


NATIVE = {
    "write": 2,
    "read": 0,
    "argument": 1,
    "environ": 1,
    "exit": 1,
    "load_state": 1,
    "store_state": 2,
    "add3": 3,
    "sub3": 3,
    "carry": 2,
}


@dataclass
class Machine:
    """The library, instantiated over a memory of its own, ready for a program."""

    host: Host
    store: wasmtime.Store
    linker: wasmtime.Linker
    memory: wasmtime.Memory
    library: wasmtime.Instance

    def call(self, name: str, *arguments: int) -> int:
        """Call one of the library's functions, in words."""
        function = self.library.exports(self.store)[name]
        assert isinstance(function, wasmtime.Func)
        return int(function(self.store, *arguments) or 0)


def make_machine(surroundings: Surroundings, pages: int = 2) -> Machine:
    """Instantiate library and adapter over a fresh memory."""
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    host = Host(surroundings)
    i32 = wasmtime.ValType.i32()
    for name, parameters in NATIVE.items():
        results = [] if name in ("write", "exit", "store_state") else [i32]
        kind = wasmtime.FuncType([i32] * parameters, results)
        call: Callable[..., int | None] = getattr(host, name)
        linker.define_func("curta", name, kind, call)
    memory = wasmtime.Memory(store, wasmtime.MemoryType(wasmtime.Limits(pages, None)))
    linker.define(store, "env", "memory", memory)
    library = linker.instantiate(store, wasmtime.Module(engine, WASI.path.read_bytes()))
    linker.define_instance(store, "library", library)
    adapter = wasmtime.Module(engine, bytes(wasmtime.wat2wasm(adapter_text())))
    adapted = linker.instantiate(store, adapter)
    linker.define_instance(store, "wasi_snapshot_preview1", adapted)
    return Machine(host, store, linker, memory, library)


def start(store: wasmtime.Store, instance: wasmtime.Instance) -> None:
    """Run a program's _start."""
    function = instance.exports(store)["_start"]
    assert isinstance(function, wasmtime.Func)
    function(store)


def run_on_library(program: bytes, surroundings: Surroundings) -> Run:
    """Run a program that imports its memory as env.memory."""
    machine = make_machine(surroundings, pages=512)
    module = wasmtime.Module(machine.store.engine, program)
    instance = machine.linker.instantiate(machine.store, module)
    try:
        start(machine.store, instance)
    except Exception:
        if not machine.host.exited:
            raise
    return machine.host.run


def run_on_wasmtime(program: bytes, surroundings: Surroundings) -> Run:
    """Run a program that has its own memory on wasmtime's WASI."""
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    run = Run()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("in", "out", "err")]
        paths[0].write_bytes(surroundings.standard_input)
        config = wasmtime.WasiConfig()
        config.argv = list(surroundings.arguments)
        config.env = list(surroundings.environment)
        config.stdin_file, config.stdout_file, config.stderr_file = map(str, paths)
        store.set_wasi(config)
        instance = linker.instantiate(store, wasmtime.Module(engine, program))
        try:
            start(store, instance)
        except wasmtime.ExitTrap as exit_trap:
            run.code = exit_trap.code
        del store, instance
        run.output += paths[1].read_bytes()
        run.errors += paths[2].read_bytes()
    return run


def compile_program(source: Path, *, import_memory: bool) -> bytes:
    """C to WebAssembly with WASI, by the flags of programs, without pieces of curta's own."""
    linked = ["--import-memory"] if import_memory else []
    return compile_wasi(source.read_text(), *FLAGS, linked=linked)
