"""As much of WASI as a program that prints needs, for the interpreter; and wasmtime's own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import wasmtime

from curta.machine.wasm import HostFunction, Instance, Module
from curta.machine.wasm.store import Imports

BAD_FILE = 8


class ExitError(Exception):
    """The program ended itself."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def run_hosted(module: Module, kind: type[Instance]) -> tuple[Instance, bytes, int]:
    """The instance, what the program printed, and its exit status."""
    output = bytearray()
    imports: Imports = {}
    for entry in module.imported("func"):
        assert isinstance(entry.description, int)
        calls = {"fd_write": _write, "proc_exit": _exit, "fd_fdstat_get": _status}
        call = calls.get(entry.name, _refuse)
        imports[entry.module, entry.name] = HostFunction(
            module.types[entry.description],
            lambda caller, *rest, call=call: call(output, caller, *rest),  # type: ignore[misc]
        )
    instance = kind(module, imports)
    try:
        instance.invoke("_start")
    except ExitError as end:
        return instance, bytes(output), end.status
    return instance, bytes(output), 0


def _write(
    output: bytearray, caller: Instance, _: int, vectors: int, count: int, written: int
) -> int:
    memory, total = caller.memories[0], 0
    for number in range(count):
        at = int.from_bytes(memory.read(vectors + 8 * number, 4), "little")
        size = int.from_bytes(memory.read(vectors + 8 * number + 4, 4), "little")
        output += memory.read(at, size)
        total += size
    memory.write(written, total.to_bytes(4, "little"))
    return 0


def _exit(_output: bytearray, _caller: Instance, status: int) -> None:
    raise ExitError(status)


def _status(_output: bytearray, caller: Instance, _descriptor: int, result: int) -> int:
    """A character device with all rights."""
    caller.memories[0].write(result, bytes([2]) + bytes(7) + b"\xff" * 16)
    return 0


def _refuse(*_: object) -> int:
    return BAD_FILE


def run_in_wasmtime(binary: bytes) -> tuple[bytes, int]:
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    with tempfile.TemporaryDirectory() as folder:
        config = wasmtime.WasiConfig()
        config.stdout_file = str(Path(folder) / "output")
        store.set_wasi(config)
        instance = linker.instantiate(store, wasmtime.Module(engine, binary))
        status = 0
        try:
            instance.exports(store)["_start"](store)
        except wasmtime.ExitTrap as trap:
            status = trap.code
        return (Path(folder) / "output").read_bytes(), status
