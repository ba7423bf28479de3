"""The corpus is made by the generators and oracles of the front end and of the lowering."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("wasm", "lower"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
