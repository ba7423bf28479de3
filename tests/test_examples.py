"""The examples run, as a user would start them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_hull_attention() -> None:
    pytest.importorskip("torch")
    said = run("hull_attention.py", "--steps", "3", "--longest", "1000")
    for row in ("full softmax", "top-16", "hard maximum", "1,000"):
        assert row in said
