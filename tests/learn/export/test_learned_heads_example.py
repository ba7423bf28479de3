"""The example that trains 2D heads and gives them to hull caches runs as a user would start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "learned_heads.py"


@pytest.mark.slow
def test_the_table_has_a_row_for_each_kind_of_attention(tmp_path: Path) -> None:
    model = tmp_path / "adder.safetensors"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), "--steps", "3", "--model", str(model)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for row in ("softmax", "top-16", "top-2", "ties latest", "ties average"):
        assert row in done.stdout
    assert model.stat().st_size > 10_000
