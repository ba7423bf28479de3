"""The machine as in the issue: programs in, output out; here with the machine in plain Python."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import curta
from curta import Machine, Trap
from curta.errors import InvalidModuleError, LimitError, UserError
from curta.machine import load, lower
from curta.machine.encode import encode
from curta.machine.ids import names
from curta.machine.parts.operations import Extension
from curta.machine.wasm.text import assemble

EXAMPLES = Path(__file__).parents[3] / "examples"
MACHINE = Machine("reference")

MODULE = assemble("""
(module
  (memory (export "memory") 1)
  (func (export "f32.add") (param f32 f32) (result f32) (f32.add (local.get 0) (local.get 1)))
  (func (export "swap") (param i32 i64) (result i64 i32) (local.get 1) (local.get 0))
  (func (export "keep") (param i32) (i32.store (i32.const 8) (local.get 0)))
  (func (export "kept") (result i32) (i32.load (i32.const 8)))
  (func (export "far") (result i32) (i32.load (i32.const -1)))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
""")


def test_a_program_runs_from_its_start_to_its_end() -> None:
    out: list[bytes] = []
    run = MACHINE.run(
        EXAMPLES / "lines.c", stdin=b"a line\n", on_stdout=out.append, args=["x"], env={"A": "B"}
    )
    assert b"1: 2 words, 5 letters; backwards: enil a" in run.stdout
    assert b"".join(out) == run.stdout
    assert (run.stderr, run.exit_code) == (b"", 0)
    assert run.tokens == len(run.trace) > run.figures.prompt_tokens
    assert run.seconds > 0


def test_functions_are_invoked_again_and_again() -> None:
    instance = MACHINE.instantiate(MODULE)
    assert set(instance.exports) == {"f32.add", "swap", "keep", "kept", "far", "grow"}
    assert str(instance.exports["swap"]) == "[i32 i64] -> [i64 i32]"
    assert instance.invoke_bits("f32.add", [0x3F800000, 0x7FC00001]) == [0x7FC00001]
    assert instance.invoke("swap", 1, -2) == (-2, 1)
    assert instance.invoke("keep", 7) is None
    with pytest.raises(Trap, match="out of bounds memory access"):
        instance.invoke("far")
    assert instance.invoke("kept") == 7
    assert "await." in instance.trace[-1]


def test_memory_ends_where_it_was_told_to() -> None:
    instance = MACHINE.instantiate(MODULE, max_memory=3)
    assert [instance.invoke("grow", n) for n in (2, 1, 0)] == [1, -1, 3]
    with pytest.raises(LimitError, match="begins with 1 pages of memory, the limit is 0"):
        MACHINE.instantiate(MODULE, max_memory=0)


def test_a_limit_on_memory_hides_no_mistake_and_may_be_larger_than_any_memory() -> None:
    too_large = MODULE.replace(b"\x05\x03\x01\x00\x01", b"\x05\x06\x01\x01\x01\x81\x80\x04")
    assert too_large != MODULE
    with pytest.raises(InvalidModuleError, match="65537 pages"):
        MACHINE.instantiate(too_large)
    for limits in ("65537", "1 65537", "4294967295"):
        with pytest.raises(InvalidModuleError, match="memory size must be at most 65536 pages"):
            MACHINE.instantiate(assemble(f"(module (memory {limits}))"))
    with pytest.raises(InvalidModuleError, match="type mismatch"):
        MACHINE.instantiate(assemble("(module (memory 20000) (func (i32.const 1)))"))
    with pytest.raises(LimitError, match="begins with 65,536 pages"):
        MACHINE.instantiate(assemble("(module (memory 65536))"))
    instance = MACHINE.instantiate(MODULE, max_memory=1 << 40)
    assert [instance.invoke("grow", n) for n in (65_536, 65_535, 1)] == [-1, 1, -1]


def test_more_tokens_than_a_chapter_can_have_can_be_asked_for() -> None:
    instance = MACHINE.instantiate(MODULE, max_tokens=2**40)
    assert instance.invoke("kept") == 0


class Endless(io.RawIOBase):
    """The same line for ever; who reads much more than a line wants its end."""

    def __init__(self) -> None:
        self.left = 10_000

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        assert self.left > 0, "the input is read to its end"
        count = min(len(buffer), 100)
        buffer[:count] = (b"a line and more words, forty letters...\n" * 3)[:count]
        self.left -= count
        return count


def test_input_without_an_end_is_read_as_far_as_it_is_asked_for(tmp_path: Path) -> None:
    program = tmp_path / "first.c"
    program.write_text("#include <stdio.h>\nint main(void) { return getchar(); }")
    assert MACHINE.run(program, stdin=Endless()).exit_code == ord("a")


def test_what_has_no_start() -> None:
    with pytest.raises(UserError, match=r"has no _start to run; it exports f32\.add"):
        MACHINE.run(MODULE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"args": ["a\0b"]}, "zero byte"),
        ({"args": [3]}, "3, expected text"),
        ({"env": {"A=B": "c"}}, "no name for an environment variable"),
        ({"max_tokens": -1}, "max_tokens=-1"),
        ({"chapter_tokens": -1}, "chapter_tokens=-1"),
        ({"chapter_tokens": True}, "chapter_tokens=True"),
        ({"max_tokens": False}, "max_tokens=False"),
        ({"max_memory": True}, "max_memory=True"),
        ({"args": "6"}, "expected a list of texts"),
        ({"cflags": "-O0"}, "expected a list of texts"),
        ({"stdin": "text"}, "give bytes"),
        ({"stdin": 5}, "expected bytes"),
        ({"stdin": io.StringIO("text")}, "file of text"),
        ({"env": ["A=B"]}, "expected a mapping"),
    ],
)
def test_options_are_checked(options: dict, words: str) -> None:
    with pytest.raises(UserError, match=words):
        MACHINE.run(EXAMPLES / "queens.c", **options)


def test_options_of_other_names_and_what_is_no_program() -> None:
    for wrong, meant in (("arguments", "args"), ("max_token", "max_tokens"), ("cflag", "cflags")):
        with pytest.raises(TypeError, match=f"{wrong!r}; did you mean {meant!r}"):
            MACHINE.run(EXAMPLES / "queens.c", **{wrong: ["6"]})
    for program in (12, [], None):
        with pytest.raises(UserError, match="expected a path, paths, or the bytes"):
            MACHINE.run(program)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="expected a list"):
        MACHINE.instantiate(MODULE).invoke_bits("grow", 5)  # type: ignore[arg-type]


def test_a_lowered_program_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = MACHINE.load(MODULE)
    monkeypatch.setattr(lower, "lower", None)
    assert MACHINE.load(MODULE).to_bytes() == first.to_bytes()


def test_the_prompt_is_what_encode_says() -> None:
    loaded = MACHINE.load(MODULE)
    assert names(loaded.prompt().tolist()) == encode(loaded.core_program())


def test_the_machine_needs_no_torch_and_no_solver() -> None:
    code = (
        "import sys\n"
        "from curta import Machine\n"
        "import curta.app.run\n"
        f"Machine('reference').run({str(EXAMPLES / 'queens.c')!r})\n"
        "print([name for name in ('torch', 'scipy', 'highspy', 'jax', 'rich') "
        "if name in sys.modules])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert finished.stdout == "[]\n", finished.stderr


def test_a_second_run_imports_nothing_that_makes_anything() -> None:
    """It starts sooner."""
    queens = EXAMPLES / "queens.c"
    Machine().run(queens, args=["4"])
    code = (
        "import sys\n"
        "from curta.app.entry import main\n"
        f"sys.argv = ['curta', 'run', {str(queens)!r}, '4']\n"
        "main()\n"
        "makers = ('curta.compiler', 'curta.engine.native.emit', 'curta.machine.lower', "
        "'curta.machine.proof', 'curta.machine.wasm.module', 'curta.machine.kept.file')\n"
        "print([name for name in makers if name in sys.modules])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stdout.splitlines()[-1] == "[]"


def test_a_program_is_for_machines_with_the_same_extensions() -> None:
    """Operations are numbered by them."""

    def plus(name: str, more: int) -> Extension:
        return Extension(name, 1, lambda sources: sources.a.number, lambda a: a + more)

    module = assemble(
        """(module (import "curta" "one_more" (func $x (param i32) (result i32)))
        (func (export "f") (param i32) (result i32) (call $x (local.get 0))))"""
    )
    one, two = (Machine("reference", extensions=[plus(*more)]) for more in MORE)
    program = one.load(module)
    assert one.start(program).invoke("f", 41) == 42
    for other in (two, Machine("reference")):
        with pytest.raises(UserError, match="for a machine with other extensions"):
            other.start(program)


MORE = (("one_more", 1), ("two_more", 2))


def test_a_process_whose_files_have_changed_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it lowers is not what the files would, under whose name it would be found."""
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    module = assemble('(module (func (export "f") (result i32) (i32.const 1)))')
    with monkeypatch.context() as changed:
        changed.setattr(curta, "IMPORTED", 0.0)
        load.load_program(module)
        assert not list(tmp_path.rglob("*"))
    load.load_program(module)
    assert {path.parent.name for path in tmp_path.glob("*/*")} == {"lowered", "proved"}


def test_a_start_function_may_end_the_program() -> None:
    module = assemble(
        """(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (func $begin (call $exit (i32.const 7))) (start $begin) (func (export "_start")))"""
    )
    assert Machine("reference").run(module).exit_code == 7
