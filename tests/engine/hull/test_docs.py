"""The code in docs/hull.md, run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs" / "hull.md").read_text()


def test_the_code_prints_what_it_says() -> None:
    """All blocks are one program; `# ...` after a print is its output."""
    pytest.importorskip("torch")
    program = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", program, flags=re.MULTILINE)
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines() == expected
    assert len(expected) >= 6
