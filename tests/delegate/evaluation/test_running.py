"""Answers are asked for once, go on where they stopped, and are shared where that is proved."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from curta.delegate.evaluation.figures import Figures
from curta.delegate.evaluation.running import Config, Folder, batches, evaluate
from curta.delegate.evaluation.suites import Question
from curta.delegate.evaluation.systems import System, generator, systems, writer
from curta.errors import DataError
from tests.delegate.evaluation.scripted_answers import LIMIT, Scripted
from tests.support.tiny_language_models import chat_tokenizer, model

QUESTIONS = [
    Question(f"templates/{at}", "templates", f"{'very ' * at}long?", "5", "stories")
    for at in range(7)
]
SUM = "<<calc: 2+3>> = 5\nThe answer is 5."
ROOT = "<<calc: sqrt(2)>> = 1.414214\nThe answer is 5."
TEXTS = {one.text: ROOT if at == 2 else SUM for at, one in enumerate(QUESTIONS)}
EXACT, MACHINE = System("exact", "m"), System("machine", "m", backend="machine")
PLAIN = System("plain", "m", backend=None)


def config(*given: System) -> Config:
    return Config(given, max_new_tokens=LIMIT, batch=2)


def test_answers_are_shared_where_every_call_has_the_same_result(tmp_path: Path) -> None:
    scripted = Scripted({"exact": TEXTS, "machine": TEXTS, "plain": TEXTS})
    folder = Folder(tmp_path)
    answers = evaluate(config(PLAIN, EXACT, MACHINE), QUESTIONS, folder, scripted)
    assert len(answers) == 21
    again = [text for name, text in scripted.asked if name == "machine"]
    assert again == [QUESTIONS[2].text], "only that whose result is no rational"
    sources = [answers["machine", one.name].source for one in QUESTIONS]
    assert sources == ["exact", "exact", None, "exact", "exact", "exact", "exact"]
    assert all(answers["plain", one.name].source is None for one in QUESTIONS)
    assert all(answers["plain", one.name].calls == () for one in QUESTIONS)
    assert folder.answers() == answers


def test_formats_share_no_answers(tmp_path: Path) -> None:
    formats = systems("m", formats=["prompted", "own"], backends=["exact", "machine"])
    scripted = Scripted(dict.fromkeys([one.name for one in formats], TEXTS))
    answers = evaluate(config(*formats), QUESTIONS, Folder(tmp_path), scripted)
    assert {one.source for one in answers.values()} == {None, "prompted, exact", "own, exact"}
    pairs = [(one.first, one.second) for one in Figures(formats, QUESTIONS, answers).comparisons()]
    assert ("own, exact", "prompted, exact") in pairs
    assert ("own, machine", "own, exact") not in pairs


def test_a_stopped_evaluation_goes_on(tmp_path: Path) -> None:
    texts = {"exact": TEXTS, "plain": TEXTS}
    stopped = Scripted(texts, batches=3)
    folder = Folder(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        evaluate(config(EXACT, PLAIN), QUESTIONS, folder, stopped)
    kept = folder.answers_file.read_text()
    folder.answers_file.write_text(kept[:-30])
    more = Scripted(texts)
    progress = []
    answers = evaluate(
        config(EXACT, PLAIN),
        QUESTIONS,
        folder,
        more,
        on_progress=lambda *heard: progress.append(heard),
    )
    order = [one.text for batch in batches(QUESTIONS, 2) for one in batch]
    assert [text for name, text in stopped.asked] == order[:6]
    assert [text for name, text in more.asked if name == "exact"] == order[4:]
    assert folder.answers() == answers
    assert len(answers) == 14
    assert progress[-1] == ("plain", 7, 7)
    last = Scripted(texts)
    assert evaluate(config(EXACT, PLAIN), QUESTIONS, folder, last) == answers
    assert last.asked == []


def test_another_evaluation_is_left_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    scripted = Scripted({"exact": TEXTS})
    evaluate(config(EXACT), QUESTIONS, folder, scripted)
    longer = dataclasses.replace(config(EXACT), max_new_tokens=LIMIT + 1)
    with pytest.raises(DataError, match=r"config.json differs"):
        evaluate(longer, QUESTIONS, folder, scripted)
    elsewhere = dataclasses.replace(EXACT, origin="Hub, revision a, bfloat16")
    with pytest.raises(DataError, match=r"config.json differs"):
        evaluate(config(elsewhere), QUESTIONS, folder, scripted)
    otherwise = dataclasses.replace(EXACT, format="own")
    with pytest.raises(DataError, match=r"config.json differs"):
        evaluate(config(otherwise), QUESTIONS, folder, scripted)
    with pytest.raises(DataError, match=r"questions.jsonl differs"):
        evaluate(config(EXACT), QUESTIONS[1:], folder, scripted)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    for place in (tmp_path, tmp_path / "adapter_config.json"):
        with pytest.raises(DataError, match="something else lies there"):
            evaluate(config(EXACT), QUESTIONS, Folder(place), Scripted({"exact": TEXTS}))


def test_the_error_of_a_call_is_kept(tmp_path: Path) -> None:
    texts = dict.fromkeys(TEXTS, "<<calc: 1/0>> = error: undefined\nThe answer is undefined.")
    folder = Folder(tmp_path)
    answers = evaluate(config(EXACT), QUESTIONS, folder, Scripted({"exact": texts}))
    assert {call.error for one in answers.values() for call in one.calls} == {"undefined"}
    assert folder.answers() == answers


def test_greedy_is_the_most_likely_token_whatever_a_model_wants() -> None:
    """A model's own penalties for what was said before are not applied."""
    tiny = copy.deepcopy(model("grouped queries"))

    def said() -> list[str]:
        write = writer(generator(tiny, chat_tokenizer(), None), 24)
        return [one.text for one in write(["one", "two and three"])]

    plain = said()
    settings = {"repetition_penalty": 3.0, "no_repeat_ngram_size": 1, "num_beams": 2}
    for name, value in settings.items():
        setattr(tiny.generation_config, name, value)
        assert said() == plain, name


def test_batches_hold_all_questions_once_the_longest_first() -> None:
    made = list(batches(QUESTIONS, 3))
    assert [len(one) for one in made] == [3, 3, 1]
    lengths = [len(one.text) for batch in made for one in batch]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(one.name for batch in made for one in batch) == [one.name for one in QUESTIONS]


def adapter(folder: Path) -> str:
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(folder.name.encode())
    return str(folder)


def test_which_systems_there_are(tmp_path: Path) -> None:
    calls, inline = adapter(tmp_path / "calls"), adapter(tmp_path / "inline")
    made = systems(
        "hub/m", adapters=[calls], inline=[f"base={inline}"], backends=["exact", "machine"],
        untrained=True,
    )  # fmt: skip
    assert [(one.name, one.adapter, one.backend) for one in made] == [
        ("untrained", None, None),
        ("base", inline, None),
        ("calls, exact", calls, "exact"),
        ("calls, machine", calls, "machine"),
    ]
    assert made[1].digest != made[2].digest == made[3].digest
    assert systems("hub/m", origin="Hub") == (System("m", "hub/m", origin="Hub"),)
    assert [one.name for one in systems("hub/m", untrained=True)] == ["untrained"]
    ways = systems("hub/m", untrained=True, formats=["prompted", "own"])
    assert [(one.name, one.format) for one in ways] == [
        ("untrained", None),
        ("prompted", "prompted"),
        ("own", "own"),
    ]
    assert len({one.weights for one in ways}) == 1
    each = systems("m", adapters=[calls], formats=["own"], backends=["exact", "machine"])
    assert [one.name for one in each] == ["calls, own, exact", "calls, own, machine"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"backends": ["gpu"]}, "--backend gpu: there are exact, machine"),
        ({"formats": ["json"]}, "--format json: there are inline, prompted, own, equations"),
        (
            {"adapters": ["nowhere"]},
            "--adapter nowhere: nowhere has no adapter_config.json",
        ),
        (
            {"inline": ["a=nowhere"]},
            "--inline a=nowhere: nowhere has no adapter_config.json",
        ),
    ],
)
def test_systems_that_cannot_be(given: dict, why: str) -> None:
    with pytest.raises(DataError, match=why):
        systems("m", **given)


def test_two_systems_of_one_name(tmp_path: Path) -> None:
    first = adapter(tmp_path / "a")
    with pytest.raises(DataError, match="two systems are called a: write NAME=FOLDER"):
        systems("m", adapters=[first], inline=[first])
