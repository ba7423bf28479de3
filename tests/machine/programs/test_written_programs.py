"""Programs of the kinds that people run: the machine prints what others print.

Each of the files beside this one is compiled twice, to WebAssembly and for the computer that the
tests run on. The machine has to print what wasmtime prints, and both what the native program does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime  # noqa: F401 (without it these tests would compare nothing)

from curta import Machine
from curta.engine.toolchain import find_compiler
from curta.machine.toolchain import read_program
from curta.machine.verify.on_wasmtime import Outcome, run_on_wasmtime
from tests.support.slow import all_but

FOLDER = Path(__file__).parent
PROGRAMS = {path.stem: path for suffix in ("*.c", "*.cpp") for path in FOLDER.glob(suffix)}
BY_DEFAULT = {
    *("xxhash", "digits", "json", "fused", "dynamic"),
}
"""Some of every kind; compiling takes a second or two of each."""
LONG_DOUBLE = {"long_roots", "long_series"}
"""A `long double` has 113 digits in WebAssembly, and others elsewhere."""
MOST_TOKENS = 3_000_000
STRICT = ("-O1", "-ffp-contract=off", "-fno-fast-math")


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize("name", all_but(BY_DEFAULT, sorted(PROGRAMS)))
def test_the_machine_prints_what_others_print(machine: Machine, name: str, tmp_path: Path) -> None:
    path = PROGRAMS[name]
    module, given = read_program(path), stdin_of(path)
    expected = run_on_wasmtime(module, [path.name], {}, given)
    assert expected.trap == ""
    assert len(expected.stdout) > 50
    run = machine.run(module, stdin=given, name=path.name, max_tokens=MOST_TOKENS, keep_trace=False)
    assert lines(Outcome(run.stdout, run.stderr, run.exit_code)) == lines(expected)
    if path.stem not in LONG_DOUBLE:
        assert lines(native(path, given, tmp_path)) == lines(expected)


def test_names_are_those_of_programs() -> None:
    assert PROGRAMS.keys() >= BY_DEFAULT | LONG_DOUBLE
    assert len(PROGRAMS) >= 40


def stdin_of(path: Path) -> bytes:
    """What stands beside the program for its standard input."""
    given = path.with_suffix(".in")
    return given.read_bytes() if given.exists() else b""


def lines(outcome: Outcome) -> tuple[list[str], list[str], int | None]:
    """Output, errors and exit code, as pytest compares them line by line."""
    out, err = (text.decode(errors="backslashreplace") for text in (outcome.stdout, outcome.stderr))
    return out.splitlines(), err.splitlines(), outcome.exit_code


def native(path: Path, given: bytes, folder: Path) -> Outcome:
    """The program on this computer."""
    executable = folder / path.stem
    command = [*compiler(path), *STRICT, str(path), "-lm", "-o", str(executable)]
    caches = {
        f"ZIG_{kind}_CACHE_DIR": str(Path(os.environ["CURTA_CACHE"]) / "zig")
        for kind in ("GLOBAL", "LOCAL")
    }
    subprocess.run(command, check=True, env=os.environ | caches)
    ended = subprocess.run([executable], input=given, capture_output=True, check=False, timeout=60)
    return Outcome(ended.stdout, ended.stderr, ended.returncode)


def compiler(path: Path) -> tuple[str, ...]:
    """Of C, or of C++: the computer's own, or zig."""
    if path.suffix == ".c":
        return find_compiler().command
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    return (found,) if found else (sys.executable, "-m", "ziglang", "c++")
