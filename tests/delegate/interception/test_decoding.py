"""Every way to decode says what the reference says, which has no cache and no batch."""

from __future__ import annotations

import copy
import threading
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

import torch
from tokenizers.processors import TemplateProcessing
from transformers import LogitsProcessorList, StoppingCriteriaList, TopKLogitsWarper
from transformers.generation.streamers import BaseStreamer

from curta.delegate.calculator import Budget, Calculator, Result
from curta.delegate.interception.caches import read_once
from curta.delegate.interception.events import CallRejected, CallResult, Event
from curta.delegate.interception.generator import CalcGenerator, Output, joined
from curta.errors import ExpressionSyntaxError, UserError
from tests.support.reference_decoding import decode
from tests.support.slow import draws
from tests.support.tiny_language_models import FAMILIES, Push, chat_tokenizer, model, tokenizer

TOKENS = 48
PROMPTS = ("a", "ab, 12 c", "<<calc: 1+", "b <<calc: 2*3>> = 6 and cé" * 2)


@cache
def generator(family: str) -> CalcGenerator:
    return CalcGenerator(model(family), tokenizer())


@cache
def reference(family: str, prompt: str, tokens: int = TOKENS) -> Output:
    events = []
    given = tokenizer().encode(prompt, add_special_tokens=False)
    written = decode(
        model(family),
        given,
        generator(family).row(events.append),
        tokens=tokens,
        ends=frozenset([tokenizer().eos_token_id]),
        processor=Push(),
    )
    return Output(tuple(joined(events)), len(written))


def without_times(output: Output) -> list[tuple[object, ...]]:
    return [
        (type(event).__name__, event.text, getattr(event, "answer", None))
        for event in output.events
    ]


def generate(family: str, prompts: list[str]) -> list[Output]:
    return generator(family).generate(
        prompts, max_new_tokens=TOKENS, logits_processor=LogitsProcessorList([Push()])
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_one_row_says_what_the_reference_says(family: str) -> None:
    calls = 0
    for prompt in PROMPTS:
        (output,) = generate(family, [prompt])
        expected = reference(family, prompt)
        assert without_times(output) == without_times(expected), prompt
        assert output.tokens == expected.tokens
        calls += sum(isinstance(call, CallResult) for call in output.calls)
    assert calls >= 1


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=draws(5, 3), deadline=None)
@given(prompts=st.lists(st.sampled_from(PROMPTS), min_size=2, max_size=4))
def test_a_row_says_the_same_in_any_batch(family: str, prompts: list[str]) -> None:
    outputs = generate(family, prompts)
    for prompt, output in zip(prompts, outputs, strict=True):
        assert without_times(output) == without_times(reference(family, prompt)), prompt


@pytest.mark.parametrize("family", FAMILIES)
def test_what_all_prompts_begin_with_is_read_once(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has more behind it than it is long, one hardly anything."""
    begins = "".join(str(n % 10) for n in range(90))
    prompts = [f"{begins}{rest}" for rest in (" ", "ab, 12 c", "cé" * 60)]
    made: list[bool] = []

    def noted(*given: object) -> object:
        made.append((cache := read_once(*given)) is not None)
        return cache

    monkeypatch.setattr("curta.delegate.interception.generator.read_once", noted)
    outputs = generate(family, prompts)
    assert made == [family in ("grouped queries", "learned positions")]
    for prompt, output in zip(prompts, outputs, strict=True):
        assert without_times(output) == without_times(reference(family, prompt)), prompt


def test_a_stream_says_the_same() -> None:
    for prompt in PROMPTS:
        events = generator("grouped queries").stream(
            prompt, max_new_tokens=TOKENS, logits_processor=LogitsProcessorList([Push()])
        )
        output = Output(tuple(joined(list(events))), 0)
        assert without_times(output) == without_times(reference("grouped queries", prompt))


@pytest.mark.parametrize(
    ("call", "then", "said"),
    [
        ("6*7", "90", "42 0"),
        ("6*7", ["12"], "42 "),
        ("6*7", "a9", "42a9"),
        ("6*7", ".00.", "42.00."),
        ("6*7", ".04", "42.0 "),
        ("6*7", ",0", "42, "),
        ("9/2", "00a", "4.500a"),
        ("9/2", "5", "4.5 "),
        ("4^60", "1", "1329227995784915872903807060280344576 "),
        ("2/0", "5", "error: undefined5"),
    ],
)
def test_digits_do_not_make_another_number_of_an_answer(
    call: str, then: list[str], said: str
) -> None:
    events: list[Event] = []
    row = CalcGenerator(None, tokenizer()).row(events.append)
    fed = []
    for piece in ("<<calc:", *call, ">>", *then):
        fed += row.take(tokenizer().convert_tokens_to_ids(piece), 99)
    row.finish()
    expected = f"<<calc:{call}>> = {said}"
    assert "".join(event.text for event in events) == tokenizer().decode(fed) == expected


def test_a_stream_that_nobody_reads_on_stops() -> None:
    before = threading.active_count()
    events = generator("grouped queries").stream(
        "ab, 12 c", max_new_tokens=400, logits_processor=LogitsProcessorList([Push()])
    )
    next(events)
    events.close()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("stop", "stops"), [("= 4", False), ("=", False), ("0", True), ("c", True), ("1>", True)]
)
def test_rows_stop_where_they_would_alone(stop: str, stops: bool) -> None:
    """A batch is fed an answer token by token, and does not stop within it either."""
    made = generator("grouped queries")

    def stopped(prompts: list[str]) -> list[Output]:
        processors = LogitsProcessorList([Push()])
        return made.generate(
            prompts, max_new_tokens=TOKENS, stop_strings=[stop], logits_processor=processors
        )

    together = stopped(list(PROMPTS))
    alone = [stopped([prompt])[0] for prompt in PROMPTS]
    assert [without_times(each) for each in together] == [without_times(each) for each in alone]
    assert [each.tokens for each in together] == [each.tokens for each in alone]
    whole = [reference("grouped queries", prompt).text for prompt in PROMPTS]
    assert ([each.text for each in alone] != whole) == stops


def test_a_stream_stops_where_its_reader_wants() -> None:
    def longer(input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        return torch.tensor([input_ids.shape[1] > 12])

    options = {"max_new_tokens": TOKENS, "stopping_criteria": StoppingCriteriaList([longer])}
    streamed = list(generator("grouped queries").stream("a", **options))
    (output,) = generator("grouped queries").generate(["a"], **options)
    assert output.tokens < TOKENS
    assert without_times(Output(tuple(joined(streamed)), 0)) == without_times(output)


def test_several_outputs_of_each_prompt() -> None:
    made = generator("grouped queries")
    torch.manual_seed(0)
    options = {"do_sample": True, "max_new_tokens": 8, "num_return_sequences": 3}
    outputs = made.generate(["a", "b c"], **options)
    assert len(outputs) == 6
    assert len({output.text for output in outputs}) > 2
    with pytest.raises(UserError, match="a stream is one answer"):
        next(made.stream("a", **options))


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_an_answer_is_given_whole_or_not_at_all(step: int) -> None:
    """Wherever a limit falls: half a number would be a wrong one. All ways say the same there."""
    made, prompts = generator("grouped queries"), PROMPTS[:3]
    cut = 0
    for limit in range(1, TOKENS, step):
        options = {"max_new_tokens": limit, "logits_processor": LogitsProcessorList([Push()])}
        together = made.generate(prompts, **options)
        for prompt, output in zip(prompts, together, strict=True):
            expected = reference("grouped queries", prompt, limit)
            assert without_times(output) == without_times(expected), (prompt, limit)
            assert output.tokens == expected.tokens <= limit
            inputs = made.inputs([prompt])
            fed = made.model.generate(
                **inputs, custom_generate=made.loop, **made.completed(options)
            )[0, inputs["input_ids"].shape[1] :]
            assert tokenizer().decode(fed, skip_special_tokens=True) == output.text
            cut += output.tokens < limit and not output.ended
    assert cut >= 2


def padded_with(special: str) -> CalcGenerator:
    """The tiny model with another padding token."""
    tokens = copy.deepcopy(tokenizer())
    tokens.pad_token = special
    return CalcGenerator(model("grouped queries"), tokens)


@pytest.mark.parametrize("special", ["<pad>", "<end>"])
def test_an_output_says_whether_it_ended_whatever_it_is_padded_with(special: str) -> None:
    """The end token counts, once; an answer whose last token it is has ended, too."""
    prompts, lengths = ["a", "b c", "ab, 12 c", "1"], [6, 12, 1, 99]
    made = padded_with(special)
    begin = made.inputs(prompts)["input_ids"].shape[1]
    for limit, counts, ended in (
        (12, [7, 12, 2, 12], [True, False, True, False]),
        (13, [7, 13, 2, 13], [True, True, True, False]),
    ):
        outputs = made.generate(
            prompts,
            max_new_tokens=limit,
            logits_processor=LogitsProcessorList([EndsAt(begin, lengths)]),
        )
        assert [output.tokens for output in outputs] == counts
        assert [output.ended for output in outputs] == ended


def test_what_stops_at_a_string_has_ended_and_what_ran_out_of_time_has_not() -> None:
    made = generator("grouped queries")
    options = {"max_new_tokens": TOKENS, "logits_processor": LogitsProcessorList([Push()])}
    (stopped,) = made.generate(["ab, 12 c"], stop_strings=["c"], **options)
    assert stopped.ended
    assert stopped.tokens < TOKENS
    (late,) = made.generate(["ab, 12 c"], max_time=1e-9, **options)
    assert not late.ended
    assert late.tokens < TOKENS


def test_each_prompt_is_encoded_by_its_own_kind() -> None:
    """A template writes the special tokens itself; beside a plain text, too."""
    tokens = copy.deepcopy(chat_tokenizer())
    end = tokens.eos_token_id
    tokens.backend_tokenizer.post_processor = TemplateProcessing(
        single="<end> $A", special_tokens=[("<end>", end)]
    )
    made = CalcGenerator(model("grouped queries"), tokens)
    conversation = [{"role": "user", "content": "a"}]
    together = made.inputs(["a b", conversation])
    for row, prompt in enumerate(("a b", conversation)):
        (alone,) = made.inputs([prompt])["input_ids"].tolist()
        mask = together["attention_mask"][row].bool()
        assert together["input_ids"][row][mask].tolist() == alone
        assert (alone[0] == end) == isinstance(prompt, str)


def test_prompts_that_are_none() -> None:
    made = generator("grouped queries")
    assert made.generate([]) == []
    with pytest.raises(UserError, match="an empty prompt"):
        made.generate(["a", ""])
    with pytest.raises(UserError, match="put it in brackets"):
        made.generate("a")


def test_it_works_inside_of_generate() -> None:
    inputs = tokenizer()("ab, 12 c", return_tensors="pt")
    written = model("grouped queries").generate(
        **inputs,
        custom_generate=generator("grouped queries").loop,
        max_new_tokens=TOKENS,
        logits_processor=LogitsProcessorList([Push()]),
        do_sample=False,
    )
    expected = reference("grouped queries", "ab, 12 c")
    behind = tokenizer().decode(written[0, inputs["input_ids"].shape[1] :])
    assert behind.removesuffix("<end>") == expected.text


def test_calls_in_prompts_and_answers_are_not_evaluated() -> None:
    """The prompt opens a call and the model closes it; the answer of a call holds another."""

    class Nested(Calculator):
        def evaluate(self, expression: str) -> Result:
            return Result(expression, 0, "<<calc: 1+1>>", exact=True)

    nested = CalcGenerator(model("grouped queries"), tokenizer(), calculator=Nested())
    options = {"max_new_tokens": TOKENS, "logits_processor": LogitsProcessorList([Push()])}
    (output,) = nested.generate(["ab, 12 c"], **options)
    answered = [call for call in output.calls if isinstance(call, CallResult)]
    assert answered
    assert all("<<calc:" not in call.expression for call in answered)
    (output,) = generator("grouped queries").generate(["<<calc: 1+"], **options)
    first = output.events[0]
    assert ">>" in first.text
    assert not isinstance(first, CallResult | CallRejected)


class EndsAt:
    """Scores that end the rows of a batch one after the other."""

    def __init__(self, begin: int, lengths: list[int]) -> None:
        self.begin, self.lengths, self.push = begin, lengths, Push()

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        pushed = self.push(input_ids, scores)
        end = tokenizer().eos_token_id
        for row, length in enumerate(self.lengths):
            if input_ids.shape[1] - self.begin >= length:
                pushed[row] = -1e9
                pushed[row, end] = 0.0
            else:
                pushed[row, end] = -1e9
        return pushed


@pytest.mark.parametrize("family", ["grouped queries", "alternating windows", "linear attention"])
def test_rows_that_are_done_leave_the_batch(family: str) -> None:
    prompts, lengths = ["ab, 12 c", "a", "b c", "ab, 12 c"], [6, 30, 12, 40]
    begin = tokenizer()(prompts, padding=True, return_tensors="pt")["input_ids"].shape[1]
    sizes: list[int] = []
    watched = model(family).register_forward_pre_hook(
        lambda module, args, inputs: sizes.append(len(inputs["input_ids"])), with_kwargs=True
    )
    try:
        together = generator(family).generate(
            prompts,
            max_new_tokens=48,
            logits_processor=LogitsProcessorList([EndsAt(begin, lengths)]),
        )
    finally:
        watched.remove()
    assert sizes == sorted(sizes, reverse=True)
    assert set(sizes) == {4, 3, 2, 1}
    for prompt, length, output in zip(prompts, lengths, together, strict=True):
        begin = len(tokenizer()(prompt)["input_ids"])
        (alone,) = generator(family).generate(
            [prompt],
            max_new_tokens=48,
            logits_processor=LogitsProcessorList([EndsAt(begin, [length])]),
        )
        assert without_times(output) == without_times(alone)


def test_constrained_calls_are_all_valid() -> None:
    """Without the constraint some are not; with it, batches and streams say what one row says."""
    free = generator("grouped queries")
    constrained = CalcGenerator(model("grouped queries"), tokenizer(), constrained=True)
    options = {"max_new_tokens": 60, "logits_processor": LogitsProcessorList([Calls()])}
    prompts = ["a", "ab, 12 c", "1 + 1"]
    wrong = [call for output in free.generate(prompts, **options) for call in output.calls]
    assert any(is_no_expression(call) for call in wrong)
    together = constrained.generate(prompts, **options)
    ended = [call for output in together for call in output.calls if ">>" in call.text]
    assert len(ended) > len(prompts)
    assert not any(is_no_expression(call) for call in ended)
    for prompt, output in zip(prompts, together, strict=True):
        events: list[Event] = []
        decode(
            model("grouped queries"),
            tokenizer().encode(prompt, add_special_tokens=False),
            constrained.row(events.append),
            tokens=60,
            ends=frozenset([tokenizer().eos_token_id]),
            processor=Calls(),
        )
        assert without_times(output) == without_times(Output(tuple(joined(events)), 0))


def test_a_constraint_holds_against_what_keeps_the_likeliest() -> None:
    """The likeliest token inside of a call is no part of an expression; another one is kept."""
    constrained = CalcGenerator(model("grouped queries"), tokenizer(), constrained=True)
    prefers_letters = torch.zeros(len(tokenizer()))
    prefers_letters[tokenizer().convert_tokens_to_ids("q")] = 1e6
    begins = iter(tokenizer().encode("<<calc:", add_special_tokens=False))

    def push(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        begin = next(begins, None)
        if begin is None:
            return scores + prefers_letters
        pushed = torch.full_like(scores, -torch.inf)
        pushed[:, begin] = 0.0
        return pushed

    processors = LogitsProcessorList([push, TopKLogitsWarper(1)])
    (output,) = constrained.generate(["a"], max_new_tokens=12, logits_processor=processors)
    assert output.text.startswith("<<calc:")
    assert "q" not in output.text


def test_the_budget_of_a_constraint_is_the_calculators() -> None:
    small = Calculator(budget=Budget(steps=3))
    calling = CalcGenerator(
        model("grouped queries"), tokenizer(), calculator=small, constrained=True
    ).calling
    (marker,) = calling.format.markers
    assert calling.constraint is not None
    plus = tokenizer().convert_tokens_to_ids("+")
    assert calling.constraint.allowed(marker, "1")[plus]
    assert not calling.constraint.allowed(marker, "1+2")[plus]


class Calls(Push):
    """Scores that make a model write calls of any characters, good or bad."""

    def allowed(self, text: str) -> list[str]:
        _, opened, inside = text.rpartition("<<calc:")
        if opened and ">>" not in inside:
            return [*"0123456789+-*/()., ", "12", "1>", "5>>", ">>", ">>.", "7>> so"]
        return super().allowed(text)


def is_no_expression(call: CallResult | CallRejected) -> bool:
    return isinstance(call, CallRejected) and isinstance(call.error, ExpressionSyntaxError)


def test_a_prompt_that_fills_the_model_is_refused() -> None:
    made = generator("grouped queries")
    context = made.model.config.max_position_embeddings
    with pytest.raises(UserError, match=f"the model takes {context:,} in all"):
        made.generate(["a " * context], max_new_tokens=1)


def test_the_loop_says_that_it_returns_tokens_alone() -> None:
    made = generator("grouped queries")
    with pytest.raises(UserError, match="return_dict_in_generate"):
        made.generate(["a"], max_new_tokens=1, return_dict_in_generate=True)


def test_a_streamer_gets_all_tokens() -> None:
    class Heard(BaseStreamer):
        def __init__(self) -> None:
            self.tokens: list[int] = []
            self.ended = False

        def put(self, value: torch.Tensor) -> None:
            self.tokens += value.flatten().tolist()

        def end(self) -> None:
            self.ended = True

    heard, made = Heard(), generator("grouped queries")
    (output,) = made.generate(["ab, 12 c"], max_new_tokens=TOKENS, streamer=heard)
    assert heard.ended
    assert heard.tokens[: -output.tokens] == made.encoded("ab, 12 c")
    assert tokenizer().decode(heard.tokens[-output.tokens :]).startswith(output.text)


def test_one_expression_is_no_list_of_them() -> None:
    with pytest.raises(UserError, match="put it in brackets"):
        Calculator().evaluate_all("1+1")
