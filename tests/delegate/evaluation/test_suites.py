"""Questions: from files, from folders, drawn anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from curta.delegate.data import data_set
from curta.delegate.data.templates import templates
from curta.delegate.data.templates.engine import templates_of
from curta.delegate.evaluation import suites
from curta.delegate.evaluation.suites import (
    MISTAKES,
    NEGATIVES,
    TEMPLATES,
    TRAINED,
    Question,
    Sources,
    joined,
    questions,
)
from curta.errors import DataError, UserError

PUBLISHED = Path(os.environ.get("CURTA_DATA", Path(__file__).parents[4] / "shared" / "data"))
GSM8K = {"question": "How many in all?", "answer": "It is 2+3 = <<2+3=5>>5.\n#### 1,005"}
SVAMP = {
    "Body": "If Dan had $ 3 and bought a bar",
    "Question": "How much is left?",
    "Answer": 1.0,
    "Type": "Common-Divison",
}


def fresh(digits: tuple[int, int], count: int, *, negatives: int, seed: int = 0) -> list[Question]:
    """Questions drawn anew from the templates for tests."""
    sources = Sources(digits=digits, count=count, negatives=negatives, seed=seed)
    return questions([TEMPLATES], sources)


def test_fresh_questions_are_as_long_as_asked_and_never_trained() -> None:
    drawn = fresh((1, 6), 24, negatives=12, seed=3)
    computing = [one for one in drawn if one.suite == TEMPLATES]
    assert Counter(one.digits for one in computing) == dict.fromkeys(range(1, 7), 4)
    assert all(one.value is not None for one in computing)
    negatives = [one for one in drawn if one.suite == NEGATIVES]
    assert len(negatives) == 12
    assert all(one.value is None for one in negatives)
    assert (
        len({data_set.normal(one.text) for one in drawn}) == len({one.name for one in drawn}) == 36
    )
    assert fresh((1, 6), 24, negatives=12, seed=3) == drawn
    assert fresh((1, 6), 24, negatives=12, seed=4) != drawn
    trained = {
        one.question for one in data_set.build(data_set.Mix(train=300, valid=1, test=1)).train
    }
    assert not trained & {one.text for one in drawn}
    assert any(template.test for template in templates())


@pytest.mark.slow
def test_questions_of_trained_kinds_are_none_that_were_trained(tmp_path: Path) -> None:
    made = data_set.build(data_set.Mix(train=400, valid=1, test=1, digits=(1, 2)))
    data_set.write(made, tmp_path / "data")
    asked = questions(["trained"], Sources(tmp_path / "data", digits=(1, 2), count=80))
    assert Counter(one.digits for one in asked) == {1: 40, 2: 40}
    assert {one.suite for one in asked} == {TRAINED}
    assert {one.category for one in asked} >= {"arithmetic", "finance", "units", "word_problems"}
    trained = {data_set.normal(one.question) for one in made.train}
    assert not trained & {data_set.normal(one.text) for one in asked}
    assert any(
        trained & {data_set.normal(one.text) for one in drawn_without_data}
        for seed in range(30)
        if (drawn_without_data := questions(["trained"], Sources(digits=(1, 1), seed=seed)))
    )


def test_more_questions_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [one for one in templates() if one.name == "strings/engraving"]
    monkeypatch.setattr(suites, "templates", lambda: short)
    monkeypatch.setattr(suites, "TRIES", 2)
    with pytest.raises(DataError, match="lower --count or --negatives, or leave 9 out of --digits"):
        fresh((9, 9), 1, negatives=0)
    with pytest.raises(UserError, match=r"digits = 3\.\.2"):
        fresh((3, 2), 5, negatives=0)


KINDS = {
    "often": "? Say {number()}, {name()}!",
    # Of the wanted length once in twenty times.
    "rarely": "count = number() if between(1, 20) == 1 else 10**14\n? Write {count}, {name()}!",
    "never": "? {between(10**13, 10**14 - 1)}, {name()}!",
}


def test_all_lengths_have_the_same_kinds_of_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """However seldom a kind has a number of a length; one that never has is left out."""
    made = [
        template
        for kind, lines in KINDS.items()
        for template in templates_of(f"CATEGORY = '{kind}'\n[test] x\n{lines}\n! \n= '1'\n", kind)
    ]
    monkeypatch.setattr(suites, "templates", lambda: made)
    kinds = Counter((one.digits, one.category) for one in fresh((2, 4), 120, negatives=0))
    for length in (2, 3, 4):
        assert kinds[length, "often"] + kinds[length, "rarely"] == 40
        assert 10 < kinds[length, "rarely"] < 30


def test_questions_that_have_no_answer_are_a_suite_of_their_own(tmp_path: Path) -> None:
    made = data_set.build(data_set.Mix(train=1, valid=1, test=60, mistakes=0.4))
    data_set.write(made, tmp_path)
    found = questions(["templates"], Sources(data=tmp_path))
    assert {one.suite for one in found} == {TEMPLATES, NEGATIVES, MISTAKES}
    for one in found:
        assert (one.category == data_set.MISTAKE) == (one.suite == MISTAKES)


def test_digits_of_the_longest_number() -> None:
    def digits(text: str) -> int | None:
        return Question("", "", text, None, "").digits

    assert digits("1,250.50 and 12345") == 6
    assert digits("7 of 1,000") == 4
    assert digits("no number") is None


def test_a_folder_of_data(tmp_path: Path) -> None:
    made = data_set.build(data_set.Mix(train=1, valid=1, test=40, negatives=0.5))
    data_set.write(made, tmp_path)
    found = questions(["templates"], Sources(data=tmp_path))
    assert [one.text for one in found if one.suite == NEGATIVES] == [
        one.question for one in made.test if one.value is None
    ]
    assert len(found) == 40
    some = questions(["templates"], Sources(data=tmp_path, count=8))
    assert Counter(one.suite for one in some) == {TEMPLATES: 8, NEGATIVES: 2}
    assert {one.name for one in some} < {one.name for one in found}


def test_files(tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text(json.dumps(GSM8K) + "\n")
    (tmp_path / "s.json").write_text(json.dumps([SVAMP]))
    gsm8k, svamp = questions(
        ["gsm8k", "svamp"], Sources(gsm8k=tmp_path / "g.jsonl", svamp=tmp_path / "s.json")
    )
    assert (gsm8k.value, gsm8k.category) == ("1005", "1 calculation")
    assert (svamp.value, svamp.category) == ("1", "division")
    assert svamp.text == "If Dan had $ 3 and bought a bar, How much is left?"
    assert joined("Dan had 3. He bought 2", "How many?") == "Dan had 3. He bought 2. How many?"


@pytest.mark.parametrize(
    ("suite", "sources", "why"),
    [
        ("gsm8k", {}, r"--suite gsm8k: give its file with --gsm8k; .*github"),
        ("svamp", {"svamp": "none.json"}, r"--svamp none.json: there is no such file; .*github"),
        ("templates", {"data": "none"}, "--data none: there is no test.jsonl"),
        ("mawps", {}, "--suite mawps: there are templates, trained, gsm8k, svamp"),
        ("templates", {"count": 0}, "count = 0: must be at least 1"),
        ("templates", {"negatives": -1}, "negatives = -1: must be at least 0"),
        ("templates", {"digits": (0, 3)}, r"digits = 0\.\.3: from 1 to 15, upwards"),
    ],
)
def test_what_is_missing(suite: str, sources: dict[str, str], why: str) -> None:
    paths = {name: Path(at) if isinstance(at, str) else at for name, at in sources.items()}
    with pytest.raises(UserError, match=why):
        questions([suite], Sources(**paths))


def test_files_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps([GSM8K]))
    for suite in ("gsm8k", "svamp"):
        other = tmp_path / f"{suite}.jsonl"
        other.write_text(json.dumps(SVAMP if suite == "gsm8k" else GSM8K))
        with pytest.raises(DataError, match=f"row 1 is none of {suite.upper()}"):
            questions([suite], Sources(**{suite: other}))
        other.write_text('["a text"]')
        with pytest.raises(DataError, match=f"row 1 is none of {suite.upper()}"):
            questions([suite], Sources(**{suite: other}))


@pytest.mark.skipif(not (PUBLISHED / "svamp.json").is_file(), reason="the sets are not here")
def test_published_sets() -> None:
    found = questions(
        ["gsm8k", "svamp"],
        Sources(gsm8k=PUBLISHED / "gsm8k-test.jsonl", svamp=PUBLISHED / "svamp.json"),
    )
    assert Counter(one.suite for one in found) == {"gsm8k": 1319, "svamp": 1000}
    assert all(one.value and one.text for one in found)


SCRIPT = """
import sys
import curta.delegate.commands.evaluate
import curta.delegate.evaluation.report
heavy = {"torch", "transformers", "jax", "matplotlib", "lm_eval"} & set(sys.modules)
assert not heavy, heavy
"""


def test_asking_for_help_is_light() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
