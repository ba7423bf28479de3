"""The wheel and the sdist, as somebody gets them: built, looked into, and installed from the file.

    python tests/support/release.py        leaves both in dist/

Each is installed into an empty environment, with what it depends on and nothing of this checkout;
there a program runs in the transformer's weights, and one of the gallery.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from venv import EnvBuilder

ROOT = Path(__file__).parents[2]
BESIDE = {
    *("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"),
    *("pyproject.toml", "PKG-INFO", ".gitignore"),
}
"""What an sdist has besides the sources; hatchling puts .gitignore into every one."""
MODULE = """(module (func (export "add") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1))))"""


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made of it."""
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def sources() -> set[str]:
    """The files of the package that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "src/curta"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return {name.removeprefix("src/") for name in listed.stdout.splitlines()}


def in_sdist(sdist: Path) -> set[str]:
    """What it holds, with sources named as in the wheel; all of it lies in one folder."""
    with tarfile.open(sdist) as file:
        names = [name.partition("/")[2] for name in file.getnames()]
    return {name.removeprefix("src/") for name in names}


def in_wheel(wheel: Path) -> set[str]:
    """What it holds, but for the description of the package."""
    with zipfile.ZipFile(wheel) as file:
        return {name for name in file.namelist() if ".dist-info/" not in name}


def smoke(distribution: Path, folder: Path) -> dict[str, str]:
    """What some commands say in an empty environment into which the file was installed."""
    EnvBuilder(with_pip=True).create(folder / "venv")
    binaries = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["CURTA_CACHE"] = str(folder / "cache")

    def said(program: str, *words: str) -> str:
        command = [str(binaries / program), *words]
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{' '.join(command)}: {run.stdout}{run.stderr}"
        return run.stdout.strip()

    said("python", "-m", "pip", "install", "--disable-pip-version-check", str(distribution))
    (folder / "add.wat").write_text(MODULE)
    return {
        "import": said("python", "-W", "error", "-c", "import curta; print(curta.__version__)"),
        "version": said("curta", "--version"),
        "run": said("curta", "run", "add.wat", "--invoke", "add", "19", "23"),
        "gallery": said("curta", "gallery", "multiplication", "12345678 * 87654321"),
    }


def expected() -> dict[str, str]:
    """What they should say: the version stands in one place."""
    text = (ROOT / "src" / "curta" / "__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.*)"$', text, flags=re.MULTILINE)
    product = str(12345678 * 87654321)
    return {"import": version, "version": f"curta {version}", "run": "42", "gallery": product}


def check(distribution: Path) -> None:
    """Install it, and raise an error unless it works as it should."""
    with tempfile.TemporaryDirectory() as folder:
        found = smoke(distribution, Path(folder))
    assert found == expected(), f"{distribution.name}: {found}"


def main() -> None:
    made = ROOT / "dist"
    shutil.rmtree(made, ignore_errors=True)
    for built in build(made):
        check(built)
        print(f"{built} installs, and runs")


if __name__ == "__main__":
    main()
