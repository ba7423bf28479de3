"""Talking to a model."""

from __future__ import annotations

import pytest

from curta.errors import ExperimentError, TokenError
from curta.learn.evaluation import samples
from curta.learn.evaluation.samples import ask
from curta.learn.experiment import Setup
from curta.learn.training.state import picked
from tests.support.tiny_runs import tiny_run


def test_every_token_is_the_most_probable_one() -> None:
    folder = tiny_run()
    answer = ask(picked(folder.models(), 0), folder.setup, "57+24=", alternatives=20)
    assert answer.text == "".join(spoken.token for spoken in answer.tokens)
    symbols = folder.setup.language.alphabet.symbols
    for spoken in answer.tokens:
        shares = dict(spoken.others)
        assert set(shares) | {spoken.token} == set(symbols)
        assert max(shares.values()) <= spoken.probability
        assert sum(shares.values()) + spoken.probability == pytest.approx(1, abs=1e-4)
    assert 0 < answer.probability <= answer.tokens[0].probability


@pytest.mark.parametrize(
    ("prompt", "error", "words"),
    [
        ("", TokenError, r"prompt is empty: write a question as in '\d+\+\d+='"),
        ("5+x=", TokenError, "'x' in '5[+]x=' is not in the alphabet"),
        ("1" * 40 + "+1=", ExperimentError, "the prompt has 43 tokens"),
    ],
)
def test_prompts_that_cannot_be(prompt: str, error: type[Exception], words: str) -> None:
    folder = tiny_run()
    with pytest.raises(error, match=words):
        ask(picked(folder.models(), 0), folder.setup, prompt)


def test_questions_of_a_run_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, traced = tiny_run(), []
    read = samples.read
    monkeypatch.setattr(samples, "read", lambda *given: traced.append(1) or read(*given))
    setup = Setup(folder.experiment)
    model = picked(folder.models(), 0)
    answers = [ask(model, setup, question).text for question in ("57+24=", "1+1=", "999+1=")]
    assert len(traced) == 1
    assert answers == [ask(model, folder.setup, q).text for q in ("57+24=", "1+1=", "999+1=")]
