"""Reports: whole pages that need nothing from outside, with the figures that were measured."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from curta.learn import recipes
from curta.learn.folder import RunFolder
from curta.learn.recipes.base import Claim, Recipe
from curta.learn.report import plots
from curta.learn.report.page import write_comparison
from curta.learn.report.parts import unmeasured, written
from curta.learn.runs import RecipeFolder, report_recipe
from curta.pages import pictures
from curta.pages.html import Html, page, table, text
from tests.support.tiny_runs import TINY, tiny_run

VOID = {"meta", "br", "use", "path", "rect", "line", "image"}


class Balance(HTMLParser):
    """Tags that are open, and everything that a page fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("src", "href", "xlink:href") and tag not in ("a", "use"):
                self.fetched.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def checked(page: str) -> str:
    reader = Balance()
    reader.feed(page)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert all(where.startswith("data:") for where in reader.fetched)
    assert not re.search(r"<script|@import|url\((?!#)", page)
    return page


def test_the_report_of_a_run() -> None:
    folder = tiny_run()
    page = checked(folder.report_file.read_text())
    evaluation = folder.evaluation
    assert evaluation is not None
    for title in (
        "What was trained",
        "Results",
        "Learning curves",
        "Exact match by length",
        "Exact match by the lengths of both operands",
        "Errors",
        "Answers",
        "Data",
    ):
        assert f"<h2>{title}</h2>" in page
    assert str(text(written(evaluation["summary"], "loss.test"))) in page
    assert f"{evaluation['parameters']:,}" in page
    assert page.count("<svg") >= 7
    assert pictures.INK not in page
    for one in evaluation["samples"]:
        assert text(one["prompt"]) in page


def test_lengths_without_a_test_problem_are_named() -> None:
    evaluation = tiny_run().evaluation or {}
    assert unmeasured(evaluation) == ""
    cells = [
        {**cell, "samples": 0} for cell in evaluation["cells"] if cell["sizes"] in ([1, 1], [1, 3])
    ]
    assert "of these digits: 1 and 1, 1 and 3." in unmeasured({**evaluation, "cells": cells})


def test_runs_side_by_side(tmp_path: Path) -> None:
    folder = tiny_run()
    other = RunFolder.create(tmp_path / "other", TINY.with_(positions="rope", steps=25))
    evaluation = json.loads(folder.evaluation_file.read_text())
    evaluation["summary"]["exact@3"] |= {"value": 0.625, "low": 0.5, "high": 0.75}
    for cell in evaluation["cells"]:
        cell["exact"][0]["value"] = cell["exact"][1]["value"] = 0.625
    other.evaluation_file.write_text(json.dumps(evaluation))
    out = tmp_path / "compare.html"
    write_comparison([folder, other], out)
    page = checked(out.read_text())
    assert "<tr><td>positions</td><td>abacus</td><td>rope</td></tr>" in page
    assert "<tr><td>steps</td><td>24</td><td>25</td></tr>" in page
    assert "<td>width</td>" not in page
    ours = written((folder.evaluation or {})["summary"], "exact@3")
    assert f"<tr><td>exact@3</td><td>{ours}</td><td>0.625 [0.5, 0.75]</td></tr>" in page
    write_comparison([folder, folder], out)
    assert "All choices are the same." in out.read_text()


def test_the_report_of_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = (
        Claim("loss <in the end>", "0.6", "tiny:loss.test"),
        Claim("longest", "0.6", "tiny:exact@longest"),
        Claim("far", "99%", "tiny:exact@100"),
        Claim("other", "99%", "large:exact@3"),
    )
    made = Recipe("trial", "one tiny run", "nobody", {"smoke": (TINY,)}, claims)
    monkeypatch.setattr(recipes, "recipes", lambda: {"trial": made})
    folder = RecipeFolder.create(tmp_path / "trial", made, "smoke")
    (one,) = folder.runs
    for name in ("evaluation.json", "metrics.jsonl"):
        (one.path / name).write_bytes((tiny_run().path / name).read_bytes())
    report_recipe(RecipeFolder.open(folder.path))
    page = checked((folder.path / "report.html").read_text())
    figures = (tiny_run().evaluation or {})["summary"]
    row = re.search(r"<tr><td>loss &lt;in the end&gt;</td>.*?</tr>", page)
    assert row is not None
    assert re.findall(r"<td[^>]*>(.*?)</td>", row[0]) == [
        "loss &lt;in the end&gt;", "1 to 2 digits mixed, each length as likely, kept from training",
        "0.6", written(figures, "loss.test"), "tiny:loss.test",
    ]  # fmt: skip
    longest = f"<td>0.6</td><td>{written(figures, 'exact@2')}</td>"
    assert f"<tr><td>longest</td><td>2 digits, kept from training</td>{longest}" in page
    far = "<td>100 digits, trained on 1 to 2</td><td>99%</td><td>not measured</td>"
    assert f"<tr><td>far</td>{far}" in page
    assert "<tr><td>other</td><td>—</td><td>99%</td><td>not in this preset</td>" in page


def test_equal_pictures_have_parts_of_their_own() -> None:
    one, other = (plots.bars([("", "", [("a", height)])]) for height in (1.0, 2.0))
    whole = checked(page("title", "about", [Html(one), Html(other), Html(one), Html(one)]))
    assert whole.count("<svg") == 4
    mark = re.search(r'id="([0-9a-f]{8})-', one)
    assert mark is not None
    assert whole.count(f'"{mark[1]}-figure_1"') == 1
    assert whole.count(f'"{mark[1]}-3-figure_1"') == 1


def test_tables_escape_what_is_not_html() -> None:
    assert table(("<a>",), [("<b>", 3), (Html("<i>c</i>"), 4)]).count("&lt;") == 2


def test_pictures_are_the_same_bytes_each_time_and_shade_what_was_trained() -> None:
    values = np.array([[1.0, 0.5], [np.nan, 0.0]])
    first, again = (plots.heatmaps([("", values)], [1, 2], (1, 1)) for _ in range(2))
    assert first == again
    assert "currentColor" in first
    assert plots.lines([("x", "y", [])]) == ""
