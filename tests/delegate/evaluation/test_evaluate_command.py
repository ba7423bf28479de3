"""`curta delegate evaluate` with tiny models from their folders."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

pytest.importorskip("peft")

from curta.app.command_line import main
from curta.delegate.commands import evaluate
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.sft import with_adapter
from curta.terminal import Progress
from tests.support.commands_page import differences
from tests.support.tiny_language_models import chat_tokenizer, model, tools_tokenizer

# peft asks transformers for something that has another name by now.
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")

SIZES = ["--count", "4", "--negatives", "2", "--max-new-tokens", "8", "--batch", "3"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and an adapter of it."""
    folder = tmp_path_factory.mktemp("models")
    tiny = copy.deepcopy(model("grouped queries"))
    tiny.save_pretrained(folder / "model")
    chat_tokenizer().save_pretrained(folder / "model")
    adapted = with_adapter(tiny.float(), TrainingConfig(rank=2, alpha=4))
    adapted.save_pretrained(folder / "adapter", save_embedding_layers=False)
    return folder


def test_all_systems_at_once(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = [
        *["delegate", "evaluate", "--model", str(place / "model"), "--untrained"],
        *["--inline", f"inline={place / 'adapter'}", "--adapter", f"calls={place / 'adapter'}"],
        *["--suite", "templates", "--backend", "exact,machine", "--digits", "1..2"],
        *[*SIZES, "--device", "cpu", "--out", str(out)],
    ]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if not line.startswith((" ", "report"))] == [
        "untrained",
        "inline",
        "calls, exact",
        "calls, machine",
    ]
    assert "  templates    0.0% [0.0%, 49.0%]" in said
    rows = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    assert len(rows) == 4 * 6
    assert {row["source"] for row in rows} == {None, "calls, exact"}
    assert "stopped early" in (out / "report.html").read_text()
    before = (out / "answers.jsonl").read_bytes()
    assert main(command) == 0
    assert (out / "answers.jsonl").read_bytes() == before
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert list(differences(evaluate.Report, figures)) == []
    assert [one["counts"]["templates"] for one in figures["systems"]] == [4] * 4
    assert main([*command, "--seed", "1"]) == 2
    assert "another evaluation lies there" in capsys.readouterr().err


def test_an_evaluation_goes_on_with_the_weights_that_it_began_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = tmp_path / "model", tmp_path / "out"
    tiny = copy.deepcopy(model("grouped queries"))
    tiny.save_pretrained(name)
    chat_tokenizer().save_pretrained(name)
    command = ["delegate", "evaluate", "--model", str(name), "--device", "cpu", "--out", str(out)]
    assert main([*command, *SIZES]) == 0
    assert "  with digits  " in capsys.readouterr().out
    config = json.loads((out / "config.json").read_text())
    assert [one["origin"] for one in config["systems"]] == ["folder, float64"]
    tiny.float().save_pretrained(name)
    assert main([*command, *SIZES]) == 2
    assert "another evaluation lies there (config.json differs)" in capsys.readouterr().err


def test_the_model_itself(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["delegate", "evaluate", "--model", str(place / "model"), "--device", "cpu"]
    assert main([*command, *SIZES, "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("model\n")
    assert "model: 6/6" in captured.err


def test_formats_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, out = tmp_path / "model", tmp_path / "out"
    model("grouped queries").save_pretrained(name)
    tools_tokenizer().save_pretrained(name)
    command = ["delegate", "evaluate", "--model", str(name), "--untrained", "--device", "cpu"]
    asked = [*command, *SIZES, "--out", str(out)]
    assert main([*asked, "--format", "prompted,own"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if not line.startswith((" ", "report"))] == [
        "untrained",
        "prompted",
        "own",
    ]
    page = (out / "report.html").read_text()
    assert "own, answered by exact" in page
    assert "own − prompted" in page
    assert main([*asked, "--format", "prompted,inline"]) == 2
    assert "another evaluation lies there (config.json differs)" in capsys.readouterr().err
    chat_tokenizer().save_pretrained(name)
    assert main([*command, "--format", "own", "--out", str(tmp_path / "other")]) == 2
    assert "--format own: its chat template has no tools" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def code_of(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as stop:
        return int(stop.code or 0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--suite", "gsm8k"], "--suite gsm8k: give its file with --gsm8k"),
        (["--batch", "0"], "batch = 0: must be at least 1"),
        (["--max-new-tokens", "0"], "max_new_tokens = 0: must be at least 1"),
        (["--digits", "many"], "write a range as in 1..10"),
    ],
)
def test_mistakes(given: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(["delegate", "evaluate", "--model", "m", *given]) == 2
    assert why in capsys.readouterr().err


def test_lines_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for done in range(1, 6):
            progress.show("s", done, 5)
    written = capsys.readouterr().err.splitlines()
    assert written[0] == "s: 1/5"
    assert written[-1].startswith("s: 5/5")
    assert len(written) == 2


@pytest.mark.parametrize("option", ["--suite", "--backend", "--format"])
def test_nothing_is_no_choice(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["delegate", "evaluate", "--model", "any", "--out", str(tmp_path / "e")]
    assert code_of([*asked, option, ""]) == 2
    assert f"{option}: name at least one" in capsys.readouterr().err
    (tmp_path / "none.jsonl").write_text("")
    nothing = ["--suite", "gsm8k", "--gsm8k", str(tmp_path / "none.jsonl")]
    assert main([*asked, *nothing, "--negatives", "0"]) == 2
    assert capsys.readouterr().err
