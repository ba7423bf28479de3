"""One file of C for all tests of tools, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta.delegate.tools import Bounds, Tool
from curta.delegate.tools.compile import Source
from curta.delegate.tools.program import ProgramTool, c_tools
from curta.errors import ToolError

SOURCE = Path(__file__).with_name("tools.c")


@pytest.fixture(scope="session")
def found() -> dict[str, Tool | ToolError]:
    """Every function of the file, or why it is no tool."""
    return c_tools(Source("tools.c", SOURCE.read_text()), Bounds(tokens=5_000_000))


@pytest.fixture(scope="session")
def tools(found: dict[str, Tool | ToolError]) -> dict[str, ProgramTool]:
    """Those that are tools."""
    return {name: tool for name, tool in found.items() if isinstance(tool, ProgramTool)}
