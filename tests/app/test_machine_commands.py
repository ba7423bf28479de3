"""`curta run` and `curta disasm`, on the machine in plain Python."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from curta import Machine
from curta.app.command_line import main, read

Capture = pytest.CaptureFixture[str]

ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int divided(int a, int b) { return a / b; }
int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "crash") == 0) {
        fputs("before\n", stdout);
        fflush(stdout);
        return divided(count, count - 2);
    }
    for (int i = 0; i < count; i++) puts(words[i]);
    if (getenv("MOOD")) puts(getenv("MOOD"));
    for (int c; (c = getchar()) != EOF;) putchar(c);
    fputs("done\n", stderr);
    return count;
}
"""
LIBRARY = """
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
double half(double x) { return x / 2; }
void nothing(void) {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("echo.c").write_text(ECHO)
    Path("library.c").write_text(LIBRARY)
    return tmp_path


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(["run", "--level", "reference", *arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_output_exit_code_and_figures(folder: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "echo.c", "--stdin", "hello", "a", "-b", "--env", "MOOD=good")
    assert (code, out) == (3, "echo.c\na\n-b\ngood\nhello\n")
    assert err.startswith("done\n")
    assert "tok/s" in err
    assert "core instructions" in err
    assert sorted(path.name for path in folder.iterdir()) == ["echo.c", "library.c"]


def test_a_run_that_does_not_begin_has_no_figures(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", "/proc/nowhere")
    code, out, err = run(capsys, "--level", "native", "library.c", "--invoke", "nothing")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "Set CURTA_CACHE" in err


def test_whoever_waits_for_a_slow_level_is_told(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curta.terminal.QUIET_SECONDS", 0.0)
    gcd = str(Path(__file__).parents[2] / "examples" / "gcd.wat")
    told = {}
    for level in ("hull", "native"):
        code, out, told[level] = run(capsys, "--level", level, "--invoke", "gcd", gcd, "12", "18")
        assert (code, out) == (0, "6\n")
    assert (
        "reading the program at level hull, which takes minutes if it is long ..." in told["hull"]
    )
    assert "reading" not in told["native"]


@pytest.mark.parametrize(("returned", "code"), [(-1, 255), (255, 255), (256, 0), (300, 44)])
def test_an_exit_code_has_eight_bits(
    folder: Path, capsys: Capture, returned: int, code: int
) -> None:
    (folder / "end.c").write_text(f"int main(void) {{ return {returned}; }}\n")
    assert run(capsys, "end.c")[:2] == (code, "")


@pytest.mark.parametrize(
    ("before", "behind", "words"),
    [
        ([], [], []),
        (["--stats", "none"], ["x"], ["x"]),
        ([], ["x", "--stats=none", "-v", "--verbose"], ["x", "-v", "--verbose"]),
        ([], ["--", "--stats", "none"], ["--stats", "none"]),
        ([], ["-", "--", "--"], ["-", "--"]),
    ],
)
def test_whose_words_are_whose(
    folder: Path, capsys: Capture, before: list[str], behind: list[str], words: list[str]
) -> None:
    code, out, _ = run(capsys, *before, "--stdin", "", "echo.c", *behind)
    assert out.splitlines() == ["echo.c", *words]
    assert code == len(words) + 1


@pytest.mark.parametrize(
    ("words", "misspelt"),
    [
        (["--max-tokns", "100"], ["--max-tokns"]),
        (["--max-token=100"], ["--max-token"]),
        (["--verbose", "-trace", "max-tokns", "--"], []),
        (["--", "--max-tokns", "100"], []),
    ],
)
def test_a_misspelt_option_is_passed_on_with_a_warning(
    folder: Path, capsys: Capture, words: list[str], misspelt: list[str]
) -> None:
    _, out, err = run(capsys, "echo.c", "--stdin", "", "--stats", "none", *words)
    assert out.splitlines() == ["echo.c", *(word for word in words if word != "--")]
    *warnings, done = err.splitlines()
    assert done == "done"
    said = "is given to the program; did you mean --max-tokens?"
    assert [line.partition(" (")[0] for line in warnings] == [
        f"curta run: {name} {said}" for name in misspelt
    ]


def test_further_files_of_c_are_the_programs_if_they_are_there(folder: Path) -> None:
    Path("two.c").touch()
    _, options = read("run", ["echo.c", "two.c", "three.c"])
    assert (options.program, options.arguments) == (("echo.c", "two.c"), ("three.c",))


def test_values_may_begin_with_a_dash(folder: Path, capsys: Capture) -> None:
    code, out, _ = run(capsys, "echo.c", "--stdin", "-3", "--cflags", "-O1 -DX=1")
    assert (code, out) == (1, "echo.c\n-3\n")


def test_input_from_a_file(folder: Path, capsys: Capture) -> None:
    Path("input").write_text("from a file")
    _, out, _ = run(capsys, "echo.c", "--stdin-file", "input")
    assert out == "echo.c\nfrom a file"
    code, _, err = run(capsys, "echo.c", "--stdin-file", "input", "--stdin", "x")
    assert (code, err) == (2, "curta: --stdin and --stdin-file: give one of them\n")
    code, _, err = run(capsys, "echo.c", "--stdin-file", "missing")
    assert (code, err) == (2, "curta: --stdin-file missing: No such file or directory\n")


FIRST_LINE = """
#include <stdio.h>
int main(void) {
    char line[10];
    fgets(line, sizeof line, stdin);
    return line[0] != 0;
}
"""


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_file_without_an_end(folder: Path, capsys: Capture) -> None:
    Path("first.c").write_text(FIRST_LINE)
    assert run(capsys, "first.c", "--stdin-file", "/dev/zero", "--stats", "none") == (0, "", "")


def test_input_of_curta_itself(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"typed\n")))
    assert run(capsys, "echo.c")[1] == "echo.c\ntyped\n"


def test_a_trap_is_one_line(folder: Path, capsys: Capture) -> None:
    code, out, err = run(capsys, "echo.c", "crash", "--stats", "none")
    assert (code, out) == (1, "before\n")
    assert err == "trap: integer divide by zero (in function $divided)\n"


def test_a_trap_in_main_is_in_the_main_that_was_written(folder: Path, capsys: Capture) -> None:
    Path("plain.c").write_text("int main(void) { __builtin_trap(); }")
    code, _, err = run(capsys, "plain.c", "--stats", "none")
    assert (code, err) == (1, "trap: unreachable (in function $main)\n")


def test_figures_for_scripts(folder: Path, capsys: Capture) -> None:
    _, _, err = run(capsys, "echo.c", "crash", "--stats", "json")
    trap, figures = err.splitlines()
    said = json.loads(figures)
    assert said["tokens"] > said["prompt_tokens"] > 0
    assert said["exit_code"] == 1
    assert said["failure"] in trap


def test_figures_are_those_of_the_run(capsys: Capture) -> None:
    """Of a long one too, whose ledger is behind what was said."""
    queens = Path(__file__).parents[2] / "examples" / "queens.c"
    _, _, err = run(capsys, str(queens), "10", "--stats", "json")
    said = json.loads(err.splitlines()[-1])
    figures = Machine().run(queens, args=["10"]).figures
    assert (said["tokens"], said["core_instructions"]) == (figures.tokens, figures.instructions)


def test_invoking_a_function(folder: Path, capsys: Capture) -> None:
    assert run(capsys, "library.c", "--invoke", "fib", "10")[:2] == (0, "55\n")
    assert run(capsys, "--invoke=half", "library.c", "-3")[:2] == (0, "-1.5\n")
    assert run(capsys, "library.c", "--invoke", "half", "1e3")[:2] == (0, "500\n")
    assert run(capsys, "library.c", "--invoke", "nothing")[:2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["library.c", "--invoke", "fib", "x"], "argument 1 of fib is of type i32: 'x' is not"),
        (["library.c", "--invoke", "fib"], "fib takes 1 argument (i32), got 0"),
        (["library.c", "--invoke", "fib", "1", "2"], "fib takes 1 argument (i32), got 2"),
        (["library.c", "--invoke", "no"], "no function 'no' is exported"),
        (["library.c"], "there is no function main"),
        (["missing.c"], "missing.c: no such file"),
        (["echo.c", "--env", "X"], "--env X: expected NAME=VALUE"),
        (["echo.c", "--cflags", "'"], "--cflags"),
        (["--wrong", "echo.c"], "--wrong"),
        (["--max-tokns", "100", "echo.c"], "no option --max-tokns: did you mean --max-tokens?"),
        (["echo.c", "--max-tokens", "x"], "--max-tokens x: write a whole number"),
        (["echo.c", "--max-tokens", "-1"], "max_tokens=-1"),
        (["echo.c", "--chapter-tokens", "-1"], "expected a number that is not negative"),
        ([], "PROG is missing"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(
    folder: Path, capsys: Capture, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.wasm", "", "unexpected end (at byte 0)"),
        ("open.wat", "(module", "line 1"),
        ("local.wat", "(func (drop (local.get 5)))", "unknown local: index 5, the function has 0"),
        ("link.wat", '(import "a" "b" (func))', 'unknown import: nothing provides "a" "b"'),
    ],
)
@pytest.mark.parametrize("command", [["run"], ["disasm"], ["verify", "--stdin", ""]])
def test_what_is_wrong_in_a_module_is_said_with_its_file(
    folder: Path, capsys: Capture, command: list[str], name: str, content: str, words: str
) -> None:
    Path(name).write_text(content)
    assert main([*command, name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"curta: {name}: ")
    assert words in err


def test_diagnostics_follow_their_line(folder: Path, capsys: Capture) -> None:
    Path("wrong.c").write_text("int main(void) { return x; }")
    code, _, err = run(capsys, "wrong.c")
    assert code == 2
    assert err.startswith("curta: wrong.c: the C compiler refused it\nwrong.c:1:25: error:")


def test_limits_are_errors(folder: Path, capsys: Capture) -> None:
    code, _, err = run(capsys, "library.c", "--invoke", "fib", "25", "--max-tokens", "50000")
    assert code == 1
    assert "curta: the run reached its limit of 50,000 tokens" in err
    code, _, err = run(capsys, "echo.c", "--max-memory", "2")
    assert code == 1
    assert "the limit is 2; allow more with max_memory" in err


def test_a_program_answers_line_by_line() -> None:
    lines = Path(__file__).parents[2] / "examples" / "lines.c"
    command = [sys.executable, "-m", "curta", "run", "--level", "reference", str(lines)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "Say something, or nothing to end.\n"
        for number, line in enumerate(["one", "two words"], 1):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(f"{number}: ")
        process.stdin.close()
        assert process.stdout.readline() == "2 lines, 3 words. Goodbye.\n"
        assert "tok/s" in process.stderr.read()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
def test_progress_is_shown_on_a_terminal_while_a_program_is_silent(folder: Path) -> None:
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "curta", "run", "--level", "reference", "library.c"]
    arguments = ["--invoke", "fib", "21"]
    finished = subprocess.run(
        [*command, *arguments], stdin=slave, stdout=subprocess.PIPE, stderr=slave, check=False
    )
    os.close(slave)
    said = os.read(master, 1 << 16).decode()
    os.close(master)
    assert finished.stdout == b"10946\n"
    assert "\r" in said.splitlines()[-1] or said.count("tok/s") >= 1


def test_the_trace_is_readable(folder: Path, capsys: Capture) -> None:
    code, out, _ = run(capsys, "library.c", "--invoke", "fib", "2", "--trace")
    assert code == 0
    assert "\nfib:\n" in out
    assert re.search(r"jump_(lt|ge)_s r0, 2.* J", out)
    assert any("= await" in line and "= 2" in line for line in out.splitlines())


def test_disassembly(folder: Path, capsys: Capture) -> None:
    assert main(["disasm", "library.c", "--library"]) == 0
    out = capsys.readouterr().out
    assert "\nfib:\n" in out
    assert "i32.add" in out
    assert "target:" in out


def test_help_has_the_options(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "--help"])
    assert stop.value.code == 0
    assert "--max-memory" in capsys.readouterr().out


SWAP = """
#include <stdio.h>
__attribute__((import_module("curta"), import_name("byte_swap"))) unsigned byte_swap(unsigned);
int main(void) { printf("%08x\\n", byte_swap(0x12345678)); }
"""


def test_an_extension_by_its_name_and_as_a_module(folder: Path, capsys: Capture) -> None:
    Path("swap.c").write_text(SWAP)
    Path("mine.py").write_text("from curta.machine.extensions.byte_swap import BYTE_SWAP as SWAP")
    for name in ("byte_swap", "mine:SWAP"):
        assert run(capsys, "swap.c", "--extension", name)[:2] == (0, "78563412\n")
    code, out, err = run(capsys, "swap.c")
    assert (code, out) == (2, "")
    assert "--extension byte_swap" in err
    assert main(["disasm", "swap.c", "--extension", "byte_swap"]) == 0
    assert "byte_swap#" in capsys.readouterr().out
