"""Prompts as tokens, for the threads that answer requests."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence

from jinja2 import TemplateError

from curta.delegate.interception.generator import CalcGenerator, Prompt
from curta.delegate.interception.pieces import Fragments
from curta.delegate.interception.template import Format
from curta.delegate.serving.refusals import RefusedError, wrong

TokenPrompt = tuple[int, ...]


class Prompts:
    """Has a tokenizer of its own: one cannot be used by two threads at once."""

    def __init__(self, generator: CalcGenerator) -> None:
        self.generator = copy.copy(generator)
        self.generator.tokenizer = copy.deepcopy(generator.tokenizer)
        self.fragments = Fragments(self.generator.tokenizer)
        self.lock = threading.Lock()
        self.context = generator.context
        self.vocabulary: int = generator.model.config.get_text_config(decoder=True).vocab_size

    def beginning(self, text: str) -> TokenPrompt:
        """How an answer has to begin."""
        with self.lock:
            return self.fragments.encode(text) if text else ()

    def tokens(
        self, prompt: Prompt | TokenPrompt, parameter: str, format: Format | None = None
    ) -> TokenPrompt:
        """The same tokens as in `CalcGenerator`; `parameter` is where the prompt came from."""
        why = "there is nothing in it"
        made: Sequence[int] = ()
        if isinstance(prompt, tuple):
            if all(0 <= token < self.vocabulary for token in prompt):
                made = prompt
            else:
                why = f"tokens are numbers below {self.vocabulary}"
        elif not isinstance(prompt, str) and self.generator.tokenizer.chat_template is None:
            why = "the model has no chat template: use /v1/completions"
        else:
            try:
                with self.lock:
                    made = self.generator.encoded(prompt, format)
            except TemplateError as error:
                why = f"the model's chat template refuses it: {error}"
        if not made:
            raise wrong(parameter, why)
        return tuple(made)

    def most_tokens(self, prompt: TokenPrompt, asked: int | None, limit: int, where: str) -> int:
        """How many tokens may be written behind a prompt."""
        if self.context is None:
            return limit if asked is None else asked
        room = self.context - len(prompt)
        if room < (asked or 1):
            wanted = f" and {asked} more are asked for" if asked else ""
            raise RefusedError(
                f"the prompt has {len(prompt)} tokens{wanted}: "
                f"the model takes {self.context} in all",
                code="context_length_exceeded",
                parameter=where,
            )
        return min(limit, room) if asked is None else asked
