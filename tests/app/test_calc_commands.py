"""The calculator on the command line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from curta.app.calc_commands import BACKENDS
from curta.app.command_line import main
from curta.delegate.calculator.backends import NAMES


def test_results_are_lines_and_rounded_ones_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", "eval", "(1+2)*3/7", "0.1+0.2", "-2^2", "sqrt(2)"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1.285714  (rounded; exactly 9/7)",
        "0.3",
        "-4",
        "1.414214  (rounded)",
    ]


def test_other_backends_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2+2\n1/0\n7*6\n"))
    assert main(["calc", "eval", "--backend", "kernel", "-"]) == 2
    said = capsys.readouterr()
    assert said.out.split()[::2] == ["4", "42"]
    assert "1/0: the expression has no real value" in said.err


def test_a_question_is_answered_by_a_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one is loaded, and what it is asked; the text is that of `CalcGenerator`."""
    pytest.importorskip("transformers")
    from curta.delegate import models
    from curta.delegate.interception.generator import CalcGenerator
    from tiny_language_models import chat_tokenizer, model

    asked: list[object] = []

    def load(name: str, *, adapter: Path | None = None) -> tuple[object, object]:
        asked.append((name, adapter))
        return model("grouped queries"), chat_tokenizer()

    monkeypatch.setattr(models, "load", load)
    words = ["calc", "what is", "1+1?", "--model", "some/model", "--adapter", "there"]
    assert main([*words, "--most-tokens", "12"]) == 0
    assert asked == [("some/model", Path("there"))]
    (wanted,) = CalcGenerator(model("grouped queries"), chat_tokenizer()).generate(
        [[{"role": "user", "content": "what is 1+1?"}]], max_new_tokens=12
    )
    assert capsys.readouterr().out == wanted.text + "\n"


def test_the_backends_are_those_of_the_calculator() -> None:
    assert set(BACKENDS) == set(NAMES)
