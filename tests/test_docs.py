"""The code in docs/, run as it stands: the blocks of a page are one program."""

from __future__ import annotations

import io
import lzma
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from curta.app.command_line import main
from curta.engine import trace_file
from curta.machine import loaded
from curta.machine.kept import journal
from curta.store import PACKAGED

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SLOW = {DOCS / "machine.md", DOCS / "learn.md"}
"""A page that compiles a machine of its own, and one that trains."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES],
)
def test_the_code_prints_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`# ...` after a print is its output; three dots in it stand for anything. In this process:
    most of the time goes into imports, which other tests have done.
    """
    pytest.importorskip("torch")
    program = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", program, flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", main_module := ModuleType("__main__"))
    exec(compile(program, page.name, "exec"), main_module.__dict__)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(expected) >= 2
    for line, text in zip(said, expected, strict=True):
        assert re.fullmatch(".*".join(map(re.escape, text.split("..."))), line)


def test_the_trace_of_the_machine_is_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "machine.md").read_text()
    (module,) = re.findall(r"```wat\n(.*?)```", page, flags=re.DOTALL)
    (session,) = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    command, *expected = session.splitlines()
    program, *arguments = command.removeprefix("$ ").split()
    assert program == "curta"
    (tmp_path / "gcd.wat").write_text(module)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == expected


def test_the_generated_c_is_what_it_says() -> None:
    """But for the numbers that values have."""
    page = (DOCS / "native.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    blocks = re.findall(r"```c\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, str] = {}
    exec(re.sub(r"print\(.*", "", program), names)
    (packaged,) = (PACKAGED / "native").iterdir()
    machine = lzma.decompress(packaged.read_bytes()).decode()
    for block, source in zip(blocks, (names["source"], machine), strict=True):
        lines = set(without_numbers(source))
        assert [line for line in without_numbers(block) if line not in lines] == []


def without_numbers(source: str) -> list[str]:
    """Lines of C without notes, values and the like without their numbers."""
    names = r"\b(v|sum|total|column|query|row|Row|class)\d+"
    lines = re.sub(r" */\*.*?\*/", "", source).splitlines()
    return [re.sub(names, r"\1", line.strip()) for line in lines]


def test_the_machine_is_verified_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    page = (DOCS / "machine.md").read_text()
    (module,) = re.findall(r"```wat\n(.*?)```", page, flags=re.DOTALL)
    (session,) = re.findall(r"```text\n(\$ curta verify.*?)```", page, flags=re.DOTALL)
    command, *expected = session.splitlines()
    (tmp_path / "gcd.wat").write_text(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert main(command.removeprefix("$ curta ").split()) == 0
    said = capsys.readouterr().out.splitlines()
    for line, text in zip(said, expected, strict=True):
        assert re.fullmatch(".*".join(map(re.escape, text.split("..."))), line)


def test_formats_of_files_are_the_present_ones() -> None:
    page = (DOCS / "stability.md").read_text()
    for now in (trace_file.FORMAT, loaded.MAGIC.decode(), journal.MAGIC.decode()):
        assert f"`{now.strip()}`" in page
