"""`curta site`: the documentation as a site, with pages of runs in it."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from curta.errors import UserError
from curta.options import option
from curta.terminal import Progress

SUDOKU = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
EXPLORED: dict[str, tuple[list[str], str]] = {
    "sudoku": (["examples/sudoku.c", "--stdin", SUDOKU], "a sudoku, solved cell by cell"),
    "queens": (["examples/queens.c"], "eight queens"),
    "quicksort": (["examples/quicksort.c"], "quicksort"),
    "brackets": (["dyck1", "(()())"], "balanced brackets: a small graph, its heads and its stream"),
    "sums": (["addition", "583+742"], "an addition, digit by digit"),
}
"""Pages of runs: what is explored, and what it is."""
ABOVE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages that are not in docs/."""
CHAPTERS = {
    "Home": "index.md",
    "Tutorials": ["compile", "learn", "delegate", "hybrid"],
    "Playground": "playground.md",
    "Compile": ["compiler", "machine", "proofs", "native", "hull", "model-file"],
    "Look": ["explorer", "exports"],
    "Learn": ["learn"],
    "Delegate": ["delegate", "tools"],
    "Hybrid": ["hybrid", "three-ways"],
    "Reference": ["commands", "stability", "changelog", "architecture", "contributing"],
}
PLAYGROUND = """# Playground

Each of these pages holds an engine, made of the weights and compiled to WebAssembly. It says the
tokens in your browser, nothing is sent anywhere; *Playground*, beside the output, runs the program
on another input.

"""


@dataclass(frozen=True)
class Options:
    """Build the project's site: documentation, tutorials, and pages of runs that compute in the
    browser. Links are checked: one that leads nowhere is an error.

    output: where it goes; what is there is replaced
    source: the project's folder, with docs/ and examples/
    """

    output: str = option("public", short="-o", metavar="FOLDER")
    source: str = option(".", metavar="FOLDER")


def run(options: Options) -> int:
    """The site, from beginning to end."""
    if find_spec("material") is None:
        raise UserError("the site is built by mkdocs-material: pip install 'curta[site]'")
    source, output = Path(options.source).resolve(), Path(options.output).resolve()
    if not (source / "docs" / "machine.md").is_file():
        raise UserError(f"--source {options.source}: there is no docs/ of curta; give its checkout")
    with tempfile.TemporaryDirectory(prefix="curta-site-") as name, Progress() as progress:
        folder = Path(name)
        pages = folder / "docs"
        gather(source, pages)
        for done, (page, (words, _)) in enumerate(EXPLORED.items()):
            progress.show("site", done, len(EXPLORED) + 1, page)
            explore(source, words, pages / "runs" / f"{page}.html")
        progress.show("site", len(EXPLORED), len(EXPLORED) + 1, "pages")
        (folder / "mkdocs.yml").write_text(json.dumps(settings(pages)), encoding="utf-8")
        build(folder, output)
        progress.show("site", len(EXPLORED) + 1, len(EXPLORED) + 1, "done")
    print(output / "index.html")
    return 0


# -- what is in it ---------------------------------------------


def gather(source: Path, pages: Path) -> None:
    """All pages in one folder, with links that lead there."""
    shutil.copytree(source / "docs", pages)
    shutil.copytree(source / "examples", pages / "examples")
    (pages / "runs").mkdir()
    for page in pages.rglob("*.md"):
        page.write_text(page.read_text("utf-8").replace("](../examples/", "](examples/"), "utf-8")
    for name, own in ABOVE.items():
        text = (source / name).read_text("utf-8")
        (pages / own).write_text(text.replace("](docs/", "]("), "utf-8")
    for page in pages.rglob("*.md"):
        page.write_text(relinked(page.read_text("utf-8")), "utf-8")
    lines = [f"* [{about}](runs/{name}.html)" for name, (_, about) in EXPLORED.items()]
    (pages / "playground.md").write_text(PLAYGROUND + "\n".join(lines) + "\n", "utf-8")


def relinked(text: str) -> str:
    """Links to files above docs/, as they are called in the site."""
    for name, page in ABOVE.items():
        text = re.sub(rf"\]\((?:\.\./)*{re.escape(name)}", f"]({page}", text)
    return text


def explore(source: Path, words: list[str], page: Path) -> None:
    """The page of a run."""
    from curta.app.command_line import main

    with chdir(source), redirect_stdout(io.StringIO()):
        code = main(["explore", *words, "-o", str(page)])
    if code != 0:
        raise UserError(f"curta explore {' '.join(words)}: ended with {code}")


def settings(pages: Path) -> dict[str, Any]:
    """What mkdocs is told."""
    return {
        "site_name": "curta",
        "site_description": "Language models that compute exactly",
        "theme": {
            "name": "material", "font": False,
            "features": ["navigation.tabs", "navigation.top", "content.code.copy"],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default",
                 "toggle": {"icon": "material/weather-night", "name": "dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate",
                 "toggle": {"icon": "material/weather-sunny", "name": "light"}},
            ],
        },
        "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": True}},
                                "pymdownx.highlight", "pymdownx.superfences"],
        "validation": {"links": {"not_found": "warn", "anchors": "warn"}},
        "nav": list(navigation(pages)),
    }  # fmt: skip


def navigation(pages: Path) -> Iterator[dict[str, Any]]:
    """Chapters and their pages, those that are there."""
    for chapter, names in CHAPTERS.items():
        if isinstance(names, str):
            yield {chapter: names}
            continue
        within = "tutorials/" if chapter == "Tutorials" else ""
        there = [f"{within}{name}.md" for name in names]
        yield {chapter: [name for name in there if (pages / name).is_file()]}


def build(folder: Path, output: Path) -> None:
    """Have mkdocs make pages; warnings are errors."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    where = ["--config-file", str(folder / "mkdocs.yml"), "--site-dir", str(output)]
    finished = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise UserError(f"the site was not built\n{finished.stdout}{finished.stderr}".rstrip())
