"""The lists of the library's functions stand with the tests that run it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "runtime"))
