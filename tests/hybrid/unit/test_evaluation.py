"""Questions by wording, and what is recorded of routes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("transformers")


from curta.delegate import models
from curta.delegate.evaluation.figures import Share
from curta.delegate.evaluation.suites import NEGATIVES
from curta.delegate.evaluation.systems import System
from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.config import Asking
from curta.hybrid.unit.evaluation import (
    asked,
    compare,
    unit,
    unit_writer,
)
from tests.hybrid import tiny_units
from tests.support import tiny_language_models as tiny


def test_questions_of_a_wording_belong_together() -> None:
    found = asked({"held out": 400, NEGATIVES: 10})
    assert len({one.name for one in found}) == 410
    wordings = {one.group for one in found if one.suite == "held out"}
    assert 300 <= len(wordings) < 400


def test_what_is_computed_is_recorded_as_a_call_that_is_not_in_the_text() -> None:
    model = tiny_units.unit(Operation.ADDITION, tiny.chat_tokenizer())
    first, second = unit_writer(model, 12)(["7 8", "nothing"])
    assert {call.expression for call in first.calls} <= {"7 + 8", "8 + 7"}
    assert len(first.calls) == 1
    assert first.events[-1].text.strip() == "15"
    assert first.ended
    assert not second.calls
    routed, silent = unit_writer(model, 1)(["7 8", "nothing"])
    assert [len(one.calls) for one in (routed, silent)] == [1, 0]
    assert routed.tokens == 1


def test_systems_are_compared_on_the_same_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = (tiny_units.base(), tiny.chat_tokenizer())
    monkeypatch.setattr(models, "load", lambda name, **options: loaded)
    tiny_units.unit(Operation.ADDITION).save_pretrained(tmp_path / "adds")
    systems = [
        System("untrained", "tiny", backend=None),
        unit(f"adds={tmp_path / 'adds'}", "tiny", None),
    ]

    def shares() -> dict[tuple[str, str], Share]:
        found = compare(
            systems, Asking(4, 4, 2, 2, 4, 2), tmp_path / "out", 4, 6, None,
            on_progress=lambda *heard: None,
        )  # fmt: skip
        assert all(page.is_file() for page in found)
        return {
            (system.name, suite): figures.accuracy(system.name, suite)
            for figures in found.values()
            for system in figures.systems
            for suite in figures.suites
        }

    done = shares()
    assert {suite for system, suite in done if system == "untrained"} == {
        "seen", "held out", "stories seen", "stories held out",
    }  # fmt: skip
    assert done["adds", NEGATIVES].count == 4
    assert done["adds", NEGATIVES].value < 1  # it fires wherever there are two numbers
    assert shares() == done
