"""The page of a transcript: who said what, and nothing that a screen reader stumbles over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from curta.errors import VerifyError
from curta.hybrid import HybridModel, Module
from curta.hybrid.page import page_of
from tests.hybrid.tiny_units import base
from tests.support import tiny_language_models as tiny

WAT = """
(module (func (export "plus") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1))))
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> HybridModel:
    path = tmp_path_factory.mktemp("modules") / "few.wat"
    path.write_text(WAT)
    return HybridModel(base(), tiny.tokenizer(), [str(path), Module.gallery("addition")])


@pytest.fixture
def shown(opened: Callable[..., Any], model: HybridModel, tmp_path: Path) -> Callable[[str], Any]:
    def show(call: str) -> Any:
        transcript = model.ask("ab", call=call, max_new_tokens=30)
        (tmp_path / "page.html").write_text(page_of(model, transcript, "verified"))
        return opened(tmp_path / "page.html")

    return show


def test_what_a_program_said(shown: Any) -> None:
    page = shown("plus(19, 23)")
    assert "plus" in page.inner_text(".said-token.module >> nth=0")
    lines = page.inner_text("#lines")
    assert "plus:" in lines
    assert "= 42" in lines
    assert "await." in lines
    assert " = 42" in "".join(page.locator(".said .answer").all_inner_texts())
    page.click(".said .chosen >> nth=0")
    assert "might have said" in page.inner_text("#detail")
    assert page.locator("#detail tr").count() == 5
    page.click(".said .given >> nth=0")
    assert "The user began" in page.inner_text("#detail")
    assert not page.wrong


def test_what_a_gallery_program_said(shown: Any) -> None:
    page = shown("addition(58+67)")
    assert "gallery:addition" in page.inner_text("#detail")
    assert page.inner_text("#lines").strip().endswith(".")
    assert not page.wrong


def test_it_has_no_accessibility_errors(shown: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = shown("plus(19, 23)")
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        found = axe.Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_transcript_of_another_model_has_none(model: HybridModel) -> None:
    other = model.ask("ab", call="addition(58+67)", max_new_tokens=20)
    other.ids[-1] += 1
    with pytest.raises(VerifyError):
        page_of(model, other)
