"""The page of a trained model: what the model does, and what can be seen of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("equinox")

from curta.app.command_line import main
from curta.explore.pages import graph_page
from curta.learn.commands.shared import picked_model
from curta.learn.evaluation.samples import ask
from curta.learn.inside.question import explored_question
from tests.explore.test_looks import complaints
from tests.support.tiny_runs import tiny_run

QUESTION = "12+34="


@pytest.fixture(scope="module")
def run() -> str:
    return str(tiny_run().path)


@pytest.fixture(scope="module")
def seen(run: str) -> dict[str, Any]:
    return explored_question(*picked_model(run, None, QUESTION), QUESTION)


def test_what_it_says_is_what_ask_says(run: str, seen: dict[str, Any]) -> None:
    folder, model, _ = picked_model(run, None, QUESTION)
    answer = ask(model, folder.setup, QUESTION)
    assert answer.text.rstrip("#") == seen["answer"]
    assert seen["given"] == len(QUESTION)
    for place, spoken in enumerate(answer.tokens, seen["given"]):
        token, share = seen["scores"][place - 1][0]
        assert seen["vocabulary"][token] == spoken.token
        assert share == pytest.approx(spoken.probability, rel=1e-2)


def test_attention_adds_up_and_looks_back_only(seen: dict[str, Any]) -> None:
    for head in seen["heads"]:
        for at, row in enumerate(head["weights"]):
            assert len(row) == at + 1
            assert sum(row) == pytest.approx(1, abs=1e-2)


def test_the_last_depth_reads_out_as_what_is_said(seen: dict[str, Any]) -> None:
    assert len(seen["early"]) == len(seen["streams"]) == len(seen["periods"])
    assert [row[0] for row in seen["scores"]] == seen["early"][-1]


def test_its_page(opened: Callable[..., Any], seen: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "learned.html"
    file.write_text(graph_page(seen))
    page = opened(file, f"#token={seen['given']}")
    assert "%" in page.inner_text("#scores tr.new")
    assert "read out here" in page.inner_text("#stream")
    assert page.locator("#heads tbody tr").count() == len(seen["heads"])
    page.keyboard.press("ArrowDown")
    assert "head" in page.inner_text("#h-matrix")
    assert "the stronger the colour" in page.inner_text("#matrix-note")
    assert page.locator("#strip path.arc").count() >= len(seen["heads"])
    assert complaints(page) == []
    assert not page.wrong


def test_the_command(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", run, QUESTION, "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size < 200_000
    assert main(["explore", run, "-o", str(tmp_path / "none.html")]) == 2
    assert "give one question" in capsys.readouterr().err
    for flags in (["--invoke", "f"], ["--stdin", "x"], ["--max-tokens", "9"]):
        assert main(["explore", *flags, "-o", str(tmp_path / "none.html"), run, QUESTION]) == 2
        assert f"{flags[0]} is for programs that the machine runs" in capsys.readouterr().err
    graph = ["explore", "-o", str(tmp_path / "none.html"), "--seed", "5", "dyck1", "()"]
    assert main(graph) == 2
    assert main(["explore", run, "12+", "-o", str(tmp_path / "none.html")]) == 2
