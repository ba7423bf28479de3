"""`--save-trace`: the file says what the run said, and what is needed to check it."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta.app.command_line import main
from curta.compiler import load_model
from curta.engine import LEVELS, load_trace
from tests.support.model_page import differences

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("level", LEVELS)
def test_the_gallery_writes_what_was_said(capsys: Capture, level: str) -> None:
    arguments = ("--level", level, "--tokens", "--save-trace", "sum.safetensors")
    code, out, _ = run(capsys, "gallery", "addition", "999 + 1", *arguments)
    assert code == 0
    assert run(capsys, "build", "addition", "-o", "addition.safetensors")[0] == 0
    model = load_model("addition.safetensors")
    trace = load_trace("sum.safetensors", model)
    said = [model.vocabulary[token] for token in trace.tokens[trace.given == 0]]
    assert " ".join(said) == out.splitlines()[0].strip()
    given = [model.vocabulary[token] for token in trace.tokens[trace.given == 1]]
    assert "".join(given) == "999+1="
    assert trace.note == "curta gallery addition '999 + 1'"
    assert differences(Path("addition.safetensors"), Path("sum.safetensors")) == []


def test_of_an_answer_that_is_cut_there_is_the_beginning(capsys: Capture) -> None:
    arguments = ("--max-new-tokens", "3", "--save-trace", "cut.safetensors")
    assert run(capsys, "gallery", "copy", "1011", *arguments)[0] == 0
    trace = load_trace("cut.safetensors")
    assert (trace.given == 0).sum() == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gallery", "parity", "--save-trace", "x.bin"], "ends in .safetensors"),
        (["gallery", "parity", "--save-trace", "no/x.safetensors"], "there is no such folder"),
        (
            ["run", "x.c", "--level", "reference", "--save-trace", "t.safetensors"],
            "level 'reference' has no weights",
        ),
        (["run", "x.safetensors", "--save-trace", "./x.safetensors"], "that is the program itself"),
    ],
)
def test_mistakes_are_found_before_the_run(
    capsys: Capture, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
