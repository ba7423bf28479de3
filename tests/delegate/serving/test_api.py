"""The endpoints, with the official client, under load, with clients who are slow or vanish."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("openai")

import openai

from tests.support.served import NAME, PROMPTS, Slow, alone, client, server
from tests.support.waiting import until

FAMILY = "grouped queries"
TOKENS = 24


@pytest.fixture(scope="module")
def quick() -> Iterator[Any]:
    with server(batch=8, most_tokens=200) as serving:
        yield serving


@pytest.fixture(scope="module")
def slow() -> Iterator[Any]:
    """With two rows and a place to wait; answers do not end by themselves."""
    with server(Slow(0.01), batch=2, queue=1, most_tokens=400) as serving:
        yield serving


def messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


def expected(prompt: str, *, chat: bool) -> tuple[str, list[str]]:
    """Text and expressions, from the generator alone."""
    asked = tuple(tuple(each.items()) for each in messages(prompt)) if chat else prompt
    output = alone(FAMILY, asked, TOKENS)
    return output.text, [call.expression for call in output.calls]


def chat(serving: Any, prompt: str, **options: Any) -> Any:
    return client(serving).chat.completions.create(
        model=NAME, messages=messages(prompt), max_tokens=TOKENS, **options
    )


def post(serving: Any, path: str, body: bytes) -> tuple[int, dict[str, Any], Any]:
    """A status, what was said, and the headers."""
    host = serving.address.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said, answer.headers


def ask(serving: Any, **body: Any) -> tuple[int, dict[str, Any]]:
    status, said, _ = post(
        serving, "/v1/completions", json.dumps({"model": NAME, "prompt": "a"} | body).encode()
    )
    return status, said.get("error", said)


def metrics(serving: Any) -> dict[str, float]:
    text = urllib.request.urlopen(f"{serving.address}/metrics").read().decode()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_an_answer_and_what_was_computed_in_it(quick: Any) -> None:
    found = 0
    for prompt in PROMPTS:
        answer = chat(quick, prompt)
        text, expressions = expected(prompt, chat=True)
        message = answer.choices[0].message
        assert message.content == text
        assert message.role == "assistant"
        assert [each["expression"] for each in message.calculations] == expressions
        assert answer.choices[0].finish_reason in ("stop", "length")
        usage = answer.usage
        assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
        for each in message.calculations:
            assert each["text"] in text
            assert (each["result"] is None) == (each["error"] is not None)
            found += each["result"] is not None
    assert found


def test_a_stream_says_the_same(quick: Any) -> None:
    for prompt in PROMPTS:
        text, calls, ends, usage = "", [], [], None
        for chunk in chat(quick, prompt, stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                calls += getattr(choice.delta, "calculations", [])
                ends += [choice.finish_reason] if choice.finish_reason else []
        assert (text, [each["expression"] for each in calls]) == expected(prompt, chat=True)
        assert len(ends) == 1
        assert usage.completion_tokens <= TOKENS


def test_the_events_of_a_stream_end_with_done(quick: Any) -> None:
    body = {"model": NAME, "prompt": "a", "stream": True, "max_tokens": 3}
    asked = urllib.request.Request(
        f"{quick.address}/v1/completions", json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(asked) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.read().decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    assert all("usage" not in json.loads(line.removeprefix("data: ")) for line in lines[:-2])


def test_completions_of_texts_and_tokens_with_several_choices(quick: Any) -> None:
    create = client(quick).completions.create
    two = create(model=NAME, prompt=["a", "é"], n=2, max_tokens=TOKENS)
    assert [choice.index for choice in two.choices] == [0, 1, 2, 3]
    right = [expected(each, chat=False)[0] for each in ("a", "a", "é", "é")]
    assert [choice.text for choice in two.choices] == right
    tokens = quick.engine.generator.inputs(["a"])["input_ids"][0].tolist()
    again = create(model=NAME, prompt=tokens, max_tokens=TOKENS)
    assert again.choices[0].text == right[0]
    streamed = ["", ""]
    for chunk in create(model=NAME, prompt="a", n=2, max_tokens=TOKENS, stream=True):
        streamed[chunk.choices[0].index] += chunk.choices[0].text
    assert streamed == right[:2]


def test_choices_are_drawn_one_by_one_and_a_seed_repeats_them(quick: Any) -> None:
    drawn = [
        [each.message.content for each in chat(quick, "a", n=3, temperature=1.2, seed=5).choices]
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 3


def test_stop_strings_through_the_api(quick: Any) -> None:
    text, _ = expected("ab, 12 c", chat=True)
    answer = chat(quick, "ab, 12 c", stop=[">>"])
    assert answer.choices[0].message.content == text.partition(">>")[0]
    assert answer.choices[0].finish_reason == "stop"


def test_thirty_two_at_once_say_what_they_say_alone(quick: Any) -> None:
    aclient = client(quick, "AsyncOpenAI")

    async def one(number: int) -> tuple[str, str, bool]:
        prompt = PROMPTS[number % len(PROMPTS)]
        await asyncio.sleep(number % 7 * 0.01)
        if number % 2:
            made = await aclient.completions.create(model=NAME, prompt=prompt, max_tokens=TOKENS)
            return prompt, made.choices[0].text, False
        stream = await aclient.chat.completions.create(
            model=NAME, messages=messages(prompt), max_tokens=TOKENS, stream=True
        )
        parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
        return prompt, "".join(parts), True

    async def everybody() -> list[tuple[str, str, bool]]:
        try:
            return await asyncio.gather(*map(one, range(32)))
        finally:
            await aclient.close()

    for prompt, text, is_chat in asyncio.run(everybody()):
        assert text == expected(prompt, chat=is_chat)[0]
    seen = metrics(quick)
    assert seen["curta_running"] == seen["curta_queued"] == 0
    assert seen['curta_requests_total{endpoint="/v1/completions",status="200"}'] >= 16
    assert seen["curta_time_to_first_token_seconds_count"] >= 32
    assert seen['curta_calls_total{outcome="exact"}'] >= 1
    assert seen['curta_tokens_total{kind="written"}'] > 32


@pytest.mark.parametrize(
    ("body", "parameter", "said"),
    [
        ({"prompt": None}, "prompt", "a text, tokens"),
        ({"prompt": []}, "prompt", "a text, tokens"),
        ({"prompt": ["a", 1]}, "prompt", "a text, tokens"),
        ({"prompt": ""}, "prompt", "nothing in it"),
        ({"prompt": [10**9]}, "prompt", "numbers below"),
        ({"prompt": "\ud800"}, "prompt", "half a character"),
        ({"max_tokens": 0}, "max_tokens", "from 1 to 200"),
        ({"max_tokens": 201}, "max_tokens", "from 1 to 200"),
        ({"max_tokens": True}, "max_tokens", "whole number"),
        ({"temperature": 2.5}, "temperature", "from 0 to 2"),
        ({"temperature": "1"}, "temperature", "a number"),
        ({"top_p": -1}, "top_p", "from 0 to 1"),
        ({"n": 9}, "n", "from 1 to 8: this server writes 8 choices at once"),
        ({"n": 5, "prompt": ["a", "b"]}, "n", "from 1 to 4 of each of 2 prompts"),
        ({"n": 9}, "n", "(--batch); ask for fewer, or in several requests"),
        ({"n": 0}, "n", "from 1 to 8"),
        ({"n": True}, "n", "a whole number"),
        ({"seed": 0.5}, "seed", "whole number"),
        ({"stop": ""}, "stop", "none of them empty"),
        ({"stop": {"a": 1}}, "stop", "a list of up to"),
        ({"stream": 1}, "stream", "true or false"),
        ({"stream_options": {}}, "stream_options", "only with stream"),
        ({"logprobs": 21}, "logprobs", "from 0 to 20"),
        ({"logprobs": True}, "logprobs", "a whole number"),
        ({"echo": True}, "echo", "not supported"),
        ({"tools": [{}]}, "tools", "no parameter"),
        ({"logit_bias": {"1": 5}}, "logit_bias", "not supported"),
        ({"presence_penalty": 0.5}, "presence_penalty", "not supported"),
        ({"top_k": 5}, "top_k", "no parameter"),
        ({"messages": []}, "messages", "no parameter"),
    ],
)
def test_what_is_wrong_is_named(
    quick: Any, body: dict[str, Any], parameter: str, said: str
) -> None:
    status, error = ask(quick, **body)
    assert (status, error["param"], error["type"]) == (400, parameter, "invalid_request_error")
    assert said in error["message"]


def test_values_that_change_nothing_are_taken(quick: Any) -> None:
    given = {"echo": False, "logprobs": None, "presence_penalty": 0, "user": "me", "top_p": 1}
    nothing = dict.fromkeys(("n", "seed", "stop", "stream", "stream_options", "temperature"))
    status, answer = ask(quick, max_tokens=1, best_of=1, logit_bias={}, **given, **nothing)
    assert status == 200, answer
    assert ask(quick, top_k=None)[0] == 400, "there is no such parameter, whatever it says"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "at least one"),
        (["hello"], "with role and content"),
        ([{"role": "user"}], "has to be a text"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "only parts of type text"),
        ([{"role": "user", "content": "a", "tool_calls": [{}]}], "tool_calls has to be"),
        ([{"role": "user", "content": "a", "audio": {"a": 1}}], "audio is not supported"),
        ([{"role": "robot", "content": "a"}], r"messages\[0\]: role has to be system, developer"),
        ([{"role": "user", "content": "a"}, {"role": "", "content": "a"}], r"messages\[1\]: role"),
    ],
)
def test_messages_that_are_none(quick: Any, given: Any, said: str) -> None:
    with pytest.raises(openai.BadRequestError, match=said) as raised:
        client(quick).chat.completions.create(model=NAME, messages=given)
    assert raised.value.param == "messages"


def test_parts_of_text_are_one_text(quick: Any) -> None:
    parts = [{"type": "text", "text": "ab, "}, {"type": "text", "text": "12 c"}]
    answer = client(quick).chat.completions.create(
        model=NAME, messages=[{"role": "user", "content": parts}], max_completion_tokens=TOKENS
    )
    assert answer.choices[0].message.content == expected("ab, 12 c", chat=True)[0]


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"n": NaN}', b"[" * 100_000, b""])
def test_bodies_that_are_no_json(quick: Any, body: bytes) -> None:
    status, said, _ = post(quick, "/v1/chat/completions", body)
    assert (status, said["error"]["code"]) == (400, "bad_json")


def test_models(quick: Any) -> None:
    assert [each.id for each in client(quick).models.list()] == [NAME]
    assert client(quick).models.retrieve(NAME).id == NAME
    with pytest.raises(openai.NotFoundError, match="no model 'other'") as raised:
        client(quick).completions.create(model="other", prompt="a")
    assert raised.value.code == "model_not_found"
    status, said, _ = post(quick, "/v1/completions", b'{"model": null, "prompt": "a"}')
    assert (status, said["error"]["param"]) == (400, "model")
    status, said, _ = post(quick, "/v1/completions", b'{"prompt": "a", "max_tokens": 1}')
    assert (status, said["model"]) == (200, NAME)


def test_prompts_that_are_too_long(quick: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="600 tokens: the model takes 512") as raised:
        client(quick).completions.create(model=NAME, prompt="c" * 600)
    assert raised.value.code == "context_length_exceeded"
    status, error = ask(quick, prompt="c" * 500, max_tokens=13)
    assert (status, error["code"]) == (400, "context_length_exceeded")
    assert ask(quick, prompt="c" * 500, max_tokens=12)[0] == 200
    status, said, _ = post(quick, "/v1/completions", b" " * (1 << 20) + b"{}")
    assert (status, said["error"]["code"]) == (413, "body_too_large")


def test_endpoints_that_there_are_not(quick: Any) -> None:
    status, said, _ = post(quick, "/v1/embeddings", b"{}")
    assert (status, said["error"]["message"]) == (404, "POST /v1/embeddings: Not Found")
    assert post(quick, "/v1/models", b"{}")[0] == 405
    with urllib.request.urlopen(f"{quick.address}/health") as answer:
        assert json.load(answer) == {"status": "ok"}


def open_stream(serving: Any, tokens: int = 400) -> Any:
    stream = client(serving).completions.create(
        model=NAME, prompt="a", max_tokens=tokens, stream=True
    )
    next(iter(stream))
    return stream


def test_a_client_that_vanishes_gives_its_row_back(slow: Any) -> None:
    before = metrics(slow).get('curta_choices_total{finish="cancelled"}', 0)
    stream = open_stream(slow)
    assert metrics(slow)["curta_running"] == 1
    stream.response.close()
    until(lambda: slow.engine.running == 0)
    assert metrics(slow)['curta_choices_total{finish="cancelled"}'] == before + 1


def test_one_that_waits_for_all_of_it_may_vanish_too(slow: Any) -> None:
    host, port = slow.address.removeprefix("http://").split(":")
    body = json.dumps({"model": NAME, "prompt": "a", "max_tokens": 400}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        until(lambda: slow.engine.running == 1)
    until(lambda: slow.engine.running == 0)
    name = 'curta_requests_total{endpoint="/v1/completions",status="499"}'
    until(lambda: metrics(slow).get(name) == 1)


def test_a_full_queue_says_when_to_come_again(slow: Any) -> None:
    streams = [open_stream(slow) for _ in range(2)]
    waits = threading.Thread(target=ask, args=(slow,), kwargs={"max_tokens": 1})
    waits.start()
    until(lambda: len(slow.engine.queued) == 1)
    with pytest.raises(openai.RateLimitError, match="the queue is full") as raised:
        client(slow).completions.create(model=NAME, prompt="a", max_tokens=1)
    assert raised.value.response.headers["retry-after"] == "1"
    assert raised.value.code == "queue_full"
    for stream in streams:
        stream.response.close()
    waits.join(30)
    assert not waits.is_alive()


LARGE = "x" * 4_000
"""A name that is in every event: a stream of a hundred is more than fits anywhere on its way."""


def lazy_client(serving: Any, name: str = LARGE) -> socket.socket:
    """It asks for a long stream, and its system takes only a few kilobytes for it."""
    host, port = serving.address.removeprefix("http://").split(":")
    body = {"model": name, "prompt": "a", "stream": True, "max_tokens": 200}
    data = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(data)}\r\n\r\n"
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
    lazy.settimeout(30)
    lazy.connect((host, int(port)))
    lazy.sendall(head.encode() + data)
    return lazy


def read_to(lazy: socket.socket, end: bytes) -> bytes:
    """All of it up to this, or to the end of the connection."""
    read = b""
    while end not in read[-1000:] and (piece := lazy.recv(1 << 16)):
        read += piece
    return read


def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    limits = {"batch": 2, "most_tokens": 200}
    with (
        server(Slow(0.0), name=LARGE, send_buffer=8_192, **limits) as serving,
        lazy_client(serving) as lazy,
    ):
        until(lambda: serving.engine.running == 1)
        answer = client(serving).completions.create(model=LARGE, prompt="é", max_tokens=8)
        assert answer.choices[0].finish_reason == "length"
        until(lambda: serving.engine.running == 0)
        assert metrics(serving)['curta_choices_total{finish="length"}'] == 2
        read = read_to(lazy, b"[DONE]")
    assert len(read) > 150_000
    assert read.count(b'"finish_reason": "length"') == 1


def test_one_that_takes_nothing_for_too_long_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """Two events are more than fits anywhere: it matters not how many there will be in a second."""
    limits = {"batch": 2, "most_tokens": 200, "time_limit": 1.0}
    with (
        server(Slow(0.0), name=LARGE * 25, send_buffer=8_192, **limits) as serving,
        lazy_client(serving, LARGE * 25) as lazy,
    ):
        until(lambda: "took nothing for 1 s" in caplog.text)
        until(lambda: serving.engine.running == 0)
        assert b"[DONE]" not in read_to(lazy, b"[DONE]")


def test_streams_end_cleanly_when_the_server_does() -> None:
    with server(Slow(0.01), batch=1, most_tokens=400) as serving:
        stream = open_stream(serving)
        answers: list[tuple[int, dict[str, Any]]] = []
        waits = threading.Thread(target=lambda: answers.append(ask(serving, max_tokens=1)))
        waits.start()
        until(lambda: len(serving.engine.queued) == 1)
        serving.should_exit = True
        with pytest.raises(openai.APIError, match="shutting down"):
            list(stream)
        waits.join(30)
        ((status, error),) = answers
        assert (status, error["code"]) == (503, "shutting_down")
        until(lambda: not serving.engine.worker.is_alive())


def test_time_in_the_queue_counts(slow: Any) -> None:
    streams = [open_stream(slow) for _ in range(2)]
    answers: list[tuple[int, dict[str, Any]]] = []
    waits = threading.Thread(target=lambda: answers.append(ask(slow)))
    waits.start()
    until(lambda: len(slow.engine.queued) == 1)
    slow.engine.queued[0].deadline = 0.0
    waits.join(30)
    ((status, error),) = answers
    assert (status, error["code"]) == (503, "time_limit")
    for stream in streams:
        stream.response.close()


def test_mistakes_of_ours_are_counted_once(
    quick: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(wanted: object) -> None:
        raise ValueError("no bound foresaw it")

    name = 'curta_requests_total{endpoint="/v1/completions",status="500"}'
    before = metrics(quick).get(name, 0)
    monkeypatch.setattr(quick.engine, "submit", broken)
    status, error = ask(quick)
    assert (status, error["code"]) == (500, "mistake")
    assert metrics(quick)[name] == before + 1
