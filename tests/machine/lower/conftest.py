"""The tests of the front end have generators and oracles that serve here too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "wasm"))
