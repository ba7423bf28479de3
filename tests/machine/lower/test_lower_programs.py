"""C programs, compiled with zig: lowered, they print what they print in wasmtime."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import wasmtime

from curta.machine.flags import FEATURES
from curta.machine.lower import LowerOptions
from curta.machine.wasm.decode import decode
from tests.machine.lower.core_run import CoreInstance, Exit
from tests.machine.wasm.c_programs import compile_wasi

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.c"))
STDIN = b"12 apples\nand 30 pears\n7"
ARGUMENTS = ("program", "one", "", "two words")


@pytest.mark.parametrize(
    "path",
    # Thousands of float operations take half a minute; the runtime's tests do some.
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem == "floats"))
        for path in PROGRAMS
    ],
)
@pytest.mark.parametrize("level", ["-O2", pytest.param("-O0", marks=pytest.mark.slow)])
def test_lowered_programs_print_what_they_print_in_wasmtime(path: Path, level: str) -> None:
    flags = ("--target=wasm32-wasi", f"-mcpu={FEATURES}", "-g0")
    binary = compile_wasi(path.read_text(), *flags, level)
    assert run_lowered(binary, LowerOptions()) == run_in_wasmtime(binary)


def run_lowered(binary: bytes, options: LowerOptions) -> tuple[bytes, bytes, int]:
    """Output, errors, exit code."""
    arguments = [argument.encode() for argument in ARGUMENTS]
    instance = CoreInstance(decode(binary), options, stdin=STDIN, arguments=arguments)
    ended = instance.invoke("_start")
    assert ended == () or isinstance(ended, Exit)
    code = ended.code if isinstance(ended, Exit) else 0
    return instance.output("out"), instance.output("err"), code


def run_in_wasmtime(binary: bytes) -> tuple[bytes, bytes, int]:
    """Output, errors, exit code."""
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").write_bytes(STDIN)
        config = wasmtime.WasiConfig()
        config.argv = ARGUMENTS
        config.stdin_file = str(folder / "in")
        config.stdout_file = str(folder / "out")
        config.stderr_file = str(folder / "err")
        store.set_wasi(config)
        instance = linker.instantiate(store, wasmtime.Module(engine, binary))
        code = 0
        try:
            instance.exports(store)["_start"](store)
        except wasmtime.ExitTrap as trap:
            code = trap.code
        return (folder / "out").read_bytes(), (folder / "err").read_bytes(), code
