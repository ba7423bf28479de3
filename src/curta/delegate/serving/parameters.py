"""Requests as they come, checked: what is wanted, or which parameter is wrong.

A parameter that would change the answer and is not supported is refused by name, unless its value
is one that changes nothing. Those that never change an answer are ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curta.delegate.interception.generator import Prompt
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.prompts import TokenPrompt
from curta.delegate.serving.refusals import RefusedError

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "audio": (None,),
    "best_of": (None, 1),
    "echo": (None, False),
    "frequency_penalty": (None, 0, 0.0),
    "function_call": (None, "none", "auto"),
    "functions": (None, []),
    "logit_bias": (None, {}),
    "logprobs": (None, False),
    "modalities": (None, ["text"]),
    "prediction": (None,),
    "presence_penalty": (None, 0, 0.0),
    "reasoning_effort": (None,),
    "response_format": (None, {"type": "text"}),
    "suffix": (None, ""),
    "tool_choice": (None, "none", "auto"),
    "tools": (None, []),
    "top_logprobs": (None, 0),
    "verbosity": (None,),
    "web_search_options": (None,),
}
"""Parameters that are not supported, and the values with which they change nothing."""

IGNORED = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
    }
)
SUPPORTED = frozenset(
    {"max_tokens", "model", "n", "seed", "stop", "stream", "stream_options", "temperature", "top_p"}
)
CHAT = frozenset({"max_completion_tokens", "messages"})
COMPLETION = frozenset({"prompt"})
MOST_STOPS = 16
MESSAGE = frozenset({"calculations", "content", "name", "role"})
"""What a message may have; calculations are in its text already."""


@dataclass(frozen=True)
class Asked:
    """What one request wants.

    parameter:   where the prompts came from
    most_tokens: as asked for; None for as many as there may be
    """

    prompts: tuple[Prompt | TokenPrompt, ...]
    parameter: str
    choices: int
    most_tokens: int | None
    temperature: float
    top_p: float
    seed: int | None
    stops: tuple[str, ...]
    stream: bool
    include_usage: bool


def decoded(body: bytes) -> Mapping[str, Any]:
    """A request's body."""
    try:
        given = json.loads(body, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the body is not JSON: {error}", code="bad_json") from error
    if not isinstance(given, dict):
        raise RefusedError("the body is not a JSON object", code="bad_json")
    return given


def refuse_constant(name: str) -> None:
    """NaN and the like are not JSON."""
    raise ValueError(f"{name} is no number")


def read(given: Mapping[str, Any], *, chat: bool, served: str, limits: Limits) -> Asked:
    """What is wanted, or a `RefusedError`."""
    check_names(given, chat)
    check_model(given, served)
    parameter = "messages" if chat else "prompt"
    prompts = (conversation(given),) if chat else texts(given)
    most_choices = max(limits.batch // len(prompts), 1)
    stream = flag(given, "stream")
    return Asked(
        prompts=prompts,
        parameter=parameter,
        choices=whole(given, "n", 1, most_choices, 1) or 1,
        most_tokens=most_tokens(given, limits),
        temperature=number(given, "temperature", 0.0, 2.0, 0.0),
        top_p=number(given, "top_p", 0.0, 1.0, 1.0),
        seed=whole(given, "seed", -(1 << 63), (1 << 63) - 1, None),
        stops=stop_strings(given),
        stream=stream,
        include_usage=include_usage(given, stream),
    )


def check_names(given: Mapping[str, Any], chat: bool) -> None:
    """Refuse what is not supported, or not known."""
    supported = SUPPORTED | (CHAT if chat else COMPLETION)
    for name, value in given.items():
        if name in NEUTRAL:
            if not any(type(value) is type(each) and value == each for each in NEUTRAL[name]):
                raise RefusedError(
                    f"{name} is not supported by this server: leave it out",
                    parameter=name,
                    code="unsupported_parameter",
                )
        elif name not in supported | IGNORED:
            raise RefusedError(
                f"there is no parameter {name[:80]!r}",
                parameter=name[:80],
                code="unknown_parameter",
            )


def check_model(given: Mapping[str, Any], served: str) -> None:
    """There is one model here."""
    model = given.get("model")
    if not isinstance(model, str):
        raise RefusedError(f"model: name one, as {served!r}", parameter="model")
    if model != served:
        raise RefusedError(
            f"there is no model {model[:200]!r} here: this server has {served!r}",
            status=404,
            parameter="model",
            code="model_not_found",
        )


def most_tokens(given: Mapping[str, Any], limits: Limits) -> int | None:
    """How many tokens are asked for, under either name."""
    newer = "max_completion_tokens"
    name = newer if given.get(newer) is not None else "max_tokens"
    return whole(given, name, 1, limits.most_tokens, None)


def include_usage(given: Mapping[str, Any], stream: bool) -> bool:
    """Whether a stream ends with counts of tokens."""
    options = given.get("stream_options")
    if options is None:
        return False
    if not isinstance(options, dict) or not stream:
        raise RefusedError(
            "stream_options: an object, and only with stream: true", parameter="stream_options"
        )
    for name in options:
        if name not in ("include_usage", "include_obfuscation"):
            raise RefusedError(f"stream_options: no {name[:80]!r}", parameter="stream_options")
    return flag(options, "include_usage")


def conversation(given: Mapping[str, Any]) -> Prompt:
    """The messages of a chat."""
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("messages: a list with at least one message", parameter="messages")
    return [message(each, f"messages[{number}]") for number, each in enumerate(messages)]


def message(given: Any, where: str) -> dict[str, str]:
    """One of them: a role and a text."""
    if not isinstance(given, dict) or not isinstance(given.get("role"), str):
        raise RefusedError(f"{where}: an object with role and content", parameter="messages")
    for name, value in given.items():
        if name not in MESSAGE and value not in (None, []):
            raise RefusedError(f"{where}: {name[:80]} is not supported", parameter="messages")
    content = given.get("content")
    if isinstance(content, list):
        content = "".join(part(each, where) for each in content)
    if not isinstance(content, str):
        raise RefusedError(f"{where}: content has to be a text", parameter="messages")
    return {
        "role": sayable(given["role"], "messages"),
        "content": sayable(content, "messages"),
    }


def part(given: Any, where: str) -> str:
    """A part of a message."""
    if isinstance(given, dict) and given.get("type") == "text":
        text = given.get("text")
        if isinstance(text, str):
            return text
    raise RefusedError(f"{where}: only parts of type text are supported", parameter="messages")


def texts(given: Mapping[str, Any]) -> tuple[Prompt | TokenPrompt, ...]:
    """The prompts of a completion: texts or tokens, one or several."""
    prompt = given.get("prompt")
    if isinstance(prompt, str):
        return (sayable(prompt, "prompt"),)
    if isinstance(prompt, list) and prompt:
        if all(map(is_whole, prompt)):
            return (tuple(prompt),)
        if all(isinstance(each, str) for each in prompt):
            return tuple(sayable(each, "prompt") for each in prompt)
        if all(isinstance(each, list) and each and all(map(is_whole, each)) for each in prompt):
            return tuple(tuple(each) for each in prompt)
    raise RefusedError("prompt: a text, tokens, or a list of either", parameter="prompt")


def sayable(text: str, parameter: str) -> str:
    """Text that can be encoded: without halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"{parameter}: half a character ({error})", parameter=parameter
        ) from error
    return text


def stop_strings(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Where to stop."""
    stops = given.get("stop")
    strings: Sequence[Any] = [] if stops is None else [stops] if isinstance(stops, str) else stops
    if not (
        isinstance(strings, list)
        and len(strings) <= MOST_STOPS
        and all(isinstance(each, str) and each for each in strings)
    ):
        raise RefusedError(
            f"stop: a text or a list of up to {MOST_STOPS}, none of them empty", parameter="stop"
        )
    return tuple(sayable(each, "stop") for each in strings)


def flag(given: Mapping[str, Any], name: str) -> bool:
    """True or false; false if it is not given."""
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        raise RefusedError(f"{name}: true or false", parameter=name)
    return bool(value)


def whole(
    given: Mapping[str, Any], name: str, low: int, high: int, default: int | None
) -> int | None:
    """A whole number within limits."""
    value = given.get(name)
    if value is None:
        return default
    if not is_whole(value) or not low <= value <= high:
        raise RefusedError(f"{name}: a whole number from {low} to {high}", parameter=name)
    found: int = value
    return found


def number(given: Mapping[str, Any], name: str, low: float, high: float, default: float) -> float:
    """A number within limits."""
    value = given.get(name)
    if value is None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (low <= value <= high and math.isfinite(value))
    ):
        raise RefusedError(f"{name}: a number from {low:g} to {high:g}", parameter=name)
    return float(value)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)
