"""The examples run, as a user would start them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

WITHIN_PEFT = "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"


def run(name: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-W", WITHIN_PEFT, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_teaching_a_model_to_call(tmp_path: Path) -> None:
    """All of it with a tiny model: the data, both adapters, the evaluation."""
    pytest.importorskip("peft")
    from tests.support.tiny_language_models import save_model_of_any_text

    save_model_of_any_text(tmp_path / "tiny")
    short = ["--train=60", "--steps=2", "--count=8", "--max-new-tokens=8", "--precision=float32"]
    said = run("teach_smollm2.py", str(tmp_path / "made"), f"--model={tmp_path / 'tiny'}", *short)
    assert said.count("$ curta") == 4
    assert said.count("\nloss on valid.jsonl: ") == 2
    for system in ("untrained", "inline", "calls, exact", "calls, machine"):
        assert f"\n{system}\n" in said
    assert (tmp_path / "made" / "evaluation" / "report.html").is_file()


@pytest.mark.slow
def test_hull_attention() -> None:
    pytest.importorskip("torch")
    said = run("hull_attention.py", "--steps", "3", "--longest", "1000")
    for row in ("full softmax", "top-16", "hard maximum", "1,000"):
        assert row in said
