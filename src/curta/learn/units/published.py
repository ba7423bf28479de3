"""What the papers report for the cells of the benchmark, to print beside ours.

Success rates over 100 seeds at the published size: 100 inputs, 5·10⁶ steps; Madsen & Johansen
2020, "Neural Arithmetic Units", the table that compares all models.

The `full` preset is that setting; smaller presets are easier in inputs and harder in steps, and
their rates should only be expected to order the units alike. The MLP is a baseline of our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_OPERATIONS = ("add", "sub", "mul", "div", "square", "sqrt")

_PERCENT = {
    "linear": (100, 7, 0, 0, 0, 0),
    "relu6": (0, 0, 0, 0, 0, 0),
    "nac": (100, 100, 0, 0, 0, 0),
    "nac-mul": (0, 0, 31, 0, 77, 7),
    "nalu": (14, 14, 0, 0, 0, 2),
    "nau": (100, 100, 0, 0, 0, 0),
    "nmu": (0, 56, 98, 0, 100, 0),
}

PUBLISHED_RATES: Mapping[tuple[str, str], float] = MappingProxyType(
    {
        (unit, operation): percent / 100
        for unit, row in _PERCENT.items()
        for operation, percent in zip(_OPERATIONS, row, strict=True)
    }
)
"""Success rates by unit and operation."""
