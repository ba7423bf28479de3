"""Calculator and tools need neither PyTorch nor transformers; what is exported is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import curta.delegate

SCRIPT = """
import sys
from curta.delegate import Calculator
assert Calculator().evaluate("87*24").text == "2088"
import curta.delegate.tools.strangers
heavy = {"torch", "transformers", "jax", "peft", "mcp"} & set(sys.modules)
assert not heavy, heavy
"""


def test_calculator_and_tools_alone_are_light() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


def test_everything_that_is_exported_is_there() -> None:
    pytest.importorskip("transformers")
    for name in curta.delegate.__all__:
        assert getattr(curta.delegate, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        print(curta.delegate.nothing)
