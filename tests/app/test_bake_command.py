"""`curta bake`, and what the other commands do with its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curta.app import bake
from curta.app.command_line import main
from tests.support.commands_page import differences

Capture = pytest.CaptureFixture[str]

UPPER = """
#include <unistd.h>
int main(int count, char **words) {
    char c;
    while (read(0, &c, 1) == 1) {
        if (c >= 'a' && c <= 'z') c -= 32;
        write(1, &c, 1);
    }
    for (int i = 0; i < count; i++) {
        for (char *at = words[i]; *at; at++) write(2, at, 1);
        write(2, "|", 1);
    }
    return count;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("upper.c").write_text(UPPER)
    return tmp_path


def said(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.slow  # two minutes of compiling; the README's commands bake and run by default
def test_a_baked_program_does_what_the_prompted_one_does(folder: Path, capsys: Capture) -> None:
    arguments = ("bake", "upper.c", "-o", "upper.safetensors")
    code, figures, err = said(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    assert list(differences(bake.Report, json.loads(figures))) == []
    code, out, err = said(capsys, *arguments)
    assert (code, err) == (0, "")
    assert out.startswith("upper.safetensors: upper.c as weights: ")
    assert "exact for sequences of up to 67,108,864 tokens" in out
    options = ["--stdin", "some words", "--env", "MOOD=fine", "-x", "two", "--stats", "none"]
    baked = said(capsys, "run", "upper.safetensors", *options)
    assert baked == (3, "SOME WORDS\n", "upper.c|-x|two|")
    assert said(capsys, "run", "upper.c", *options) == baked
    assert said(capsys, "run", "upper.safetensors", "--level", "reference", *options) == baked
    code, trace, _ = said(capsys, "run", "upper.safetensors", "--trace", "--stdin", "a", "b")
    assert code == 2
    assert "out65" in trace
    assert trace.splitlines()[0] == "entries:"

    code, checked, _ = said(
        capsys, "verify", "upper.safetensors", "--stdin", "a", "--level", "hull"
    )
    assert code == 0
    assert " are those of the hull level, which read " in checked
    assert "wasmtime: not compared, it runs no weights" in checked

    code, listing, _ = said(capsys, "disasm", "upper.safetensors")
    assert code == 0
    assert "call" in listing
    code, _, error = said(capsys, "run", "upper.safetensors", "--invoke", "fib", "3")
    assert code == 2
    assert "no function 'fib' is exported" in error
    for option in ("--cflags=-O3", "--max-memory=9"):
        code, _, error = said(capsys, "run", "upper.safetensors", option)
        assert code == 2
        assert "give it to `curta bake`" in error


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("bake", "upper.c", "-o", "upper.bin"), "ends in .safetensors"),
        (("bake", "upper.c", "-o", "no/where/upper.safetensors"), "there is no such folder"),
        (("bake", "none.c", "-o", "x.safetensors"), "none.c"),
        (("run", "none.safetensors"), "none.safetensors: no such file"),
        (("run", "torn.safetensors"), "not a complete safetensors file"),
        (("run", "torn.safetensors", "--extension", "nothing"), "no extension 'nothing'"),
        (("run", "torn.safetensors", "--extension", "byte_swap"), "byte_swap (--extension) means"),
        (("verify", "torn.safetensors", "--extension", "byte_swap"), "give it to `curta bake`"),
        (("disasm", "torn.safetensors", "--extension", "byte_swap"), "baked with: byte_swap"),
        (("disasm", "torn.safetensors", "upper.c"), "is a whole program; name no other file"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, capsys: Capture, arguments: tuple[str, ...], text: str
) -> None:
    Path("torn.safetensors").write_bytes(b"torn")
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert len(err.splitlines()) == 1
