"""The commands of the calculator-calling language model."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from curta.app.command_line import main
from curta.delegate.commands import train
from curta.delegate.data import data_set
from curta.delegate.data.example import Example
from curta.errors import DataError
from tests.support.commands_page import differences

GSM8K = {"question": "How many in all?", "answer": "It is 2+3 = <<2+3=5>>5.\n#### 5"}


def test_a_data_set_is_made_with_its_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps(GSM8K))
    out = tmp_path / "data"
    sizes = ["--train", "120", "--valid", "10", "--test", "30", "--digits", "1..3"]
    command = ["delegate", "data", "--out", str(out), *sizes]
    assert main([*command, "--gsm8k", str(tmp_path / "gsm8k.jsonl")]) == 0
    assert "train: 121" in capsys.readouterr().out
    rows = [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]
    assert len(rows) == 121
    assert {"messages", "value", "category", "template"} == set(rows[0])
    card = (out / "README.md").read_text()
    assert "GSM8K (Cobbe et al., 2021), MIT licence: 1 examples" in card
    assert "part has: none" in card
    assert {"categories.svg", "lengths.svg"} <= {file.name for file in out.iterdir()}
    assert main(command) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_data_set_is_there_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it is written, it is not there; the next time it is made."""
    made, out = data_set.build(data_set.Mix(train=4, valid=2, test=2)), tmp_path / "data"

    def killed(one: Example) -> dict[str, object]:
        if one == made.valid[0]:
            raise KeyboardInterrupt
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(data_set, "row", killed)
        with pytest.raises(KeyboardInterrupt):
            data_set.write(made, out)
    assert not out.exists()
    data_set.write(made, out)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data"]
    assert data_set.read(out / "test.jsonl") == made.test
    with pytest.raises(DataError, match="is there already"):
        data_set.write(made, out)


@pytest.mark.parametrize(
    "command",
    [["data"], ["train", "--model", "m", "--data", "d"], ["evaluate", "--model", "m"]],
    ids=lambda words: words[0],
)
def test_no_folder_is_named_by_nothing(
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for out in ("", " "):
        assert main(["delegate", *command, "--out", out]) == 2
        assert f'--out "{out}": name a folder' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_ranges_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["delegate", "data", "--out", str(tmp_path / "d"), "--digits", "few"])
    assert stop.value.code == 2
    assert "--digits few: write a range as in 1..10" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_an_adapter_is_trained_and_loads_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("peft")
    from curta.delegate import models
    from tests.support.tiny_language_models import chat_tokenizer, model

    base, data, out = (str(tmp_path / name) for name in ("base", "data", "adapter"))
    copy.deepcopy(model("grouped queries")).float().save_pretrained(base)
    chat_tokenizer().save_pretrained(base)
    made = ["--train", "60", "--valid", "2", "--test", "2", "--negatives", "0", "--arithmetic", "1"]
    assert main(["delegate", "data", "--out", data, *made]) == 0
    trained = ["--model", base, "--data", data, "--out", out, "--steps", "4", "--batch", "2"]
    assert main(["delegate", "train", *trained]) == 0
    said = capsys.readouterr()
    assert "adapter: " in said.out
    assert "loss on valid.jsonl: " in said.out
    assert "left out" not in said.err
    assert main(["delegate", "train", *trained, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(differences(train.Report, report)) == []
    assert f"loss on valid.jsonl: {report['validation']:.4f}" in said.out
    held = json.loads((Path(out) / "training.json").read_text())
    assert held["source"] == "folder, float32"
    assert "4/4 loss" in said.err
    adapted, _ = models.load(base, adapter=Path(out))
    plain, _ = models.load(base)
    changed = [
        name
        for (name, a), b in zip(adapted.named_parameters(), plain.parameters(), strict=True)
        if not a.equal(b)
    ]
    assert changed
    short = [*trained, "--longest", "60"]
    short[short.index(out)] = str(tmp_path / "short")
    assert main(["delegate", "train", *short]) == 0
    assert "of 60 examples, longer than 60 tokens" in capsys.readouterr().err
    assert main(["delegate", "train", *trained, "--rank", "8"]) == 2
    assert "other settings (rank; " in capsys.readouterr().err
    others = str(tmp_path / "others")
    assert main(["delegate", "data", "--out", others, *made, "--seed", "1"]) == 0
    trained[trained.index(data)] = others
    assert main(["delegate", "train", *trained]) == 2
    assert "other settings (examples; " in capsys.readouterr().err
    trained[trained.index(out)] = data
    assert main(["delegate", "train", *trained]) == 2
    assert "is no training run" in capsys.readouterr().err
