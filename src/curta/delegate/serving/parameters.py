"""Requests as they come, checked: what is wanted, or which parameter is wrong.

A parameter that would change the answer and is not supported is refused by name, unless its value
is one that changes nothing. Those that never change an answer are ignored. What a parameter can be
is said by the models here; pydantic sees whether it is that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from curta.delegate.interception.generator import Prompt
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.prompts import TokenPrompt
from curta.delegate.serving.refusals import RefusedError

NEUTRAL: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("audio", "prediction", "reasoning_effort", "verbosity"), (None,)),
    **dict.fromkeys(("frequency_penalty", "presence_penalty"), (None, 0, 0.0)),
    **dict.fromkeys(("echo", "logprobs"), (None, False)),
    **dict.fromkeys(("functions", "tools"), (None, [])),
    **dict.fromkeys(("function_call", "tool_choice"), (None, "none", "auto")),
    "best_of": (None, 1),
    "logit_bias": (None, {}),
    "modalities": (None, ["text"]),
    "response_format": (None, {"type": "text"}),
    "suffix": (None, ""),
    "top_logprobs": (None, 0),
    "web_search_options": (None,),
}
"""Parameters that are not supported, and the values with which they change nothing."""

IGNORED = frozenset(
    {"metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention"}
    | {"safety_identifier", "service_tier", "store", "user"}
)
MOST_STOPS = 16


def sayable(text: str) -> str:
    """Text that can be encoded: without halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character ({error})") from error
    return text


Text = Annotated[str, AfterValidator(sayable)]
Tokens = Annotated[list[int], Field(min_length=1)]


class Checked(BaseModel):
    """What has these fields and no others; an error says what their descriptions say."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Part(Checked):
    """A part of a message."""

    type: Literal["text"]
    text: Text


class Message(Checked):
    """One message; its calculations are in its text already."""

    role: Literal["system", "developer", "user", "assistant"] = Field(
        description="role has to be system, developer, user or assistant"
    )
    content: Text | list[Part] = Field(
        description="content has to be a text, and only parts of type text are supported"
    )
    name: str | None = Field(None, description="name has to be a text")
    calculations: Any = None

    def as_text(self) -> dict[str, str]:
        """A role and a text, as templates of chats have them."""
        parts = self.content
        text = parts if isinstance(parts, str) else "".join(part.text for part in parts)
        return {"role": "system" if self.role == "developer" else self.role, "content": text}


class StreamOptions(Checked):
    """How a stream ends."""

    include_usage: bool | None = None
    include_obfuscation: Any = None


class Wished(Checked):
    """What all requests can have."""

    model: str = Field(description="name one")
    max_tokens: int | None = Field(None, description="a whole number")
    n: int | None = Field(None, description="a whole number")
    seed: int | None = Field(
        None, ge=-(1 << 63), lt=1 << 63, description="a whole number of 64 bits"
    )
    stop: (
        Annotated[Text, Field(min_length=1)]
        | Annotated[list[Annotated[Text, Field(min_length=1)]], Field(max_length=MOST_STOPS)]
        | None
    ) = Field(None, description=f"a text or a list of up to {MOST_STOPS}, none of them empty")
    stream: bool | None = Field(None, description="true or false")
    stream_options: StreamOptions | None = Field(
        None, description="an object with include_usage: true or false"
    )
    temperature: float | None = Field(None, ge=0, le=2, description="a number from 0 to 2")
    top_p: float | None = Field(None, ge=0, le=1, description="a number from 0 to 1")


class ChatWished(Wished):
    """A chat."""

    messages: list[Message] = Field(
        min_length=1,
        description="a list with at least one message, an object with role and content",
    )
    max_completion_tokens: int | None = Field(None, description="a whole number")


class CompletionWished(Wished):
    """Texts or tokens to go on with, one or several."""

    prompt: (
        Text
        | Tokens
        | Annotated[list[Text], Field(min_length=1)]
        | Annotated[list[Tokens], Field(min_length=1)]
    ) = Field(description="a text, tokens, or a list of either")


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
    wished = checked(supported(given), ChatWished if chat else CompletionWished)
    if wished.model != served:
        raise RefusedError(
            f"there is no model {wished.model[:200]!r} here: this server has {served!r}",
            status=404,
            parameter="model",
            code="model_not_found",
        )
    options = wished.stream_options
    if options is not None and not wished.stream:
        raise RefusedError("stream_options: only with stream: true", parameter="stream_options")
    prompts = prompts_of(wished)
    stops = [wished.stop] if isinstance(wished.stop, str) else wished.stop or []
    return Asked(
        prompts=prompts,
        parameter="messages" if chat else "prompt",
        choices=choices(wished.n, len(prompts), limits),
        most_tokens=most_tokens(wished, limits),
        temperature=wished.temperature or 0.0,
        top_p=1.0 if wished.top_p is None else wished.top_p,
        seed=wished.seed,
        stops=tuple(stops),
        stream=bool(wished.stream),
        include_usage=bool(options and options.include_usage),
    )


def supported(given: Mapping[str, Any]) -> dict[str, Any]:
    """All but what changes nothing; an error if a parameter is one that would."""
    for name, value in given.items():
        neutral = NEUTRAL.get(name, (value,))
        if not any(type(value) is type(each) and value == each for each in neutral):
            raise RefusedError(
                f"{name} is not supported by this server: leave it out",
                parameter=name,
                code="unsupported_parameter",
            )
    kept = {name: value for name, value in given.items() if name not in IGNORED | NEUTRAL.keys()}
    if isinstance(messages := kept.get("messages"), list):
        kept["messages"] = [without_nothing(each) for each in messages]
    return kept


def without_nothing(message: Any) -> Any:
    """A message without the fields that are there with nothing in them, as clients send them."""
    if not isinstance(message, dict):
        return message
    return {name: value for name, value in message.items() if value not in (None, [])}


def checked(given: dict[str, Any], kind: type[Wished]) -> Any:
    """The request as what it has to be, or a `RefusedError` that says what that is."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        raise refusal(first["type"], first["loc"], str(first["msg"]), kind) from error


def refusal(
    what: str, place: tuple[int | str, ...], message: str, kind: type[Wished]
) -> RefusedError:
    """What is wrong in a place of a request, in words."""
    parameter = str(place[0])[:80]
    if what == "extra_forbidden" and len(place) == 1:
        return RefusedError(
            f"there is no parameter {parameter!r}", parameter=parameter, code="unknown_parameter"
        )
    where, wanted = parameter, kind.model_fields[parameter].description
    if parameter == "messages" and len(place) > 2:
        where, name = f"messages[{place[1]}]", str(place[2])
        field = Message.model_fields.get(name)
        wanted = field.description if field else f"{name[:80]} is not supported"
    if "half a character" in message:
        wanted = message
    return RefusedError(f"{where}: {wanted}", parameter=parameter)


def prompts_of(wished: Wished) -> tuple[Prompt | TokenPrompt, ...]:
    """A conversation, or the prompts of a completion."""
    if isinstance(wished, ChatWished):
        return ([message.as_text() for message in wished.messages],)
    assert isinstance(wished, CompletionWished)
    prompt = wished.prompt
    if isinstance(prompt, str):
        return (prompt,)
    if isinstance(prompt[0], int):
        return (tuple(prompt),)
    return tuple(each if isinstance(each, str) else tuple(each) for each in prompt)


def choices(wanted: int | None, prompts: int, limits: Limits) -> int:
    """How many are written for each prompt; all of them are written at once."""
    count = 1 if wanted is None else wanted
    most = max(limits.batch // prompts, 1)
    if not 1 <= count <= most:
        several = f" of each of {prompts} prompts" if prompts > 1 else ""
        raise RefusedError(
            f"n: a whole number from 1 to {most}{several}: this server writes {limits.batch} "
            "choices at once (--batch); ask for fewer, or in several requests",
            parameter="n",
        )
    return count


def most_tokens(wished: Wished, limits: Limits) -> int | None:
    """How many tokens are asked for, under either name."""
    newer = getattr(wished, "max_completion_tokens", None)
    count = wished.max_tokens if newer is None else newer
    if count is not None and not 1 <= count <= limits.most_tokens:
        name = "max_tokens" if newer is None else "max_completion_tokens"
        raise RefusedError(f"{name}: a whole number from 1 to {limits.most_tokens}", parameter=name)
    return count
