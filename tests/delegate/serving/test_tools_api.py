"""Tools, shapes of answers and probabilities through the API, with the official client."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("openai")

import openai
import torch

from curta.delegate.calculator import Calculator
from curta.delegate.given_up import is_given_up
from curta.delegate.interception import events
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.protocol import FormatName, Protocol
from curta.delegate.tools import Answer
from tests.support.served import NAME, client, server
from tests.support.tiny_language_models import (
    PushTools,
    Wishes,
    model,
    tokenizer,
    tools_tokenizer,
)
from tests.support.waiting import until

FAMILY = "grouped queries"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "How it is.",
        "parameters": {
            "type": "object",
            "properties": {"day": {"type": "integer", "minimum": 1, "maximum": 9999}},
            "required": ["day"],
            "additionalProperties": False,
        },
    },
}
CONVERSATION = [{"role": "user", "content": "ab, 12 c"}]


class Steady:
    """A tool of the server that takes its time, and says how often it was called and given up."""

    name, description, sandboxed = "steady", "Waits.", True
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = self.given_up = 0

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        self.calls += 1
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            if is_given_up():
                self.given_up += 1
                return Answer("given up", error="nobody waits")
            time.sleep(0.005)
        return Answer(f"n{arguments['n']}", arguments["n"], True)


class OfEither:
    """Scores that make conversations with WEATHER call that, and others the server's tool."""

    def __init__(self) -> None:
        self.weather = PushTools("weather", '"day": ')
        self.steady = PushTools("steady", '"n": ')

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        text = tokenizer().decode(input_ids[0].tolist())
        return (self.weather if " weather. " in text else self.steady)(input_ids, scores)


STEADY = Steady(0.3)


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), tools=[STEADY])
    with server(OfEither(), writes=writes, batch=4, most_tokens=300) as serving:
        yield serving


@pytest.fixture(scope="module")
def free() -> Iterator[Any]:
    """A model that nothing pushes."""
    writes = CalcGenerator(model(FAMILY), tools_tokenizer())
    with server(lambda tokens, scores: scores, writes=writes, batch=2) as serving:
        yield serving


def create(serving: Any, **options: Any) -> Any:
    given = {"model": NAME, "messages": CONVERSATION, "max_tokens": 150} | options
    return client(serving).chat.completions.create(**given)


def test_a_clients_tool_is_the_clients_to_call(served: Any) -> None:
    (choice,) = create(served, tools=[WEATHER]).choices
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name) == ("function", "weather")
    assert list(json.loads(call.function.arguments)) == ["day"]
    assert "<tool_call>" not in (choice.message.content or "")
    assert choice.message.calculations == []


def test_calls_are_streamed_in_deltas(served: Any) -> None:
    names, arguments, text, ends = [], "", "", []
    for chunk in create(served, tools=[WEATHER], stream=True):
        (choice,) = chunk.choices
        text += choice.delta.content or ""
        ends += [choice.finish_reason] if choice.finish_reason else []
        for each in choice.delta.tool_calls or ():
            assert each.index == 0
            names += [each.function.name] if each.function.name else []
            arguments += each.function.arguments or ""
    whole = create(served, tools=[WEATHER]).choices[0]
    assert (names, ends) == (["weather"], ["tool_calls"])
    assert arguments == whole.message.tool_calls[0].function.arguments
    assert text.strip() == (whole.message.content or "")


def test_an_answer_of_the_clients_goes_on(served: Any) -> None:
    message = create(served, tools=[WEATHER]).choices[0].message
    (call,) = message.tool_calls
    told = {"role": "tool", "tool_call_id": call.id, "content": "sun"}
    asked = [*CONVERSATION, message.model_dump(exclude_none=True), told]
    prompts = served.engine.generator
    before = [
        *CONVERSATION,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "x",
                    "type": "function",
                    "function": {
                        "name": "weather",
                        "arguments": json.loads(call.function.arguments),
                    },
                }
            ],
        },
        {"role": "tool", "content": "sun"},
    ]
    answer = create(served, tools=[WEATHER], messages=asked)
    named = prompts.calling_with([*prompts.tools, Named()])
    assert answer.usage.prompt_tokens == len(prompts.encoded(before, named.format))


class Named(Steady):
    name = "weather"

    def __init__(self) -> None:
        super().__init__(0)


def test_the_servers_tools_are_executed_in_place_while_others_are_written(served: Any) -> None:
    """Their calls are no text, but calculations; the row goes on with the answer."""
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(create(served).choices[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    (alone,) = served.engine.generator.generate(
        [CONVERSATION],
        max_new_tokens=150,
        logits_processor=[OfEither()],
    )
    assert len(found) == 4
    for choice in found:
        calculations = choice.message.calculations
        assert [each["tool"] for each in calculations] == ["steady"] * len(calculations)
        assert [each["result"] for each in calculations] == [call.answer for call in alone.calls]
        assert len(calculations) >= 1
        assert "tool" not in choice.message.content


def test_a_client_that_vanishes_ends_the_call_of_a_tool(served: Any) -> None:
    before, STEADY.seconds = STEADY.given_up, 60.0
    try:
        stream = create(served, stream=True)
        next(iter(stream))
        until(lambda: served.engine.parked)
        stream.response.close()
        until(lambda: STEADY.given_up == before + 1)
        until(lambda: served.engine.running == 0 and not served.engine.parked)
    finally:
        STEADY.seconds = 0.3


class Transformer:
    """A calculator's backend that takes its time, as the one that the transformer executes may."""

    name = "machine"

    def __init__(self) -> None:
        self.begun = self.given_up = 0

    def evaluate(self, programs: Any) -> list[Any]:
        self.begun += 1
        until(is_given_up)
        self.given_up += 1
        return [0 for _ in programs]


def test_a_calculation_by_the_transformer_holds_nobody_up_and_can_be_given_up() -> None:
    backend = Transformer()
    computes = Calculator(backend)
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), calculator=computes, format="prompted")
    with server(writes=writes, batch=2) as serving:
        stream = create(serving, stream=True)
        next(iter(stream))
        until(lambda: backend.begun == 1)
        assert create(serving, messages=[{"role": "user", "content": "a"}], max_tokens=1).choices
        stream.response.close()
        until(lambda: backend.given_up == 1)


def test_a_tool_that_takes_too_long_ends_with_its_request() -> None:
    slow = Steady(60.0)
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), tools=[slow])
    found: list[Any] = []
    with server(OfEither(), writes=writes, batch=2) as serving:
        asks = threading.Thread(target=lambda: found.append(create(serving).choices[0]))
        asks.start()
        until(lambda: serving.engine.parked)
        serving.engine.parked[0].rows[0].deadline = 0.0
        asks.join(60)
        assert found[0].finish_reason == "length"
        until(lambda: slow.given_up == 1)


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": WEATHER["function"]}]
)
def test_a_tool_that_has_to_be_called_is(free: Any, choice: Any) -> None:
    """The model would never call by itself; what it writes has the tool's schema."""
    if isinstance(choice, dict):
        choice = {"type": "function", "function": {"name": "weather"}}
    (made,) = create(free, tools=[WEATHER], tool_choice=choice, max_tokens=60).choices
    (call,) = made.message.tool_calls
    assert call.function.name == "weather"
    assert isinstance(json.loads(call.function.arguments)["day"], int)


@pytest.mark.parametrize("most", range(1, 12))
def test_a_call_that_does_not_end_is_text_and_no_calculation(free: Any, most: int) -> None:
    (made,) = create(free, tools=[WEATHER], tool_choice="required", max_tokens=most).choices
    assert made.message.tool_calls or made.finish_reason == "length"
    assert not getattr(made.message, "calculations", None)


def test_no_tools_where_there_shall_be_none(served: Any) -> None:
    counts = [
        create(served, tools=[WEATHER], tool_choice=choice, max_tokens=2).usage.prompt_tokens
        for choice in ("none", "auto")
    ]
    assert counts[0] == counts[1] - len(" weather")


def shaped(schema: Any) -> dict[str, Any]:
    """A wish for an answer with a schema."""
    wished = {"name": "x", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": wished}}


SHAPE = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["sum", "product"]},
        "is_even": {"type": "boolean"},
        "digits": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "maxItems": 2},
    },
    "required": ["kind", "is_even", "digits"],
    "additionalProperties": False,
}


SHAPED = shaped(SHAPE)
CALL = '<tool_call>{"name": "%s", "arguments": {"%s": 7}}</tool_call>'
SAYS = '{"kind":"sum","is_even":true,"digits":[1,3]}'


def test_an_answer_has_the_schema_that_was_asked_for(free: Any) -> None:
    (choice,) = create(free, **SHAPED).choices
    assert choice.finish_reason == "stop"
    made = json.loads(choice.message.content)
    assert made["kind"] in ("sum", "product")
    assert isinstance(made["is_even"], bool)
    assert len(made["digits"]) == 2
    streamed = create(free, stream=True, **SHAPED)
    text = "".join(each.choices[0].delta.content or "" for each in streamed)
    assert text == choice.message.content
    (choice,) = create(free, response_format={"type": "json_object"}, max_tokens=30).choices
    assert choice.message.content.startswith("{")


def test_beside_an_answer_with_a_schema_a_clients_tool_can_be_called() -> None:
    writes = CalcGenerator(model(FAMILY), tools_tokenizer())
    with server(Wishes(CALL % ("weather", "day"), SAYS), writes=writes, batch=1) as serving:
        given = {"tools": [WEATHER]} | SHAPED
        (choice,) = create(serving, **given).choices
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
        (call,) = choice.message.tool_calls
        assert json.loads(call.function.arguments) == {"day": 7}
        told = {"role": "tool", "tool_call_id": call.id, "content": "sun"}
        asked = [*CONVERSATION, choice.message.model_dump(exclude_none=True), told]
        (choice,) = create(serving, messages=asked, **given).choices
        assert (choice.finish_reason, choice.message.content) == ("stop", SAYS)
        streamed = list(create(serving, messages=asked, stream=True, **given))
        assert "".join(each.choices[0].delta.content or "" for each in streamed) == SAYS


def test_the_servers_calls_are_no_part_of_an_answer_with_a_schema() -> None:
    """In a turn of their own, or right before it."""
    tool = Steady(0)
    called = CALL % ("steady", "n")
    for format, wishes in {
        None: Wishes(f"{called}\n{called}", f"{called} and more", SAYS),
        "prompted": Wishes(f"<<calc: 6*7>> = 42<<steady: 7>> = n7{SAYS}"),
    }.items():
        writes = CalcGenerator(model(FAMILY), tools_tokenizer(), tools=[tool], format=format)
        with server(wishes, writes=writes, batch=1, most_tokens=400) as serving:
            given = {"tools": [WEATHER], "max_tokens": 300} | SHAPED
            (choice,) = create(serving, **given).choices
            assert (choice.finish_reason, choice.message.content) == ("stop", SAYS)
            found = [each["result"] for each in choice.message.calculations]
            assert found == (["n7", "n7", "n7"] if format is None else ["42", "n7"])


def test_a_call_whose_answer_has_no_room_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if by the clock no time has passed."""
    monkeypatch.setattr(events, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), tools=[Steady(0)])
    called = f"a{CALL % ('steady', 'n')}"
    with server(Wishes(called, "b"), writes=writes, batch=1) as serving:
        (choice,) = create(serving, max_tokens=len(called) + 10).choices
        assert [each["error"] for each in choice.message.calculations] == ["unanswered"]
        assert choice.message.content == "a"


def terse(tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Scores of a model that writes no spaces, of which JSON may have any number, and does not call
    the calculator.
    """
    scores = scores.clone()
    scores[:, tokenizer().convert_tokens_to_ids([" ", "\n", " = ", "c", "calc"])] -= 100
    return scores


@pytest.mark.parametrize("key", ["name", "kind"])
def test_every_answer_is_a_call_or_has_the_schema(key: str) -> None:
    """Whatever the model would like; JSON that begins as a call does, too."""
    writes = CalcGenerator(model(FAMILY), tools_tokenizer())
    shape = SHAPE | {"properties": {key: {"enum": ["weather", "sum"]}}, "required": [key]}
    ways = set()
    given = {"tools": [WEATHER], "temperature": 1.0, "max_tokens": 80} | shaped(shape)
    with server(terse, writes=writes, batch=2) as serving:
        for seed in range(8):
            (choice,) = create(serving, seed=seed, **given).choices
            ways.add(choice.finish_reason)
            if choice.finish_reason == "stop":
                assert json.loads(choice.message.content)[key] in ("weather", "sum")
            elif choice.finish_reason == "tool_calls":
                names = {call.function.name for call in choice.message.tool_calls}
                assert (names, choice.message.content) == ({"weather"}, None)
    assert ways >= {"stop", "tool_calls"}  # some call until there is no room


def test_probabilities_of_tokens(free: Any) -> None:
    answer = create(free, logprobs=True, top_logprobs=3, max_tokens=6)
    (choice,) = answer.choices
    content = choice.logprobs.content
    assert "".join(each.token for each in content) == choice.message.content
    assert len(content) == answer.usage.completion_tokens
    for each in content:
        best = [other.logprob for other in each.top_logprobs]
        assert best == sorted(best, reverse=True)
        assert each.logprob == pytest.approx(best[0])  # greedy
        assert bytes(each.bytes).decode() == each.token
    prompt = free.engine.generator.inputs([CONVERSATION])["input_ids"]
    with torch.no_grad():
        first = torch.log_softmax(model(FAMILY)(input_ids=prompt).logits[0, -1].float(), -1)
    assert content[0].logprob == pytest.approx(float(first.max()), abs=1e-4)
    streamed = [
        each
        for chunk in create(free, logprobs=True, max_tokens=6, stream=True)
        for each in (chunk.choices[0].logprobs.content if chunk.choices[0].logprobs else [])
    ]
    assert [each.token for each in streamed] == [each.token for each in content]
    create_text = client(free).completions.create
    made = create_text(model=NAME, prompt="ab", logprobs=2, max_tokens=4).choices[0]
    assert "".join(made.logprobs.tokens) == made.text
    assert [made.text[at:][:1] for at in made.logprobs.text_offset] == [
        each[:1] for each in made.logprobs.tokens
    ]
    assert all(len(each) == 2 for each in made.logprobs.top_logprobs)


def strange(**schema: Any) -> dict[str, Any]:
    """A tool whose argument x has such a schema."""
    parameters = {"type": "object", "properties": {"x": schema}}
    return {"type": "function", "function": {"name": "strange", "parameters": parameters}}


@pytest.mark.parametrize(
    ("given", "parameter", "said"),
    [
        ({"tools": [{"type": "other"}]}, "tools", "functions with names"),
        ({"tools": [WEATHER, WEATHER]}, "tools", "two have the same name"),
        ({"tool_choice": "required"}, "tool_choice", "there are no tools"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice",
            "there is no tool 'x'",
        ),
        ({"response_format": {"type": "json_schema"}}, "response_format", "has a json_schema"),
        (shaped({"type": "nothing"}), "response_format", "response_format: Invalid type: nothing"),
        (shaped({"$ref": "#"}), "response_format", "nothing can begin so"),
        (
            {"tools": [strange(type="wat")], "tool_choice": "required"},
            "tools",
            "parameters of strange: Invalid type: wat",
        ),
        ({"top_logprobs": 2}, "top_logprobs", "only with logprobs"),
        ({"messages": [{"role": "tool", "content": "1"}]}, "messages", "has a tool_call_id"),
        (
            {"messages": [{"role": "tool", "content": "1", "tool_call_id": "call_1"}]},
            "messages",
            "no message before it has a call call_1",
        ),
        ({"messages": [{"role": "assistant", "content": None}]}, "messages", "has to be a text"),
    ],
)
def test_what_is_wrong_is_named(free: Any, given: Any, parameter: str, said: str) -> None:
    with pytest.raises(openai.BadRequestError, match=said) as raised:
        create(free, **given)
    assert raised.value.param == parameter


@pytest.mark.parametrize("format", ["inline", "equations"])
def test_a_model_that_calls_the_calculator_alone_knows_no_others(format: FormatName) -> None:
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), format=format)
    with (
        server(writes=writes, batch=1) as serving,
        pytest.raises(openai.BadRequestError, match="--format prompted"),
    ):
        create(serving, tools=[WEATHER])


def test_tools_that_no_marker_can_name_are_refused() -> None:
    own = Protocol(open="[[", close="]]")
    writes = CalcGenerator(model(FAMILY), tools_tokenizer(), protocol=own, format="prompted")
    with (
        server(writes=writes, batch=1) as serving,
        pytest.raises(openai.BadRequestError, match="no marker for other tools") as raised,
    ):
        create(serving, tools=[WEATHER])
    assert raised.value.param == "tools"


def test_many_with_tools_and_without_at_once(served: Any) -> None:
    aclient = client(served, "AsyncOpenAI")

    async def one(number: int) -> tuple[bool, str]:
        tools: Any = [WEATHER] if number % 2 else openai.NOT_GIVEN
        made = await aclient.chat.completions.create(
            model=NAME, messages=CONVERSATION, max_tokens=150, tools=tools
        )
        return bool(number % 2), made.choices[0].finish_reason

    async def everybody() -> list[tuple[bool, str]]:
        try:
            return await asyncio.gather(*map(one, range(12)))
        finally:
            await aclient.close()

    for is_asked, reason in asyncio.run(everybody()):
        assert (reason == "tool_calls") == is_asked
    assert served.engine.running == 0
