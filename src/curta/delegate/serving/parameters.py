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

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from curta.delegate.interception.generator import Prompt
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.prompts import TokenPrompt
from curta.delegate.serving.refusals import RefusedError
from curta.delegate.tools.tool import Answer, refused
from curta.errors import ToolError

NEUTRAL: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("audio", "prediction", "reasoning_effort", "verbosity"), (None,)),
    **dict.fromkeys(("frequency_penalty", "presence_penalty"), (None, 0, 0.0)),
    "best_of": (None, 1),
    "echo": (None, False),
    "functions": (None, []),
    "function_call": (None, "none", "auto"),
    "logit_bias": (None, {}),
    "modalities": (None, ["text"]),
    "suffix": (None, ""),
    "web_search_options": (None,),
}
"""Parameters that are not supported, and the values with which they change nothing."""

IGNORED = frozenset(
    {"metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention"}
    | {"safety_identifier", "service_tier", "store", "user"}
)
MOST_STOPS = 16
MOST_LOGPROBS = 20


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


class Named(Checked):
    """The name of a function."""

    name: str = Field(pattern=r"^[\w-]{1,64}$")


class Asked(Named):
    """A function with arguments, as JSON in a text."""

    arguments: Text


class AskedCall(Checked):
    """A call that an earlier answer has asked for."""

    id: str
    type: Literal["function"] = "function"
    function: Asked


class Message(Checked):
    """One message; its calculations are in its text already."""

    role: Literal["system", "developer", "user", "assistant", "tool"] = Field(
        description="role has to be system, developer, user, assistant or tool"
    )
    content: Text | list[Part] | None = Field(
        None, description="content has to be a text, and only parts of type text are supported"
    )
    name: str | None = Field(None, description="name has to be a text")
    tool_calls: list[AskedCall] | None = Field(
        None, description="tool_calls has to be calls of functions, with id, name and arguments"
    )
    tool_call_id: str | None = Field(None, description="tool_call_id has to be a text")
    calculations: Any = None

    @model_validator(mode="after")
    def says_something(self) -> Message:
        """Only calls go without a text; an answer says whose it is."""
        calls = self.role == "assistant" and self.tool_calls
        if self.content is None and not calls:
            raise ValueError("content has to be a text")
        if self.tool_calls and not calls:
            raise ValueError("tool_calls belong to an assistant")
        if (self.role == "tool") != (self.tool_call_id is not None):
            raise ValueError("a message of role tool has a tool_call_id, and no other has")
        return self

    def as_given(self) -> dict[str, Any]:
        """A message as templates of chats have it."""
        parts = self.content or ""
        text = parts if isinstance(parts, str) else "".join(part.text for part in parts)
        made: dict[str, Any] = {
            "role": "system" if self.role == "developer" else self.role,
            "content": text,
        }
        if self.tool_call_id is not None:
            made["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            made["tool_calls"] = [
                {
                    "id": each.id,
                    "type": "function",
                    "function": {
                        "name": each.function.name,
                        "arguments": as_object(each.function.arguments),
                    },
                }
                for each in self.tool_calls
            ]
        return made


def as_object(arguments: str) -> Any:
    """Arguments as an object; as they are if they are none."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


class Function(Named):
    """A function of the client's."""

    description: Text | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ClientTool(Checked):
    """A tool that the client executes."""

    type: Literal["function"]
    function: Function

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def description(self) -> str:
        return self.function.description or ""

    @property
    def parameters(self) -> dict[str, Any]:
        return self.function.parameters or {"type": "object", "properties": {}}

    @property
    def sandboxed(self) -> bool:
        return False

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        return refused(ToolError(f"{self.name} is executed by the client", "not here"))


class Chosen(Checked):
    """The one tool to call."""

    type: Literal["function"]
    function: Named


class JsonSchema(Checked):
    """What an answer has to be."""

    name: str
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(Checked):
    """How an answer is written."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @model_validator(mode="after")
    def has_its_schema(self) -> ResponseFormat:
        """Where there has to be one."""
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("type json_schema has a json_schema, and no other has")
        return self

    @property
    def schema_asked(self) -> dict[str, Any] | None:
        """None for any text."""
        if self.json_schema is not None:
            return self.json_schema.schema_
        return {"type": "object"} if self.type == "json_object" else None


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
    tools: list[ClientTool] | None = Field(
        None, max_length=128, description="functions with names, and schemas of their parameters"
    )
    tool_choice: Literal["none", "auto", "required"] | Chosen | None = Field(
        None, description="none, auto, required, or an object with the name of a function"
    )
    response_format: ResponseFormat | None = Field(
        None, description="type text, json_object, or json_schema with a json_schema"
    )
    logprobs: bool | None = Field(None, description="true or false")
    top_logprobs: int | None = Field(
        None, ge=0, le=MOST_LOGPROBS, description=f"from 0 to {MOST_LOGPROBS}, with logprobs: true"
    )

    @property
    def scored(self) -> int | None:
        """How many tokens are told beside each chosen one; None: not that one either."""
        return (self.top_logprobs or 0) if self.logprobs else None


class CompletionWished(Wished):
    """Texts or tokens to go on with, one or several."""

    prompt: (
        Text
        | Tokens
        | Annotated[list[Text], Field(min_length=1)]
        | Annotated[list[Tokens], Field(min_length=1)]
    ) = Field(description="a text, tokens, or a list of either")
    logprobs: int | None = Field(
        None, ge=0, le=MOST_LOGPROBS, description=f"a whole number from 0 to {MOST_LOGPROBS}"
    )

    @property
    def scored(self) -> int | None:
        """How many tokens are told beside each chosen one; None: not that one either."""
        return self.logprobs


@dataclass(frozen=True)
class Request:
    """What one request wants.

    parameter:   where the prompts came from
    most_tokens: as asked for; None for as many as there may be
    tools:       that the client executes
    must_call:   a tool, by its name; "" for any
    schema:      of JSON that the answer has to be, where it is no call
    scored:      how many tokens are told beside each chosen one; None: not that one either
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
    tools: tuple[ClientTool, ...] = ()
    must_call: str | None = None
    schema: Mapping[str, Any] | None = None
    scored: int | None = None


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


def read(given: Mapping[str, Any], *, chat: bool, served: str, limits: Limits) -> Request:
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
    return Request(
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
        scored=wished.scored,
        **(wished_calls(wished) if isinstance(wished, ChatWished) else {}),
    )


def wished_calls(wished: ChatWished) -> dict[str, Any]:
    """The tools of a chat, which of them has to be called, and the schema of its answer."""
    tools, choice = tuple(wished.tools or ()), wished.tool_choice
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise RefusedError("tools: two have the same name", parameter="tools")
    must_call = "" if choice == "required" else None
    if isinstance(choice, Chosen):
        must_call = choice.function.name
        if must_call not in names:
            raise RefusedError(
                f"tool_choice: there is no tool {must_call!r} in tools", parameter="tool_choice"
            )
    if must_call == "" and not tools:
        raise RefusedError("tool_choice: required, but there are no tools", parameter="tool_choice")
    schema = wished.response_format and wished.response_format.schema_asked
    if wished.top_logprobs is not None and not wished.logprobs:
        raise RefusedError("top_logprobs: only with logprobs: true", parameter="top_logprobs")
    used = () if choice == "none" else tools
    return {"tools": used, "must_call": must_call, "schema": schema}


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
    return {name: value for name, value in message.items() if value not in (None, [], {})}


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
    if "half a character" in message or what == "value_error":
        wanted = message.removeprefix("Value error, ")
    return RefusedError(f"{where}: {wanted}", parameter=parameter)


def prompts_of(wished: Wished) -> tuple[Prompt | TokenPrompt, ...]:
    """A conversation, or the prompts of a completion."""
    if isinstance(wished, ChatWished):
        return ([message.as_given() for message in wished.messages],)
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
