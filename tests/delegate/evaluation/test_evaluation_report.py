"""The numbers of a report, counted by hand from scripted answers, and the page with them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("matplotlib")

from curta.delegate.data.answers import is_right
from curta.delegate.evaluation.figures import Figures, Share
from curta.delegate.evaluation.report import marked, write_report
from curta.delegate.evaluation.running import Config, Folder, evaluate
from curta.delegate.evaluation.suites import MISTAKES, NEGATIVES, SVAMP, TEMPLATES, Question
from curta.delegate.evaluation.systems import System
from tests.delegate.evaluation.scripted_answers import LIMIT, Scripted, answer

ROOT = "1.414214"
QUESTIONS = [
    Question("templates/0", TEMPLATES, "2 and 3?", "5", "arithmetic"),
    Question("templates/1", TEMPLATES, "20 and 30?", "50", "arithmetic"),
    Question("templates/2", TEMPLATES, "25 and 35?", "60", "stories"),
    Question("templates/3", TEMPLATES, "The square root of 20 tenths?", "1.414214", "stories"),
    Question("svamp/0", SVAMP, "7 eggs and <more>: 12?", "19", "addition"),
    Question("negatives/0", NEGATIVES, "Who are you?", None, "negative"),
    Question("negatives/1", NEGATIVES, "Room 12?", None, "negative"),
]
CALLING = (
    "<<calc: 2+3>> = 5\nThe answer is 5.",
    "<<calc: 20*30>> = 600\nThe answer is 600.",  # wrong reasoning
    "<<calc: 25+35>> = 60\nThe answer is 60.",
    f"<<calc: sqrt(2)>> = {ROOT}\nThe answer is {ROOT}.",
    "<<calc: 7+12\nThe answer is 20.",  # wrong format
    "I am a model.",
    "It is <<calc: 3*4>> = 12.",  # unneeded
)
INLINE = (
    "2 + 3 = 5\nThe answer is 5.",
    "20 + 30 = 60\nThe answer is 60.",  # wrong computation
    "25 + 35 = 60. So 60",  # right, but not in the format
    "The answer is 7.",  # wrong reasoning
    "7 + 12 = 19\nThe answer is 19.",
    "I am a model.",
    "It is 12.",
)
ORIGIN = "package tiny (Q4_1), float32"
SYSTEMS = (
    System("inline", "m", "a", backend=None, origin=ORIGIN),
    System("calls", "m", "b", "exact", origin=ORIGIN),
    System("machine", "m", "b", "machine", origin=ORIGIN),
)


def texts(said: tuple[str, ...]) -> dict[str, str]:
    return {question.text: text for question, text in zip(QUESTIONS, said, strict=True)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Figures, Path]:
    folder = Folder(tmp_path_factory.mktemp("evaluation") / "out")
    config = Config(SYSTEMS, max_new_tokens=LIMIT, batch=3)
    refused = [text.replace(f"= {ROOT}", "= error: error").replace(ROOT, "1") for text in CALLING]
    scripted = Scripted(
        {"inline": texts(INLINE), "calls": texts(CALLING), "machine": texts(tuple(refused))}
    )
    answers = evaluate(config, QUESTIONS, folder, scripted)
    return write_report(folder, config, QUESTIONS, answers), folder.path


def test_shares(made: tuple[Figures, Path]) -> None:
    figures, _ = made
    assert figures.computing == (TEMPLATES, SVAMP)
    assert figures.accuracy("inline", TEMPLATES) == Share(2, 4)
    assert figures.accuracy("calls", TEMPLATES) == Share(3, 4)
    assert figures.accuracy("machine", TEMPLATES) == Share(2, 4)
    assert figures.accuracy("inline", SVAMP) == Share(1, 1)
    assert figures.accuracy("calls", SVAMP) == Share(0, 1)
    inline, calls = figures.shares("inline"), figures.shares("calls")
    assert inline["format"] == Share(4, 5)
    assert calls["format"] == Share(4, 5)
    assert calls["calling"] == Share(5, 5)
    assert inline["calling"] == Share(0, 5)
    assert calls["valid_calls"] == Share(5, 6)
    assert calls["false_calls"] == Share(1, 2)
    assert calls["false_calls_with_digits"] == Share(1, 1)
    assert figures.microseconds("calls") == 5.0
    assert figures.microseconds("inline") is None


def test_a_call_whose_error_is_the_answer_keeps_the_format_and_is_valid() -> None:
    """Nor are questions that have no answer among those that need a call."""
    texts = {
        "7 eggs for each of 0?": "<<calc: 7/0>> = error: undefined\nThe answer is undefined.",
        "7 eggs for each of 7?": "<<calc: 7/0>> = error: undefined\nThe answer is 1.",
    }
    asked = [
        Question(f"q/{at}", suite, text, value, "any")
        for at, (text, suite, value) in enumerate(
            zip(texts, (MISTAKES, TEMPLATES), ("undefined", "1"), strict=True)
        )
    ]
    system = System("scripted", "m")
    answers = {("scripted", one.name): answer(one, texts[one.text]) for one in asked}
    figures = Figures([system], asked, answers)
    assert figures.computing == (MISTAKES, TEMPLATES)
    assert figures.accuracy("scripted", MISTAKES) == Share(1, 1)
    shares = figures.shares("scripted")
    assert shares["format"] == Share(1, 2)
    assert shares["valid_calls"] == Share(1, 2)
    assert shares["calling"] == Share(1, 1)


def test_groups(made: tuple[Figures, Path]) -> None:
    figures, _ = made
    assert figures.by("calls", TEMPLATES, lambda one: one.digits) == {
        1: Share(1, 1),
        2: Share(2, 3),
    }
    assert figures.by("inline", TEMPLATES, lambda one: one.category) == {
        "arithmetic": Share(1, 2),
        "stories": Share(1, 2),
    }
    assert figures.by("inline", NEGATIVES, lambda one: one.digits) == {2: Share(1, 1)}


def test_kinds(made: tuple[Figures, Path]) -> None:
    figures, _ = made
    assert figures.kinds("inline", TEMPLATES) == {
        "right": 2,
        "wrong computation": 1,
        "wrong reasoning": 1,
    }
    assert figures.kinds("calls", TEMPLATES) == {"right": 3, "wrong reasoning": 1}
    assert figures.kinds("calls", SVAMP) == {"wrong format": 1}
    assert figures.kinds("calls", NEGATIVES) == {"right": 1, "unneeded call": 1}
    assert figures.kinds("machine", TEMPLATES) == {
        "right": 2,
        "wrong reasoning": 1,
        "wrong format": 1,
    }


def test_comparisons_and_agreements(made: tuple[Figures, Path]) -> None:
    figures, _ = made
    pairs = [(one.suite, one.first, one.second) for one in figures.comparisons()]
    assert pairs == [
        (suite, other, "inline") for suite in (TEMPLATES, SVAMP) for other in ("calls", "machine")
    ]
    first = figures.comparisons()[0]
    assert first.difference == 0.25
    assert first.interval[0] <= 0.25 <= first.interval[1]
    assert first.p == 1.0, "one question differs: that is no evidence"
    (agreement,) = figures.agreements()
    assert (agreement.system, agreement.source) == ("machine", "calls")
    assert agreement.calls == Share(4, 5)
    assert agreement.answers == Share(6, 7)
    assert agreement.differs.startswith(f"sqrt(2) = error: error, not {ROOT}")


def test_speed_is_of_what_was_generated(made: tuple[Figures, Path]) -> None:
    figures, _ = made
    generated = [one for one in figures.judged["machine"] if one.answer.question == "templates/3"]
    assert figures.speed("machine") == pytest.approx(10 / generated[0].answer.seconds)


class Tags(HTMLParser):
    """Sees that what is opened is closed."""

    VOID = ("meta", "use", "path", "br")

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.opened.pop() == tag

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_the_page(made: tuple[Figures, Path]) -> None:
    _, path = made
    page = (path / "report.html").read_text("utf-8")
    tags = Tags()
    tags.feed(page)
    assert tags.opened == []
    assert tags.seen.count("svg") == 2
    assert not re.search(r'(?:src|href)="(?!#)', page), "it needs no other file"
    assert "75.0% <span class=interval>[30.1, 95.4]</span>" in page
    assert "7 eggs and &lt;more&gt;: 12?" in page
    assert "<mark>&lt;&lt;calc: 20*30&gt;&gt; = 600</mark>" in page
    assert "<mark class=bad>&lt;&lt;calc: 7+12</mark>" in page
    assert "20 + 30 = 60: it is 50" in page
    assert "6 of 7" in page
    assert ORIGIN in page
    assert "false calls, digits in the question" in page
    assert "100.0% <span class=interval>[20.7, 100.0]</span>" in page, "false calls at Room 12"
    assert "In templates, some lengths lack kinds of questions that others have" in page
    for kind in ("wrong reasoning", "wrong computation", "wrong format", "unneeded call"):
        assert f"<h3>{kind}</h3>" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_which_answers_are_right_is_said_as_it_is(made: tuple[Figures, Path]) -> None:
    """The rule of the page, with its borders, is the one that answers are judged by."""
    _, path = made
    page = (path / "report.html").read_text("utf-8")
    assert "to fewer decimals than the wanted one has, at least 2 and with as many" in page
    assert "Where the wanted one has 6 decimals or more" in page
    for said, wanted, right in (
        ("0.33", "0.333333", True),
        ("0.3", "0.333333", False),
        ("0.05", "0.05123", False),
        ("0.3333333", "0.333333", True),
        ("0.66667", "0.66666", False),
        ("0.6666667", "0.666667", True),
    ):
        assert is_right(f"The answer is {said}.", wanted) is right


def test_figures_for_programs(made: tuple[Figures, Path]) -> None:
    _, path = made
    figures = json.loads((path / "figures.json").read_text())
    assert figures["calls"]["accuracy"][TEMPLATES]["right"] == 3
    assert figures["inline"]["valid_calls"] is None
    assert figures["calls"]["false_calls"]["count"] == 2
    assert figures["calls"]["false_calls_with_digits"]["count"] == 1
    assert figures["calls"]["kinds"][SVAMP] == {"wrong format": 1}


def test_marks() -> None:
    assert marked("a <<calc: 1/0>> = error: undefined b") == (
        "a <mark class=bad>&lt;&lt;calc: 1/0&gt;&gt; = error: undefined</mark> b"
    )
    assert marked("x < y") == "x &lt; y"
