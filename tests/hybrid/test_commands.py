"""The commands, with a tiny model in place of a real one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from curta.app.command_line import main
from curta.delegate import models
from curta.hybrid.unit.arithmetic import Operation
from tests.hybrid import tiny_units
from tests.support import tiny_language_models as tiny


@pytest.fixture(autouse=True)
def tiny_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded = (tiny_units.base(), tiny.chat_tokenizer())
    monkeypatch.setattr(models, "load", lambda name, **options: loaded)
    monkeypatch.setattr(models, "origin", lambda name: f"made for a test, {name}")
    monkeypatch.chdir(tmp_path)


SMALL = [
    *("--model", "tiny", "--wordings", "12", "--stories", "8", "--others", "8", "--beyond", "4"),
]


def test_train_makes_the_same_of_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hybrid", "train", *SMALL, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] < 50_000
    written = Path("unit/router.safetensors").read_bytes()
    assert main(["hybrid", "train", *SMALL]) == 0
    assert "weights" in capsys.readouterr().out
    assert Path("unit/router.safetensors").read_bytes() == written
    assert main(["hybrid", "train", *SMALL, "--training-seed", "8"]) == 0
    assert Path("unit/router.safetensors").read_bytes() != written


def test_evaluate_compares_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hybrid", "train", *SMALL]) == 0
    names = ("seen", "held-out", "stories-seen", "stories-held-out", "texts", "beyond")
    few = [word for name in names for word in (f"--{name}", "2")]
    units = ["--unit", "unit", "--unit", "other=unit", "--untrained"]
    capsys.readouterr()
    asked = ["hybrid", "evaluate", "--model", "tiny", *units, *few, "--max-new-tokens", "4"]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["system"] for row in rows} == {"untrained", "unit", "other"}
    assert all(0 <= row["interval"][0] <= row["right"] <= row["interval"][1] <= 1 for row in rows)
    assert main(["hybrid", "evaluate", *few]) == 2
    assert "there is nobody to ask" in capsys.readouterr().err


def test_ask_has_a_unit_answer(capsys: pytest.CaptureFixture[str]) -> None:
    tiny_units.unit(Operation.MULTIPLICATION).save_pretrained("times")
    assert main(["hybrid", "ask", "--unit", "times", "12.5 of 4"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "50\n"
    assert "cut at" not in captured.err
    assert main(["hybrid", "ask", "--unit", "nowhere", "7 8"]) == 2
    assert "holds no unit: train one with curta hybrid train" in capsys.readouterr().err


def test_a_module_is_asked_and_what_it_said_is_verified(
    capsys: pytest.CaptureFixture[str],
) -> None:
    which = ["--module", "letters:reversed", "--module", "gallery:addition"]
    asked = ["--call", 'reversed("abc")', "--keep", "kept", "--max-new-tokens", "40", "and", "then"]
    assert main(["hybrid", "ask", *which, *asked]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith('<<reversed: "abc">> = cba')
    assert "[reversed: " in captured.err
    assert main(["hybrid", "verify", "kept", *which, "--tokens", "10", "--level", "hull"]) == 0
    assert "10 of " in capsys.readouterr().out
    assert main(["hybrid", "page", "kept", *which, "-o", "kept.html"]) == 0
    assert "reversed" in Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    short = ["--call", 'addition("12 + 34")', "--keep", "short", "--max-new-tokens", "40", "so"]
    assert main(["hybrid", "ask", *which, *short]) == 0
    capsys.readouterr()
    assert main(["hybrid", "verify", "short", *which]) == 0
    assert re.match("verified: .* all [0-9]+ tokens of modules", capsys.readouterr().out)
    for reading in ("verify", "page"):
        assert main(["hybrid", reading, "kept"]) == 2
        told = capsys.readouterr().err
        assert "of a model with the modules calculate, reversed, addition" in told
    assert main(["hybrid", "ask", "--module", "lettres", "so"]) == 2
    assert "expected one of bases, bignum" in capsys.readouterr().err


def test_modules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hybrid", "modules"]) == 0
    assert "    sudoku:sudoku(puzzle)\n" in capsys.readouterr().out
