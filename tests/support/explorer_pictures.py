"""The pictures of docs/explorer.md: `python tests/support/explorer_pictures.py` makes them anew, by
chromium and Playwright.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from curta.explore.engine import engine_module
from curta.explore.graphs import explored_graph
from curta.explore.pages import graph_page, machine_page
from curta.explore.program import Asked, ExploredProgram

ROOT = Path(__file__).parents[2]
PUZZLE = b"8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..\n"


def main() -> None:
    sudoku = ExploredProgram(Asked((str(ROOT / "examples/sudoku.c"),), stdin=PUZZLE))
    pages = {
        "explorer.png": (machine_page(sudoku.data(), engine_module()), 400_006, 860),
        "explorer-sort.png": (graph_page(explored_graph("sort", ["curta 3"])), 9, 700),
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, (content, token, height) in pages.items():
            file = Path(folder, name).with_suffix(".html")
            file.write_text(content, encoding="utf-8")
            size = {"width": 1360, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light")
            page.goto(f"{file.as_uri()}#token={token}")
            page.wait_for_selector("body[data-run=done]", timeout=300_000)
            page.wait_for_timeout(3000)
            page.screenshot(path=ROOT / "docs" / name)
            if name == "explorer.png":
                page.click("#tab-slots")
                page.fill("#slots-layer", "20")
                page.wait_for_selector("#slots-table td.changed")
                page.fill("#slots-wanted", "source")
                page.locator("#look-panel").screenshot(path=ROOT / "docs" / "explorer-slots.png")
        browser.close()


if __name__ == "__main__":
    main()
