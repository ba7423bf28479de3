"""The model for lm-evaluation-harness, on a task of a few documents."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("lm_eval")
    from lm_eval.api.instance import Instance
    from lm_eval.api.registry import get_model
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.evaluator import evaluate
    from lm_eval.models.huggingface import HFLM

    from curta.delegate.evaluation.harness import CurtaLM

from datasets import Dataset
from transformers import LogitsProcessorList

from curta.delegate.interception.events import CallResult
from curta.delegate.interception.generator import CalcGenerator
from curta.errors import UserError
from tests.support.tiny_language_models import Push, model, tokenizer

# The harness and what it imports have warnings of their own.
pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = ("a", "ab, 12 c", "b", "c c", "12, a b c")
TOKENS = 40
PUSHED = {"logits_processor": LogitsProcessorList([Push()])}


class Pushed(CurtaLM):
    """A random model that is pushed to write calls."""

    def _model_generate(self, *arguments: Any, **options: Any) -> Any:
        return super()._model_generate(*arguments, **options, **PUSHED)


def harness_model(kind: type[HFLM], **options: Any) -> Any:
    return kind(pretrained=model("grouped queries"), tokenizer=tokenizer(), **options)


def written(lm: HFLM, **changes: Any) -> list[str]:
    """What it writes behind each text."""
    options = {"until": ["\n"], "max_gen_toks": TOKENS, "do_sample": False} | changes
    requests = [
        Instance("generate_until", {}, (text, options), at) for at, text in enumerate(TEXTS)
    ]
    found: list[str] = lm.generate_until(requests, disable_tqdm=True)
    return found


def test_it_is_registered() -> None:
    assert get_model("curta") is CurtaLM


def test_it_answers_a_task() -> None:
    """All that the random models say is wrong, but it is asked, and the answers are kept."""
    task = ConfigurableTask(
        config={
            "task": "local",
            "custom_dataset": lambda **_: {
                "test": Dataset.from_list([{"question": text, "answer": "7"} for text in TEXTS])
            },
            "test_split": "test",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "output_type": "generate_until",
            "generation_kwargs": {"until": ["\n"], "max_gen_toks": TOKENS, "do_sample": False},
            "metric_list": [{"metric": "exact_match"}],
        }
    )
    lm = harness_model(Pushed)
    found = evaluate(lm, {"local": task}, bootstrap_iters=0)
    assert found["results"]["local"]["exact_match,none"] == 0
    samples = sorted(found["samples"]["local"], key=lambda sample: sample["doc_id"])
    assert [sample["resps"][0][0] for sample in samples] == written(lm)


@pytest.mark.parametrize("size", [1, 2])
def test_it_writes_what_the_generator_writes(size: int) -> None:
    outputs = CalcGenerator(model("grouped queries"), tokenizer()).generate(
        TEXTS, max_new_tokens=TOKENS, **PUSHED
    )
    found = written(harness_model(Pushed, batch_size=size))
    for text, output in zip(found, outputs, strict=True):
        expected = output.text.partition("\n")[0]
        # A result that does not fit any more is cut in tokens, and whole in what is told.
        assert text == expected if output.tokens < TOKENS else expected.startswith(text)
    assert any(isinstance(call, CallResult) for output in outputs for call in output.calls)
    assert any(">> = " in text for text in found)


def test_stop_strings() -> None:
    whole = written(harness_model(Pushed))
    cut = written(harness_model(Pushed), until=[">> ="])
    assert all(">> =" not in text for text in cut)
    assert any(text != other for text, other in zip(whole, cut, strict=True))


def test_without_calls_it_is_the_harness_own_model() -> None:
    assert written(harness_model(CurtaLM, backend=None)) == written(harness_model(HFLM))


def test_likelihoods_are_those_of_the_harness_own_model() -> None:
    requests = [Instance("loglikelihood", {}, (text, " 7"), at) for at, text in enumerate(TEXTS)]
    mine, theirs = (
        harness_model(kind).loglikelihood(requests, disable_tqdm=True) for kind in (CurtaLM, HFLM)
    )
    assert mine == theirs
    assert all(likelihood < 0 for likelihood, _ in mine)


def test_from_names(tmp_path: Path) -> None:
    model("grouped queries").save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    named = CurtaLM.create_from_arg_string(
        f"pretrained={tmp_path},backend=none", {"batch_size": 2, "device": "cpu"}
    )
    assert named.batch_size == 2
    assert written(named) == written(harness_model(HFLM))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"backend": "gpu"}, "backend=gpu: there are exact, machine and none"),
        ({"adapter": "folder"}, "adapter: give pretrained as a name"),
    ],
)
def test_mistakes(options: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        harness_model(CurtaLM, **options)
