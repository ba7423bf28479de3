"""Pages in a real browser: Debian's chromium, or another one that is on the search path."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from curta.explore.engine import engine_module
from curta.explore.pages import machine_page
from curta.explore.program import Asked, ExploredProgram

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LONGEST = 600_000
"""Milliseconds: cores are shared."""

MIXED = r"""
#include <stdio.h>

static volatile int table[16];
static volatile int rounds;

__attribute__((noinline)) static int mix(int value, int key) {
    int product = value * 31 + key;
    return product ^ product >> 7;
}

__attribute__((noinline)) static void fill(int key) {
    for (int i = 0; i < 16; i++) {
        table[i] = mix(table[i], key + i);
        rounds++;
    }
}

int main(void) {
    int letter, key = 1;
    while ((letter = getchar()) != EOF && letter != '\n') {
        key = key * 10 + letter - '0';
        fill(key);
        putchar('a' + (table[3] & 15));
    }
    putchar('\n');
    return 0;
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Its event loop runs while it is there, and tests of other modules have loops of their own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file; what goes wrong in the page fails the test."""
    contexts = []

    def open_page(path: Path, fragment: str = "", **settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1500, "height": 940}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LONGEST)
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("request", lambda request: refuse_network(request.url))
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector("body[data-run=done], .fatal")
        assert page.query_selector(".fatal") is None, page.inner_text(".fatal")
        return page

    def refuse_network(url: str) -> None:
        assert url.startswith(("file:", "blob:", "data:")), url

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explore")


@pytest.fixture(scope="session")
def written(folder: Path) -> Callable[..., Path]:
    """Writes a page of a C program."""

    def write(name: str, source: str, stdin: bytes = b"", **options: Any) -> Path:
        (folder / name).write_text(source)
        asked = Asked((str(folder / name),), stdin=stdin, **options)
        page = folder / f"{name}.html"
        page.write_text(machine_page(ExploredProgram(asked).data(), engine_module()))
        return page

    return write


@pytest.fixture(scope="session")
def mixed(written: Callable[..., Path]) -> Path:
    return written("mixed.c", MIXED, b"4711\n")
