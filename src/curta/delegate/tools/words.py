"""What users write to name tools: `calc`, `stats.py:describe`, `dates.c`, `dates.c:weekday`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from curta.delegate.tools.tool import Bounds, Found, Tool
from curta.errors import ToolError, UserError

if TYPE_CHECKING:
    from curta.delegate.tools.compile import Source


def tools_of(words: Iterable[str], bounds: Bounds | None = None) -> list[Tool]:
    """The tools that words name; a `UserError` says what is wrong with one, and what to do."""
    tools: dict[str, Tool] = {}
    for word in words:
        for tool in named_by(word, bounds):
            if tool.name in tools:
                raise UserError(
                    f"--tool {word}: there is a tool {tool.name} already; name the functions that "
                    "are wanted, as in FILE.c:NAME, or call one of them something else"
                )
            tools[tool.name] = tool
    return list(tools.values())


def named_by(word: str, bounds: Bounds | None = None) -> list[Tool]:
    """The tools of one word: a function, or all of a file."""
    if word == "calc":
        from curta.delegate.tools.calculator import CalculatorTool

        return [CalculatorTool()]
    path, colon, name = word.rpartition(":") if word.count(":") else (word, "", "")
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise UserError(
            f"--tool {word}: expected calc, or a file ({' '.join(READERS)}), with a function of it "
            "if not all are wanted: dates.c, dates.c:weekday, stats.py:describe"
        )
    if not Path(path).is_file():
        raise UserError(f"--tool {word}: there is no file {path}")
    found = READERS[suffix](path, name, bounds or Bounds())
    chosen = found if not colon else {name: found[name]} if name in found else {}
    usable = [tool for tool in chosen.values() if not isinstance(tool, ToolError)]
    if not usable:
        reasons = [str(each) for each in chosen.values() if isinstance(each, ToolError)]
        lacking = f"{path} has no function {name or 'that can be called'}"
        why = "; ".join(reasons) or f"{lacking}; there are: {', '.join(found) or 'none'}"
        raise UserError(f"--tool {word}: {why}")
    return usable


def of_c(path: str, name: str, bounds: Bounds) -> Found:
    from curta.delegate.tools.program import c_tools

    return c_tools(source_at(path), bounds, functions=bool(name))


def source_at(path: str | Path) -> Source:
    from curta.delegate.tools.compile import Source

    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return Source(str(path), text, str(Path(path).absolute().parent))


def of_wasm(path: str, name: str, bounds: Bounds) -> Found:
    from curta.delegate.tools.program import program_name, wasm_tools
    from curta.machine.toolchain import read_program

    return wasm_tools(program_name(path), read_program(path), bounds, functions=bool(name))


def of_python(path: str, name: str, bounds: Bounds) -> Found:
    from curta.delegate.tools.python import python_tool

    if not name:
        raise UserError(f"--tool {path}: say which function of it, as in {path}:describe")
    return {name: python_tool(path, name, bounds)}


READERS: dict[str, Callable[[str, str, Bounds], Found]] = {
    ".c": of_c,
    ".wasm": of_wasm,
    ".wat": of_wasm,
    ".py": of_python,
}
