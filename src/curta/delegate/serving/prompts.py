"""Prompts as tokens, for the threads that answer requests."""

from __future__ import annotations

import copy
import threading

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

    def tokens(self, prompt: Prompt | TokenPrompt, parameter: str, format: Format) -> TokenPrompt:
        """The same tokens as in `CalcGenerator`; `parameter` is where the prompt came from."""
        if isinstance(prompt, tuple):
            if not all(0 <= token < self.vocabulary for token in prompt):
                raise wrong(parameter, f"tokens are numbers below {self.vocabulary}")
            return prompt
        if not isinstance(prompt, str) and self.generator.tokenizer.chat_template is None:
            raise wrong(parameter, "the model has no chat template: use /v1/completions")
        try:
            with self.lock:
                made = self.generator.encoded(prompt, format)
        except TemplateError as error:
            raise wrong(parameter, f"the model's chat template refuses it: {error}") from error
        if not made:
            raise wrong(parameter, "there is nothing in it")
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
