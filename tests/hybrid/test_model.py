"""The joint model: what it says is what its definition says, and whatever differs is found."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

import torch
from transformers import LogitsProcessorList

from curta.delegate.interception.events import CallRejected, CallResult, TextDelta
from curta.errors import CurtaError, FileError, TokenError, UserError, VerifyError
from curta.hybrid import HybridModel, Module, Transcript, folder
from curta.hybrid.hearing import ModuleSaid
from curta.hybrid.unit.model import UnitModel
from curta.hybrid.verify import Verified
from curta.hybrid.vocabulary import JointVocabulary
from curta.machine import conversation
from curta.machine.ids import START_ID
from curta.machine.verify.chapters import spoken_by_machine
from tests.hybrid.tiny_units import base, unit
from tests.support import tiny_language_models as tiny
from tests.support.slow import draws

WAT = """
(module
  (func (export "plus") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func (export "over") (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1)))
  (func (export "forever") (loop (br 0)))
  (func (export "steps") (param i32) (result i32)
    (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (local.get 0)))
"""
CALLS = ("plus(19, 23)", "addition(58+67)", "over(7, 0)", "addition(what)")


@pytest.fixture(scope="module")
def wat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("modules") / "few.wat"
    path.write_text(WAT)
    return path


@pytest.fixture(scope="module")
def model(wat: Path) -> HybridModel:
    return HybridModel(base(), tiny.tokenizer(), [str(wat), Module.gallery("addition")])


@pytest.fixture(scope="module")
def written(model: HybridModel) -> dict[str, Transcript]:
    return {call: model.ask("ab", call=call, max_new_tokens=40) for call in CALLS}


def spoken(model: HybridModel, transcript: Transcript) -> np.ndarray:
    """Which tokens of a stream weights said: not the user, not the host, and no answers."""
    ids, vocabulary = transcript.ids, model.vocabulary
    said = np.zeros(len(ids), dtype=bool)
    answer = ids < vocabulary.language
    said[np.flatnonzero(answer)[-(len(transcript.choices) - transcript.given) :]] = True
    for one in vocabulary.contexts(ids):
        own = one.ids
        module = model.compiled[one.module]
        if module.program is None:
            mark = module.engine.vocabulary.index("=")
            opening = own.tolist().index(mark) + 1
            said[one.begin + opening : one.end] = True
        else:
            opening = own.tolist().index(START_ID) + 1
            said[one.begin : one.end] = spoken_by_machine(own, opening)
    return said


# -- the definition ---------------------------------------------


@pytest.mark.parametrize("call", CALLS)
def test_every_token_is_the_likeliest_of_the_joint_forward(
    model: HybridModel, written: dict[str, Transcript], call: str
) -> None:
    transcript = written[call]
    whole = np.concatenate([transcript.prompt, transcript.ids])
    logits = model(torch.from_numpy(whole)[None]).logits[0]
    assert logits.shape == (len(whole), model.vocabulary.size)
    best = logits.argmax(dim=-1).numpy()[len(transcript.prompt) - 1 : -1]
    said = spoken(model, transcript)
    assert said.sum() >= 10
    assert best[said].tolist() == transcript.ids[said].tolist()


def test_blocks_do_not_see_each_other(model: HybridModel, written: dict[str, Transcript]) -> None:
    """Logits of the language model are those that it has of its own tokens alone."""
    transcript = written["plus(19, 23)"]
    whole = torch.from_numpy(np.concatenate([transcript.prompt, transcript.ids]))
    own = torch.from_numpy(whole.numpy() < model.vocabulary.language)
    assert not own.all()
    joint = model(whole[None]).logits[0]
    alone = model.base(input_ids=whole[own][None]).logits[0]
    assert torch.equal(joint[own][:, : model.vocabulary.language], alone.double())
    assert torch.isneginf(joint[own][:, model.vocabulary.language :]).all()
    assert torch.isneginf(joint[~own][:, : model.vocabulary.language]).all()


def test_rows_are_padded_on_either_side(model: HybridModel) -> None:
    ids = torch.tensor([[7, 8, 9]])
    alone = model(ids).logits[0]
    for side in ([0, 0, 1, 1, 1], [1, 1, 1, 0, 0]):
        padded = torch.zeros((1, 5), dtype=torch.long)
        padded[0, torch.tensor(side).bool()] = ids[0]
        made = model(padded, attention_mask=torch.tensor([side])).logits[0]
        assert torch.equal(made[torch.tensor(side).bool()], alone)
    assert model(ids, logits_to_keep=1).logits.shape[1] == 1


# -- the loop ---------------------------------------------


def test_answers_are_the_modules(written: dict[str, Transcript]) -> None:
    texts = {call: one.text for call, one in written.items()}
    assert texts["plus(19, 23)"].startswith("<<plus: 19, 23>> = 42")
    assert texts["addition(58+67)"].startswith("<<addition: 58+67>> = 125")
    assert texts["over(7, 0)"].startswith("<<over: 7, 0>> = error: divided by zero")
    assert " = error: " in texts["addition(what)"]


def test_a_stream_is_text_then_tokens_then_text(model: HybridModel) -> None:
    stream = model.stream("ab", call="plus(1, 2)", max_new_tokens=30)
    assert stream.transcript is None
    events = list(stream)
    kinds = [type(event) for event in events]
    first, last = kinds.index(ModuleSaid), len(kinds) - 1 - kinds[::-1].index(ModuleSaid)
    assert kinds[last + 1] is CallResult
    assert TextDelta in kinds[last + 1 :]
    said = [event for event in events if isinstance(event, ModuleSaid)]
    assert [event.opens for event in said][:2] == [True, False]
    assert all(kind is ModuleSaid for kind in kinds[first : last + 1])
    assert stream.transcript is not None
    (context,) = model.vocabulary.contexts(stream.transcript.ids)
    assert np.concatenate([event.ids for event in said]).tolist() == context.ids.tolist()
    assert "".join(event.text for event in events) == stream.transcript.text.removesuffix("<end>")


def test_without_calls_it_is_the_language_model(model: HybridModel) -> None:
    inputs = tiny.tokenizer()(["ab", "7 and cé"], padding=True, return_tensors="pt")
    given = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    expected = base().generate(**given, max_new_tokens=20, do_sample=False)
    assert torch.equal(model.generate(**given, max_new_tokens=20), expected)


def test_rows_of_a_batch_are_what_they_are_alone(model: HybridModel) -> None:
    """Pushed to call as often as they can."""
    prompts = ["ab", "a", "12 c <<calc: 1+"]
    options: dict[str, Any] = {
        "max_new_tokens": 60, "logits_processor": LogitsProcessorList([tiny.Push()]),
    }  # fmt: skip
    together = model.write(prompts, **options)
    alone = [model.write([prompt], **options)[0] for prompt in prompts]
    assert [one.ids.tolist() for one in together] == [one.ids.tolist() for one in alone]
    contexts = [list(model.vocabulary.contexts(one.ids)) for one in together]
    assert sum(map(len, contexts)) >= 3
    for one in together:
        verified = model.verify(one, tokens=0)
        assert not one.likeliest
        assert verified.language == 0
        assert (verified.said > 0) == any(True for _ in model.vocabulary.contexts(one.ids))


def test_calls_in_the_models_own_format(wat: Path) -> None:
    """Answered behind the turn, in the template's words; alone and in a batch."""
    made = HybridModel(base(), tiny.tools_tokenizer(), [f"{wat}:plus", "letters:reversed"])
    push = tiny.PushTools("reversed", '"text": "')
    options: dict[str, Any] = {
        "max_new_tokens": 160,
        "logits_processor": LogitsProcessorList([push]),
    }
    prompts = [[{"role": "user", "content": text}] for text in ("ab", "and c")]
    together = made.write(prompts, **options)
    assert [one.ids.tolist() for one in together] == [
        made.write([prompt], **options)[0].ids.tolist() for prompt in prompts
    ]
    called = 0
    for one in together:
        verified = made.verify(one, tokens=0)
        assert (verified.said > 0) == ("tool: " in one.text)
        called += verified.said > 0
    assert called
    with pytest.raises(UserError, match="inline only"):
        made.ask("ab", call="plus(1, 2)")
    other = HybridModel(base(), tiny.tools_tokenizer(), [f"{wat}:plus"], format="inline")
    assert other.ask("ab", call="plus(1, 2)", max_new_tokens=30).text.startswith("<<plus: 1, 2>> =")


def test_calls_that_are_constrained(wat: Path) -> None:
    made = HybridModel(base(), tiny.chat_tokenizer(), [str(wat)], constrained=True)
    for prompt in ("a", "what"):
        written = made.ask(prompt, max_new_tokens=50)
        verified = made.verify(written, tokens=0)
        assert verified.language == len(written.choices)
        assert " = error: syntax error" not in written.text


def test_nobody_listens_any_more(model: HybridModel) -> None:
    stream = model.stream("ab", call="forever()", max_new_tokens=30)
    for event in stream:
        if isinstance(event, ModuleSaid) and not event.opens:
            break
    stream.close()


def test_what_is_no_call(model: HybridModel) -> None:
    for call in ("plus 1, 2", "minus(1, 2)", "plus(1, 2", "(1)"):
        with pytest.raises(UserError, match="is no call"):
            model.ask("ab", call=call)
    with pytest.raises(UserError, match="would end the call"):
        model.ask("ab", call='addition("1 >> 2")')
    with pytest.raises(UserError, match="300 at most"):
        model.ask("ab", call=f"addition({'1' * 400})")


def test_choices_that_are_drawn_are_not_compared(model: HybridModel) -> None:
    drawn: dict[str, Any] = {"do_sample": True, "num_return_sequences": 2, "max_new_tokens": 12}
    for prompts in (["ab"], ["ab", "a longer one"]):
        written = model.write(prompts, **drawn)
        assert len(written) == 2 * len(prompts)
        for one in written:
            assert not one.likeliest
            assert model.verify(one).language == 0
    shaped = model.write(["ab"], repetition_penalty=1.5, max_new_tokens=12)[0]
    assert model.verify(shaped).language == 0


@pytest.mark.parametrize("most", [1, 5, 14, 18, 19])
def test_an_answer_may_end_anywhere(model: HybridModel, most: int) -> None:
    written = model.ask("ab", call="plus(10, 20)", max_new_tokens=most)
    assert 0 <= written.given <= len(written.choices)
    assert is_whole(model.verify(written))


# -- proof ---------------------------------------------


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("level", ["plain", "hull"])
def test_what_was_written_is_verified(
    model: HybridModel, written: dict[str, Transcript], call: str, level: Any
) -> None:
    progress: list[float] = []
    verified = model.verify(written[call], level=level, on_progress=progress.append)
    assert is_whole(verified)
    assert verified.language == len(written[call].choices) - written[call].given
    assert verified.ties == 0
    assert progress == sorted(progress)
    assert str(verified).startswith("verified: ")


def is_whole(verified: Verified) -> bool:
    """Whether all that modules said was compared."""
    return verified.compiled == verified.said


def changed_in(model: HybridModel, transcript: Transcript, ids: Any, **fields: Any) -> Transcript:
    """Another stream, and the text that it has."""
    return dataclasses.replace(transcript, ids=ids, text=model.text_of(ids), **fields)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"given": 1_000}, "1000 of "),
        ({"given": -1}, "-1 of "),
        ({"text": "nonsense"}, "the text is not what the tokens say"),
        ({"prompt": np.array([-3])}, "a token of the prompt"),
        ({"choices": np.array([10**6])}, "a choice is no token"),
    ],
)
def test_what_a_transcript_says_of_itself_is_checked(changed: dict[str, Any], said: str) -> None:
    model, transcript = shared()
    with pytest.raises(VerifyError, match=said):
        model.verify(dataclasses.replace(transcript, **changed))


def test_ids_that_are_none_are_refused() -> None:
    model, transcript = shared()
    for at in (0, -1):
        ids = transcript.ids.copy()
        ids[at] = -5
        with pytest.raises(VerifyError):
            model.verify(dataclasses.replace(transcript, ids=ids))
    own = transcript.ids[transcript.ids < model.vocabulary.language]
    with pytest.raises(VerifyError):  # cut behind the run
        model.verify(changed_in(model, transcript, own[:3]))


@settings(max_examples=draws(60), deadline=None)
@given(data=st.data())
def test_any_other_token_is_found(data: st.DataObject) -> None:
    model, transcript = shared()
    ids, choices = transcript.ids.copy(), transcript.choices.copy()
    changed = data.draw(st.sampled_from([ids, ids, ids, choices]))
    at = data.draw(st.integers(0, len(changed) - 1))
    near = st.sampled_from([ids[at - 1], ids[at] + 1, ids[at] - 1] if changed is ids else [5, 9])
    token = data.draw(st.one_of(st.integers(0, model.vocabulary.size - 1), near))
    if token == changed[at] or not 0 <= token < model.vocabulary.size:
        return
    changed[at] = token
    with pytest.raises(CurtaError):
        model.verify(changed_in(model, transcript, ids, choices=choices))


@cache
def shared() -> tuple[HybridModel, Transcript]:
    model = HybridModel(base(), tiny.tokenizer(), [Module.gallery("addition")])
    return model, model.ask("ab", call="addition(58+67)", max_new_tokens=12)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.999])
def test_another_token_of_a_program_is_found(
    model: HybridModel, written: dict[str, Transcript], at: float
) -> None:
    transcript = written["plus(19, 23)"]
    (context,) = model.vocabulary.contexts(transcript.ids)
    place = context.begin + int(at * (context.end - context.begin))
    ids = transcript.ids.copy()
    ids[place] += 1 if model.vocabulary.place(int(ids[place]) + 1)[0] == "machine" else -1
    with pytest.raises(VerifyError):
        model.verify(changed_in(model, transcript, ids))


def test_tokens_that_are_left_out_are_missed(
    model: HybridModel, written: dict[str, Transcript]
) -> None:
    for transcript in written.values():
        for part in (transcript.ids[:-1], transcript.ids[1:]):
            with pytest.raises(CurtaError):
                model.verify(changed_in(model, transcript, part))


def test_long_runs_are_several_contexts(
    model: HybridModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "SHORTEST_CHAPTER", 300)
    monkeypatch.setattr(conversation, "PAYS", 0)
    transcript = model.ask("ab", call="steps(600)", max_new_tokens=20)
    assert transcript.text.startswith("<<steps: 600>> = 0")
    contexts = list(model.vocabulary.contexts(transcript.ids))
    assert len(contexts) >= 3
    assert {one.module for one in contexts} == {"steps"}
    assert is_whole(model.verify(transcript))
    ids = transcript.ids.copy()
    second = contexts[1]
    opening = ids[second.begin : second.end]
    opening[20] += 1  # the program, said again
    with pytest.raises(VerifyError):
        model.verify(changed_in(model, transcript, ids))


def test_a_transcript_is_of_its_model(written: dict[str, Transcript]) -> None:
    other = HybridModel(base(), tiny.tokenizer())
    with pytest.raises(UserError, match="of a model with the modules calculate, plus"):
        other.verify(written["plus(19, 23)"])


# -- what is kept ---------------------------------------------


def test_a_transcript_is_kept(
    model: HybridModel, written: dict[str, Transcript], tmp_path: Path
) -> None:
    for transcript in written.values():
        transcript.save(tmp_path / "one.safetensors")
        again = Transcript.load(tmp_path / "one.safetensors")
        assert is_whole(model.verify(again))
        assert again.text == transcript.text
    with pytest.raises(FileError, match="no transcript"):
        Transcript.load(__file__)
    square = np.zeros((2, 2), dtype=np.int64)
    for wrong in ({"given": "many"}, {"given": 2.5}, {"room": None}, {"ids": square}):
        dataclasses.replace(transcript, **wrong).save(tmp_path / "one.safetensors")
        with pytest.raises(FileError, match="no transcript"):
            Transcript.load(tmp_path / "one.safetensors")


LOADS = """
import sys
from curta.hybrid import HybridModel, Transcript
model = HybridModel.from_pretrained(sys.argv[1])
print(model.verify(Transcript.load(sys.argv[2])))
print(model.ask("ab", call="twice([3, 4])", max_new_tokens=30).text)
"""
TWICE = """/* Doubles. */
static int two(void) { return 2; }
void twice(int *values, int n) { for (int i = 0; i < n; i++) values[i] *= two(); }
"""


@pytest.mark.slow
def test_a_folder_has_all_of_it(model: HybridModel, wat: Path, tmp_path: Path) -> None:
    (tmp_path / "twice.c").write_text(TWICE)
    made = HybridModel(
        base(), tiny.tokenizer(),
        [f"{wat}:plus", Module.gallery("addition"), Module.c(tmp_path / "twice.c")],
    )  # fmt: skip
    made.ask("ab", call="plus(3, 4)", max_new_tokens=30).save(tmp_path / "kept")
    said = made.ask("ab", call="twice([3, 4])", max_new_tokens=30).text
    made.save_pretrained(tmp_path / "mine")
    (tmp_path / "twice.c").unlink()
    command = [sys.executable, "-c", LOADS, str(tmp_path / "mine"), str(tmp_path / "kept")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    first, *rest = finished.stdout.splitlines()
    assert first.startswith("verified: ")
    assert "\n".join(rest) == said.strip("\n")
    assert said.startswith("<<twice: [3, 4]>> = [6, 8]")


def test_a_model_with_a_unit_is_told_of_modules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its texts are those of training, if there are no modules."""
    made = unit(None, tiny.tools_tokenizer())
    monkeypatch.setattr(UnitModel, "from_pretrained", lambda name, **_: made)
    formats = [
        HybridModel.from_pretrained("tiny", unit="unit", modules=modules).writer.calling.format.name
        for modules in ([], [Module.gallery("addition")])
    ]
    assert formats[0] == "inline calls"
    assert formats[1] != "inline calls"


def test_a_folder_has_its_own_unit_and_adapter(tmp_path: Path) -> None:
    (tmp_path / folder.ABOUT).write_text("{}")
    for asked in ({"unit": "unit"}, {"adapter": "none"}):
        with pytest.raises(UserError, match="is a hybrid model already: give it no unit"):
            HybridModel.from_pretrained(tmp_path, **asked)  # type: ignore[arg-type]


# -- the vocabulary ---------------------------------------------


MODULES = st.lists(
    st.tuples(st.uuids().map(str), st.sampled_from("abc"), st.just(0)), max_size=6
).map(lambda found: [(name, weights, 10 + ord(weights)) for name, weights, _ in found])


@given(language=st.integers(1, 50), modules=MODULES, more=MODULES)
def test_tokens_keep_their_numbers_when_modules_are_added(
    language: int, modules: list[Any], more: list[Any]
) -> None:
    small, large = (JointVocabulary.of(language, one) for one in (modules, modules + more))
    assert large.size >= small.size
    for token in range(small.size):
        assert small.place(token) == large.place(token)


@given(language=st.integers(1, 50), modules=MODULES)
def test_every_token_is_somebodys(language: int, modules: list[Any]) -> None:
    vocabulary = JointVocabulary.of(language, modules)
    places = [vocabulary.place(token) for token in range(vocabulary.size)]
    assert len(set(places)) == len(places)
    sizes = {weights: size for _, weights, size in modules} | {"": language}
    for whose, number, hands in places:
        assert number < (1 if hands else sizes[whose])
    for wrong in (-1, vocabulary.size):
        with pytest.raises(TokenError):
            vocabulary.place(wrong)


def test_modules_have_names_of_their_own(model: HybridModel, wat: Path) -> None:
    with pytest.raises(UserError, match="a module plus already"):
        HybridModel(base(), tiny.tokenizer(), [str(wat), f"{wat}:plus"])
    with pytest.raises(UserError, match="expected one of"):
        HybridModel(base(), tiny.tokenizer(), ["nothing"])
    assert CallRejected is not CallResult


def test_a_model_that_nobody_taught_can_be_made_to_call() -> None:
    """Its own equations, which are what is computed elsewhere, cannot be asked for."""
    hybrid = HybridModel(tiny.model("grouped queries"), tiny.chat_tokenizer())
    said = hybrid.ask("ab", call="calculate(48*87)", max_new_tokens=40).text
    assert said.startswith("<<calc: 48*87>> = 4176")
