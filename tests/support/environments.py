"""Environments of their own, for tools that the tests' environment does not have."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from venv import EnvBuilder


def beside_this_one(folder: Path, *packages: str) -> Path:
    """A Python that has the packages, and finds what they lack of those that are here."""
    EnvBuilder(with_pip=True).create(folder)
    python = folder / "bin" / "python"
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "beside.pth").write_text(sysconfig.get_paths()["purelib"])
    command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    subprocess.run(command, check=True)
    return python


def run(python: Path, code: str, folder: Path) -> str:
    """What it prints, with the curta of this checkout."""
    source = str(Path(__file__).parents[2] / "src")  # an editable installation hands nothing on
    finished = subprocess.run(
        [python, "-c", f"import sys; sys.path.insert(0, {source!r})\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
