"""Both pages: by the rules of accessibility, dark and light, wide and narrow; and their size."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from curta.explore.graphs import explored_graph
from curta.explore.pages import graph_page
from tests.support.slow import all_but

Open = Callable[..., Any]
WIDE, NARROW = {"width": 1500, "height": 940}, {"width": 420, "height": 900}
SIZES = {"wide": WIDE, "narrow": NARROW}


@pytest.fixture(scope="module")
def dyck(folder: Path) -> Path:
    path = folder / "dyck1.html"
    path.write_text(graph_page(explored_graph("dyck1", ["(()())"])))
    return path


def complaints(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
    ]


LOOKS = {("mixed", "dark", "wide"), ("dyck", "light", "narrow")}
"""Every page, scheme and size: by default, the rest is slow."""


@pytest.mark.parametrize(
    ("name", "scheme", "size"),
    all_but(LOOKS, product(("mixed", "dyck"), ("light", "dark"), SIZES)),
)
def test_axe_has_no_complaints(
    opened: Open, mixed: Path, dyck: Path, name: str, scheme: str, size: str
) -> None:
    path = {"mixed": mixed, "dyck": dyck}[name]
    page = opened(path, viewport=SIZES[size], color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert complaints(page) == []
    if name == "mixed":
        page.evaluate("go(page.figures.length - 1)")
        page.wait_for_function("page.view.position === page.figures.length - 1")
        page.evaluate("select({ place: page.view.globals[0][1], name: page.view.globals[0][0] })")
        page.wait_for_selector("#who")
        page.click("#tab-registers")
        page.click("#tab-playground")
        assert complaints(page) == []
        page.click("#tab-slots")
        page.wait_for_selector("#slots-table td.changed")
        assert complaints(page) == []
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != scheme
    assert not page.wrong


@pytest.mark.parametrize("name", ["mixed", "dyck"])
def test_nothing_is_wider_than_a_narrow_screen(
    opened: Open, mixed: Path, dyck: Path, name: str
) -> None:
    page = opened({"mixed": mixed, "dyck": dyck}[name], viewport=NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_a_page_is_small(mixed: Path, dyck: Path) -> None:
    assert mixed.stat().st_size < 1_000_000
    assert dyck.stat().st_size < 200_000


def test_heads_slots_and_scores_of_a_small_model(opened: Open, dyck: Path) -> None:
    page = opened(dyck, "#token=7")
    assert "yes" in page.inner_text("#scores tr.new")
    assert "went below" in page.inner_text("#heads")
    assert "depth" in page.inner_text("#stream")
    page.click("#go-next")
    assert page.evaluate("location.hash") == "#token=8"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    assert "mean" in page.inner_text("#h-matrix")
    page.click("#strip .token >> nth=2")
    assert page.evaluate("location.hash") == "#token=2"
    assert not page.wrong
