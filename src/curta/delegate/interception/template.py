"""A model's own way to call tools, as its tokenizer's chat template writes it.

Nothing here knows a family of models by its name. A call with names that stand nowhere else is put
through the template, and where these names are in what comes out says the rest: what stands before
a call and behind it, and which of three `bodies` it has. Answers are written by the template
itself: what it has behind a call that tools have answered is what the model is fed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curta.delegate.interception.bodies import DECODER, Body, Json, NameAndJson, Pairs
from curta.delegate.interception.events import Call, CallResult, Outcome
from curta.delegate.interception.formats import Inline, Message, templated
from curta.delegate.interception.pieces import common
from curta.delegate.interception.protocol import Protocol
from curta.delegate.interception.scanner import Marker, Scanner
from curta.delegate.tools.tool import Tool
from curta.errors import ToolError

NAME, OTHER = "curta_name", "curta_other"
GIVEN = {"curta_key": "curta_value", "curta_second": "curta_end"}
QUESTION = {"role": "user", "content": "curta_question"}
PYTHON_TAG = "<|python_tag|>"
"""Llama's token in front of calls, which its template reads and never writes."""
FENCED = Marker("```json", "```", one_line=False)


@dataclass(frozen=True)
class Own:
    """Calls as a template has them.

    open:   in front of a call; of JSON without a marker, how it begins, up to the name
    close:  behind a call; None if the end of the turn is all there is
    begins: a turn up to a call's arguments, with `NAME` in it
    behind_arguments: what closes a call behind its arguments, `close` included
    lenient: whether JSON without the marker may be a call, too: small models forget it
    """

    tokenizer: Any
    body: Body
    open: str
    close: str | None
    begins: str
    behind_arguments: str
    tools: tuple[Tool, ...] = ()
    longest: int = 20_000
    most_calls: int = Protocol.most_calls
    at_once: bool = False
    lenient: bool = True

    @property
    def name(self) -> str:
        return f"the model's own tool calls ({self.open})"

    @property
    def markers(self) -> tuple[Marker, ...]:
        bare = self.open.startswith("{")
        own = Marker(self.open, self.close, at_start=bare, one_line=False)
        if not isinstance(self.body, Json) or not self.lenient:
            return (own,)
        # A turn that is JSON, or JSON in a fence.
        forgotten = Marker(f'{{"{self.body.name}":', None, at_start=True, one_line=False)
        tag = Marker(PYTHON_TAG, None, one_line=False)
        tags = (tag,) if bare and PYTHON_TAG in self.tokenizer.get_vocab() else ()
        return own, *(() if bare else (forgotten,)), FENCED, *tags

    def scanner(self) -> Scanner:
        return Scanner(self.markers, self.longest, self.most_calls)

    def with_tools(self, tools: Sequence[Tool]) -> Own:
        return replace(self, tools=tuple(tools))

    def prompt(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        return templated(tokenizer, messages, tools=list(map(schema_of, self.tools)) or None)

    def opening(self, name: str) -> str:
        return self.begins.replace(NAME, name)

    def read(self, marker: Marker, body: str) -> list[Call]:
        calls = self.body.read(whole(marker, body), self.tools)
        if marker is FENCED or marker.open.startswith("{"):  # an answer may be JSON, too
            names = {tool.name for tool in self.tools}
            return calls if all(call.name in names for call in calls) else []
        if not calls and marker.close is not None:
            error = ToolError(f"{body.strip()!r} is no call", "not a call")
            return [Call("", body.strip(), error=error)]
        return calls

    def grammar(self, marker: Marker, written: str) -> tuple[str, str] | None:
        return None if marker is FENCED else self.body.grammar(whole(marker, written), self.tools)

    def behind(self, outcomes: Sequence[Outcome]) -> str:
        said = [
            each.answer if isinstance(each, CallResult) else f"error: {each.brief}"
            for each in outcomes
        ]
        names = [each.tool or "unknown" for each in outcomes]
        return behind_calls(self.tokenizer, names, said, self.behind_arguments)


Format = Inline | Own
"""The ways to call."""


def whole(marker: Marker, body: str) -> str:
    """A call's text: a marker that is JSON belongs to it."""
    return marker.open + body if marker.open.startswith("{") else body


def schema_of(tool: Tool) -> dict[str, Any]:
    """A tool as templates and OpenAI's interface have it."""
    described = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": described | {"parameters": dict(tool.parameters)}}


def calling(names: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """A message with calls, as templates have it."""
    asked = [
        {"type": "function", "id": f"call{n:05}", "function": {"name": name, "arguments": given}}
        for n, name in enumerate(names)
    ]
    return {"role": "assistant", "content": "", "tool_calls": asked}


def behind_calls(tokenizer: Any, names: Sequence[str], said: Sequence[str], closing: str) -> str:
    """What a template has behind calls that tools have answered, up to where the model goes on.

    The calls' arguments are such that they can be found again.
    """
    from jinja2 import TemplateError

    answers = [
        {"role": "tool", "name": name, "tool_call_id": f"call{n:05}", "content": text}
        for n, (name, text) in enumerate(zip(names, said, strict=True))
    ]
    try:
        text = templated(tokenizer, [QUESTION, calling(names, GIVEN), *answers])
    except TemplateError:  # some know one call in a turn only
        text = templated(tokenizer, [QUESTION, calling(names[:1], GIVEN), *answers])
    _, found, behind = text.rpartition("curta_end" + closing)
    if not found:
        raise ToolError("the chat template writes a call otherwise once it is answered", "error")
    return behind


def own_format(tokenizer: Any, most_calls: int = Protocol.most_calls) -> tuple[Own | None, str]:
    """A model's own format, or None; and why there is none that can be read."""
    from jinja2 import TemplateError

    if getattr(tokenizer, "chat_template", None) is None:
        return None, "there is no chat template"
    tool = {"name": OTHER, "description": OTHER, "parameters": {"type": "object", "properties": {}}}
    given: dict[str, Any] = {"tools": [{"type": "function", "function": tool}]}
    try:
        asked = templated(tokenizer, [QUESTION], **given)
        if OTHER not in asked:
            return None, "its chat template has no tools"
        call = calling([NAME], GIVEN)
        written = templated(tokenizer, [QUESTION, call], add_generation_prompt=False, **given)
        said = [QUESTION, {"role": "assistant", "content": OTHER}]
        plain = templated(tokenizer, said, add_generation_prompt=False, **given)
        plain, ending = plain[common(asked, plain) :].rsplit(OTHER, 1)
        turn = written[common(asked, written) :]
        turn = turn[common(plain, turn) :]  # without what every turn begins with
        own = read_turn(tokenizer, turn, ending.strip())
        if own is None:
            return None, "its chat template writes calls in a way that is not known here"
        if OTHER not in behind_calls(tokenizer, [NAME], [OTHER], own.behind_arguments):
            return None, "its chat template has no answers of tools"
    except (TemplateError, ToolError, TypeError, KeyError, AttributeError) as error:
        return None, f"its chat template cannot be used for tools: {error}"
    return replace(own, most_calls=most_calls), ""


def read_turn(tokenizer: Any, turn: str, ending: str) -> Own | None:
    """How calls are written, from a turn with one; None if it is none of the known ways."""
    at, key = turn.find(NAME), turn.find("curta_key")
    end = turn.find("curta_end") + len("curta_end")
    until = turn.rfind(ending, end) if ending else len(turn)
    if at < 0 or key < at or until < end:
        return None
    closing = turn[end:until]
    arguments = turn.rfind("{", 0, key)
    given = decoded(turn, arguments)
    if given is None or given[0] != GIVEN:
        return pairs_of(tokenizer, turn[:until])
    for start in (n for n in range(at) if turn[n] in "[{"):
        found = decoded(turn, start)
        if found is None or found[1] <= at:
            continue
        value = found[0][0] if isinstance(found[0], list) else found[0]
        names = {json.dumps(each): name for name, each in value.get("function", value).items()}
        if json.dumps(NAME) not in names or json.dumps(GIVEN) not in names:
            return None
        body = Json(names[json.dumps(NAME)], names[json.dumps(GIVEN)], isinstance(found[0], list))
        open_ = turn[:start].strip() or turn[:at].rstrip(' "')
        close = turn[found[1] : until].strip() or None
        return Own(tokenizer, body, open_, close, turn[:arguments], closing)
    between, open_ = turn[at + len(NAME) : arguments].strip(), turn[:at].strip()
    close = turn[given[1] : until].strip() or None
    if not between or not open_:
        return None
    return Own(tokenizer, NameAndJson(between), open_, close, turn[:arguments], closing)


def pairs_of(tokenizer: Any, turn: str) -> Own | None:
    """Arguments that are written one by one, between signs such as <parameter=...>."""
    names = (NAME, *(name for each in GIVEN.items() for name in each))
    between = re.fullmatch("(.*?)".join(["", *names]) + "(.*)", turn, re.DOTALL)
    if between is None:
        return None
    begins, first, equal, comma, _, closing = between.groups()
    outer, _, close = closing.strip().rpartition("\n")
    signs = [each.strip() for each in (first, equal, comma, outer, begins, close)]
    if not all(signs) or any("<" not in each for each in signs[2:]):
        return None
    first, equal, comma, outer, open_, close = signs
    body = Pairs(first, equal, comma, outer)
    return Own(tokenizer, body, open_, close, begins + NAME, closing)


def decoded(text: str, at: int) -> tuple[Any, int] | None:
    """The value of JSON in a place, and where it ends."""
    try:
        return DECODER.raw_decode(text, at) if at >= 0 else None
    except (ValueError, RecursionError):
        return None
