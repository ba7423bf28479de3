"""Requests as they come, checked: what is wanted, or which parameter is wrong.

A parameter that would change the answer and is not supported is refused by name, unless its value
is one that changes nothing. Those that never change an answer are ignored. What a parameter can be
is said by the models here; pydantic sees whether it is that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from curta.delegate.interception.bodies import as_kind
from curta.delegate.interception.generator import Prompt
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.refusals import RefusedError, wrong
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


TokenPrompt = tuple[int, ...]
What = TypeVar("What")
Text = Annotated[str, AfterValidator(sayable)]
Tokens = Annotated[list[int], Field(min_length=1)]


class Strict(BaseModel):
    """What has these fields and no others; an error says what their descriptions say. A field that
    is null is not there.
    """

    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def without_null(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {
            n: each for n, each in given.items() if each is not None or n not in cls.model_fields
        }


class Part(Strict):
    type: Literal["text"]
    text: Text


class Named(Strict):
    name: str = Field(pattern=r"^[\w-]{1,64}$")


class Asked(Named):
    """A function with arguments, as JSON in a text."""

    arguments: Text


class OfFunction(Strict, Generic[What]):
    """Something about a function: a tool in a list, or the one to call."""

    type: Literal["function"]
    function: What


class AskedCall(OfFunction[Asked]):
    """A call that an earlier answer has asked for."""

    id: str
    type: Literal["function"] = "function"


class Message(Strict):
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

    @model_validator(mode="before")
    @classmethod
    def without_nothing(cls, given: Any) -> Any:
        """Clients send fields with nothing in them."""
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value not in (None, [], {})}

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
        made = self.model_dump(include={"tool_call_id", "tool_calls"}, exclude_none=True)
        for call in made.get("tool_calls", ()):
            call["function"]["arguments"] = as_kind(call["function"]["arguments"], {})
        role = "system" if self.role == "developer" else self.role
        return {"role": role, "content": text} | made


def answering(messages: list[Message]) -> list[Message]:
    """Messages of tools answer calls before them."""
    asked: set[str] = set()
    for message in messages:
        asked.update(call.id for call in message.tool_calls or ())
        if message.tool_call_id not in {None, *asked}:
            raise ValueError(f"no message before it has a call {message.tool_call_id}")
    return messages


class Function(Named):
    """A tool that the client executes."""

    description: Text = ""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    strict: bool = False
    sandboxed: ClassVar[bool] = False

    def call(self, arguments: Mapping[str, Any]) -> Answer:
        return refused(ToolError(f"{self.name} is executed by the client", "not here"))


class JsonSchema(Strict):
    """What an answer has to be."""

    name: str
    description: str = ""
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool = False


class ResponseFormat(Strict):
    """How an answer is written."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None

    @model_validator(mode="after")
    def has_its_schema(self) -> ResponseFormat:
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("type json_schema has a json_schema, and no other has")
        return self

    @property
    def asked(self) -> dict[str, Any] | None:
        """None for any text."""
        if self.json_schema is not None:
            return self.json_schema.schema_
        return {"type": "object"} if self.type == "json_object" else None


class StreamOptions(Strict):
    """How a stream ends."""

    include_usage: bool = False
    include_obfuscation: Any = None


Stop = Annotated[Text, Field(min_length=1)]


def listed(given: Any) -> Any:
    """A list; a text alone is one of it."""
    return [given] if isinstance(given, str) else given


class Wished(Strict):
    """What all requests can have."""

    model: str = Field(description="name one")
    max_tokens: int | None = Field(None, description="a whole number")
    n: int = Field(1, description="a whole number")
    seed: int | None = Field(
        None, ge=-(1 << 63), lt=1 << 63, description="a whole number of 64 bits"
    )
    stop: Annotated[list[Stop], BeforeValidator(listed)] = Field(
        [],
        max_length=MOST_STOPS,
        description=f"a text or a list of up to {MOST_STOPS}, none of them empty",
    )
    stream: bool = Field(False, description="true or false")
    stream_options: StreamOptions = Field(
        StreamOptions(), description="an object with include_usage: true or false"
    )
    temperature: float = Field(0.0, ge=0, le=2, description="a number from 0 to 2")
    top_p: float = Field(1.0, ge=0, le=1, description="a number from 0 to 1")

    @property
    def most_tokens(self) -> int | None:
        """As asked for; None for as many as there may be."""
        return self.max_tokens


class ChatWished(Wished):
    parameter: ClassVar[str] = "messages"
    messages: Annotated[list[Message], AfterValidator(answering)] = Field(
        min_length=1,
        description="a list with at least one message, an object with role and content",
    )
    max_completion_tokens: int | None = Field(None, description="a whole number")
    tools: list[OfFunction[Function]] = Field(
        [], max_length=128, description="functions with names, and schemas of their parameters"
    )
    tool_choice: Literal["none", "auto", "required"] | OfFunction[Named] = Field(
        "auto", description="none, auto, required, or an object with the name of a function"
    )
    response_format: ResponseFormat = Field(
        ResponseFormat(type="text"),
        description="type text, json_object, or json_schema with a json_schema",
    )
    logprobs: bool = Field(False, description="true or false")
    top_logprobs: int | None = Field(
        None, ge=0, le=MOST_LOGPROBS, description=f"from 0 to {MOST_LOGPROBS}, with logprobs: true"
    )

    @property
    def prompts(self) -> tuple[Prompt | TokenPrompt, ...]:
        return ([message.as_given() for message in self.messages],)

    @property
    def scored(self) -> int | None:
        """How many tokens are told beside each chosen one; None: not that one either."""
        return (self.top_logprobs or 0) if self.logprobs else None

    @property
    def most_tokens(self) -> int | None:
        newer = self.max_completion_tokens
        return self.max_tokens if newer is None else newer

    @property
    def client_tools(self) -> tuple[Function, ...]:
        """Those that the client executes."""
        return () if self.tool_choice == "none" else tuple(each.function for each in self.tools)

    @property
    def must_call(self) -> str | None:
        """A tool that has to be called, by its name; "" for any."""
        if not isinstance(self.tool_choice, str):
            return self.tool_choice.function.name
        return "" if self.tool_choice == "required" else None


class CompletionWished(Wished):
    """Texts or tokens to go on with, one or several."""

    parameter: ClassVar[str] = "prompt"
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
    def prompts(self) -> tuple[Prompt | TokenPrompt, ...]:
        one = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        several: Any = [self.prompt] if one else self.prompt
        return tuple(each if isinstance(each, str) else tuple(each) for each in several)

    @property
    def scored(self) -> int | None:
        return self.logprobs


Wish = ChatWished | CompletionWished


def check(wished: Wish, limits: Limits) -> None:
    """Raise a `RefusedError` for what is right by itself, and not here or together."""
    if "stream_options" in wished.model_fields_set and not wished.stream:
        raise wrong("stream_options", "only with stream: true")
    prompts = len(wished.prompts)
    most = max(limits.batch // prompts, 1)
    if not 1 <= wished.n <= most:
        several = f" of each of {prompts} prompts" if prompts > 1 else ""
        raise wrong(
            "n",
            f"a whole number from 1 to {most}{several}: this server writes {limits.batch} "
            "choices at once (--batch); ask for fewer, or in several requests",
        )
    if wished.most_tokens is not None and not 1 <= wished.most_tokens <= limits.most_tokens:
        newer = getattr(wished, "max_completion_tokens", None) is not None
        name = "max_completion_tokens" if newer else "max_tokens"
        raise wrong(name, f"a whole number from 1 to {limits.most_tokens}")
    if not isinstance(wished, ChatWished):
        return
    names, must_call = [each.function.name for each in wished.tools], wished.must_call
    if len(set(names)) < len(names):
        raise wrong("tools", "two have the same name")
    if must_call and must_call not in names:
        raise wrong("tool_choice", f"there is no tool {must_call!r} in tools")
    if must_call == "" and not names:
        raise wrong("tool_choice", "required, but there are no tools")
    if wished.top_logprobs is not None and not wished.logprobs:
        raise wrong("top_logprobs", "only with logprobs: true")


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


def read(given: Mapping[str, Any], *, chat: bool, served: str, limits: Limits) -> Wish:
    """What is wanted, or a `RefusedError`."""
    kind: type[Wish] = ChatWished if chat else CompletionWished
    try:
        wished = kind.model_validate(supported({"model": served, **given}))
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        raise refusal(first["type"], first["loc"], str(first["msg"]), kind) from error
    if wished.model != served:
        raise RefusedError(
            f"there is no model {wished.model[:200]!r} here: this server has {served!r}",
            status=404,
            parameter="model",
            code="model_not_found",
        )
    check(wished, limits)
    return wished


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
    return {name: value for name, value in given.items() if name not in IGNORED | NEUTRAL.keys()}


def refusal(
    what: str, place: tuple[int | str, ...], message: str, kind: type[Wish]
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
