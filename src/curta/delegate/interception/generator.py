"""Any causal language model of Hugging Face, with a calculator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar

import torch
from torch.nn.utils.rnn import pad_sequence

from curta.delegate.calculator import Budget, Calculator
from curta.delegate.given_up import GIVEN_UP
from curta.delegate.interception.caches import read_once
from curta.delegate.interception.constraint import Constraint
from curta.delegate.interception.equations import Equations
from curta.delegate.interception.events import CALCULATE, Event, Outcome, TextDelta, written
from curta.delegate.interception.formats import Inline, Message, Prompted, Silent
from curta.delegate.interception.loop import Loop
from curta.delegate.interception.pieces import Fragments
from curta.delegate.interception.protocol import FormatName, Protocol
from curta.delegate.interception.row import Calling, Row
from curta.delegate.interception.template import Format, Own, own_format
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Tool
from curta.errors import UserError

Prompt = str | Sequence[Message]
READING = {
    "cache", "past_key_values", "use_cache", "cache_implementation", "prefill_chunk_size",
}  # fmt: skip
"""Options that say how prompts are read."""


@dataclass(frozen=True)
class Output:
    """What a model wrote for one prompt.

    tokens: how many, with calls' answers and the token that ended it
    ended:  whether it came to its end, by such a token or what `generate` was told to stop at,
            rather than to a limit of tokens or time
    """

    events: tuple[Event, ...]
    tokens: int
    ended: bool = False

    @property
    def text(self) -> str:
        """All of it, calls and answers too."""
        return "".join(event.text for event in self.events)

    def written(self, protocol: Protocol) -> str:
        """The text, its calls as another protocol has them."""
        return written(self.events, protocol)

    @property
    def calls(self) -> tuple[Outcome, ...]:
        """The calls, answered or not."""
        return tuple(e for e in self.events if isinstance(e, Outcome))


class CalcGenerator:
    """Generates text, answers the calls in it, and puts the answers where the model reads them.

    A prompt is a text, or messages for the tokenizer's chat template. What is in a prompt is
    never evaluated, nor what is in an answer. `tools` can be called beside the calculator, which is
    anything that evaluates expressions.
    `constrained`: inside of a call, the model chooses among the tokens with which it can still
    become one.

    How calls are written is chosen, unless `format` says it, and `calling.format.name` says what
    was: `inline` if an adapter has taught that, or a protocol is given; else `equations` for the
    calculator alone (`prompted` if calls are to be constrained), and `own`, the model's own format,
    where there are other tools, or `prompted`, if it has none. A text that is no conversation is
    never told of tools.
    """

    untaught: ClassVar[FormatName] = "equations"
    """How a model that nobody taught calls the calculator alone."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        calculator: Any = None,
        protocol: Protocol | None = None,
        tools: Sequence[Tool] = (),
        format: FormatName | None = None,
        constrained: bool = False,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.calculator = calculator or Calculator()
        taught = protocol or getattr(model, "calculator_protocol", None)
        self.protocol = taught or Protocol()
        self.constrained = constrained
        own = [each for each in tools if each.name != CALCULATE]
        self.tools: tuple[Tool, ...] = (CalculatorTool(self.calculator), *own)
        self.fragments = Fragments(tokenizer)
        self.format: Format
        self.for_tools: Format | None = None
        """How other tools are called, if not as the calculator is."""
        if format is not None:
            self.format = named_format(tokenizer, self.protocol, format)
        elif taught is not None or getattr(tokenizer, "chat_template", None) is None:
            self.format = Inline(self.protocol)
        else:
            self.format = named_format(
                tokenizer, self.protocol, "prompted" if constrained else self.untaught
            )
            own_way, _ = own_format(tokenizer, self.protocol.most_calls)
            self.for_tools = own_way or Prompted(self.protocol)
        self.calling = self.calling_with(self.tools)
        assert self.calling.format.markers  # an error if there is none for one of the tools

    @property
    def context(self) -> int | None:
        """How many tokens the model takes in all, if it says so."""
        if self.model is None:
            return None
        text = self.model.config.get_text_config(decoder=True)
        most: int | None = getattr(text, "max_position_embeddings", None)
        return most

    def calling_with(
        self,
        tools: Sequence[Tool],
        *,
        asked: frozenset[str] = frozenset(),
        constrained: bool = False,
        shape: str | None = None,
    ) -> Calling:
        """How calls of these tools are written and answered; those `asked` by somebody else. With a
        `shape`, a grammar in Lark's words, what is no call has that.
        """
        budget = getattr(self.calculator, "budget", None) or Budget()
        others = bool(asked) or any(tool.name != CALCULATE for tool in tools)
        format = self.for_tools if self.for_tools and others else self.format
        if isinstance(format, Prompted) and self.context is not None:
            format = replace(format, most_tokens=min(format.most_tokens, self.context // 4))
        format = format.with_tools(tools) if tools else Silent()
        if shape is not None and isinstance(format, Own):
            format = replace(format, lenient=False)
        narrow = self.constrained or constrained or shape is not None
        return Calling(
            format,
            {tool.name: tool for tool in tools},
            self.fragments,
            Constraint(self.tokenizer, format, budget, shape) if narrow else None,
            asked,
            hides=shape is not None,
        )

    @property
    def loop(self) -> Loop:
        """For `model.generate(**inputs, custom_generate=generator.loop)`."""
        return Loop(lambda number: self.row(ignore, ""))

    def row(self, tell: Callable[[Event], None], prompt: Prompt = ()) -> Row:
        """An answer that has not begun."""
        return Row(self.tokenizer, self.calling_behind(prompt), tell)

    def calling_behind(self, prompt: Prompt) -> Calling:
        """How answers to it call."""
        format = self.calling.format
        if isinstance(prompt, str) and isinstance(format, Equations):
            return replace(self.calling, format=replace(format, continued=True))
        return self.calling

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Output]:
        """All prompts at once; options are those of transformers' `generate`.

        With `num_return_sequences` each prompt has so many outputs, one behind the other.
        """
        if not prompts:
            return []
        each_has = options.get("num_return_sequences") or 1
        asked = [prompt for prompt in prompts for _ in range(each_has)]
        events: list[list[Event]] = [[] for _ in asked]
        rows = [self.row(e.append, prompt) for e, prompt in zip(events, asked, strict=True)]
        self.write(self.inputs(prompts), rows, options)
        return [
            Output(tuple(joined(each)), row.tokens, row.ended)
            for each, row in zip(events, rows, strict=True)
        ]

    def stream(self, prompt: Prompt, *, row: Row | None = None, **options: Any) -> Iterator[Event]:
        """One prompt, event by event; the model stops where nobody listens any more. `row` is an
        answer that has not begun.
        """
        from transformers import StoppingCriteriaList

        if (options.get("num_return_sequences") or 1) != 1:
            raise UserError("num_return_sequences: a stream is one answer; use generate")
        found: queue.Queue[Event | BaseException | None] = queue.Queue()
        unheard = threading.Event()

        def stopped(input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
            return torch.full((len(input_ids),), unheard.is_set(), device=input_ids.device)

        criteria = StoppingCriteriaList([*(options.get("stopping_criteria") or ()), stopped])

        def work() -> None:
            GIVEN_UP.set(unheard)
            given = options | {"stopping_criteria": criteria}
            try:
                writing = row or self.row(found.put, prompt)
                writing.tell = found.put
                self.write(self.inputs([prompt]), [writing], given)
                found.put(None)
            except BaseException as error:  # raised again where somebody listens
                found.put(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            while (event := found.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            unheard.set()
            worker.join()

    def write(
        self, inputs: dict[str, torch.Tensor], rows: Sequence[Row], options: dict[str, Any]
    ) -> torch.Tensor:
        """Have these rows written behind the inputs; the tokens of both."""
        given = self.completed(options)
        may_share = len(rows) == len(inputs["input_ids"]) and not READING & given.keys()
        if may_share and not getattr(self.model, "reads_whole", False):
            cache = read_once(self.model, inputs["input_ids"], inputs["attention_mask"])
            given |= {} if cache is None else {"cache": cache}
        # `generate` has no streamer for loops of others, and gives it the prompt alone.
        loop = partial(Loop(lambda number: rows[number]), streamer=given.get("streamer"))
        tokens: torch.Tensor = self.model.generate(**inputs, custom_generate=loop, **given)
        return tokens

    def asked(self, question: str) -> Prompt:
        """A question in words as a prompt: a message, or a line to a model without a chat."""
        if getattr(self.tokenizer, "chat_template", None) is None:
            return f"{question}\n"
        return [{"role": "user", "content": question}]

    def inputs(self, prompts: Sequence[Prompt]) -> dict[str, torch.Tensor]:
        """Tokens on the model's device, padded on the left, if the model can go on from there."""
        if isinstance(prompts, str):
            raise UserError("one prompt where a list of prompts is wanted: put it in brackets")
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        device = self.model.device
        rows = [torch.tensor(self.encoded(each), device=device) for each in prompts]
        if not all(map(len, rows)):
            raise UserError("an empty prompt: there is no token to begin with")
        longest = max(map(len, rows), default=0)
        if self.context is not None and longest >= self.context:
            raise UserError(
                f"a prompt of {longest:,} tokens: the model takes {self.context:,} in all"
            )
        padded = partial(pad_sequence, batch_first=True, padding_side="left")
        return {
            "input_ids": padded(rows, padding_value=self.tokenizer.pad_token_id or 0),
            "attention_mask": padded([torch.ones_like(row) for row in rows]),
        }

    def encoded(self, prompt: Prompt, format: Format | None = None) -> list[int]:
        """A prompt as tokens; a template writes the special ones itself."""
        if isinstance(prompt, str):
            return list(self.tokenizer.encode(prompt))
        text = (format or self.calling.format).prompt(self.tokenizer, prompt)
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def completed(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of generation with those that are not given.

        `generate` would look for stop strings itself, but has no tokenizer for loops of others.
        """
        from transformers import StoppingCriteriaList, StopStringCriteria

        given = {"do_sample": False, "pad_token_id": self.tokenizer.pad_token_id} | options
        if stops := given.pop("stop_strings", None):
            criteria = StopStringCriteria(self.tokenizer, stops)
            others = given.get("stopping_criteria") or ()
            given["stopping_criteria"] = StoppingCriteriaList([*others, criteria])
        return given


def named_format(tokenizer: Any, protocol: Protocol, name: FormatName) -> Format:
    """The way to call that is named."""
    if name == "own":
        own, why = own_format(tokenizer, protocol.most_calls)
        if own is None:
            raise UserError(f"--format own: {why}; use prompted")
        return own
    if name == "prompted" and getattr(tokenizer, "chat_template", None) is None:
        raise UserError("--format prompted: there is no chat template; use inline")
    kinds = {"inline": Inline, "prompted": Prompted, "equations": Equations}
    return kinds[name](protocol)


def ignore(event: Event) -> None:
    """Nobody is told."""


def joined(events: Sequence[Event]) -> Iterator[Event]:
    """Text that comes in a row as one event."""
    for is_text, several in groupby(events, lambda event: isinstance(event, TextDelta)):
        if not is_text:
            yield from several
        elif text := "".join(event.text for event in several):
            yield TextDelta(text)
