"""The site is built, all its links lead somewhere, and its pages compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta.app import site
from curta.app.command_line import main

ROOT = Path(__file__).parents[2]


def test_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs are enough."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    pytest.importorskip("elftools")
    few = {name: site.EXPLORED[name] for name in ("queens", "brackets")}
    monkeypatch.setattr(site, "EXPLORED", few)
    assert main(["site", "--source", str(ROOT), "-o", str(tmp_path / "public")]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "public" / "index.html")
    for page in ("index.html", "tutorials/compile/index.html", "hybrid/index.html"):
        assert "curta" in (tmp_path / "public" / page).read_text()
    playground = (tmp_path / "public" / "playground" / "index.html").read_text()
    for name in few:
        assert f"runs/{name}.html" in playground
        assert (tmp_path / "public" / "runs" / f"{name}.html").stat().st_size > 20_000
    named = {f"{name}.md" for names in site.CHAPTERS.values() for name in names}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= named


def test_a_link_that_leads_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On pages of a line each."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    for name in (*site.ABOVE, "docs/machine.md", "examples/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# A page\n")
    monkeypatch.setattr(site, "EXPLORED", {})
    words = ["site", "--source", str(tmp_path), "-o", str(tmp_path / "public")]
    assert main(words) == 0, capsys.readouterr().err
    monkeypatch.setattr(site, "PLAYGROUND", "# Playground\n\n[nowhere](nothing.md)\n")
    assert main(words) == 2
    assert "nothing.md" in capsys.readouterr().err


def test_it_needs_the_documentation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    assert main(["site", "--source", str(tmp_path)]) == 2
    assert "give its checkout" in capsys.readouterr().err
