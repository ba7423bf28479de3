"""The examples of CONTRIBUTING.md, applied to a copy of the sources, where their commands run.

A block whose fence names a file is that file, or lines of it to add (+) and to take away (-); in a
`console` block, what follows a command is what it says, with three dots for anything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAID = re.compile(r"^\$ (.*)\n((?:[^$].*\n)*)", flags=re.MULTILINE)
FENCED = re.compile(r"^(```+)(\w+) ?(\S*)\n(.*?)^\1\n", flags=re.DOTALL | re.MULTILINE)
SECTIONS = {
    heading: FENCED.findall(text)
    for heading, _, text in (
        section.partition("\n")
        for section in (ROOT / "CONTRIBUTING.md").read_text().split("\n## ")[1:]
    )
}
BY_DEFAULT = {"A calculator operation", "A command"}
"""Sections whose examples take seconds; others train, or make the machine's weights anew."""
COPIED = ("src", "tests", "bench", "docs", "README.md", "ARCHITECTURE.md", "pyproject.toml")


def change(file: Path, lines: str) -> None:
    """Apply the lines of a diff, without line numbers: what they replace has to be there once."""
    kept = [line for line in lines.splitlines(keepends=True) if line]
    before, after = ("".join(line[1:] for line in kept if line[0] in " " + sign) for sign in "-+")
    text = file.read_text()
    assert text.count(before) == 1, f"{file.name} has {text.count(before)} times:\n{before}"
    file.write_text(text.replace(before, after))


def say(command: str, folder: Path) -> str:
    """What a command of the example prints, in the copy."""
    module, words = re.fullmatch(r"(?:python|(pytest|curta))(.*)", command).groups()  # type: ignore[union-attr]
    finished = subprocess.run(
        f'"{sys.executable}" {f"-m {module}" if module else ""}{words}',
        shell=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, f"{command}: {finished.stdout[-3000:]}{finished.stderr}"
    return finished.stdout


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(heading, id=heading, marks=[pytest.mark.slow] * (heading not in BY_DEFAULT))
        for heading, blocks in SECTIONS.items()
        if blocks
    ],
)
def test_an_example_works_as_it_stands(section: str, tmp_path: Path) -> None:
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    commands = 0
    for _, kind, name, content in SECTIONS[section]:
        if kind == "console":
            for command, expected in SAID.findall(content):
                commands += 1
                said = say(command, tmp_path)
                pattern = ".*".join(map(re.escape, expected.strip().split("...")))
                assert not expected or re.fullmatch(pattern, said.strip(), re.DOTALL), said
        elif kind == "diff":
            change(tmp_path / name, content)
        else:
            assert not (tmp_path / name).exists()
            (tmp_path / name).write_text(content)
    assert commands


def test_every_kind_of_contribution_has_an_example() -> None:
    assert len([blocks for blocks in SECTIONS.values() if blocks]) == 9
    assert set(SECTIONS) > BY_DEFAULT
