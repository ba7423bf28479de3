"""The calculator on the command line."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from curta.app.command_line import main
from curta.delegate.calculator import Calculator
from curta.delegate.calculator.backends import NAMES
from curta.delegate.commands.eval import Options
from curta.options import options_of


def test_results_are_lines_and_rounded_ones_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", "eval", "(1+2)*3/7", "0.1+0.2", "-2^2", "sqrt(2)"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1.285714  (rounded; exactly 9/7)",
        "0.3",
        "-4",
        "1.414214  (rounded)",
    ]


@pytest.mark.slow
def test_other_backends_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("2+2\r\n\n1/0\n7*6"))
    assert main(["calc", "eval", "--backend", "machine", "-"]) == 2
    said = capsys.readouterr()
    assert [line.split("  ")[0] for line in said.out.splitlines()] == [
        "4",
        "error: syntax error",
        "error: undefined",
        "42",
    ]
    assert "1/0: the expression has no real value" in said.err
    assert "(empty): " in said.err


def test_what_begins_with_signs_is_an_expression(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", "eval", "--2", "-(3)", "-.5", "--backend", "exact"]) == 0
    assert capsys.readouterr().out.split() == ["2", "-3", "-0.5"]


def test_a_long_expression_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", "eval", "1+" * 5000]) == 2
    assert len(capsys.readouterr().err) < 300


def test_no_question_is_no_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calc", " "]) == 2
    assert "there is no question" in capsys.readouterr().err


def test_a_question_is_answered_by_a_model(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one is loaded, and what it is asked; the text is that of `CalcGenerator`."""
    pytest.importorskip("transformers")
    from curta.delegate import models
    from curta.delegate.interception.generator import CalcGenerator
    from tests.support.tiny_language_models import chat_tokenizer, model

    asked: list[object] = []

    def load(name: str, *, adapter: Path | None, device: str | None) -> tuple[object, object]:
        asked.append((name, adapter, device))
        return model("grouped queries"), chat_tokenizer()

    monkeypatch.setattr(models, "load", load)
    words = ["calc", "what is", "1+1?", "--model", "some/model", "--adapter", "there"]
    computed: list[str] = []
    monkeypatch.setattr(
        "curta.delegate.calculator.Calculator",
        lambda name: computed.append(name) or Calculator(name),
    )
    assert main([*words, "--max-new-tokens", "12", "--device", "cpu"]) == 0
    assert computed == ["exact"]
    assert asked == [("some/model", Path("there"), "cpu")]
    (wanted,) = CalcGenerator(model("grouped queries"), chat_tokenizer()).generate(
        [[{"role": "user", "content": "what is 1+1?"}]], max_new_tokens=12
    )
    captured = capsys.readouterr()
    assert captured.out == wanted.text + "\n"
    assert "cut at 12 tokens: --max-new-tokens allows more\n" in captured.err
    assert not wanted.ended


def test_the_backends_are_those_of_the_calculator() -> None:
    (backend,) = [option for option in options_of(Options) if option.name == "backend"]
    assert backend.choices == NAMES


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_what_cannot_be_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No tokens; a device that is none; an adapter of another model."""
    pytest.importorskip("peft")
    from peft import LoraConfig, get_peft_model

    from tests.support.tiny_language_models import chat_tokenizer, model

    model("grouped queries").save_pretrained(tmp_path / "base")
    chat_tokenizer().save_pretrained(tmp_path / "base")
    other = get_peft_model(
        copy.deepcopy(model("sliding window")), LoraConfig(r=2, target_modules=["q_proj"])
    )
    adapter = tmp_path / "adapter"
    other.save_pretrained(adapter)
    file = adapter / "adapter_model.safetensors"
    wide = {name: torch.cat([each, each]) for name, each in load_file(file).items()}
    save_file(wide, file)
    asked = ["calc", "how many?", "--model", str(tmp_path / "base")]
    assert main([*asked, "--max-new-tokens", "0"]) == 2
    assert "max_new_tokens = 0: must be at least 1" in capsys.readouterr().err
    assert main([*asked, "--adapter", str(adapter)]) == 2
    assert "does not fit the model" in capsys.readouterr().err
