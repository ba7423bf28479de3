"""How calls are written: what opens one, how it ends, what its body says, what is put behind it.

    inline    `87*24 is <<calc: 87*24>> = 2088`, as an adapter has taught it
    prompted  the same, explained in a system text with examples
    own       as the model's chat template has calls and answers (`template`)
    equations `87*24 = 2088`, as a model writes it anyway (`equations`)

The answer of an inline call stands right behind it; those of the model's own format in a turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from curta.delegate.interception.events import CALCULATE, Call, CallResult, Outcome
from curta.delegate.interception.protocol import Protocol
from curta.delegate.interception.scanner import Marker, Scanner
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Tool
from curta.errors import ToolError, UserError

Message = Mapping[str, Any]
WHAT = "calc"
"""What the usual marker has where markers of other tools have their names."""


@dataclass(frozen=True)
class Inline:
    """Calls within a line. Of tools other than the calculator, the marker has their name, and the
    arguments stand in their order, as JSON: `<<days_in_month: 2024, 2>> = 29`.

    name:    in words, for users
    at_once: an answer is put behind the call itself; otherwise behind the turn
    """

    protocol: Protocol = field(default_factory=Protocol)
    tools: tuple[Tool, ...] = (CalculatorTool(),)
    name: str = "inline calls"
    at_once: bool = True

    @property
    def markers(self) -> tuple[Marker, ...]:
        return tuple(Marker(self.opening(each.name), self.protocol.close) for each in self.tools)

    @property
    def longest(self) -> int:
        return self.protocol.longest

    def scanner(self) -> Scanner:
        """What finds calls in a text that begins."""
        return Scanner(self.markers, self.longest, self.protocol.most_calls)

    def with_tools(self, tools: Sequence[Tool]) -> Inline:
        """The same with these tools."""
        return replace(self, tools=tuple(tools))

    def opening(self, name: str) -> str:
        """How a call begins, up to its arguments."""
        if name == CALCULATE:
            return self.protocol.open
        if WHAT not in self.protocol.open:
            raise UserError(
                f"{name}: the adapter writes {self.protocol.open} for the calculator and has no "
                "marker for other tools; leave out --tool, or the adapter"
            )
        return self.protocol.open.replace(WHAT, name)

    def prompt(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        """The conversation as it is, with calls and answers in its text."""
        return templated(tokenizer, spelt_out(messages, self), **going_on(messages))

    def tool_of(self, marker: Marker) -> Tool:
        """Whose calls are opened so."""
        return next(each for each in self.tools if marker.open == self.opening(each.name))

    def read(self, marker: Marker, body: str) -> list[Call]:
        """The calls between the markers; none if it is text after all."""
        tool, written = self.tool_of(marker), body.strip(" ")
        if tool.name == CALCULATE:
            return [Call(CALCULATE, written, {"expression": written})]
        try:
            return [Call(tool.name, written, arguments_of(tool, written))]
        except ToolError as error:
            return [Call(tool.name, written, error=error)]

    def grammar(self, marker: Marker, written: str) -> tuple[str, str] | None:
        """What a call has to be like, in Lark's words, and what of that is written; None if
        anything may come, and `""` for an expression.
        """
        tool = self.tool_of(marker)
        if tool.name == CALCULATE:
            return "", written
        kinds: Mapping[str, Any] = tool.parameters.get("properties", {})
        needed, line = tool.parameters.get("required", list(kinds)), ""
        for n, name in reversed(list(enumerate(kinds))):  # only the last ones can be left out
            line = f"{'SPACE COMMA SPACE ' if n else ''}a{n} {line}"
            line = line if name in needed else f"({line})?"
        parts = [f"a{n}: %json {json.dumps(kind)}" for n, kind in enumerate(kinds.values())]
        start = f"start: SPACE {line} SPACE {json.dumps(self.protocol.close)} REST"
        ends = ["SPACE: / {0,2}/", 'COMMA: ","', "REST: /(.|\\n)*/"]
        return "\n".join([start, *ends, *parts]), written

    def behind(self, outcomes: Sequence[Outcome]) -> str:
        """What is put behind calls."""
        return "".join(
            self.protocol.answered(each.answer)
            if isinstance(each, CallResult)
            else self.protocol.failure.format(each.brief)
            for each in outcomes
        )


@dataclass(frozen=True)
class Silent(Inline):
    """Nothing is a call."""

    tools: tuple[Tool, ...] = ()
    name: str = "no calls"

    def prompt(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        return templated(tokenizer, spelt_out(messages, self))


INTRODUCTION = """\
You never compute in your head. Wherever a result is needed you write {open} EXPRESSION{close}, \
with numbers and + - * / ^ ( ) only, and the exact result is put behind it. Go on from there, step \
by step, and end with: The answer is NUMBER."""
EXAMPLES = (
    (
        "A crate holds 48 bottles. 87 crates come, and 129 bottles are broken. How many are whole?",
        "87 crates hold {87*48} = 4176 bottles. Whole are {4176-129} = 4047 bottles. "
        "The answer is 4047.",
    ),
    (
        "Lea has 35 dollars. She buys 4 pens at 2.25 dollars each. How much does she have left?",
        "The pens cost {4*2.25} = 9 dollars. She has {35-9} = 26 dollars left. The answer is 26.",
    ),
    (
        "Tom read 18 pages on Monday and 27 on Tuesday. How many more did he read on Tuesday?",
        "He read {27-18} = 9 pages more. The answer is 9.",
    ),
)


@dataclass(frozen=True)
class Prompted(Inline):
    """Inline calls that nobody taught: a system text says how they are written, and examples show.

    most_tokens: of both; what does not fit is left out
    """

    name: str = "inline calls, explained in the prompt"
    most_tokens: int = 400

    def prompt(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        given = spelt_out(messages, self)
        system = [each["content"] for each in given if each["role"] == "system"]
        rest = [each for each in given if each["role"] != "system"]
        text = "\n\n".join([*system, self.introduction()])
        bare = len(tokenizer.encode(templated(tokenizer, rest)))
        for count in range(len(EXAMPLES), -1, -1):
            shown = [each for example in EXAMPLES[:count] for each in self.shown(*example)]
            made = templated_with_system(tokenizer, text, [*shown, *rest], **going_on(messages))
            if len(tokenizer.encode(made)) - bare <= self.most_tokens:
                return made
        return templated(tokenizer, given, **going_on(messages))

    def introduction(self) -> str:
        """How calls are written, and which other tools there are."""
        protocol = self.protocol
        lines = [INTRODUCTION.format(open=protocol.open, close=protocol.close)]
        for tool in self.tools:
            if tool.name != CALCULATE:
                names = ", ".join(tool.parameters.get("properties", {}))
                call = f"{self.opening(tool.name)} {names}{protocol.close}"
                lines.append(f"You write {call} for this: {tool.description.strip()}")
        return "\n".join(lines)

    def shown(self, question: str, answer: str) -> list[Message]:
        """An example as messages."""
        protocol = self.protocol
        called = answer.replace("{", f"{protocol.open} ").replace("}", protocol.close)
        return [{"role": "user", "content": question}, {"role": "assistant", "content": called}]


def arguments_of(tool: Tool, text: str) -> dict[str, Any]:
    """Arguments in their order, or as an object with their names; or a `ToolError`."""
    kinds: Mapping[str, Any] = tool.parameters.get("properties", {})
    names = list(kinds)
    with suppress(ValueError, RecursionError):
        values = json.loads(f"[{text}]")
        if len(values) == 1 and isinstance(values[0], dict) and values[0].keys() <= kinds.keys():
            return values[0]
        if len(values) <= len(names):
            return dict(zip(names, values, strict=False))
        if len(names) == 1:
            return {names[0]: values}
    if len(names) == 1 and kinds[names[0]].get("type") == "string":
        return {names[0]: text}
    raise ToolError(f"{tool.name}: {text!r} is not its arguments as JSON", "wrong arguments")


def spelt_out(messages: Sequence[Message], inline: Inline) -> list[dict[str, Any]]:
    """A conversation whose calls and answers stand in its texts."""
    made: list[dict[str, Any]] = []
    for message in messages:
        text = message.get("content") or ""
        for call in message.get("tool_calls") or ():
            asked = call["function"]
            opening = inline.protocol.open.replace(WHAT, asked["name"])
            text += f"{opening} {json.dumps(asked['arguments'])}{inline.protocol.close}"
        if message["role"] == "tool":
            behind = inline.protocol.answered(text)
            if made and made[-1]["role"] == "assistant":
                made[-1]["content"] += behind
                continue
        made.append({"role": message["role"], "content": text})
    return made


def going_on(messages: Sequence[Message]) -> dict[str, bool]:
    """Behind a tool's answer the model goes on in the text in which it called."""
    if not messages or messages[-1]["role"] != "tool":
        return {}
    return {"add_generation_prompt": False, "continue_final_message": True}


def templated(tokenizer: Any, messages: Sequence[Message], **given: Any) -> str:
    """A conversation as the tokenizer's template has it, up to where the model goes on."""
    given = {"tokenize": False, "add_generation_prompt": True} | given
    return str(tokenizer.apply_chat_template(list(messages), **given))


def templated_with_system(
    tokenizer: Any, system: str, messages: Sequence[Message], **given: Any
) -> str:
    """The same with a system text; in the first message where the template has no such role."""
    from jinja2 import TemplateError

    try:
        made = templated(tokenizer, [{"role": "system", "content": system}, *messages], **given)
        if system in made:
            return made
    except TemplateError:
        pass
    first, *rest = messages
    joined = {"role": first["role"], "content": f"{system}\n\n{first['content']}"}
    return templated(tokenizer, [joined, *rest], **given)
